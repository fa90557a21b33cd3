import { canonicalJson, sha256Text } from "../kernel/canonical.ts";
import type { Clock } from "../kernel/clock.ts";
import { causeCode } from "../kernel/errors.ts";
import { parseExact } from "../kernel/exact_json.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import { Ask, type AskContext } from "./ask.ts";
import type { Desk, DeskAsk } from "./desk.ts";
import { requestedEvent, resolvedEvent, type ResolvedFacts } from "./gate_events.ts";
import { createGrants, type Grant, type Grants } from "./grants.ts";
import type { Policy, PolicyDecision, PolicySubject } from "./policy.ts";
import type { Approve, DecisionSource, Denied, Gate, GateRequest, GateVerdict } from "./request.ts";
import { type Assessment, assessRisk } from "./risk.ts";

export interface GateOptions {
  readonly policy: Policy;
  readonly desk: Desk;
  /** Asks a person directly. Without it, asks wait at the desk. */
  readonly approve?: Approve;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly scrubber: Scrubber;
  /** Default: none yet, kept by the gate. */
  readonly grants?: Grants;
  /**
   * True for arguments that contain a secret the host holds. Default: arguments in which the scrubber finds anything,
   * which also takes in secrets that only look like some.
   */
  readonly holdsSecret?: (args: GateRequest["args"]) => boolean;
  /** Told what `approve` fails with. Must not throw. Default: dropped. */
  readonly onError?: (error: unknown) => void;
  /** How long a person may take when asked directly, ms. Default 300,000. */
  readonly directLifetimeMs?: number;
  /** How long an ask waits at the desk, ms. Default seven days. */
  readonly deskLifetimeMs?: number;
}

/** Makes the gate that every call passes: policy first, then what was granted, then a person. */
export function createGate(options: GateOptions): Gate {
  return new PolicyGate(options);
}

