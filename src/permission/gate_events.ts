import type { EventInput } from "../events/event.ts";
import { exactJson } from "../kernel/exact_json.ts";
import type { DecisionActor } from "./desk_record.ts";
import type { DecisionSource, GateRequest, Risk } from "./request.ts";

/** Most bytes of JSON of the arguments that an event shows. */
const PREVIEW_BYTES = 4096;

/** What `permission.requested` says beside the request itself. */
export interface RequestedFacts {
  readonly requestId: string;
  /** Scrubbed and whole. */
  readonly args: GateRequest["args"];
  /** Only where somebody is asked: the hash costs more than a decision by rule. */
  readonly argsHash?: string;
  readonly risk: Risk;
  readonly sourcedFrom: DecisionSource;
}

export function requestedEvent(request: GateRequest, facts: RequestedFacts): EventInput {
  const { toolCallId, tool, fingerprint, by, server, uri, prompt } = request;
  const { requestId, args, argsHash, risk, sourcedFrom } = facts;
  const rest = {
    ...(argsHash === undefined ? {} : { argsHash }),
    ...(fingerprint === undefined ? {} : { fingerprint }),
  };
  if ((uri ?? prompt) !== undefined) {
    const what = uri === undefined ? { prompt, args: previewArgs(args) } : { uri };
    return { type: "permission.requested", payload: { requestId, server, ...what, ...rest, risk, sourcedFrom, by } };
  }
  return {
    type: "permission.requested",
    payload: { requestId, toolCallId, tool, args: previewArgs(args), ...rest, riskAtDecision: risk, sourcedFrom, by },
  };
}

/** What `permission.resolved` says. */
export interface ResolvedFacts {
  readonly requestId: string;
  readonly decision: "allow" | "deny";
  readonly actor: DecisionActor;
  readonly sourcedFrom: DecisionSource;
  readonly scope?: "once" | "session";
  readonly reason?: string;
  readonly rule?: string;
}

export function resolvedEvent(facts: ResolvedFacts): EventInput {
  const { requestId, decision, actor, sourcedFrom, scope, reason, rule } = facts;
  return {
    type: "permission.resolved",
    payload: {
      requestId,
      decision,
      actor,
      sourcedFrom,
      ...(scope === undefined ? {} : { scope }),
      ...(reason === undefined ? {} : { reason }),
      ...(rule === undefined ? {} : { rule }),
    },
  };
}

/** Arguments that fit as they are; of others the beginning of their JSON text, cut between two characters. */
export function previewArgs(args: GateRequest["args"]): GateRequest["args"] | string {
  const text = exactJson(args)!;
  if (text.length * 3 <= PREVIEW_BYTES) return args;
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(PREVIEW_BYTES));
  return read === text.length ? args : text.slice(0, read);
}
