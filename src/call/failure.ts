import type { FailedReply } from "../client/reply.ts";
import type { FailureOutcome, ToolFailureReason } from "../events/payloads.ts";
import { isRemoteError } from "../kernel/errors.ts";
import type { OutcomeStatus } from "./outcome.ts";

/** What a call that got no usable answer failed as. */
export type Failure =
  | {
    readonly kind: "failed";
    readonly reason: ToolFailureReason;
    readonly outcome: FailureOutcome;
    readonly status: "failed" | "unknown";
  }
  | { readonly kind: "cancelled"; readonly outcome: FailureOutcome };

/**
 * Reads a failed reply. `loss` is why the connection ended under the call, if it did. What was sent and got neither an
 * answer nor a refusal has an unknown outcome, whatever the error is called, and so has a task that was not seen to end.
 */
export function readFailure(reply: FailedReply, loss: { readonly reason: string } | undefined): Failure {
  const { error, sent, refused } = reply;
  if (isRemoteError(error)) return failed("remote_error", "answered");
  const open: FailureOutcome = refused ? "answered" : sent ? "unknown" : "not_sent";
  const unusable: FailureOutcome = error.facts["task"] === "open" ? open : sent ? "answered" : "not_sent";
  switch (error.code) {
    case "ERR_CANCELLED":
      return error.facts["by"] === "server"
        ? failed("cancelled_by_server", "answered")
        : { kind: "cancelled", outcome: open };
    case "ERR_SESSION_CLOSED":
      return failed("session_closed", open);
    case "ERR_DENIED":
      return failed("permission_denied", open);
    case "ERR_NOT_LOGGED":
      return failed("not_logged", open);
    case "ERR_TIMEOUT":
      return failed("timeout", open);
    case "ERR_INVALID_ARGUMENTS":
      return failed("invalid_arguments", open);
    case "ERR_AUTH_REQUIRED":
    case "ERR_AUTH_FAILED":
      return failed("auth_required", open);
  }
  if (loss !== undefined) return failed(loss.reason as ToolFailureReason, open);
  switch (error.code) {
    case "ERR_PROTOCOL":
      if (typeof error.facts["asks"] === "number") return failed("too_many_asks", open);
      if (typeof error.facts["rounds"] === "number") return failed("too_many_rounds", "answered");
      return typeof error.facts["status"] === "number"
        ? wrongStatus(error.facts["status"], open)
        : failed("invalid_result", unusable);
    case "ERR_TOO_LARGE":
    case "ERR_FRAME_TOO_LARGE":
      return failed("too_large", unusable);
    case "ERR_UNSUPPORTED_HERE":
      return failed("invalid_result", unusable);
    default:
      return failed("connection_lost", open);
  }
}

/** What stands between us and a server answers in its place; whether the server was reached is not known. */
function wrongStatus(status: number, open: FailureOutcome): Failure {
  return failed(status >= 500 ? "connection_lost" : "invalid_result", open);
}

function failed(reason: ToolFailureReason, outcome: FailureOutcome): Failure {
  return { kind: "failed", reason, outcome, status: statusOf(outcome) };
}

function statusOf(outcome: FailureOutcome): Extract<OutcomeStatus, "failed" | "unknown"> {
  return outcome === "unknown" ? "unknown" : "failed";
}
