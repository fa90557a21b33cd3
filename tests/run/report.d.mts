/** One row of the final table. */
export interface Row {
  readonly name: string;
  readonly version: string;
  readonly passed: number;
  readonly failed: number;
  /** Names of tests that failed, as far as they are known. */
  readonly failures: readonly string[];
  /** Names of tests that did not run. */
  readonly skipped: readonly string[];
  readonly seconds: number;
  readonly note: string;
}

export function readVitest(
  report: unknown,
  exitCode: number | null,
): Pick<Row, "passed" | "failed" | "failures" | "skipped" | "note">;
export function total(rows: readonly Row[]): { passed: number; failed: number };
export function table(rows: readonly Row[]): string;
export function closingLine(rows: readonly Row[]): string;
