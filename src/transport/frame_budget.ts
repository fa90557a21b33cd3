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

/** More than one message needs: the most that stays of it, and what is held before. */
const RESERVE_BYTES = 10 << 20;

/**
 * Bounds the memory that all messages together take while they are read. Whoever passes the bound has read one chunk more
 * already, and waits until others have ended. One of them, the first in turn, may always go on, for which a part is set
 * aside: so no two can wait for one another. It fails where even that is not enough, and so does one that has waited for
 * too long.
 */
export class FrameBudget {
  readonly #maxBytes: number;
  /** What is set aside for the one whose turn it is. */
  readonly #reserve: number;
  readonly #clock: Clock;
  readonly #maxWaitMs: number;
  readonly #waiters: Waiter[] = [];
  #turn: FrameAccount | undefined;
  #bytes = 0;

  constructor({ maxBytes, clock, maxWaitMs = 30_000 }: FrameBudgetOptions) {
    this.#maxBytes = maxBytes;
    this.#reserve = Math.min(RESERVE_BYTES, Math.floor(maxBytes / 2));
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
      if (this.#turn === account) this.#turn = undefined;
      for (const waiter of this.#waiters.filter((each) => each.account === account)) this.#take(waiter).resolve();
    }
    if (delta < 0 || this.#hasRoom) return this.#look();
    if (this.#turn !== account) return this.#wait(account);
    if (this.#isTooMuch(account)) return Promise.reject(this.#noRoom());
  }

  #wait(account: FrameAccount): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(this.#maxWaitMs, () => this.#take(waiter).reject(this.#noRoom()));
      const waiter: Waiter = { account, timer, resolve, reject };
      this.#waiters.push(waiter);
      this.#look();
    });
  }

  /** Lets go on whoever may. */
  #look(): void {
    while (this.#waiters.length > 0 && (this.#hasRoom || this.#turn === undefined)) {
      const next = this.#take(this.#waiters[0]!);
      if (this.#isTooMuch(next.account)) next.reject(this.#noRoom());
      else {
        if (!this.#hasRoom) this.#turn = next.account;
        next.resolve();
      }
    }
  }

  get #hasRoom(): boolean {
    return this.#bytes <= this.#maxBytes - this.#reserve;
  }

  /** It needs more than what can be set aside for one. */
  #isTooMuch(account: FrameAccount): boolean {
    return this.#bytes > this.#maxBytes && account.held > this.#reserve;
  }

  /** Takes one out of the line. */
  #take(waiter: Waiter): Waiter {
    this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
    waiter.timer.cancel();
    return waiter;
  }

  #noRoom(): HostError {
    const found = `all that are being read take ${this.#bytes} bytes, at most ${this.#maxBytes} allowed`;
    return new HostError("ERR_TOO_LARGE", `Cannot read a message: ${found}`, {
      facts: { bytes: this.#bytes, maxBytes: this.#maxBytes },
    });
  }
}

/** What one message, or one connection between messages, holds. */
export class FrameAccount {
  readonly #onChange: (account: FrameAccount, delta: number, held: number) => void | Promise<void>;
  #held = 0;

  constructor(onChange: (account: FrameAccount, delta: number, held: number) => void | Promise<void>) {
    this.#onChange = onChange;
  }

  get held(): number {
    return this.#held;
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
