import type { CatalogEntry } from "../catalog/catalog.ts";
import type { FailedReply, Reply } from "../client/reply.ts";
import type { EventCursor, EventInput } from "../events/event.ts";
import type { ToolFailureReason } from "../events/payloads.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { HostError, isHostError, unsupported } from "../kernel/errors.ts";
import { faultOf } from "../servers/fault.ts";
import type { Server, ServerLease } from "../servers/server.ts";
import type { Call, CallContext } from "./call.ts";
import {
  artifactStored,
  callCompleted,
  callFailed,
  callStarted,
  securityFinding,
  toolCancelled,
  toolCompleted,
  toolFailed,
  toolStarted,
} from "./call_events.ts";
import { type Failure, readFailure } from "./failure.ts";
import type { Outcome } from "./outcome.ts";
import { readOutput } from "./output.ts";
import { ProgressRelay } from "./progress_relay.ts";
import { structuredFinding, withFinding } from "./schema_checks.ts";

/** A resolved tool of a server, and the arguments as events show them. */
export interface ServerRoute {
  readonly server: Server;
  readonly entry: CatalogEntry;
  readonly argsPreview: unknown;
}

/** How often a call that the server has not executed for certain may go to its next connection. */
const MAX_MOVES = 4;

/**
 * Makes an allowed call: takes the connection, logs the intent, sends, reads one reply, logs the end. `before` are the
 * events that the call rests on and that are not in the log yet. `undefined` when the tool is not any more what was
 * allowed; nothing was sent then.
 */
export async function callServer(
  call: Call,
  route: ServerRoute,
  before: readonly EventInput[],
  context: CallContext,
): Promise<Outcome | undefined> {
  const { server, entry } = route;
  const { clock } = context;
  const timeoutMs = call.options.timeoutMs ?? server.config.timeoutMs;
  let pending = before;
  let waitedMs = 0;
  let resends = 0;
  for (let moves = 0;; moves++) {
    let lease = server.tryAcquire();
    if (lease === undefined) {
      if (pending.length > 0) await call.append(pending);
      pending = [];
      const waitsFrom = clock.monotonic();
      try {
        lease = await server.acquire({ signal: call.signal, timeoutMs: Math.max(1, timeoutMs - waitedMs) });
      } catch (error) {
        return await refuse(call, error, context);
      }
      waitedMs += clock.monotonic() - waitsFrom;
    }
    try {
      if (!isUnchanged(server, entry)) {
        if (moves > 0) return await refuse(call, changedMeanwhile(call.tool), context);
        if (pending.length > 0) await call.append(pending);
        return undefined;
      }
      const started = callStarted(call, server.name, entry.name, route.argsPreview, 1);
      await call.append(moves === 0 ? [...pending, started, toolStarted(call)] : [...pending, started]);
      pending = [];
      const sentAt = clock.monotonic();
      const reply = await send(call, lease, route, Math.max(1, timeoutMs - waitedMs), context);
      const wasNotExecuted = reply.kind === "failed" && (!reply.sent || (reply.refused && resends === 0));
      if (wasNotExecuted && lease.loss !== undefined && moves < MAX_MOVES && !call.signal.aborted) {
        // Its connection has ended under it and the server did not execute it: it may go to the next connection.
        const failure = readFailure(reply, lease.loss);
        await call.append([
          callFailed(
            call,
            server.name,
            faultOf(reply.error, context.scrubber),
            failure.outcome,
            resends,
            lease.loss.cause,
          ),
        ]);
        if (reply.sent) resends++;
        continue;
      }
      const round = { server: server.name, entry, durationMs: Math.round(clock.monotonic() - sentAt), resends };
      return await finish(call, reply, lease, round, context);
    } finally {
      lease.release();
    }
  }
}

interface Round {
  readonly server: string;
  readonly entry: CatalogEntry;
  readonly durationMs: number;
  readonly resends: number;
}

/** The current definition must be the one that was allowed; a list that came meanwhile may have changed it. */
function isUnchanged(server: Server, entry: CatalogEntry): boolean {
  const current = server.catalog?.byName(entry.name);
  if (current === entry) return true;
  return current !== undefined && canonicalJson(current.definition) === canonicalJson(entry.definition);
}

async function send(
  call: Call,
  lease: ServerLease,
  { server, entry }: ServerRoute,
  timeoutMs: number,
  context: CallContext,
): Promise<Reply> {
  const { clock, scrubber, onError, append } = context;
  const relay = new ProgressRelay({
    server: server.name,
    toolCallId: call.toolCallId,
    turnId: call.turnId,
    clock,
    scrubber,
    append: (event) => void append([event]).catch(onError),
    listener: call.options.onProgress,
    onError,
  });
  try {
    const reply = await lease.client.callTool(entry.name, call.args, {
      signal: call.signal,
      timeoutMs,
      maxTotalMs: Math.max(server.config.maxTotalMs, timeoutMs),
      onProgress: relay.report,
      takesSpills: true,
    });
    // A call that finds the connection dead may be faster than the event that says why.
    if (reply.kind === "failed" && !lease.client.isOpen) await lease.whenLost();
    return reply;
  } catch (cause) {
    onError(cause);
    const error = new HostError("ERR_PROTOCOL", `Cannot tell how the call of ${call.tool} ended`, { cause });
    return { kind: "failed", error, sent: true, refused: false, resends: 0 };
  } finally {
    relay.end();
  }
}

