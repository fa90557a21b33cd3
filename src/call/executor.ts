import type { RouterView } from "../catalog/router_view.ts";
import { type ErrorCode, HostError, isHostError } from "../kernel/errors.ts";
import type { Ids } from "../kernel/ids.ts";
import { kindOf } from "../kernel/kind_of.ts";
import type { Desk } from "../permission/desk.ts";
import { previewArgs, resolvedEvent } from "../permission/gate_events.ts";
import type { Denied, Gate, GateVerdict } from "../permission/request.ts";
import { type Fault, scrubbedExcerpt } from "../servers/fault.ts";
import type { Server } from "../servers/server.ts";
import { type ReadArguments, readArguments } from "./arguments.ts";
import { Call, type CallContext, type CallOptions } from "./call.ts";
import { toolCancelled, toolFailed } from "./call_events.ts";
import { checkCallOptions } from "./call_options.ts";
import { approverDetail, type Decision, denialText, wayToAllow } from "./denial.ts";
import { type GateRequestOptions, GateRequests } from "./gate_request.ts";
import { isSettled, isVerdict, untilOver } from "./gate_wait.ts";
import { LinkedSignals } from "./linked_signals.ts";
import { callLocal } from "./local_call.ts";
import type { Outcome } from "./outcome.ts";
import { Repeats } from "./repeats.ts";
import { resolveCall, type Route } from "./resolved.ts";
import { argumentsFault } from "./schema_checks.ts";
import { callServer } from "./server_call.ts";
import { type WaitingCall, WaitingCalls } from "./waiting_calls.ts";

export interface ExecutorOptions extends CallContext, GateRequestOptions {
  /** What the session can call; read anew for each call. */
  readonly view: RouterView<Server>;
  readonly gate: Gate;
  /** Where asks lie that nobody waits for. */
  readonly desk: Pick<Desk, "list">;
  readonly ids: Ids;
}

/** What a call is about once it is known. */
interface Subject {
  readonly name: string;
  readonly route: Route;
  readonly argsPreview: unknown;
}

/** How often a call is decided anew because its tool was not any more what was allowed. */
const MAX_DECISIONS = 3;

