import type { Clock } from "../kernel/clock.ts";

/** Counts events in fixed windows of time. Constant memory. */
export class RateWindow {
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #limit: number;
  #start = -Infinity;
  #count = 0;

  constructor(clock: Clock, limit: number, windowMs: number) {
    this.#clock = clock;
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** True while the event is within the limit. */
  take(): boolean {
    const now = this.#clock.monotonic();
    if (now - this.#start >= this.#windowMs) {
      this.#start = now;
      this.#count = 0;
    }
    return ++this.#count <= this.#limit;
  }
}
