import type { CatalogEntry } from "../catalog/catalog.ts";
import type { FailedReply, Reply } from "../client/reply.ts";
import { MAX_ROUNDS, outOfTime, tooManyRounds } from "../client/rounds.ts";
import { awaitTask, taskOf, type TaskRef } from "../client/tasks.ts";
import { isAgreed, urlsRequired } from "../client/url_ask.ts";
import type { EventInput } from "../events/event.ts";
import type { ToolFailureReason } from "../events/payloads.ts";
import { cancelled } from "../kernel/abort.ts";
import { sleep } from "../kernel/clock.ts";
import { HostError, isHostError, unsupported } from "../kernel/errors.ts";
import type { JsonObject } from "../protocol/model.ts";
import type { Call } from "./call.ts";
import { callSuspended } from "./call_events.ts";
import { fail, finish, type LastRound, notGoingOn } from "./ending.ts";
import type { Failure } from "./failure.ts";
import { type AskOwner, Inputs, type ServerCallContext } from "./inputs.ts";
import type { Outcome } from "./outcome.ts";
import { type Round, sendRound, type Sent, type ServerRoute } from "./round.ts";

/** First wait before a round for which the server wanted nothing but patience; it doubles. */
const PATIENCE_MS = 250;
/** How long one look at a task may take. */
const LOOK_MS = 30_000;
const MAX_TASK_ID = 256;

/**
 * Makes an allowed call, in as many rounds as its server asks for. `before` are the events that the call rests on and
 * that are not in the log yet. `undefined` when the tool is not any more what was allowed; the server has executed nothing then.
 */
export async function callServer(
  call: Call,
  route: ServerRoute,
  before: readonly EventInput[],
  context: ServerCallContext,
): Promise<Outcome | undefined> {
  const { server, entry } = route;
  const timeoutMs = call.options.timeoutMs ?? server.config.timeoutMs;
  const { tool, toolCallId, signal } = call;
  const owner: AskOwner = {
    subject: { tool, toolCallId },
    name: tool,
    signal,
    append: (events) => call.append(events),
  };
  const inputs = context.asks === undefined ? undefined : new Inputs(owner, server.name, context, context.asks);
  let round: Round = {
    number: 1,
    before,
    input: undefined,
    maxTotalMs: Math.max(server.config.maxTotalMs, timeoutMs),
  };
  try {
    for (;;) {
      const sent = await sendRound(call, route, round, inputs, context);
      if (sent.kind === "ended") return sent.outcome;
      const next = await afterRound(call, sent, round, entry, inputs, context);
      if ("outcome" in next) return next.outcome;
      round = next.round;
    }
  } catch (error) {
    // Of a later round nothing is known but that the one before it was answered.
    if (round.number > 1 && isHostError(error, "ERR_NOT_LOGGED")) return call.notLogged(true);
    throw error;
  } finally {
    inputs?.leave();
  }
}

/** Ends the call with an answer, or goes on where the server wants something first. */
async function afterRound(
  call: Call,
  sent: Answered,
  round: Round,
  entry: CatalogEntry,
  inputs: Inputs | undefined,
  context: ServerCallContext,
): Promise<{ readonly round: Round } | { readonly outcome: Outcome }> {
  const { reply, lease, server, durationMs, resends } = sent;
  const before = inputs?.closing() ?? [];
  const last: LastRound = { number: round.number, server, entry, durationMs, resends, isOpen: true, before };
  try {
    const task = taskOf(reply, sent.isTask);
    if (task !== undefined) return { outcome: await awaitEnd(call, task, sent, round, last, inputs, context) };
    if (reply.kind === "task") {
      const error = new HostError(
        "ERR_PROTOCOL",
        `Cannot wait for the task that ${call.tool} was made into: it has no id`,
      );
      const failure: Failure = { kind: "failed", reason: "invalid_result", outcome: "unknown", status: "unknown" };
      return { outcome: await fail(call, notGoingOn(error, reply.resends), failure, last, undefined, context) };
    }
    const further = askedFor(reply, inputs);
    if (further === undefined) {
      return { outcome: await finish(call, reply as Answer, lease.loss, last, context) };
    }
    return await goOn(call, further, sent, round, last, inputs, context);
  } catch (error) {
    if (isHostError(error, "ERR_NOT_LOGGED")) return { outcome: call.notLogged(true) };
    throw error;
  } finally {
    sent.endProgress();
    lease.release();
  }
}

/** Waits for the task that the server has made of the call, and ends the call with its result. */
async function awaitEnd(
  call: Call,
  task: TaskRef,
  { reply, lease, resends, endProgress }: Answered,
  round: Round,
  last: LastRound,
  inputs: Inputs | undefined,
  context: ServerCallContext,
): Promise<Outcome> {
  const { clock } = context;
  const startedAt = clock.monotonic() - last.durationMs;
  const bytes = "bytes" in reply ? reply.bytes : 0;
  const made = callSuspended(call, { ...last, resends: resends + reply.resends }, bytes, {
    task: { taskId: context.scrubber.text(task.taskId).slice(0, MAX_TASK_ID) },
  });
  await call.append([...last.before, made]);
  const ended = await awaitTask(lease.client, task, {
    signal: inputs?.signal ?? call.signal,
    clock,
    timeoutMs: LOOK_MS,
    maxTotalMs: Math.max(1, round.maxTotalMs - last.durationMs),
    takesSpills: true,
    ...(inputs === undefined ? {} : { answers: { inputs: (asked) => inputs.answerNow(asked), alone: inputs.answer } }),
  });
  endProgress();
  if (ended.kind === "failed" && !lease.client.isOpen) await lease.whenLost();
  return await finish(call, ended as Answer, lease.loss, {
    ...last,
    durationMs: Math.round(clock.monotonic() - startedAt),
    isOpen: false,
    before: inputs?.closing() ?? [],
  }, context);
}

