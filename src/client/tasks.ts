import { cancelled } from "../kernel/abort.ts";
import { type Clock, sleep, systemClock } from "../kernel/clock.ts";
import { HostError, isHostError, isRemoteError, RemoteError } from "../kernel/errors.ts";
import type { AskAnswerer } from "../jsonrpc/peer_asks.ts";
import type { JsonObject, Tool } from "../protocol/model.ts";
import { abortSpills, type Spill } from "../jsonrpc/spill_sink.ts";
import { asObject } from "../protocol/results.ts";
import { answerInputs, type Asks } from "./asks.ts";
import type { Client, RequestOptions, ServerFacts } from "./client.ts";
import type { FailedReply, Reply } from "./reply.ts";

/** What a client declares that waits for tasks of 2026-07-28: `capabilities: { extensions: TASKS_EXTENSION }`. */
export const TASKS_EXTENSION: JsonObject = Object.freeze({ "io.modelcontextprotocol/tasks": Object.freeze({}) });

/** A task that a server has made of a call. */
export interface TaskRef {
  readonly taskId: string;
  /** Its result is fetched by a request of its own, on whose stream the server asks (2025-11-25). */
  readonly hasResultRequest: boolean;
  readonly pollMs: number;
  /** Time to live from its beginning; absent where it has no end. */
  readonly ttlMs: number | undefined;
}

/** Who answers what is asked for the sake of a task. */
export interface TaskAnswers {
  /** What stands in the task itself; throws what {@link answerInputs} throws. */
  inputs(inputRequests: JsonObject): Promise<JsonObject>;
  /** What an older server asks while the result is waited for. */
  readonly alone: AskAnswerer | undefined;
}

export interface TaskOptions
  extends Pick<RequestOptions, "signal" | "timeoutMs" | "maxTotalMs" | "onProgress" | "takesSpills"> {
  /** Answers what the server asks for the sake of the task, see `answering`. Default: nothing is answered. */
  readonly asks?: Asks;
  /** In the place of `asks`. */
  readonly answers?: TaskAnswers;
  /** Default: the runtime's. */
  readonly clock?: Clock;
}

const TIMEOUT_MS = 60_000;
const MAX_TOTAL_MS = 600_000;
const POLL_MS = 1000;
const MIN_POLL_MS = 100;
const MAX_POLL_MS = 60_000;
/** How long a word that a task is given up may take. */
const CANCEL_MS = 5000;
/** What is left for the last look where the next one would come too late. */
const LAST_LOOK_MS = 1000;
/** Looks in a row that may fail: they change nothing, so they are repeated. */
const MAX_FAILED_LOOKS = 3;
/**
 * What servers answer with that do not know a task: invalid params (2025-11-25, tasks), in the field "not found", too, or
 * that know of no tasks at all.
 */
const NOT_FOUND: ReadonlySet<unknown> = new Set([-32602, -32002, -32601]);
/** Asks that one task may bring with it, in whatever way they are asked. */
const MAX_ASKS = 64;
const STATUSES: ReadonlySet<unknown> = new Set(["working", "input_required", "completed", "failed", "cancelled"]);
const MAX_ID_LENGTH = 1024;
const RESULT = "/result/";
const INLINE = "/result/result/";

/**
 * What a call of this tool has to have beside its name and arguments so that the server makes a task of it
 * (2025-11-25, tasks): only where the tool demands it and the server has said that it can.
 */
export function taskParamsFor({ capabilities }: ServerFacts, { execution }: Tool): JsonObject | undefined {
  if (asObject(execution)?.["taskSupport"] !== "required") return undefined;
  const { requests } = asObject(capabilities["tasks"]) ?? {};
  return asObject(asObject(requests)?.["tools"])?.["call"] === undefined ? undefined : { task: {} };
}

/**
 * The task that a reply to `tools/call` hands out, of either kind; `undefined` for any other reply. `wasAsked`: the call
 * went out with {@link taskParamsFor}; without, a result that looks like a task is a result.
 */
