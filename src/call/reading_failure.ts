import type { ToolFailureReason } from "../events/payloads.ts";
import { isHostError } from "../kernel/errors.ts";
import type { Offered } from "../servers/offered.ts";
import { readFailure } from "./failure.ts";

/** As in `mcp.resource.failed` and `mcp.prompt.failed`. */
export type ReadingReason = ToolFailureReason | "not_found" | "cancelled";

/** Why something could not be had. */
export interface ReadingFailure {
  readonly status: "failed" | "denied" | "cancelled";
  readonly reason: ReadingReason;
  readonly code: string | number;
  readonly message: string;
}

/** The caller has left. */
export const GIVEN_UP: ReadingFailure = Object.freeze({
  status: "cancelled",
  reason: "cancelled",
  code: "ERR_CANCELLED",
  message: "The caller gave up",
});

/** What a request that got no usable answer failed as; its message is to be scrubbed yet. */
export function failureOfOffer(
  { reply, loss, isNotFound }: Extract<Offered<unknown>, { kind: "failed" }>,
): ReadingFailure {
  const { code, message } = reply.error;
  if (isNotFound) return failed("not_found", code, message);
  const failure = readFailure(reply, loss);
  return failure.kind === "cancelled" ? GIVEN_UP : failed(failure.reason, code, message);
}

/** What an error stands for that came before anything was sent; its message is to be scrubbed yet. */
export function failureOfError(error: unknown): ReadingFailure {
  if (!isHostError(error)) return failed("invalid_result", "ERR_PROTOCOL", "Unexpected fault");
  const { code, message, facts: { reason } } = error;
  switch (code) {
    case "ERR_CANCELLED":
      return GIVEN_UP;
    case "ERR_SESSION_CLOSED":
      return failed("session_closed", code, message);
    case "ERR_INVALID_ARGUMENTS":
      return failed("invalid_arguments", code, message);
    case "ERR_PROTOCOL":
    case "ERR_CONFIG":
      return failed("invalid_result", code, message);
  }
  const known = typeof reason === "string" ? reason as ToolFailureReason : "mcp_server_not_connected";
  return failed(known, code, message);
}

function failed(reason: ReadingReason, code: string | number, message: string): ReadingFailure {
  return { status: "failed", reason, code, message };
}
