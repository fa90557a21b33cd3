import type { CatalogEntry } from "../catalog/catalog.ts";
import type { RequestOptions } from "../client/client.ts";
import type { FailedReply, Reply } from "../client/reply.ts";
import type { EventInput } from "../events/event.ts";
import { taskParamsFor } from "../client/tasks.ts";
import { untilAborted } from "../kernel/abort.ts";
import { atMost } from "../kernel/clock.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { HostError, isHostError } from "../kernel/errors.ts";
import type { JsonObject } from "../protocol/model.ts";
import { faultOf } from "../servers/fault.ts";
import { noteGivenUp, ownAsks } from "../servers/given_up.ts";
import type { Server, ServerLease } from "../servers/server.ts";
import { sendable } from "./arguments.ts";
import type { Call } from "./call.ts";
import { callFailed, callStarted, toolStarted } from "./call_events.ts";
import { refuse } from "./ending.ts";
import { readFailure } from "./failure.ts";
import type { Inputs, ServerCallContext } from "./inputs.ts";
import type { Outcome } from "./outcome.ts";
import { ProgressRelay } from "./progress_relay.ts";

/** A resolved tool of a server, and the arguments as events show them. */
export interface ServerRoute {
  readonly server: Server;
  readonly entry: CatalogEntry;
  readonly argsPreview: unknown;
}

/** One request of a call. */
export interface Round {
  /** From 1. */
  readonly number: number;
  /** Events that it rests on and that are not in the log yet. */
  readonly before: readonly EventInput[];
  /** What a round after the first has beside the call's own parameters. */
  readonly input: JsonObject | undefined;
  /** What is left of the maximum of the call. */
  readonly maxTotalMs: number;
}

/** What a round came to: an answer, with the lease that is to be released, or the end of the call. */
export type Sent =
  | {
    readonly kind: "answered";
    readonly reply: Reply;
    readonly lease: ServerLease;
    readonly server: string;
    readonly durationMs: number;
    readonly resends: number;
    /** The server was asked to make a task of it. */
    readonly isTask: boolean;
    /** Of a task, progress goes on after the answer, until this is called. Idempotent. */
    readonly endProgress: () => void;
  }
  /** Without an outcome when the tool is not any more what was allowed; the server has executed nothing then. */
  | { readonly kind: "ended"; readonly outcome: Outcome | undefined };

/** How often a call that the server has not executed for certain may go to its next connection. */
const MAX_MOVES = 4;

/** Takes the connection, logs the intent, sends and reads one reply. */
export async function sendRound(
  call: Call,
  route: ServerRoute,
  round: Round,
  inputs: Inputs | undefined,
  context: ServerCallContext,
): Promise<Sent> {
  const { server, entry } = route;
  const { clock } = context;
  const { number } = round;
  const before = number === 1 ? "not_sent" : "answered";
  const timeoutMs = call.options.timeoutMs ?? server.config.timeoutMs;
  let pending = round.before;
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
        return { kind: "ended", outcome: await refuse(call, error, context, before) };
      }
      waitedMs += clock.monotonic() - waitsFrom;
    }
    let isHandedOn = false;
    try {
      if (!isUnchanged(server, entry)) {
        if (moves > 0 || number > 1) {
          if (pending.length > 0) await call.append(pending);
          return { kind: "ended", outcome: await refuse(call, changedMeanwhile(call.tool), context, before) };
        }
        if (pending.length > 0) await call.append(pending);
        return { kind: "ended", outcome: undefined };
      }
      const started = callStarted(call, server.name, entry.name, route.argsPreview, number);
      await call.append(call.isStarted ? [...pending, started] : [...pending, started, toolStarted(call)]);
      call.isStarted = true;
      pending = [];
      const task = taskParamsFor(lease.client.facts, entry.definition);
      const sentAt = clock.monotonic();
      const asked = task === undefined ? round : { ...round, input: { ...task, ...round.input } };
      const progress = progressOf(call, server.name, context);
      const until = task === undefined ? undefined : new AbortController();
      const endProgress = (): void => {
        progress.end();
        until?.abort();
      };
      let changed: HostError | undefined;
      let refusedWith: FailedReply["error"] | undefined;
      const beforeResend = async (refusal: FailedReply["error"]): Promise<FailedReply["error"] | undefined> => {
        refusedWith = refusal;
        try {
          const relisted = atMost(clock, timeoutMs, server.relist());
          if (await untilAborted(relisted, `Call of ${call.tool}`, call.signal) !== true) return refusal;
        } catch (error) {
          return error as HostError;
        }
        if (isUnchanged(server, entry)) refusedWith = undefined;
        else changed = changedMeanwhile(call.tool);
        return changed;
      };
      const options: SendOptions = {
        timeoutMs: Math.max(1, timeoutMs - waitedMs),
        maxTotalMs: asked.maxTotalMs,
        signal: inputs?.signal ?? call.signal,
        onProgress: progress.report,
        takesSpills: true,
        beforeResend,
      };
      if (until !== undefined) options.progressUntil = until.signal;
      const answered = await send(call, lease, route, asked.input, options, inputs, context);
      const reply = refusedWith === undefined ? answered : notSentAgain(answered, refusedWith);
      if (task === undefined || reply.kind === "failed") endProgress();
      const wasNotExecuted = reply.kind === "failed" && (!reply.sent || (reply.refused && resends === 0));
      if (wasNotExecuted && lease.loss !== undefined && moves < MAX_MOVES && !call.signal.aborted) {
        // Its connection has ended under it and the server did not execute it: it may go to the next connection.
        const { outcome } = readFailure(reply, lease.loss);
        const fault = faultOf(reply.error, context.scrubber);
        await call.append([callFailed(call, server.name, fault, outcome, resends, lease.loss.cause)]);
        if (reply.sent) resends++;
        continue;
      }
      if (reply.kind === "failed" && reply.error === changed) {
        const fault = faultOf(changed, context.scrubber);
        await call.append([
          ...(inputs?.closing() ?? []),
          callFailed(call, server.name, fault, "answered", resends + reply.resends, undefined),
        ]);
        // A call that is in the log as started can be decided anew only where its name still leads somewhere.
        const isDecidedAnew = number === 1 && moves === 0 && server.catalog?.byName(entry.name) !== undefined;
        const outcome = isDecidedAnew ? undefined : await refuse(call, changed, context, "answered");
        return { kind: "ended", outcome };
      }
      isHandedOn = true;
      const durationMs = Math.round(clock.monotonic() - sentAt);
      const isTask = task !== undefined;
      return { kind: "answered", reply, lease, server: server.name, durationMs, resends, isTask, endProgress };
    } finally {
      if (!isHandedOn) lease.release();
    }
  }
}

