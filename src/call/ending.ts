import type { CatalogEntry } from "../catalog/catalog.ts";
import type { FailedReply, Reply } from "../client/reply.ts";
import type { EventCursor, EventInput } from "../events/event.ts";
import type { FailureOutcome, ToolFailureReason } from "../events/payloads.ts";
import { isHostError } from "../kernel/errors.ts";
import { faultOf } from "../servers/fault.ts";
import type { ServerLease } from "../servers/server.ts";
import { base64Finding } from "./base64_finding.ts";
import type { Call, CallContext } from "./call.ts";
import {
  artifactStored,
  callCompleted,
  callFailed,
  securityFinding,
  toolCancelled,
  toolCompleted,
  toolFailed,
} from "./call_events.ts";
import { type Failure, readFailure } from "./failure.ts";
import type { Outcome } from "./outcome.ts";
import { type Output, patienceOf, readOutput } from "./output.ts";
import { structuredFinding, withFinding } from "./schema_checks.ts";

/** The round that a call ends with. */
export interface LastRound {
  readonly number: number;
  readonly server: string;
  readonly entry: CatalogEntry;
  readonly durationMs: number;
  readonly resends: number;
  /** Its `mcp.call.started` has no closing event yet. */
  readonly isOpen: boolean;
  /** What comes before all closing events. */
  readonly before: readonly EventInput[];
}

const TIMEOUT_MS = 60_000;

/** Ends a call with what its server answered, or with what came in the place of an answer. */
export function finish(
  call: Call,
  reply: Extract<Reply, { kind: "done" | "failed" }>,
  loss: ServerLease["loss"],
  round: LastRound,
  context: CallContext,
): Outcome | Promise<Outcome> {
  if (reply.kind === "done") return complete(call, reply, round, context);
  return fail(call, reply, readFailure(reply, loss), round, loss?.cause, context);
}

function complete(
  call: Call,
  reply: Extract<Reply, { kind: "done" }>,
  round: LastRound,
  context: CallContext,
): Outcome | Promise<Outcome> {
  const { server, durationMs, before, isOpen } = round;
  const { scrubber } = context;
  const resends = round.resends + reply.resends;
  const answered = isOpen ? [...before, callCompleted(call, server, durationMs, reply.bytes, resends)] : before;
  const unusable = (error: unknown): Outcome | Promise<Outcome> => {
    const fault = faultOf(error, scrubber);
    const events = [...answered, toolFailed(call, "invalid_result", "answered", fault)];
    return call.end(events, true, () => call.failed("failed", "invalid_result", fault));
  };
  try {
    const found = structuredFinding(round.entry, reply.result, reply.spills);
    const undecodable = base64Finding(reply.result, reply.spills);
    // How long a long answer took to arrive says nothing about the store that takes it.
    const waitedMs = reply.spills === undefined ? durationMs : 0;
    const patienceMs = patienceOf(call.options.timeoutMs ?? TIMEOUT_MS, waitedMs);
    const reading = readOutput(reply.result, { ...context.output, patienceMs }, call.signal, reply.spills);
    const end = (read: Output): Outcome | Promise<Outcome> => {
      const output = withFinding(withFinding(read, found, scrubber), undecodable, scrubber);
      const kept = output.artifacts ?? (output.artifact === undefined ? [] : [output.artifact]);
      const events = [
        ...kept.map((artifact) => artifactStored(call, artifact)),
        ...answered,
        ...output.findings.map((each) => securityFinding(call, each)),
        toolCompleted(call, output, durationMs),
      ];
      return call.end(events, true, () => call.completed(output));
    };
    return reading instanceof Promise ? reading.then(end).catch(unusable) : end(reading);
  } catch (error) {
    return unusable(error);
  }
}

/** Ends a call that has no usable answer. */
export function fail(
  call: Call,
  reply: FailedReply,
  failure: Failure,
  round: LastRound,
  cause: EventCursor | undefined,
  context: CallContext,
): Outcome | Promise<Outcome> {
  const fault = faultOf(reply.error, context.scrubber);
  const { server, number, before, isOpen } = round;
  const failed = isOpen
    ? [...before, callFailed(call, server, fault, failure.outcome, round.resends + reply.resends, cause)]
    : before;
  // The server has answered an earlier round, whatever became of this one.
  const outcome = number > 1 && failure.outcome === "not_sent" ? "answered" : failure.outcome;
  const wasSent = outcome !== "not_sent";
  if (failure.kind === "cancelled") {
    return call.end([...failed, toolCancelled(call, outcome)], wasSent, () => call.cancelled());
  }
  const { reason, status } = failure;
  return call.end(
    [...failed, toolFailed(call, reason, outcome, fault, cause)],
    wasSent,
    () => call.failed(status, reason, fault),
  );
}

/** Ends a call whose server cannot be had. `outcome` is how far it had come: not at all, or an earlier round. */
export function refuse(
  call: Call,
  error: unknown,
  context: CallContext,
  outcome: Exclude<FailureOutcome, "unknown"> = "not_sent",
): Outcome | Promise<Outcome> {
  const wasSent = outcome !== "not_sent";
  if (isHostError(error, "ERR_CANCELLED")) {
    return call.end([toolCancelled(call, outcome)], wasSent, () => call.cancelled());
  }
  const fault = faultOf(error, context.scrubber);
  const reason = refusalReason(error);
  const cause = isHostError(error) ? (error.facts["cause"] as EventCursor | undefined) : undefined;
  return call.end(
    [toolFailed(call, reason, outcome, fault, cause)],
    wasSent,
    () => call.failed("failed", reason, fault),
  );
}

function refusalReason(error: unknown): ToolFailureReason {
  if (isHostError(error, "ERR_SESSION_CLOSED")) return "session_closed";
  const reason = isHostError(error) ? error.facts["reason"] : undefined;
  return typeof reason === "string" ? (reason as ToolFailureReason) : "mcp_server_not_connected";
}

/** In the place of an answer: the server has answered before, and the call does not go on. */
export function notGoingOn(error: FailedReply["error"], resends = 0): FailedReply {
  return { kind: "failed", error, sent: true, refused: true, resends };
}