class PolicyGate implements Gate {
  readonly #options: GateOptions;
  readonly #grants: Grants;
  readonly #asks = new Set<Ask>();
  #isClosed = false;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#grants = options.grants ?? createGrants();
  }

  decide(request: GateRequest): GateVerdict | Promise<GateVerdict> {
    const { policy, scrubber, ids, holdsSecret } = this.#options;
    const args = scrubber.value(request.args);
    const assessment = assessRisk(request, holdsSecret ?? (() => args !== request.args));
    const ruling = policy.decide(subjectOf(request, assessment));
    const call: JudgedCall = { request, args, ruling, requestId: ids.next("req") };
    if (this.#isClosed) return denied(call, { sourcedFrom: "host_stop", reason: "gate_closed" });
    switch (ruling.decision) {
      case "allow":
        return decided(call, { decision: "allow", actor: "policy", sourcedFrom: allowedFrom(request, ruling) });
      case "deny":
        return decided(call, {
          decision: "deny",
          actor: "policy",
          sourcedFrom: ruling.sourcedFrom,
          reason: ruling.reason,
        });
      case "ask": {
        const grant = grantFor(request, ruling, policy.version);
        if (grant !== undefined && this.#grants.covers(grant)) {
          return decided(call, { decision: "allow", actor: "policy", sourcedFrom: "session_allow" }, "session_allow");
        }
        if (request.onAsk === "deny") return denied(call, { sourcedFrom: "no_approver", reason: "no_approver" });
        if (request.signal?.aborted) return denied(call, { sourcedFrom: "host_stop", reason: "cancelled" });
        return this.#ask(call, grant);
      }
    }
  }

  endSession(session: string): void {
    this.#grants.endSession(session);
    for (const ask of this.#asks) {
      if (ask.session === session) ask.leave("session_ended");
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const ask of this.#asks) ask.leave("gate_closed");
  }

  async #ask(call: JudgedCall, grant: Grant | undefined): Promise<GateVerdict> {
    const { desk, clock, policy, scrubber } = this.#options;
    const { request, requestId, ruling, args } = call;
    const isDirect = this.#options.approve !== undefined && request.onAsk === "wait";
    const lifetimeMs = isDirect
      ? this.#options.directLifetimeMs ?? 5 * 60_000
      : this.#options.deskLifetimeMs ?? 7 * 24 * 60 * 60_000;
    const context: AskContext = {
      desk,
      approve: isDirect ? this.#options.approve : undefined,
      signal: request.signal,
      isPending: request.onAsk === "return",
      scrubber,
      onError: this.#options.onError ?? (() => {/* nobody wants to know */}),
      grant: () => grant !== undefined && this.#grants.add(grant),
      track: (tracked, isWaitedFor) => void (isWaitedFor ? this.#asks.add(tracked) : this.#asks.delete(tracked)),
    };
    const ask = new Ask(request.session, context);
    // From here on the end of its session reaches it, also while the desk is still taking it.
    this.#asks.add(ask);
    try {
      const record = await recordOf(call, clock.now(), lifetimeMs, policy.version);
      if (!(await desk.open(record))) {
        this.#asks.delete(ask);
        return decided(call, { decision: "deny", actor: "host", sourcedFrom: "default", reason: "too_many_asks" });
      }
      ask.opened(record);
      const { risk, sourcedFrom } = ruling;
      const events = [requestedEvent(request, { requestId, args, argsHash: record.argsHash, risk, sourcedFrom })];
      return { kind: "ask", requestId, risk, events, returnPending: context.isPending, wait: () => ask.wait() };
    } catch (error) {
      this.#asks.delete(ask);
      return denied(call, { sourcedFrom: "host_stop", reason: `desk_unavailable: ${causeCode(error)}` });
    }
  }
}

async function recordOf(call: JudgedCall, now: number, lifetimeMs: number, policyVersion: string): Promise<DeskAsk> {
  const { request, args, ruling, requestId } = call;
  const { stream, session, by, toolCallId, tool, server, uri, prompt, source, fingerprint } = request;
  const text = canonicalJson(args);
  return {
    requestId,
    session,
    tool,
    ...(server === undefined ? {} : { server }),
    ...(uri === undefined ? {} : { uri }),
    ...(prompt === undefined ? {} : { prompt }),
    risk: ruling.risk,
    by,
    // A copy: what is asked about must not change while somebody thinks about it.
    args: parseExact(text) as GateRequest["args"],
    requestedAt: now,
    expiresAt: now + lifetimeMs,
    stream,
    toolCallId,
    source,
    argsHash: await sha256Text(text),
    ...(fingerprint === undefined ? {} : { fingerprint }),
    policyVersion,
    argsKept: args === request.args ? "whole" : "scrubbed",
  };
}

/** Made member by member: to spread an object as large as a request costs more than all the rest of a decision. */
function subjectOf(request: GateRequest, { risks, vouched }: Assessment): PolicySubject {
  const { tool, alias, server, uri, prompt, source, session } = request;
  return {
    tool,
    ...(uri === undefined ? {} : { uri }),
    ...(prompt === undefined ? {} : { prompt }),
    ...(alias === undefined ? {} : { alias }),
    ...(server === undefined ? {} : { server }),
    source,
    session,
    risks,
    vouched,
  };
}

interface JudgedCall {
  readonly request: GateRequest;
  /** Scrubbed. */
  readonly args: GateRequest["args"];
  readonly ruling: PolicyDecision;
  readonly requestId: string;
}

/** A verdict that nobody has to be asked for. `restsOn` is what the request is said to rest on, by default the ruling. */
function decided(
  { request, args, ruling, requestId }: JudgedCall,
  resolved: Omit<ResolvedFacts, "requestId" | "rule">,
  restsOn: DecisionSource = allowedFrom(request, ruling),
): GateVerdict {
  const { risk, rule } = ruling;
  const { decision, sourcedFrom, reason } = resolved;
  const byRule = sourcedFrom === "rule" && rule !== undefined ? { rule } : {};
  return {
    kind: "decided",
    requestId,
    risk,
    events: [
      requestedEvent(request, { requestId, args, risk, sourcedFrom: restsOn }),
      resolvedEvent({ requestId, ...resolved, ...byRule }),
    ],
    outcome: decision === "allow"
      ? { decision, sourcedFrom }
      : { decision, sourcedFrom, reason: isDenialReason(reason) ? reason : "permission_denied" },
  };
}

/** What an allow rests on. No rule has to speak where a person has pointed at a resource: that is the decision. */
function allowedFrom({ uri, by }: GateRequest, { decision, sourcedFrom }: PolicyDecision): DecisionSource {
  const isIncluded = uri !== undefined && by === "user" && decision === "allow" && sourcedFrom === "default";
  return isIncluded ? "user_explicit_include" : sourcedFrom;
}

/** A verdict of the host's own: nobody can be asked. */
function denied(
  call: JudgedCall,
  { sourcedFrom, reason }: { sourcedFrom: DecisionSource; reason: string },
): GateVerdict {
  return decided(call, { decision: "deny", actor: "host", sourcedFrom, reason });
}

function isDenialReason(reason: string | undefined): reason is Denied["reason"] {
  return reason === "no_approver" || reason === "too_many_asks";
}

/**
 * What an allow for the session would grant; `undefined` for a server's tool without a fingerprint, which could change
 * without anybody noticing.
 */
function grantFor(request: GateRequest, ruling: PolicyDecision, policyVersion: string): Grant | undefined {
  const { session, source, tool, server, fingerprint } = request;
  if (server !== undefined && fingerprint === undefined) return undefined;
  return { session, source, tool, risk: ruling.risk, fingerprint, policyVersion };
}
