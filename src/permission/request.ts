import type { Risk } from "../catalog/risk.ts";
import type { EventInput } from "../events/event.ts";

export type { Risk } from "../catalog/risk.ts";

/** Who wants the call. */
export type Caller = "model" | "caller" | "gateway" | "user";

/** Where a decision came from. */
export type DecisionSource =
  | "default"
  | "rule"
  | "pin"
  | "user_explicit_include"
  | "session_allow_once"
  | "session_allow"
  | "always_allow"
  | "allow_once"
  | "user_deny"
  | "timeout"
  | "no_approver"
  | "host_stop";

/** One call that wants to pass the gate. */
export interface GateRequest {
  readonly stream: string;
  readonly session: string;
  readonly by: Caller;
  readonly toolCallId: string;
  /** The full name: `mcp.<server>.<tool>`, or the bare name of a local tool. */
  readonly tool: string;
  /** The other spelling, `mcp__<server>__<tool>`, as rules may name it. Default: made of `server` and `toolName`. */
  readonly alias?: string;
  /** Absent for local tools. */
  readonly server?: string;
  /** The address of a resource, where one is to be read; `tool` is then `mcp.<server>.<uri>`, and the risk `read`. */
  readonly uri?: string;
  /** The name of a prompt, where one is to be filled in; `tool` is then `mcp.<server>.<prompt>`, and the risk `read`. */
  readonly prompt?: string;
  /** The tool's own name at its server. */
  readonly toolName: string;
  /** The source that the server comes from: `global`, a handed-in manager's name, `private`; `local` for local tools. */
  readonly source: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly annotations?: { readonly destructiveHint?: boolean; readonly readOnlyHint?: boolean };
  /** The risk that the user's configuration or code gave this tool. */
  readonly configuredRisk?: Risk;
  /** The user's configuration says that this server's own hints may lower the risk. */
  readonly trustAnnotations?: boolean;
  /** What a grant is bound to: changes with the server's configuration and the tool's definition. */
  readonly fingerprint?: string;
  readonly signal?: AbortSignal;
  /** What to do when somebody has to be asked: wait for the answer, hand back `pending`, or deny. */
  readonly onAsk: "wait" | "return" | "deny";
}

/** What an approver is shown. Arguments are scrubbed and whole. */
export interface ApprovalRequest {
  readonly requestId: string;
  readonly session: string;
  readonly tool: string;
  readonly server?: string;
  /** Set where a resource is asked for and no tool. */
  readonly uri?: string;
  /** Set where a prompt is asked for and no tool. */
  readonly prompt?: string;
  readonly risk: Risk;
  readonly by: Caller;
  readonly args: Readonly<Record<string, unknown>>;
  readonly requestedAt: number;
  readonly expiresAt: number;
}

/** What an approver says. `session` lets the same tool pass for the rest of the session (never a destructive one). */
export interface Approval {
  readonly decision: "allow" | "deny";
  readonly scope?: "once" | "session";
  readonly reason?: string;
}

/** What an {@link Approve} may answer. */
export type Answer = Approval | "allow" | "deny" | boolean;

/**
 * Asks a person. The signal fires when the answer is no longer wanted. Where it rejects, or answers what is no answer
 * (an unknown `scope` included), nobody has decided: the call is denied, its outcome says why, and the log says that the
 * host could not ask.
 */
export type Approve = (request: ApprovalRequest, signal: AbortSignal) => Answer | Promise<Answer>;

export interface Allowed {
  readonly decision: "allow";
  readonly sourcedFrom: DecisionSource;
}
export interface Denied {
  readonly decision: "deny";
  readonly sourcedFrom: DecisionSource;
  readonly reason: "permission_denied" | "no_approver" | "too_many_asks" | "arguments_not_kept";
  /** What the approver failed with, as the end of a sentence: scrubbed and short. */
  readonly detail?: string;
}

/**
 * What the gate makes of a request. `events` is the permission pair, or its first half, not yet in the log: whoever acts
 * on a decision appends them first, in the same append as what follows.
 */
export type GateVerdict =
  | {
    readonly kind: "decided";
    readonly requestId: string;
    readonly risk: Risk;
    readonly events: readonly EventInput[];
    readonly outcome: Allowed | Denied;
  }
  | {
    readonly kind: "ask";
    readonly requestId: string;
    readonly risk: Risk;
    /** `permission.requested`; append before waiting. */
    readonly events: readonly EventInput[];
    /** True when the caller wants `pending` instead of waiting. */
    readonly returnPending: boolean;
    /** Settles once somebody has decided or the request has expired. Never rejects. `events` is `permission.resolved`. */
    wait(): Promise<{ readonly events: readonly EventInput[]; readonly outcome: Allowed | Denied }>;
  };

/** Decides whether a call may pass. A second implementation may stand behind this. */
export interface Gate {
  /** At once where nothing has to be waited for. */
  decide(request: GateRequest): GateVerdict | Promise<GateVerdict>;
  /** Drops what a session was granted and ends its open asks as denied, `host_stop`. */
  endSession(session: string): void;
  close(): void;
}
