/**
 * Calls a listener of the user's and goes on at once. `failed` is told what it throws, and what the promise rejects with
 * that it returns; what `failed` throws has nobody left to hear of it.
 */
export function tell(listener: () => unknown, failed: (error: unknown) => void): void {
  const onFailed = (error: unknown): void => {
    try {
      failed(error);
    } catch {
      // There is nobody left to tell.
    }
  };
  try {
    const answer = listener();
    if (isThenable(answer)) Promise.resolve(answer).catch(onFailed);
  } catch (error) {
    onFailed(error);
  }
}

/** True for a promise, also for one of another kind. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { then?: unknown }).then === "function";
}
