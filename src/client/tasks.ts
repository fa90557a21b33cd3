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

const MAX_TOTAL_MS = 600_000;
const POLL_MS = 1000;
const MIN_POLL_MS = 100;
const MAX_POLL_MS = 60_000;
/** How long a word that a task is given up may take. */
const CANCEL_MS = 5000;
/** Looks in a row that may fail: they change nothing, so they are repeated. */
const MAX_FAILED_LOOKS = 3;
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
 */
export async function awaitTask(client: Client, task: TaskRef, options: TaskOptions = {}): Promise<Reply> {
  const wait = new TaskWait(client, task, options);
  try {
    return await wait.run();
  } catch (error) {
    if (options.signal?.aborted) return wait.giveUp(cancelled("Wait for a task", options.signal));
    return wait.giveUp(
      isHostError(error)
        ? error
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
    for (;;) {
      const leftMs = this.#deadline - this.#clock.monotonic();
      if (leftMs <= 0) return this.giveUp(new HostError("ERR_TIMEOUT", "Wait for a task timed out: it has not ended"));
      await sleep(this.#clock, Math.min(this.#pollMs, leftMs), this.#options.signal);
      const looked = await this.#look();
      if ("ended" in looked) return looked.ended;
      const { task, spills, bytes } = looked;
      const { status, pollInterval, pollIntervalMs } = task;
      this.#pollMs = pollMs(pollIntervalMs ?? pollInterval, this.#pollMs);
      if (status === "completed" && !hasResultRequest) return this.#inline(task, bytes, spills);
      abortSpills(spills);
      switch (status) {
        case "working":
          continue;
        case "input_required":
          if (hasResultRequest) return await this.#result();
          await this.#answer(asObject(task["inputRequests"]) ?? {});
          continue;
        case "completed":
        case "failed":
          return hasResultRequest ? await this.#result() : failed(errorOf(task));
        case "cancelled":
          return failed(
            new HostError("ERR_CANCELLED", "Task was cancelled by the server", { facts: { by: "server" } }),
          );
        default:
          return failed(new HostError("ERR_PROTOCOL", "Cannot tell how a task stands: its status is none"));
      }
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

  /** How the task stands, or the reply that ends the waiting. */
  async #look(): Promise<
    | { readonly task: JsonObject; readonly bytes: number; readonly spills: readonly Spill[] | undefined }
    | { readonly ended: Reply }
  > {
    for (let failures = 1;; failures++) {
      const reply = await this.#request("tasks/get", {}, this.#takingSpills);
      if (reply.kind === "done") return { task: reply.result, bytes: reply.bytes, spills: reply.spills };
      if (reply.kind === "task") return { task: reply.task, bytes: reply.bytes, spills: undefined };
      if (this.#options.signal?.aborted) throw this.#options.signal.reason;
      if (reply.kind === "input_required") {
        return {
          ended: failed(new HostError("ERR_PROTOCOL", "Cannot tell how a task stands: a look at it asks back")),
        };
      }
      if (isRemoteError(reply.error) || !this.#client.isOpen || failures >= MAX_FAILED_LOOKS) {
        return { ended: failed(reply.error) };
      }
      await sleep(this.#clock, this.#pollMs, this.#options.signal);
    }
  }

  async #answer(inputRequests: JsonObject): Promise<void> {
    const fresh = Object.entries(inputRequests).filter(([key]) => !this.#answered.has(key));
    if (fresh.length === 0) return;
    if (this.#answers === undefined) throw new HostError("ERR_PROTOCOL", "Cannot answer what a task asks for");
    const from = this.#clock.monotonic();
    const inputResponses = await this.#answers.inputs(Object.fromEntries(fresh));
    this.#deadline += this.#clock.monotonic() - from;
    for (const [key] of fresh) this.#answered.add(key);
    const reply = await this.#request("tasks/update", { inputResponses });
    if (reply.kind === "failed") throw reply.error;
  }

  /** Waits for as long as it takes: the server answers when the task has ended. */
  async #result(): Promise<Reply> {
    const leftMs = Math.max(1, this.#deadline - this.#clock.monotonic());
    const { onProgress } = this.#options;
    const alone = this.#answers?.alone;
    const reply = await this.#request("tasks/result", {}, {
      ...this.#takingSpills,
      timeoutMs: leftMs,
      maxTotalMs: leftMs,
      ...(onProgress === undefined ? {} : { onProgress }),
      ...(alone === undefined ? {} : { asks: alone }),
    });
    if (reply.kind !== "failed" || isRemoteError(reply.error)) return reply;
    return this.giveUp(reply.error);
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

  #request(method: string, params: JsonObject, more: RequestOptions = {}): Promise<Reply> {
    const { signal, timeoutMs } = this.#options;
    return this.#client.request(method, { taskId: this.#task.taskId, ...params }, {
      ...(signal === undefined ? {} : { signal }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...more,
    });
  }
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
