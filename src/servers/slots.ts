import { cancelled, whenAborted } from "../kernel/abort.ts";

/** Lets a bounded number of tasks run at a time; others wait in the order they came. */
export class Slots {
  readonly #limit: number;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Resolves with the function that gives the slot back; calling it twice gives back one. Rejects when the signal fires first. */
  take(action: string, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return Promise.reject(cancelled(action, signal));
    if (this.#taken < this.#limit) return Promise.resolve(this.#slot());
    return new Promise((resolve, reject) => {
      const leave = whenAborted(signal, () => {
        this.#waiting.delete(enter);
        reject(cancelled(action, signal));
      });
      const enter = (): void => {
        leave();
        resolve(this.#slot());
      };
      this.#waiting.add(enter);
    });
  }

  #slot(): () => void {
    this.#taken++;
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#taken--;
      const [next] = this.#waiting;
      if (next === undefined) return;
      this.#waiting.delete(next);
      next();
    };
  }
}
