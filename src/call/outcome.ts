import type { ToolFailureReason } from "../events/payloads.ts";
import type { ContentBlock } from "../protocol/model.ts";
import type { ArtifactRef } from "../store/artifacts.ts";

/** What a call ended as. */
export type OutcomeStatus =
  /** The tool answered, also when it reports a failure of its own. */
  | "completed"
  /** No usable answer, and either nothing was sent or the answer itself says so. */
  | "failed"
  /** Refused by a rule, a person, or because nobody decided in time. Nothing was sent. */
  | "denied"
  /** Somebody has to decide first; `requestId` names the ask. Nothing was sent. */
  | "pending"
  /** The caller gave up. */
  | "cancelled"
  /** It was sent, and what became of it is not known. It may have been executed. */
  | "unknown";

/** Why a call did not complete. */
export type OutcomeReason = ToolFailureReason | "ambiguous" | "not_found" | "cancelled" | "waits_for_decision";

/** What became of one call. Everything in it was scrubbed. */
export interface Outcome {
  readonly status: OutcomeStatus;
  /**
   * The result as text: its text blocks, and a label for each other one; of a long result the head and the tail. Where
   * there is no result, what went wrong.
   */
  readonly output: string;
  /**
   * The result's blocks. Whole but for results over 1 MiB: in these a text over 64 KiB has its head and its tail, and names
   * the artifact that has all of it; data over 8 MiB is a label. Empty where there is no result.
   */
  readonly content: readonly ContentBlock[];
  /** Present where the tool gave it; any JSON value, with bigint for integers that a double cannot hold. Texts as above. */
  readonly structuredContent?: unknown;
  /** The tool reports a failure, or the call has ended without a result; false while it is `pending`: nothing has failed. */
  readonly isError: boolean;
  /** The whole text of a long result. */
  readonly artifact?: ArtifactRef;
  /** `output` is not the whole text. */
  readonly truncated: boolean;
  /** What looked suspicious in the result. */
  readonly findings: readonly Finding[];
  readonly toolCallId: string;
  /** The permission request that was decided, or that waits. */
  readonly requestId?: string;
  /** From the call to its end, waiting for a decision included. */
  readonly durationMs: number;
  /** Why there is no result; of a call that is `pending`, what it waits for and how to go on. */
  readonly error?: OutcomeError;
}

/** Something in a result that deserves a second look. */
export interface Finding {
  readonly rule: string;
  readonly where: string;
  readonly severity: string;
  readonly count: number;
  readonly preview?: string;
}

export interface OutcomeError {
  /** A code of `HostError`, or the number that the server answered with. */
  readonly code: string;
  readonly message: string;
  readonly reason: OutcomeReason;
}

/** What every outcome has beside its status. */
export interface OutcomeFrame {
  readonly toolCallId: string;
  readonly requestId?: string | undefined;
  readonly durationMs: number;
}

/** The outcome of a call without a result. */
export function withoutResult(
  status: Exclude<OutcomeStatus, "completed">,
  error: OutcomeError,
  frame: OutcomeFrame,
): Outcome {
  const { toolCallId, requestId, durationMs } = frame;
  return {
    status,
    output: error.message,
    content: [],
    isError: status !== "pending",
    truncated: false,
    findings: [],
    toolCallId,
    ...(requestId === undefined ? {} : { requestId }),
    durationMs,
    error,
  };
}
