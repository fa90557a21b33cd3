import type { Clock, Timer } from "../kernel/clock.ts";

/** Notices that come within this time are answered by one list. */
const GATHER_MS = 100;
const MIN_INTERVAL_MS = 1000;
/** Between two lists that did bring a change. */
const BUSY_INTERVAL_MS = 10_000;
const MAX_INTERVAL_MS = 60_000;

/**
 * Lists again when a server says that its tools have changed: once a burst, one list at a time, and ever more seldom
 * while it does not stop, so that a server which answers each list with another notice cannot keep us busy, be there a
 * change each time or none.
 */
export class CatalogRefresh {
  readonly #clock: Clock;
  readonly #list: () => Promise<boolean>;
  #timer: Timer | undefined;
  #running = false;
  #dirty = false;
  #stopped = false;
  #intervalMs = MIN_INTERVAL_MS;
  #endedAt = -Infinity;

  /** `list` resolves with whether anything had changed, and never rejects. */
  constructor(clock: Clock, list: () => Promise<boolean>) {
    this.#clock = clock;
    this.#list = list;
  }

  /** A notice has come. */
  request(): void {
    if (this.#stopped || this.#timer !== undefined) return;
    if (this.#running) {
      this.#dirty = true;
      return;
    }
    const sinceLast = this.#clock.monotonic() - this.#endedAt;
    // A server that was quiet for a while is trusted again.
    if (sinceLast > Math.min(2 * this.#intervalMs, MAX_INTERVAL_MS)) this.#intervalMs = MIN_INTERVAL_MS;
    this.#timer = this.#clock.after(Math.max(GATHER_MS, this.#intervalMs - sinceLast), () => void this.#run());
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  async #run(): Promise<void> {
    this.#timer = undefined;
    this.#running = true;
    this.#dirty = false;
    const changed = await this.#list();
    this.#running = false;
    this.#endedAt = this.#clock.monotonic();
    this.#intervalMs = Math.min(changed ? BUSY_INTERVAL_MS : MAX_INTERVAL_MS, this.#intervalMs * 2);
    if (this.#dirty) this.request();
  }
}