async function finish(
  call: Call,
  reply: Reply,
  lease: ServerLease,
  round: Round,
  context: CallContext,
): Promise<Outcome> {
  switch (reply.kind) {
    case "done":
      return await complete(call, reply, round, context);
    case "failed":
      return await fail(call, reply, readFailure(reply, lease.loss), round, lease.loss?.cause, context);
    case "input_required": {
      const error = unsupported(`answer what ${call.tool} asks for`, "call a tool that needs no further input");
      const failure: Failure = { kind: "failed", reason: "invalid_result", outcome: "answered", status: "failed" };
      return await fail(call, failedReply(error, reply.resends), failure, round, undefined, context);
    }
    case "task": {
      // The server goes on with it and nobody will fetch the result.
      const error = unsupported(
        `wait for the task that ${call.tool} was made into`,
        "call a tool that answers at once",
      );
      const failure: Failure = { kind: "failed", reason: "invalid_result", outcome: "unknown", status: "unknown" };
      return await fail(call, failedReply(error, reply.resends), failure, round, undefined, context);
    }
  }
}

async function complete(
  call: Call,
  reply: Extract<Reply, { kind: "done" }>,
  round: Round,
  context: CallContext,
): Promise<Outcome> {
  const { server, durationMs } = round;
  const resends = round.resends + reply.resends;
  const answered = callCompleted(call, server, durationMs, reply.bytes, resends);
  try {
    const found = structuredFinding(round.entry, reply.result, reply.spills);
    const reading = readOutput(reply.result, context.output, call.signal, reply.spills);
    const output = withFinding(reading instanceof Promise ? await reading : reading, found, context.scrubber);
    const findings = output.findings.map((each) => securityFinding(call, each));
    const events = [answered, ...findings, toolCompleted(call, output, durationMs)];
    const kept = output.artifacts ?? (output.artifact === undefined ? [] : [output.artifact]);
    events.unshift(...kept.map((artifact) => artifactStored(call, artifact)));
    return await call.end(events, true, () => call.completed(output));
  } catch (error) {
    const fault = faultOf(error, context.scrubber);
    const events = [answered, toolFailed(call, "invalid_result", "answered", fault)];
    return await call.end(events, true, () => call.failed("failed", "invalid_result", fault));
  }
}

async function fail(
  call: Call,
  reply: FailedReply,
  failure: Failure,
  round: Round,
  cause: EventCursor | undefined,
  context: CallContext,
): Promise<Outcome> {
  const fault = faultOf(reply.error, context.scrubber);
  const failed = callFailed(call, round.server, fault, failure.outcome, round.resends + reply.resends, cause);
  const wasSent = failure.outcome !== "not_sent";
  if (failure.kind === "cancelled") {
    return await call.end([failed, toolCancelled(call, failure.outcome)], wasSent, () => call.cancelled());
  }
  const { reason, outcome, status } = failure;
  return await call.end(
    [failed, toolFailed(call, reason, outcome, fault, cause)],
    wasSent,
    () => call.failed(status, reason, fault),
  );
}

/** Ends a call whose server cannot be had. Nothing was sent. */
export async function refuse(call: Call, error: unknown, context: CallContext): Promise<Outcome> {
  if (isHostError(error, "ERR_CANCELLED")) {
    return await call.end([toolCancelled(call, "not_sent")], false, () => call.cancelled());
  }
  const fault = faultOf(error, context.scrubber);
  const reason = refusalReason(error);
  const cause = isHostError(error) ? (error.facts["cause"] as EventCursor | undefined) : undefined;
  return await call.end(
    [toolFailed(call, reason, "not_sent", fault, cause)],
    false,
    () => call.failed("failed", reason, fault),
  );
}

function refusalReason(error: unknown): ToolFailureReason {
  if (isHostError(error, "ERR_SESSION_CLOSED")) return "session_closed";
  const reason = isHostError(error) ? error.facts["reason"] : undefined;
  return typeof reason === "string" ? (reason as ToolFailureReason) : "mcp_server_not_connected";
}

function changedMeanwhile(tool: string): HostError {
  return new HostError("ERR_TOOL_NOT_FOUND", `Cannot call ${tool}: its definition has changed since it was allowed`, {
    facts: { reason: "quarantined" },
  });
}

function failedReply(error: HostError, resends: number): FailedReply {
  return { kind: "failed", error, sent: true, refused: false, resends };
}