/** Makes the calls of one session: each passes the router, the gate and the log before anything is sent. */
export class Executor {
  readonly #options: ExecutorOptions;
  readonly #signals: LinkedSignals;
  readonly #repeats: Repeats;
  readonly #waiting: WaitingCalls;
  readonly #requests: GateRequests;
  #running = 0;
  #onIdle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#requests = new GateRequests(options);
    this.#repeats = new Repeats(options.clock);
    this.#waiting = new WaitingCalls(options.desk, options.session);
    this.#signals = new LinkedSignals((source) =>
      new HostError("ERR_CANCELLED", "Call was cancelled by its caller", { cause: source.reason })
    );
  }

  /** Makes a call. Whatever becomes of it is its outcome; rejects only for misuse, and when the session is closed. */
  async call(name: string, args: unknown, options: CallOptions = {}): Promise<Outcome> {
    this.#checkCall(name, options);
    const read = readArguments(args);
    const { toolCallId } = options;
    if (toolCallId === undefined) return await this.#begin(name, read, this.#options.ids.next("tc"), options);
    const waiting = this.#waiting.find(toolCallId, name, read.ok ? read.args : read.why);
    if (waiting !== undefined) {
      return await this.#waiting.takeDecided(waiting) ? await this.#goOn(waiting, options.signal) : waiting.outcome;
    }
    return await this.#repeats.run(
      toolCallId,
      name,
      read.ok ? read.args : read.why,
      () => this.#begin(name, read, toolCallId, options),
    );
  }

  /** Goes on with calls that came back as `pending` and have been decided since. Gives the outcome of each, of open ones too. */
  async resume(): Promise<Outcome[]> {
    this.#checkOpen();
    const { decided, open } = await this.#waiting.takeAllDecided();
    return await Promise.all([
      ...decided.map((call) => this.#goOn(call, undefined)),
      ...open.map((call) => call.outcome),
    ]);
  }

  /** Ends all calls; resolves once each has its closing event. Asks that nobody waits for stay at the desk. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { gate, session } = this.#options;
    const idle = new Promise<void>((resolve) => this.#onIdle = resolve);
    // A gate that fails must not keep calls and servers from ending, nor may one that takes its time.
    new Promise<void>((resolve) => resolve(gate.endSession(session))).catch(this.#options.onError);
    this.#signals.end(new HostError("ERR_SESSION_CLOSED", `Session "${session}" was closed`));
    for (const waiting of this.#waiting.takeAll()) {
      if (waiting.isStarted) void this.#run(waiting, (call) => this.#closed(this.#again(call, waiting)));
    }
    if (this.#running > 0) await idle;
  }

  /** What was sent has an end in the log, also where it was not executed and waits for a decision. */
  #closed(call: Call): Outcome | Promise<Outcome> {
    const fault = { code: "ERR_SESSION_CLOSED", message: `Call of ${call.tool} ended: its session was closed` };
    return call.end(
      [toolFailed(call, "session_closed", "answered", fault)],
      true,
      () => call.failed("failed", "session_closed", fault),
    );
  }

  /** The call as it was when it came to wait. */
  #again(call: Call, { route, verdict, isStarted }: WaitingCall): Call {
    call.tool = route.kind === "mcp" ? route.entry.qualified : route.tool.name;
    call.requestId = verdict.requestId;
    call.isStarted = isStarted;
    return call;
  }

  #begin(name: string, read: ReadArguments, toolCallId: string, options: CallOptions): Promise<Outcome> {
    return this.#run(
      { name, toolCallId, args: read.ok ? read.args : {}, options },
      (call) => read.ok ? this.#decide(call, name, 1) : this.#unusable(call, read.why, read.code),
    );
  }

  /** Counts a call as running, and turns a log that takes nothing into its outcome. */
  async #run(
    { name, toolCallId, args, options }: Pick<WaitingCall, "name" | "toolCallId" | "args" | "options">,
    make: (call: Call) => Outcome | Promise<Outcome>,
  ): Promise<Outcome> {
    // A name is untrusted text until it is resolved.
    const call = new Call(
      { tool: scrubbedExcerpt(name, this.#options.scrubber, 300), toolCallId, args },
      options,
      this.#signals.take(options.signal),
      this.#options,
    );
    this.#running++;
    try {
      return await make(call);
    } catch (error) {
      if (isHostError(error, "ERR_NOT_LOGGED")) return call.notLogged(false);
      throw error;
    } finally {
      this.#signals.giveBack(options.signal);
      if (--this.#running === 0) this.#onIdle?.();
    }
  }

  async #decide(call: Call, name: string, decisions: number): Promise<Outcome> {
    const { view, output, scrubber } = this.#options;
    const resolving = resolveCall(call, name, view, this.#options);
    const resolved = resolving instanceof Promise ? await resolving : resolving;
    if ("outcome" in resolved) return resolved.outcome;
    const { route } = resolved;
    const why = argumentsFault(route.kind === "mcp" ? route.entry : route.tool, call.args, scrubber);
    if (why !== undefined) return await this.#unusable(call, why);
    if (call.options.onAsk === "return" && this.#waiting.isFull) {
      return await this.#fail(call, "too_many_asks", {
        code: "ERR_DENIED",
        message: "Too many calls wait for a decision already",
      });
    }
    const asking = this.#ask(call, route);
    const verdict = asking instanceof Promise ? await asking : asking;
    if (verdict === undefined) return await this.#undecided(call);
    call.requestId = verdict.requestId;
    let argsPreview: unknown;
    try {
      // The gate has scrubbed the arguments already; scrubbing comes before cutting.
      argsPreview = verdict.events[0]?.payload["args"] ?? previewArgs(output.scrubber.value(call.args));
    } catch (error) {
      this.#options.onError(error);
      return await this.#undecided(call);
    }
    const subject: Subject = { name, route, argsPreview };
    if (verdict.kind === "decided") return await this.#act(call, subject, verdict, decisions);
    await call.append(verdict.events);
    if (verdict.returnPending) return this.#leave(call, subject, verdict);
    return await this.#act(call, subject, await this.#settled(call, verdict), decisions);
  }

  /** `undefined` when the gate fails, or stays silent after the call is over: then nothing passes. */
  #ask(call: Call, route: Route): GateVerdict | undefined | Promise<GateVerdict | undefined> {
    const { gate, clock, onError } = this.#options;
    const failed = (error: unknown): undefined => {
      onError(error);
    };
    const read = (verdict: GateVerdict | undefined): GateVerdict | undefined => {
      if (verdict === undefined && call.signal.aborted) return undefined;
      if (isVerdict(verdict)) return verdict;
      return failed(new HostError("ERR_DENIED", `Cannot call ${call.tool}: the gate gave no verdict`));
    };
    try {
      const request = this.#requests.of(call, route);
      const asked = request instanceof Promise
        ? request.then((known) => untilOver(gate.decide(known), call.signal, clock))
        : untilOver(gate.decide(request), call.signal, clock);
      return asked instanceof Promise ? asked.then(read).catch(failed) : read(asked);
    } catch (error) {
      return failed(error);
    }
  }

  /** What an ask ends with. A gate that fails, or stays silent after the call is over, has said no. */
  async #settled(call: Call, verdict: WaitingCall["verdict"]): Promise<Decision> {
    const { clock, onError } = this.#options;
    const { requestId, risk } = verdict;
    let reason = "gate_failed";
    try {
      const settled = await untilOver(verdict.wait(), call.signal, clock);
      if (isSettled(settled)) return { ...settled, risk };
      if (settled === undefined && call.signal.aborted) reason = "gate_silent";
      else onError(new HostError("ERR_DENIED", `Cannot call ${call.tool}: the gate gave no decision`));
    } catch (error) {
      onError(error);
    }
    const outcome: Denied = { decision: "deny", sourcedFrom: "host_stop", reason: "permission_denied" };
    const { decision, sourcedFrom } = outcome;
    return { outcome, events: [resolvedEvent({ requestId, decision, actor: "host", sourcedFrom, reason })], risk };
  }

  /** Nothing was decided. */
  #undecided(call: Call): Outcome | Promise<Outcome> {
    const message = `Call of ${call.tool} was denied: the gate has failed`;
    if (!call.signal.aborted) return this.#fail(call, "permission_denied", { code: "ERR_DENIED", message });
    const silent: Denied = { decision: "deny", sourcedFrom: "host_stop", reason: "permission_denied" };
    return this.#deny(call, { outcome: silent, events: [], risk: "network" });
  }

  /** A tool that changed after it was allowed is decided about again. */
  async #act(call: Call, subject: Subject, decided: Decision, decisions: number): Promise<Outcome> {
    const { name, route, argsPreview } = subject;
    const { events } = decided;
    if (decided.outcome.decision === "deny") return await this.#deny(call, decided);
    if (route.kind === "local") return await callLocal(call, route.tool, events, this.#options);
    const ended = await callServer(
      call,
      { server: route.server, entry: route.entry, argsPreview },
      events,
      this.#options,
    );
    if (ended !== undefined) return ended;
    if (decisions < MAX_DECISIONS) return await this.#decide(call, name, decisions + 1);
    return await this.#fail(call, "quarantined", {
      code: "ERR_DENIED",
      message: `Cannot call ${call.tool}: its definition keeps changing`,
    });
  }

  async #deny(call: Call, decided: Decision): Promise<Outcome> {
    const { events: before } = decided;
    const denied = decided.outcome as Denied;
    const isClosing = this.#closing !== undefined;
    const { outcome, status } = reached(call);
    if (call.signal.aborted && !isClosing) {
      return await call.end([...before, toolCancelled(call, outcome)], call.isStarted, () => call.cancelled());
    }
    const reason = isClosing && denied.sourcedFrom === "host_stop" ? "session_closed" : denied.reason;
    const fault = { code: "ERR_DENIED", message: `Call of ${call.tool} was denied: ${denialText(denied)}` };
    // How to allow it is for whoever called; the log says what happened, in words that are the same on every runtime.
    const more = approverDetail(denied) + wayToAllow({ tool: call.tool }, decided);
    const told = { ...fault, message: fault.message + more };
    return await call.end(
      [...before, toolFailed(call, reason, outcome, fault)],
      call.isStarted,
      () => call.failed(status, reason, told),
    );
  }

  #unusable(call: Call, why: string, code: ErrorCode = "ERR_INVALID_ARGUMENTS"): Outcome | Promise<Outcome> {
    const message = `Cannot use the arguments of ${call.tool}: ${why}`;
    return this.#fail(call, "invalid_arguments", { code, message });
  }

  /** Ends a call of which nothing was executed. */
  #fail(
    call: Call,
    reason: "invalid_arguments" | "too_many_asks" | "permission_denied" | "quarantined",
    fault: Fault,
  ): Outcome | Promise<Outcome> {
    const { outcome, status } = reached(call);
    const as = fault.code === "ERR_DENIED" ? status : "failed";
    return call.end([toolFailed(call, reason, outcome, fault)], call.isStarted, () => call.failed(as, reason, fault));
  }

  #leave(call: Call, subject: Subject, verdict: WaitingCall["verdict"]): Outcome {
    const { toolCallId, args, options: { signal: _, ...options } } = call;
    const outcome = call.pending(verdict.requestId);
    this.#waiting.add({ ...subject, toolCallId, args, options, verdict, outcome, isStarted: call.isStarted });
    return outcome;
  }

  /** Goes on with a call that was decided about, under its own id, so that it is not made a second time meanwhile. */
  async #goOn(waiting: WaitingCall, signal: AbortSignal | undefined): Promise<Outcome> {
    const { name, toolCallId, args, verdict } = waiting;
    const options = signal === undefined ? waiting.options : { ...waiting.options, signal };
    return await this.#repeats.run(
      toolCallId,
      name,
      args,
      () =>
        this.#run({ name, toolCallId, args, options }, async (call) => {
          this.#again(call, waiting);
          return await this.#act(call, waiting, await this.#settled(call, verdict), 1);
        }),
    );
  }

  #checkCall(name: unknown, options: CallOptions): void {
    this.#checkOpen();
    checkCallOptions(options);
    if (typeof name === "string") return;
    throw new HostError("ERR_INVALID_ARGUMENTS", `Cannot call a tool: its name is ${kindOf(name)}, wanted a string`);
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) {
      throw new HostError("ERR_SESSION_CLOSED", `Cannot use session "${this.#options.session}": it is closed`);
    }
  }
}

/** How far a call came that ends before it is sent, or before it is sent once more: its server has refused it by then. */
function reached(
  { isStarted }: Call,
): { readonly outcome: "answered" | "not_sent"; readonly status: "failed" | "denied" } {
  return isStarted ? { outcome: "answered", status: "failed" } : { outcome: "not_sent", status: "denied" };
}
