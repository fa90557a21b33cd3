import { whenAborted } from "../kernel/abort.ts";
import type { Clock } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";

/** Runs something under a signal that fires with the given one, and at the latest after `delayMs`. */
export async function inTime<T>(
  clock: Clock,
  delayMs: number,
  signal: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(signal?.reason);
  if (signal?.aborted === true) onAbort();
  const leave = signal && whenAborted(signal, onAbort);
  const timer = clock.after(delayMs, () => {
    controller.abort(
      new HostError("ERR_TIMEOUT", `Cannot keep an artifact: the store has not answered within ${delayMs} ms`),
    );
  });
  try {
    return await run(controller.signal);
  } finally {
    timer.cancel();
    leave?.();
  }
}
