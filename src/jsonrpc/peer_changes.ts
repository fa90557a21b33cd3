import type { Clock, Timer } from "../kernel/clock.ts";

/** Kinds of changes that are kept; a peer may make up any number of names. */
const MAX_KINDS = 8;

/**
 * Notices of a change that were too many to be passed on. They say no more than what has changed, so the latest stands for
 * all that were dropped: it is passed on after `delayMs`, and whoever hears it looks at what is true then.
 */
export class MissedChanges {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #tell: (method: string, params: unknown) => void;
  /** With the parameters of the latest: they may name what it belongs to. */
  readonly #methods = new Map<string, unknown>();
  #timer: Timer | undefined;

  constructor(clock: Clock, delayMs: number, tell: (method: string, params: unknown) => void) {
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#tell = tell;
  }

  /** A notice has been dropped. */
  add(method: string, params: unknown): void {
    if (!/^notifications\/[a-z_/]{1,60}list_changed$/.test(method)) return;
    if (this.#methods.size >= MAX_KINDS && !this.#methods.has(method)) return;
    this.#methods.set(method, params);
    this.#timer ??= this.#clock.after(this.#delayMs, () => {
      this.#timer = undefined;
      const missed = [...this.#methods];
      this.#methods.clear();
      for (const [each, params] of missed) this.#tell(each, params);
    });
  }

  /** Nobody wants to know any more. */
  clear(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#methods.clear();
  }
}
