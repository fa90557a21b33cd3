import { HostError } from "../kernel/errors.ts";
import { isUnread, type MalformedReason } from "./message.ts";
import type { PendingRequest } from "./pending.ts";

/** Far more than is shown: whoever shows it scrubs first and cuts then. */
const MAX_REASON = 16 << 10;

/** The error of everything that a connection of ours was closed over. */
export function closedHere(): HostError {
  return new HostError("ERR_CLOSED", "Connection was closed by this side");
}

export function notOpen(method: string): HostError {
  return new HostError("ERR_CLOSED", `Cannot send ${method}: the connection is not open`);
}

export function notJson(method: string, cause: unknown): HostError {
  return new HostError("ERR_INVALID_ARGUMENTS", `Cannot send ${method}: its parameters are no JSON object`, { cause });
}

export function timedOut(
  { method, timeoutMs, deadline, hardDeadline }: Pick<
    PendingRequest,
    "method" | "timeoutMs" | "deadline" | "hardDeadline"
  >,
): HostError {
  const total = deadline >= hardDeadline;
  const found = total ? "its total time ran out" : `no answer and no progress within ${Math.round(timeoutMs)} ms`;
  return new HostError("ERR_TIMEOUT", `Request ${method} timed out: ${found}`, { facts: { method, timeoutMs, total } });
}

export function cancelledByServer(reason: unknown): HostError {
  const why = typeof reason === "string" ? `: ${reason.slice(0, MAX_REASON)}` : "";
  return new HostError("ERR_CANCELLED", `Request was cancelled by the server${why}`, { facts: { by: "server" } });
}

export function progressFailed(method: string, cause: unknown): HostError {
  return new HostError("ERR_CANCELLED", `Request ${method} was given up: its onProgress threw`, {
    cause,
    facts: { by: "onProgress" },
  });
}

export function tooManyQuestions(limit: number, windowMs: number): HostError {
  const found = `found over ${limit} requests of its own in ${windowMs} ms`;
  return new HostError("ERR_PROTOCOL", `Connection to the server was given up: ${found}`);
}

/** What a request fails with when its answer is of no use. */
export function unusable(method: string, reason: MalformedReason): HostError {
  const [code, found] = isUnread(reason)
    ? ["ERR_FRAME_TOO_LARGE", "more than may be read"] as const
    : ["ERR_PROTOCOL", "text of another kind"] as const;
  const message = `Cannot use the answer to ${method}: found ${found} (${reason})`;
  return new HostError(code, message, { facts: { malformed: reason } });
}
