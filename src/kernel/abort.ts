import { HostError, isHostError } from "./errors.ts";

/** The typed error for a wait that the caller's signal ended. The signal's reason is kept as `cause`. */
export function cancelled(action: string, signal: AbortSignal): HostError {
  if (isHostError(signal.reason)) return signal.reason;
  return new HostError("ERR_CANCELLED", `${action} was cancelled by its caller`, { cause: signal.reason });
}

/** Everything that waits for one signal, behind the one listener that it has from us. */
interface Watch {
  readonly runs: Set<() => void>;
  readonly listener: () => void;
}
const watches = new WeakMap<AbortSignal, Watch>();

/**
 * Calls `run` once when the signal fires; what is returned takes it back. `run` must be a function of its own for each
 * wait. Nothing happens for a signal that has fired already.
 *
 * However many wait for a signal, it has one listener: runtimes warn of signals that have many.
 */
export function whenAborted(signal: AbortSignal, run: () => void): () => void {
  if (signal.aborted) return () => {/* it was never taken on */};
  const watch = watches.get(signal) ?? watched(signal);
  watch.runs.add(run);
  return () => {
    if (!watch.runs.delete(run) || watch.runs.size > 0 || watches.get(signal) !== watch) return;
    watches.delete(signal);
    signal.removeEventListener("abort", watch.listener);
  };
}

function watched(signal: AbortSignal): Watch {
  const runs = new Set<() => void>();
  const listener = (): void => {
    watches.delete(signal);
    runAll(runs);
  };
  const watch = { runs, listener };
  watches.set(signal, watch);
  signal.addEventListener("abort", listener, { once: true });
  return watch;
}

/** One that throws keeps none of the others from being told. What is taken back meanwhile does not run any more. */
function runAll(runs: Set<() => void>): void {
  const errors: unknown[] = [];
  for (const run of runs) {
    runs.delete(run);
    try {
      run();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
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
    const leave = whenAborted(signal, () => reject(cancelled(action, signal)));
    promise.then(resolve, reject).finally(leave);
  });
}

/**
 * Watches many short calls for few signals: a call that ends leaves its signal watched, for the next call to share.
 * Registering a listener a call is several times dearer than the call itself on some runtimes.
 */
export class SignalWatch<K> {
  readonly #onAbort: (key: K, signal: AbortSignal) => void;
  readonly #entries = new Map<AbortSignal, { readonly keys: Set<K>; readonly leave: () => void }>();

  constructor(onAbort: (key: K, signal: AbortSignal) => void) {
    this.#onAbort = onAbort;
  }

  /** Number of signals that are watched. */
  get size(): number {
    return this.#entries.size;
  }

  add(signal: AbortSignal, key: K): void {
    let entry = this.#entries.get(signal);
    if (entry === undefined) {
      const keys = new Set<K>();
      const leave = whenAborted(signal, () => {
        this.#entries.delete(signal);
        for (const each of keys) this.#onAbort(each, signal);
      });
      entry = { keys, leave };
      this.#entries.set(signal, entry);
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

  #drop(signal: AbortSignal, entry: { readonly leave: () => void }): void {
    entry.leave();
    this.#entries.delete(signal);
  }
}
