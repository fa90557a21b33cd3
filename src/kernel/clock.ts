import { whenAborted } from "./abort.ts";

/** A pending timer; opaque. */
export type Timer = { readonly cancel: () => void };

/** Where the library reads time and asks to be woken. Injected, so that tests run without sleeping. */
export interface Clock {
  /** Wall clock, epoch milliseconds. */
  now(): number;
  /** Milliseconds that never go backwards; the origin is arbitrary. */
  monotonic(): number;
  /** Calls `run` once after `delayMs`. A cancelled timer never runs. */
  after(delayMs: number, run: () => void): Timer;
}

/** The clock of the runtime. */
export const systemClock: Clock = Object.freeze({
  now: (): number => Date.now(),
  monotonic: (): number => performance.now(),
  after(delayMs: number, run: () => void): Timer {
    const id = setTimeout(run, delayMs);
    return { cancel: () => clearTimeout(id) };
  },
});

/** Resolves after `delayMs`, or rejects with the signal's reason. Leaves no timer and no listener behind. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const timer = clock.after(delayMs, () => {
      leave?.();
      resolve();
    });
    const leave = signal && whenAborted(signal, () => {
      timer.cancel();
      reject(signal.reason);
    });
  });
}

/** The promise's value, or `undefined` when it has not settled after `delayMs`; its late outcome is dropped. */
export function atMost<T>(clock: Clock, delayMs: number, promise: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = clock.after(delayMs, () => resolve(undefined));
    promise.then(resolve, reject).finally(() => timer.cancel());
  });
}
