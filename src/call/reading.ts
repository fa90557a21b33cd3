import type { EventInput } from "../events/event.ts";
import { HostError, isHostError } from "../kernel/errors.ts";
import { wholeText } from "../kernel/foreign_text.ts";
import type { Ids } from "../kernel/ids.ts";
import { resolvedEvent } from "../permission/gate_events.ts";
import type { Allowed, Caller, Denied, Gate, GateRequest } from "../permission/request.ts";
import type { AskServerOptions } from "../servers/ask_server.ts";
import type { Offered } from "../servers/offered.ts";
import type { CallContext } from "./call.ts";
import { approverDetail, denialText, wayToAllow } from "./denial.ts";
import type { GateRequestOptions } from "./gate_request.ts";
import { isSettled, isVerdict, untilOver } from "./gate_wait.ts";
import type { AskSubject } from "./input.ts";
import { Inputs } from "./inputs.ts";
import { LinkedSignals } from "./linked_signals.ts";
import { failureOfError, failureOfOffer, GIVEN_UP, type ReadingFailure } from "./reading_failure.ts";
import { written } from "./written.ts";

/** How something that a server offers besides tools is asked for. */
export interface ReadingOptions {
  /** Gives up on this alone. */
  readonly signal?: AbortSignal;
  /** Silence after which it fails, ms. Default: the server's `timeoutMs`. */
  readonly timeoutMs?: number;
  /** Who wants it, as the policy and the log see it. What a person wants to read is allowed unless a rule says otherwise. */
  readonly by?: Caller;
  /** Where somebody has to decide: `wait` (default where the host has an approver) or `deny` (default without). */
  readonly onAsk?: "wait" | "deny";
  /** The turn that it belongs to, for its events. */
  readonly turnId?: string;
}

export interface ReadingContext extends CallContext, GateRequestOptions {
  readonly gate: Gate;
  readonly ids: Ids;
}

/** The way to something that may be had, or why it may not. `events` have to be appended with what follows. */
export type Passage =
  | { readonly kind: "allowed"; readonly requestId: string; readonly events: readonly EventInput[] }
  | {
    readonly kind: "denied";
    readonly requestId: string | undefined;
    readonly events: readonly EventInput[];
    readonly failure: ReadingFailure;
  };

/** What a gate is asked about, beside who asks. */
export type ReadingSubject = Pick<GateRequest, "source" | "args" | "fingerprint"> & ReadingTarget;

/** What is read, and where. */
export type ReadingTarget =
  & { readonly server: string }
  & ({ readonly uri: string; readonly prompt?: never } | { readonly prompt: string; readonly uri?: never });

