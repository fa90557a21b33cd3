import type { EventInput } from "../events/event.ts";
import type { Written } from "../events/sink.ts";
import type { Clock } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";
import type { RequestOptions } from "../client/client.ts";
import type { Caller } from "../permission/request.ts";
import type { Progress } from "../protocol/model.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import type { CallFacts } from "./call_events.ts";
import type { Fault } from "../servers/fault.ts";
import type { CallAsks } from "./host_asks.ts";
import { type Outcome, type OutcomeReason, withoutResult } from "./outcome.ts";
import type { Output, OutputOptions } from "./output.ts";
import { written } from "./written.ts";

/** How a tool is called. */
export interface CallOptions {
  /** Gives up on this call alone; its server and its session go on. */
  readonly signal?: AbortSignal;
  /**
   * Silence after which the call fails, ms; progress starts it again, and each further 64 KiB of a long answer. Default: the
   * server's `timeoutMs`, 60,000.
   */
  readonly timeoutMs?: number;
  /** Told of the tool's progress, scrubbed. */
  readonly onProgress?: (progress: Progress) => void;
  /**
   * Names this call, so that making it again does not execute it again: the same id with the same arguments joins the
   * running call or gives its outcome, which is kept for 24 hours (the last 1,000 of a session). Default: a fresh one.
   */
  readonly toolCallId?: string;
  /**
   * What to do when somebody has to decide: `wait` (default where the host has an approver), `return` an outcome
   * `pending` that `resume` goes on with, or `deny` (default without an approver).
   */
  readonly onAsk?: "wait" | "return" | "deny";
  /** Who wants the call, as the policy and the log see it. Default `caller`: the code that holds the session. */
  readonly by?: Caller;
  /** The turn that this call belongs to, for its events. */
  readonly turnId?: string;
}

const TIMEOUT_MS = 60_000;

/** What every call of a session works with. */
export interface CallContext {
  readonly append: (events: readonly EventInput[]) => Written;
  readonly clock: Clock;
  readonly scrubber: Scrubber;
  readonly output: OutputOptions;
  /** The trace of what is sent now. Never throws. */
  readonly trace?: () => RequestOptions["trace"];
  /** Answers what servers ask for the sake of a call. Absent: nothing is answered. */
  readonly asks?: CallAsks;
  /** Told of faults that have no caller. */
  readonly onError: (error: unknown) => void;
}

/** One call on its way from a name to its outcome. */
export class Call implements CallFacts {
  /** The name as given, until it is resolved; then the full name, or the bare name of a local tool. */
  tool: string;
  /** The permission request that it rests on. */
  requestId: string | undefined;
  /** Its `tool.started` is in the log. */
  isStarted = false;
  readonly toolCallId: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly options: CallOptions;
  /** Fires when the caller gives up or the session ends. */
  readonly signal: AbortSignal;
  readonly #context: CallContext;
  readonly #startedAt: number;

  constructor(
    facts: { readonly tool: string; readonly toolCallId: string; readonly args: Readonly<Record<string, unknown>> },
    options: CallOptions,
    signal: AbortSignal,
    context: CallContext,
  ) {
    this.tool = facts.tool;
    this.toolCallId = facts.toolCallId;
    this.args = facts.args;
    this.options = options;
    this.signal = signal;
    this.#context = context;
    this.#startedAt = context.clock.monotonic();
  }

  get turnId(): string | undefined {
    return this.options.turnId;
  }

  /** Whole milliseconds since the call was made. */
  get durationMs(): number {
    return Math.round(this.#context.clock.monotonic() - this.#startedAt);
  }

  /** Writes events. Rejects with `ERR_NOT_LOGGED`: what is not in the log must not be acted on. */
  append(events: readonly EventInput[]): void | Promise<void> {
    return this.#writing(events)?.then(() => {/* they are stored */}, (cause: unknown) => {
      throw new HostError(
        "ERR_NOT_LOGGED",
        `Cannot go on with the call of ${this.tool}: the event log does not take it`,
        { cause },
      );
    });
  }

  /**
   * Ends the call with its closing events. Where these cannot be written the outcome is that: `failed` if nothing was
   * sent, else `unknown`, since what is not logged must not be told as done.
   */
  end(events: readonly EventInput[], wasSent: boolean, outcome: () => Outcome): Outcome | Promise<Outcome> {
    const writing = this.#writing(events);
    // Whoever owns the log knows why it takes nothing more; this caller has to know that it does not.
    return writing === undefined ? outcome() : writing.then(outcome, () => this.notLogged(wasSent));
  }

  /** Nothing to wait for where the events are stored already. */
  #writing(events: readonly EventInput[]): Promise<unknown> | undefined {
    const { clock, append } = this.#context;
    let writing: Written;
    try {
      writing = append(this.#ofTurn(events));
    } catch (error) {
      // Events of a gate of the user's own may be anything.
      return Promise.reject(error);
    }
    if (!(writing instanceof Promise)) return undefined;
    const { signal, tool, options: { timeoutMs = TIMEOUT_MS } } = this;
    return written(writing, { what: `the call of ${tool}`, signal, timeoutMs, clock });
  }

  /** What the gate made knows nothing of turns: all events of a call belong to the call's turn. */
  #ofTurn(events: readonly EventInput[]): readonly EventInput[] {
    const { turnId } = this;
    if (turnId === undefined) return events;
    return events.map((event) => event.turnId === undefined ? { ...event, turnId } : event);
  }

  notLogged(wasSent: boolean): Outcome {
    const message = wasSent
      ? "The call was sent, and how it ended could not be logged"
      : "The call was not made: it could not be logged";
    return this.failed(wasSent ? "unknown" : "failed", "not_logged", { code: "ERR_NOT_LOGGED", message });
  }

  completed(output: Output): Outcome {
    const outcome: { -readonly [K in keyof Outcome]: Outcome[K] } = {
      status: "completed",
      output: output.output,
      content: output.content,
      isError: output.isError,
      truncated: output.truncated,
      findings: output.findings,
      toolCallId: this.toolCallId,
      durationMs: this.durationMs,
    };
    if ("structuredContent" in output) outcome.structuredContent = output.structuredContent;
    if (output.artifact !== undefined) outcome.artifact = output.artifact;
    if (this.requestId !== undefined) outcome.requestId = this.requestId;
    return outcome;
  }

  failed(status: "failed" | "denied" | "unknown", reason: OutcomeReason, { code, message }: Fault): Outcome {
    // It may name a tool as its caller or its server spelled it.
    const clean = this.#context.scrubber.text(message);
    return withoutResult(status, { code: String(code), message: clean, reason }, this);
  }

  cancelled(): Outcome {
    return withoutResult(
      "cancelled",
      { code: "ERR_CANCELLED", message: "The caller gave up", reason: "cancelled" },
      this,
    );
  }

  /** Somebody has to decide first about this request. */
  pending(requestId: string): Outcome {
    const decide = `session.approvals.resolve(${JSON.stringify(requestId)}, { decision: "allow" or "deny" })`;
    const message = `Call of ${this.tool} waits for a decision: give it with ${decide}, go on with session.resume()`;
    const clean = this.#context.scrubber.text(message);
    return withoutResult("pending", { code: "ERR_PENDING", message: clean, reason: "waits_for_decision" }, this);
  }
}