type Answered = Extract<Sent, { kind: "answered" }>;
type Answer = Extract<Reply, { kind: "done" | "failed" }>;

/** What the server wants before it goes on. */
interface Further {
  readonly inputRequests: JsonObject | undefined;
  readonly requestState: string | undefined;
  readonly bytes: number;
  /** What the call fails with when a person does not agree: the answers themselves are not sent. */
  readonly orElse: FailedReply | undefined;
}

function askedFor(reply: Reply, inputs: Inputs | undefined): Further | undefined {
  if (reply.kind === "input_required") return { ...reply, orElse: undefined };
  if (reply.kind !== "failed" || inputs?.takesUrls !== true) return undefined;
  const inputRequests = urlsRequired(reply.error);
  return inputRequests && { inputRequests, requestState: undefined, bytes: 0, orElse: reply };
}

/** Answers what the server asks for, and gives the next round or the end of the call. */
async function goOn(
  call: Call,
  { inputRequests, requestState, bytes, orElse }: Further,
  sent: Answered,
  round: Round,
  last: LastRound,
  inputs: Inputs | undefined,
  context: ServerCallContext,
): Promise<{ readonly round: Round } | { readonly outcome: Outcome }> {
  const { clock } = context;
  const resends = last.resends + sent.reply.resends;
  const asks = inputRequests === undefined ? 0 : Object.keys(inputRequests).length;
  const suspended = callSuspended(call, { ...last, resends }, bytes, { inputRequired: { asks } });
  const ended = async (
    error: FailedReply["error"],
    reason: ToolFailureReason | undefined,
    at: LastRound,
  ): Promise<{ readonly outcome: Outcome }> => {
    const reply = notGoingOn(error, sent.reply.resends);
    if (reason === undefined) return { outcome: await finish(call, reply, undefined, at, context) };
    const failure: Failure = { kind: "failed", reason, outcome: "answered", status: "failed" };
    return { outcome: await fail(call, reply, failure, at, undefined, context) };
  };
  const closed = (before: readonly EventInput[]): LastRound => ({ ...last, isOpen: false, before });

  if (round.number >= MAX_ROUNDS) {
    const error = tooManyRounds("tools/call", MAX_ROUNDS);
    return await ended(error, "too_many_rounds", closed([...last.before, suspended]));
  }
  let maxTotalMs = round.maxTotalMs - sent.durationMs;
  if (inputRequests === undefined) {
    await call.append([...last.before, suspended]);
    const patienceMs = Math.max(0, Math.min(PATIENCE_MS * 2 ** (round.number - 1), maxTotalMs));
    try {
      await sleep(clock, patienceMs, call.signal);
    } catch {
      return await ended(cancelled(`Call of ${call.tool}`, call.signal), undefined, closed([]));
    }
    maxTotalMs -= patienceMs;
    if (maxTotalMs <= 0) return await ended(outOfTime("tools/call"), undefined, closed([]));
    return { round: next(round, [], { requestState }, maxTotalMs) };
  }
  if (maxTotalMs <= 0) return await ended(outOfTime("tools/call"), undefined, closed([...last.before, suspended]));
  let begun: ReturnType<Inputs["begin"]>;
  try {
    if (inputs === undefined) throw unsupported(`answer what ${call.tool} asks for`, `hand "asks" to the host`);
    begun = inputs.begin(inputRequests);
  } catch (error) {
    if (orElse !== undefined) return await ended(orElse.error, undefined, last);
    return await ended(error as HostError, isHostError(error) ? undefined : "invalid_result", last);
  }
  await call.append([...last.before, suspended, ...begun.events]);
  const answered = await begun.answers();
  const { events } = answered;
  if (call.signal.aborted) {
    return await ended(cancelled(`Call of ${call.tool}`, call.signal), undefined, closed(events));
  }
  if (answered.kind === "refused") {
    return await ended(answered.error as HostError, "permission_denied", closed(events));
  }
  const { responses } = answered;
  if (orElse === undefined) {
    return { round: next(round, events, { inputResponses: responses, requestState }, maxTotalMs) };
  }
  if (!isAgreed(responses)) return await ended(orElse.error, undefined, closed(events));
  return { round: next(round, events, undefined, maxTotalMs) };
}

function next(
  { number }: Round,
  before: readonly EventInput[],
  input: JsonObject | undefined,
  maxTotalMs: number,
): Round {
  return { number: number + 1, before, input, maxTotalMs };
}