/** The reads of one session, from the gate to the log. */
export class Readings {
  readonly context: ReadingContext;
  readonly #signals = new LinkedSignals((source) =>
    new HostError("ERR_CANCELLED", "Read was cancelled by its caller", { cause: source.reason })
  );
  readonly #onClose = new Set<() => void>();
  #running = 0;
  #onIdle: (() => void) | undefined;
  #isClosed = false;

  constructor(context: ReadingContext) {
    this.context = context;
  }

  /** Runs a read while the session is open. Rejects with `ERR_SESSION_CLOSED` when it is not, and as `read` does. */
  async run<T>(options: ReadingOptions, read: (reading: Reading) => Promise<T>): Promise<T> {
    if (this.#isClosed) {
      throw new HostError("ERR_SESSION_CLOSED", `Cannot use session "${this.context.session}": it is closed`);
    }
    this.#running++;
    const reading = new Reading(options, this.#signals.take(options.signal), this.context);
    try {
      return await read(reading);
    } finally {
      reading.leave();
      this.#signals.giveBack(options.signal);
      if (--this.#running === 0) this.#onIdle?.();
    }
  }

  /** Runs when the session closes; what is returned takes it back. */
  onClose(run: () => void): () => void {
    this.#onClose.add(run);
    return () => void this.#onClose.delete(run);
  }

  /** Ends all reads and resolves once each has its last event. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#signals.end(new HostError("ERR_SESSION_CLOSED", `Session "${this.context.session}" was closed`));
    for (const run of this.#onClose) run();
    this.#onClose.clear();
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onIdle = resolve);
  }
}

/** One read on its way. */
export class Reading {
  readonly options: ReadingOptions;
  /** Fires when the caller gives up or the session ends. */
  readonly signal: AbortSignal;
  readonly #context: ReadingContext;
  readonly #startedAt: number;
  #inputs: Inputs | undefined;

  constructor(options: ReadingOptions, signal: AbortSignal, context: ReadingContext) {
    this.options = options;
    this.signal = signal;
    this.#context = context;
    this.#startedAt = context.clock.monotonic();
  }

  /** Whole milliseconds since it was asked for. */
  get durationMs(): number {
    return Math.round(this.#context.clock.monotonic() - this.#startedAt);
  }

  /** How the server is asked for it; what the server asks in between goes to the host's handlers. */
  asking({ server, uri, prompt }: ReadingTarget): AskServerOptions {
    const { clock, asks, scrubber } = this.#context;
    const { signal, options: { timeoutMs } } = this;
    const asking = { clock, signal, timeoutMs, session: this.#context.session };
    if (asks === undefined) return asking;
    const shown: AskSubject = uri === undefined ? { prompt: scrubber.text(prompt) } : { uri: scrubber.text(uri) };
    const owner = {
      subject: shown,
      name: `mcp.${server}.${uri ?? prompt}`,
      signal,
      append: (events: readonly EventInput[]) => this.#write(events),
    };
    this.#inputs?.leave();
    this.#inputs = new Inputs(owner, server, this.#context, asks);
    return { ...asking, signal: this.#inputs.signal, answers: this.#inputs.forRounds };
  }

  /** The ends of what the server has asked and what is still open: before the end of the read. */
  closing(): EventInput[] {
    return this.#inputs?.closing() ?? [];
  }

  /** The read is over. */
  leave(): void {
    this.#inputs?.leave();
  }

  /** Writes events. `undefined` once they are written, else what it means that they are not. */
  async append(events: readonly EventInput[]): Promise<ReadingFailure | undefined> {
    try {
      await this.#write(events);
      return undefined;
    } catch {
      // Whoever owns the log knows why it takes nothing more; this caller has to know that it does not.
      const message = "It could not be logged, so it is not told";
      return { status: "failed", reason: "not_logged", code: "ERR_NOT_LOGGED", message };
    }
  }

  /** Asks the gate. A gate that fails, or stays silent after the read is over, has said no. */
  async pass(subject: ReadingSubject, by: Caller): Promise<Passage> {
    const { gate, clock, onError, ids } = this.#context;
    const request = this.#requestOf(subject, by, ids.next("rd"));
    let requestId: string | undefined;
    try {
      const verdict = await untilOver(gate.decide(request), this.signal, clock);
      if (!isVerdict(verdict)) {
        if (!this.signal.aborted) onError(new HostError("ERR_DENIED", "Cannot read: the gate gave no verdict"));
        return this.#denied(subject, requestId, [], SILENT);
      }
      requestId = verdict.requestId;
      const { risk } = verdict;
      if (verdict.kind === "decided") {
        const { outcome, events } = verdict;
        return this.#passage(subject, requestId, { outcome, events, risk });
      }
      const unlogged = await this.append(verdict.events);
      if (unlogged !== undefined) return { kind: "denied", requestId, events: [], failure: unlogged };
      const settled = await untilOver(verdict.wait(), this.signal, clock);
      if (isSettled(settled)) return this.#passage(subject, requestId, { ...settled, risk });
    } catch (error) {
      onError(error);
    }
    const { decision, sourcedFrom } = SILENT;
    const events = requestId === undefined
      ? []
      : [resolvedEvent({ requestId, decision, actor: "host", sourcedFrom, reason: "gate_failed" })];
    return this.#denied(subject, requestId, events, SILENT);
  }

  /** Rejects with `ERR_NOT_LOGGED`. */
  async #write(events: readonly EventInput[]): Promise<void> {
    const { clock, append } = this.#context;
    const { signal, options: { turnId, timeoutMs = TIMEOUT_MS } } = this;
    const ofTurn = turnId === undefined ? events : events.map((event) => ({ ...event, turnId }));
    try {
      const writing = append(ofTurn);
      if (writing instanceof Promise) await written(writing, { what: "a read", signal, timeoutMs, clock });
    } catch (cause) {
      throw new HostError("ERR_NOT_LOGGED", "Cannot go on with a read: the event log does not take it", { cause });
    }
  }

  /** Why a request failed. */
  failureOf(offered: Extract<Offered<unknown>, { kind: "failed" }>): ReadingFailure {
    return this.#shown(failureOfOffer(offered));
  }

  /** Why nothing could be sent. */
  refusalOf(error: unknown): ReadingFailure {
    if (!isHostError(error)) this.#context.onError(error);
    return this.#shown(failureOfError(error));
  }

  #requestOf(subject: ReadingSubject, by: Caller, toolCallId: string): GateRequest {
    const { session, stream, onAsk } = this.#context;
    const { server, uri, prompt, source, args, fingerprint } = subject;
    const name = uri ?? prompt;
    return {
      stream,
      session,
      by,
      toolCallId,
      tool: `mcp.${server}.${name}`,
      toolName: name,
      server,
      ...(uri === undefined ? { prompt } : { uri }),
      source,
      args,
      ...(fingerprint === undefined ? {} : { fingerprint }),
      signal: this.signal,
      onAsk: this.options.onAsk ?? onAsk,
    };
  }

  #passage(
    subject: ReadingSubject,
    requestId: string,
    decision: Parameters<typeof wayToAllow>[1] & { readonly outcome: Allowed | Denied },
  ): Passage {
    const { outcome, events } = decision;
    if (outcome.decision === "allow") return { kind: "allowed", requestId, events };
    const { server, uri, prompt } = subject;
    const way = wayToAllow(uri === undefined ? { server, prompt } : { server, uri }, decision);
    return this.#denied(subject, requestId, events, outcome, approverDetail(outcome) + way);
  }

  #denied(
    { server, uri, prompt }: ReadingSubject,
    requestId: string | undefined,
    events: readonly EventInput[],
    denied: Denied,
    way = "",
  ): Passage {
    const what = uri === undefined ? `Prompt ${prompt}` : `Read of ${uri}`;
    const message = `${wholeText(what)} of server "${server}" was denied: ${denialText(denied)}${way}`;
    const isGivenUp = this.signal.aborted && !isHostError(this.signal.reason, "ERR_SESSION_CLOSED");
    const reason = this.signal.aborted ? "session_closed" : denied.reason;
    const failure = isGivenUp ? GIVEN_UP : this.#shown({ status: "denied", reason, code: "ERR_DENIED", message });
    return { kind: "denied", requestId, events, failure };
  }

  #shown(failure: ReadingFailure): ReadingFailure {
    return { ...failure, message: this.#context.scrubber.text(failure.message) };
  }
}

const TIMEOUT_MS = 60_000;
const SILENT: Denied = { decision: "deny", sourcedFrom: "host_stop", reason: "permission_denied" };