/** The current definition must be the one that was allowed; a list that came meanwhile may have changed it. */
function isUnchanged(server: Server, entry: CatalogEntry): boolean {
  const current = server.catalog?.byName(entry.name);
  if (current === entry) return true;
  return current !== undefined && canonicalJson(current.definition) === canonicalJson(entry.definition);
}

/** Filled in member by member: this is made for every call, and to spread objects together costs more. */
type SendOptions = { -readonly [K in keyof RequestOptions]: RequestOptions[K] };

async function send(
  call: Call,
  lease: ServerLease,
  { server, entry }: ServerRoute,
  input: JsonObject | undefined,
  options: SendOptions,
  inputs: Inputs | undefined,
  context: ServerCallContext,
): Promise<Reply> {
  const { onError, session, clock } = context;
  const trace = context.trace?.();
  const { logLevel } = server.config;
  if (inputs !== undefined) options.asks = ownAsks(lease.client, session, clock, inputs.answer);
  if (trace !== undefined) options.trace = trace;
  if (logLevel !== undefined) options.logLevel = logLevel;
  try {
    const args = sendable(call.args);
    const reply = input === undefined
      ? await lease.client.callTool(entry.name, args, options)
      : await lease.client.request("tools/call", { name: entry.name, arguments: args, ...input }, options);
    noteGivenUp(lease.client, session, clock, reply);
    // A call that finds the connection dead may be faster than the event that says why.
    if (reply.kind === "failed" && !lease.client.isOpen) await lease.whenLost();
    return reply;
  } catch (cause) {
    onError(cause);
    const error = new HostError("ERR_PROTOCOL", `Cannot tell how the call of ${call.tool} ended`, { cause });
    return { kind: "failed", error, sent: true, refused: false, resends: 0 };
  }
}

/** What ended a request while it was held back had been refused by proof, and a silence is not its server's. */
function notSentAgain(reply: Reply, refusedWith: FailedReply["error"]): Reply {
  if (reply.kind !== "failed") return reply;
  return { ...reply, refused: true, error: isHostError(reply.error, "ERR_TIMEOUT") ? refusedWith : reply.error };
}

function progressOf(call: Call, server: string, context: ServerCallContext): ProgressRelay {
  const { clock, scrubber, onError, append } = context;
  return new ProgressRelay({
    server,
    toolCallId: call.toolCallId,
    turnId: call.turnId,
    clock,
    scrubber,
    append: (event) => void Promise.resolve(append([event])).catch(onError),
    listener: call.options.onProgress,
    onError,
  });
}

function changedMeanwhile(tool: string): HostError {
  return new HostError("ERR_TOOL_NOT_FOUND", `Cannot call ${tool}: its definition has changed since it was allowed`, {
    facts: { reason: "quarantined" },
  });
}