export function taskOf(reply: Reply, wasAsked: boolean): TaskRef | undefined {
  if (reply.kind === "task") return refOf(reply.task, false);
  return reply.kind === "done" && wasAsked ? refOf(asObject(reply.result["task"]) ?? {}, true) : undefined;
}

/**
 * Waits for the end of a task and gives what the call would have been answered with. Looks as often as the server wants
 * it to, answers what is asked meanwhile, each ask once, and tells the server when nobody waits any more. Never rejects.
 * `maxTotalMs` (default 600,000) bounds the waiting, the time that a person takes to answer left out.
 *
 * A `RemoteError`, and `ERR_CANCELLED` with `facts.by` "server", is how the task itself has ended. A task that cannot be
 * followed to its end may have done all of its work: the error is one of ours then, with `facts.task` "open" where its
 * code does not tell, and with what the server has answered, if anything, as `cause`.
 */
export async function awaitTask(client: Client, task: TaskRef, options: TaskOptions = {}): Promise<Reply> {
  const wait = new TaskWait(client, task, options);
  try {
    return await wait.run();
  } catch (error) {
    if (options.signal?.aborted) return wait.giveUp(cancelled("Wait for a task", options.signal));
    return wait.giveUp(
      isHostError(error)
        // What it asks for may be of no shape that can be answered; how it ends is not known for that.
        ? error.code === "ERR_PROTOCOL" && error.facts["task"] === undefined ? notFollowed(error) : error
        : new HostError("ERR_CANCELLED", "Cannot go on with a task: the handler of an ask failed", {
          cause: error,
        }),
    );
  }
}

class TaskWait {
  readonly #client: Client;
  readonly #task: TaskRef;
  readonly #options: TaskOptions;
  readonly #clock: Clock;
  readonly #takingSpills: Pick<RequestOptions, "takesSpills">;
  readonly #answers: TaskAnswers | undefined;
  /** Keys of asks that were answered; they are unique for the life of the task. */
  readonly #answered = new Set<string>();
  /** On the monotonic clock. */
  #deadline: number;
  #pollMs: number;
  /** The last look before the deadline was brought forward. */
  #isLast = false;
  /** What a person is to answer, and since when. */
  #openAsks = 0;
  #asks = 0;
  #askedAt = 0;

