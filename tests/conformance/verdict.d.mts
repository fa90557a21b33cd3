import type { Row } from "../run/report.d.mts";

/** What a run of one scenario has left behind. */
export interface Evidence {
  /** The exit code of the suite. */
  readonly code: number | null;
  readonly timedOut: boolean;
  /** The suite's own checks; `undefined` when it wrote none. */
  readonly checks:
    | readonly {
      readonly id: string;
      readonly status: string;
      readonly errorMessage?: string;
    }[]
    | undefined;
  /** Of the driver. */
  readonly stdout: string;
  readonly stderr: string;
}

export interface Result {
  readonly scenario: string;
  /** None for a pass. */
  readonly reasons: readonly string[];
  readonly seconds: number;
}

export function reasonsAgainst(evidence: Evidence, mayFail?: boolean): string[];
export function rowOf(
  name: string,
  version: string,
  results: readonly Result[],
  known: Readonly<Record<string, string>>,
): Row;
export function unknownNames(known: Readonly<Record<string, string>>, scenarios: readonly string[]): string[];
export function scoreLine(revision: string, results: readonly Result[], scored: readonly string[]): string;
