/** One start, as those see it who wait for it. */
export interface Attempt {
  readonly outcome: Promise<void>;
  succeed(): void;
  /** Without effect once it has succeeded or failed. */
  fail(error: unknown): void;
}

export function newAttempt(): Attempt {
  let succeed!: () => void;
  let fail!: (error: unknown) => void;
  const outcome = new Promise<void>((resolve, reject) => {
    succeed = resolve;
    fail = reject;
  });
  outcome.catch(() => {/* a start in the background has nobody who waits; its failure is in the log and the status */});
  return { outcome, succeed, fail };
}