  constructor(client: Client, task: TaskRef, options: TaskOptions) {
    this.#client = client;
    this.#task = task;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#pollMs = task.pollMs;
    this.#takingSpills = options.takesSpills === true ? { takesSpills: true } : {};
    this.#deadline = this.#clock.monotonic() + Math.min(options.maxTotalMs ?? MAX_TOTAL_MS, task.ttlMs ?? Infinity);
    const { asks, answers, signal } = options;
    this.#answers = answers ?? (asks && {
      inputs: (inputs) => answerInputs(asks.handlers, inputs, { signal: signal ?? new AbortController().signal }),
      alone: asks.answer,
    });
  }

  async run(): Promise<Reply> {
    const { hasResultRequest } = this.#task;
    let failedLooks = 0;
    let refusedResults = 0;
    for (;;) {
      const leftMs = this.#leftMs();
      if (leftMs <= 0) return this.giveUp(new HostError("ERR_TIMEOUT", "Wait for a task timed out: it has not ended"));
      await sleep(this.#clock, this.#untilNextMs(leftMs), this.#options.signal);
      if (this.#leftMs() <= 0) continue;
      const looked = await this.#look();
      if ("error" in looked) {
        if (!this.#client.isOpen || isNotFound(looked.error)) return failed(notFollowed(looked.error));
        if (++failedLooks >= MAX_FAILED_LOOKS) return this.giveUp(notFollowed(looked.error));
        continue;
      }
      failedLooks = 0;
      const { task, spills, bytes } = looked;
      const { status, pollInterval, pollIntervalMs } = task;
      this.#pollMs = pollMs(pollIntervalMs ?? pollInterval, this.#pollMs);
      if (status === "completed" && !hasResultRequest) return this.#inline(task, bytes, spills);
      abortSpills(spills);
      if (status === "working") continue;
      if (status === "cancelled") {
        return failed(new HostError("ERR_CANCELLED", "Task was cancelled by the server", { facts: { by: "server" } }));
      }
      if (!hasResultRequest) {
        if (status === "failed") return failed(errorOf(task));
        await this.#answer(asObject(task["inputRequests"]) ?? {});
        continue;
      }
      const reply = await this.#result();
      if (reply.kind !== "failed") return reply;
      if (isHostError(reply.error)) {
        // What the server has cancelled is the request, not the task.
        return this.giveUp(reply.error.facts["by"] === "server" ? notFollowed(reply.error) : reply.error);
      }
      // The error is that of the call only if the task has failed, which for one that has gone on the next look tells.
      if (status === "failed") return reply;
      if (++refusedResults >= MAX_FAILED_LOOKS) return this.giveUp(notFollowed(reply.error));
    }
  }

  /** Tells the server that nobody waits any more. */
  giveUp(error: HostError): FailedReply {
    const { taskId } = this.#task;
    // Whether the server listens is its own matter, and nobody waits for that either.
    if (this.#client.isOpen) {
      void this.#client.request("tasks/cancel", { taskId }, { timeoutMs: CANCEL_MS, maxTotalMs: CANCEL_MS });
    }
    return failed(error);
  }

  #leftMs(): number {
    return this.#deadline - this.#clock.monotonic();
  }

  /** Until the next look. One that would come too late comes once while there is time for its answer. */
  #untilNextMs(leftMs: number): number {
    if (this.#pollMs < leftMs) return this.#pollMs;
    if (this.#isLast) return leftMs;
    this.#isLast = true;
    return Math.max(leftMs - LAST_LOOK_MS, leftMs / 2);
  }

  /** How the task stands, or why that cannot be told. */
  async #look(): Promise<
    | { readonly task: JsonObject; readonly bytes: number; readonly spills: readonly Spill[] | undefined }
    | { readonly error: FailedReply["error"] }
  > {
    const reply = await this.#request("tasks/get", {}, this.#takingSpills);
    if (reply.kind === "failed") {
      if (this.#options.signal?.aborted) throw this.#options.signal.reason;
      return { error: reply.error };
    }
    if (reply.kind === "input_required") return { error: unreadable("a look at it asks back") };
    const { bytes } = reply;
    const [task, spills] = reply.kind === "done" ? [reply.result, reply.spills] : [reply.task, undefined];
    const { taskId = this.#task.taskId, status } = task;
    if (taskId === this.#task.taskId && STATUSES.has(status)) return { task, bytes, spills };
    abortSpills(spills);
    return { error: unreadable(STATUSES.has(status) ? "the answer is about another one" : "its status is none") };
  }

  async #answer(inputRequests: JsonObject): Promise<void> {
    const fresh = Object.entries(inputRequests).filter(([key]) => !this.#answered.has(key));
    if (fresh.length === 0) return;
    const answers = this.#answers;
    if (answers === undefined) throw new HostError("ERR_PROTOCOL", "Cannot answer what a task asks for");
    const inputResponses = await this.#held(fresh.length, () => answers.inputs(Object.fromEntries(fresh)));
    for (const [key] of fresh) this.#answered.add(key);
    const reply = await this.#request("tasks/update", { inputResponses });
    if (reply.kind === "failed") throw notFollowed(reply.error);
  }

  /** Waits for as long as it takes: the server answers when the task has ended. */
  async #result(): Promise<Reply> {
    const { onProgress } = this.#options;
    const alone = this.#answers?.alone;
    return await this.#request("tasks/result", {}, {
      ...this.#takingSpills,
      timeoutMs: Math.max(1, this.#leftMs()),
      ...(onProgress === undefined ? {} : { onProgress }),
      ...(alone === undefined ? {} : { asks: (...ask) => this.#held(1, () => alone(...ask)) }),
    });
  }

  /**
   * The time that a person takes does not count; that of several at once is left out once. Nobody is asked any more for a
   * task that asks too often.
   */
  async #held<T>(asks: number, answering: () => T | Promise<T>): Promise<T> {
    this.#asks += asks;
    if (this.#asks > MAX_ASKS) {
      throw new HostError(
        "ERR_PROTOCOL",
        `Cannot answer what a task asks for: it asks for more than ${MAX_ASKS} things`,
        { facts: { asks: MAX_ASKS } },
      );
    }
    if (this.#openAsks++ === 0) this.#askedAt = this.#clock.monotonic();
    try {
      return await answering();
    } finally {
      if (--this.#openAsks === 0) this.#deadline += this.#clock.monotonic() - this.#askedAt;
    }
  }

  /** The result that stands in a task that has completed. */
  #inline({ result }: JsonObject, bytes: number, spills: readonly Spill[] = []): Reply {
    const object = asObject(result);
    // Long strings that were put aside are found from the message's root, where the result stands one step deeper here.
    const [own, others] = [true, false].map((isOwn) =>
      spills.filter(({ pointer }) => pointer.startsWith(INLINE) === isOwn)
    );
    abortSpills(others);
    if (object === undefined) {
      abortSpills(own);
      return failed(new HostError("ERR_PROTOCOL", "Cannot use a task that has ended: it has no result"));
    }
    const reply: Reply = { kind: "done", result: object, bytes, resends: 0 };
    if (own === undefined || own.length === 0) return reply;
    const moved = own.map((spill) => ({ ...spill, pointer: spill.pointer.slice(INLINE.length - RESULT.length) }));
    return { ...reply, spills: moved };
  }

  /** Ends with the wait. */
  #request(method: string, params: JsonObject, more: RequestOptions = {}): Promise<Reply> {
    const { signal, timeoutMs = TIMEOUT_MS } = this.#options;
    const leftMs = Math.max(1, this.#leftMs());
    return this.#client.request(method, { taskId: this.#task.taskId, ...params }, {
      ...(signal === undefined ? {} : { signal }),
      timeoutMs: Math.min(timeoutMs, leftMs),
      maxTotalMs: leftMs,
      ...more,
    });
  }
}

function isNotFound(error: FailedReply["error"]): boolean {
  return isRemoteError(error) && NOT_FOUND.has(error.code);
}

function unreadable(why: string): HostError {
  return new HostError("ERR_PROTOCOL", `Cannot tell how a task stands: ${why}`);
}

/** The error for a task that nothing more can be learned of. What was answered is no answer of the tool. */
function notFollowed(cause: FailedReply["error"]): HostError {
  const [code, why, facts] = isRemoteError(cause)
    ? ["ERR_PROTOCOL" as const, `the server refused to tell of it with error ${cause.code}`, {}]
    // A look that the server has cancelled cancels neither the task nor the wait.
    : [cause.code === "ERR_CANCELLED" ? "ERR_PROTOCOL" as const : cause.code, cause.message, cause.facts];
  return new HostError(code, `Cannot follow a task to its end: ${why}`, { cause, facts: { ...facts, task: "open" } });
}

function errorOf(task: JsonObject): RemoteError {
  const { code, message, data } = asObject(task["error"]) ?? {};
  const number = Number.isSafeInteger(code) ? code as number : -32603;
  return new RemoteError(number, typeof message === "string" ? message : "", data);
}

function refOf(task: JsonObject, hasResultRequest: boolean): TaskRef | undefined {
  const { taskId, pollInterval, pollIntervalMs, ttl, ttlMs } = task;
  if (typeof taskId !== "string" || taskId === "" || taskId.length > MAX_ID_LENGTH) return undefined;
  const lives = hasResultRequest ? ttl : ttlMs;
  return {
    taskId,
    hasResultRequest,
    pollMs: pollMs(hasResultRequest ? pollInterval : pollIntervalMs, POLL_MS),
    ttlMs: typeof lives === "number" && lives > 0 ? lives : undefined,
  };
}

function pollMs(wanted: unknown, otherwise: number): number {
  if (typeof wanted !== "number" || !Number.isFinite(wanted)) return otherwise;
  return Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, wanted));
}

function failed(error: FailedReply["error"]): FailedReply {
  return { kind: "failed", error, sent: true, refused: false, resends: 0 };
}
