import { HostError, isHostError } from "./errors.ts";

/** The typed error for a wait that the caller's signal ended. The signal's reason is kept as `cause`. */
export function cancelled(action: string, signal: AbortSignal): HostError {
  if (isHostError(signal.reason)) return signal.reason;
  return new HostError("ERR_CANCELLED", `${action} was cancelled by its caller`, { cause: signal.reason });
}

/**
 * Waits for `promise`, but no longer than `signal` allows. The promise itself goes on; its late outcome is dropped.
 * Throws {@link cancelled}. Leaves no listener behind.
 */
export function untilAborted<T>(promise: Promise<T>, action: string, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) {
      promise.catch(() => {/* the caller has left; there is nobody to tell */});
      return reject(cancelled(action, signal));
    }
    const onAbort = (): void => reject(cancelled(action, signal));
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/**
 * Watches many short calls for few signals: one listener for each distinct signal, however many calls share it.
 * Registering a listener a call is several times dearer than the call itself on some runtimes.
 */
export class SignalWatch<K> {
  readonly #onAbort: (key: K, signal: AbortSignal) => void;
  readonly #entries = new Map<AbortSignal, { readonly keys: Set<K>; readonly listener: () => void }>();

  constructor(onAbort: (key: K, signal: AbortSignal) => void) {
    this.#onAbort = onAbort;
  }

  /** Number of signals that hold a listener of ours. */
  get size(): number {
    return this.#entries.size;
  }

  add(signal: AbortSignal, key: K): void {
    let entry = this.#entries.get(signal);
    if (entry === undefined) {
      const keys = new Set<K>();
      const listener = (): void => {
        this.#entries.delete(signal);
        for (const each of keys) this.#onAbort(each, signal);
      };
      entry = { keys, listener };
      this.#entries.set(signal, entry);
      signal.addEventListener("abort", listener, { once: true });
    }
    entry.keys.add(key);
  }

  remove(signal: AbortSignal, key: K): void {
    this.#entries.get(signal)?.keys.delete(key);
  }

  /**
   * Drops the listeners of signals that no call uses. Call it now and then, also while calls go on: it is what keeps
   * signals that live for one call only from piling up.
   */
  sweep(): void {
    for (const [signal, entry] of this.#entries) if (entry.keys.size === 0) this.#drop(signal, entry);
  }

  clear(): void {
    for (const [signal, entry] of this.#entries) this.#drop(signal, entry);
  }

  #drop(signal: AbortSignal, entry: { listener: () => void }): void {
    signal.removeEventListener("abort", entry.listener);
    this.#entries.delete(signal);
  }
}
