import type { Clock, Timer } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";

export interface FrameBudgetOptions {
  /** Most bytes of all messages that are being read. */
  readonly maxBytes: number;
  readonly clock: Clock;
  /** How long one waits for others to end. Default 30,000. */
  readonly maxWaitMs?: number;
}

interface Waiter {
  readonly account: FrameAccount;
  readonly timer: Timer;
  resolve(): void;
  reject(error: HostError): void;
}

/**
 * Bounds the memory that all messages together take while they are read. What is past the bound has been read already, at
 * most one chunk a message; whoever passes it waits, in turn, until others have ended. Where that can never be, because all
 * wait, the last one fails; so does one that has waited for too long.
 */
export class FrameBudget {
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #maxWaitMs: number;
  /** Those that hold something. */
  readonly #holders = new Set<FrameAccount>();
  readonly #waiters: Waiter[] = [];
  #bytes = 0;

  constructor({ maxBytes, clock, maxWaitMs = 30_000 }: FrameBudgetOptions) {
    this.#maxBytes = maxBytes;
    this.#clock = clock;
    this.#maxWaitMs = maxWaitMs;
  }

  /** Bytes held now. */
  get bytes(): number {
    return this.#bytes;
  }

  open(): FrameAccount {
    return new FrameAccount((account, delta, held) => this.#change(account, delta, held));
  }

  #change(account: FrameAccount, delta: number, held: number): void | Promise<void> {
    this.#bytes += delta;
    if (held === 0) {
      this.#holders.delete(account);
      this.#letGo(this.#waiters.filter((waiter) => waiter.account === account));
    } else this.#holders.add(account);
    if (delta > 0 && this.#bytes > this.#maxBytes) return this.#wait(account);
    if (this.#waiters.length > 0) this.#look();
  }

  #wait(account: FrameAccount): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(this.#maxWaitMs, () => this.#fail(waiter));
      const waiter: Waiter = { account, timer, resolve, reject };
      this.#waiters.push(waiter);
      this.#look();
    });
  }

  /** Lets all go on once there is room again, and sees to it that there will be. */
  #look(): void {
    if (this.#bytes <= this.#maxBytes) {
      this.#letGo([...this.#waiters]);
      return;
    }
    const waiting = new Set(this.#waiters.map(({ account }) => account));
    const last = this.#waiters.at(-1);
    for (const holder of this.#holders) if (!waiting.has(holder)) return;
    if (last !== undefined) this.#fail(last);
  }

  #letGo(waiters: readonly Waiter[]): void {
    for (const waiter of waiters) {
      this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
      waiter.timer.cancel();
      waiter.resolve();
    }
  }

  /** Its memory is given back by whoever is told. */
  #fail(waiter: Waiter): void {
    const at = this.#waiters.indexOf(waiter);
    if (at < 0) return;
    this.#waiters.splice(at, 1);
    waiter.timer.cancel();
    const found = `all that are being read take ${this.#bytes} bytes, at most ${this.#maxBytes} allowed`;
    waiter.reject(
      new HostError("ERR_TOO_LARGE", `Cannot read a message: ${found}`, {
        facts: { bytes: this.#bytes, maxBytes: this.#maxBytes },
      }),
    );
  }
}

/** What one message, or one connection between messages, holds. */
export class FrameAccount {
  readonly #onChange: (account: FrameAccount, delta: number, held: number) => void | Promise<void>;
  #held = 0;

  constructor(onChange: (account: FrameAccount, delta: number, held: number) => void | Promise<void>) {
    this.#onChange = onChange;
  }

  /**
   * So many bytes are held from now on; 0 gives all back. A promise asks to wait before more is read; it rejects with
   * `ERR_TOO_LARGE` when there will be no room.
   */
  set(bytes: number): void | Promise<void> {
    const delta = bytes - this.#held;
    if (delta === 0) return;
    this.#held = bytes;
    return this.#onChange(this, delta, bytes);
  }
}
