import { cancelled, whenAborted } from "../kernel/abort.ts";
import type { Clock } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";

export interface WaitOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** What is waited for, as the subject of an error message. */
  readonly action: string;
}

/** Callers that wait for one value to become what they need. Each leaves no timer and no listener behind. */
export class Waiters {
  readonly #clock: Clock;
  readonly #checks = new Set<() => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Resolves with what `look` finds, or rejects with what it throws; `undefined` means to look again at the next
   * change. Rejects with `ERR_TIMEOUT` after `timeoutMs`, and with the signal's reason.
   */
  wait<T>(look: () => { readonly value: T } | undefined, { signal, timeoutMs, action }: WaitOptions): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const found = look();
      if (found !== undefined) return resolve(found.value);
      if (signal?.aborted) return reject(cancelled(action, signal));
      const leave = (): void => {
        timer.cancel();
        takeBack?.();
        this.#checks.delete(check);
      };
      const check = (): void => {
        try {
          const later = look();
          if (later === undefined) return;
          leave();
          resolve(later.value);
        } catch (error) {
          leave();
          reject(error);
        }
      };
      const timer = this.#clock.after(timeoutMs, () => {
        leave();
        reject(
          new HostError("ERR_TIMEOUT", `${action} timed out after ${timeoutMs} ms`, {
            facts: { reason: "timeout", timeoutMs },
          }),
        );
      });
      const takeBack = signal && whenAborted(signal, () => {
        leave();
        reject(cancelled(action, signal));
      });
      this.#checks.add(check);
    });
  }

  /** Something has changed. */
  wake(): void {
    for (const check of [...this.#checks]) check();
  }
}
