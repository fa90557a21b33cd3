import { whenAborted } from "../kernel/abort.ts";
import { causeCode, isHostError } from "../kernel/errors.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import { approverFault, askApprover } from "./approver.ts";
import type { Desk, DeskAsk, DeskDecision } from "./desk.ts";
import { resolvedEvent } from "./gate_events.ts";
import type { Allowed, Approval, ApprovalRequest, Approve, DecisionSource, Denied, GateVerdict } from "./request.ts";

/** What an {@link Ask} needs of the gate that puts it. */
export interface AskContext {
  readonly desk: Desk;
  /** Asks a person directly; absent, the ask waits at the desk. */
  readonly approve: Approve | undefined;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
  /** The caller does not wait: the ask stays at the desk when caller and session are gone. */
  readonly isPending: boolean;
  /** Remembers an allow for the session; false where that may not be. */
  grant(): boolean;
  readonly scrubber: Scrubber;
  /** Told what the approver fails with. */
  readonly onError: (error: unknown) => void;
  /** Called when somebody begins to wait, and when nobody does any more. */
  track(ask: Ask, isWaitedFor: boolean): void;
}

/** How an ask ended: `permission.resolved` and what the caller goes by. */
export type SettledAsk = Awaited<ReturnType<Extract<GateVerdict, { kind: "ask" }>["wait"]>>;

/** One question to a person, from the moment it is put until it is settled, which happens exactly once. */
export class Ask {
  readonly session: string;
  readonly #context: AskContext;
  #record: DeskAsk | undefined;
  #settled: Promise<SettledAsk> | undefined;
  #approver: AbortController | undefined;
  #isDecided = false;
  /** What the approver failed with, scrubbed. */
  #approverFault: string | undefined;
  #leftBecause: string | undefined;

  constructor(session: string, context: AskContext) {
    this.session = session;
    this.#context = context;
  }

  /** The desk has it now. Unless it is pending, it is followed from here on, whether or not its caller comes to wait. */
  opened(record: DeskAsk): void {
    this.#record = record;
    if (this.#context.isPending) return this.#context.track(this, false);
    this.#settled = this.#follow(record);
    if (this.#leftBecause !== undefined) this.#context.desk.end(record.requestId, "host", this.#leftBecause);
  }

  /** Asks the person, if there is one to ask directly, and waits for whoever decides first. Never rejects. */
  wait(): Promise<SettledAsk> {
    const record = this.#record!;
    this.#settled ??= this.#follow(record);
    this.#askPerson(record);
    return this.#settled;
  }

  /** Its session or the gate ends: whoever waits is told deny. A pending ask nobody waits for stays at the desk. */
  leave(reason: string): void {
    this.#leftBecause = reason;
    if (this.#settled !== undefined) this.#context.desk.end(this.#record!.requestId, "host", reason);
  }

  async #follow(record: DeskAsk): Promise<SettledAsk> {
    const { desk, signal } = this.#context;
    const { requestId, session } = record;
    this.#context.track(this, true);
    const cancel = (): void => desk.end(requestId, "host", "cancelled");
    const leave = signal && whenAborted(signal, cancel);
    if (signal?.aborted) cancel();
    let decision: DeskDecision;
    try {
      decision = await desk.wait(requestId);
    } catch (error) {
      const reason = `desk_unavailable: ${causeCode(error)}`;
      decision = { requestId, session, decision: "deny", actor: "host", reason, decidedAt: record.requestedAt };
    }
    this.#isDecided = true;
    leave?.();
    this.#approver?.abort();
    this.#context.track(this, false);
    return this.#conclude(decision);
  }

  #askPerson(record: DeskAsk): void {
    const { approve, desk, signal, scrubber, onError } = this.#context;
    if (approve === undefined || this.#approver !== undefined || this.#isDecided || signal?.aborted) return;
    const controller = this.#approver = new AbortController();
    const decided = async (approval: Approval): Promise<void> => {
      if (controller.signal.aborted) return;
      try {
        await desk.resolve(record.requestId, { ...approval, actor: "user" });
      } catch (error) {
        if (isHostError(error, "ERR_ALREADY_DECIDED")) return;
        desk.end(record.requestId, "host", `desk_unavailable: ${causeCode(error)}`);
      }
    };
    const failed = (error: unknown): void => {
      if (controller.signal.aborted) return;
      this.#approverFault = approverFault(error, scrubber);
      desk.end(record.requestId, "host", `approver_failed: ${causeCode(error)}`);
      onError(error);
    };
    askApprover(approve, shownTo(record), controller.signal).then(decided, failed);
  }

  #conclude({ requestId, decision, actor, scope, reason }: DeskDecision): SettledAsk {
    const because = reason === undefined ? {} : { reason };
    if (decision === "allow") {
      const isGranted = scope === "session" && this.#leftBecause === undefined && this.#context.grant();
      const sourcedFrom = isGranted ? "session_allow_once" : "allow_once";
      const outcome: Allowed = { decision, sourcedFrom };
      const given = isGranted ? "session" : "once";
      return {
        events: [resolvedEvent({ requestId, decision, actor, sourcedFrom, scope: given, ...because })],
        outcome,
      };
    }
    const fault = actor === "host" ? this.#approverFault : undefined;
    const sourcedFrom = fault === undefined ? DENIED_BY[actor] : "no_approver";
    const detail = fault === undefined ? {} : { detail: fault };
    const outcome: Denied = { decision, sourcedFrom, reason: "permission_denied", ...detail };
    return { events: [resolvedEvent({ requestId, decision, actor, sourcedFrom, ...because })], outcome };
  }
}

const DENIED_BY: Readonly<Record<DeskDecision["actor"], DecisionSource>> = {
  user: "user_deny",
  timeout: "timeout",
  host: "host_stop",
  policy: "rule",
};

/** The ask as its approver sees it: a copy, whatever becomes of it. */
function shownTo(
  { requestId, session, tool, server, uri, prompt, risk, by, args, requestedAt, expiresAt }: DeskAsk,
): ApprovalRequest {
  return {
    requestId,
    session,
    tool,
    ...(server === undefined ? {} : { server }),
    ...(uri === undefined ? {} : { uri }),
    ...(prompt === undefined ? {} : { prompt }),
    risk,
    by,
    args: structuredClone(args),
    requestedAt,
    expiresAt,
  };
}
