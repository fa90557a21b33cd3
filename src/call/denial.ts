import type { EventInput } from "../events/event.ts";
import type { Allowed, Denied, Risk } from "../permission/request.ts";

/** What was decided about a call, and the events that say so. */
export interface Decision {
  readonly outcome: Allowed | Denied;
  readonly events: readonly EventInput[];
  readonly risk: Risk;
}

/** Why a call was denied, as the end of a sentence. */
export function denialText({ reason, sourcedFrom }: Denied): string {
  if (reason === "too_many_asks") return "too many calls wait for a decision already";
  switch (sourcedFrom) {
    case "user_deny":
      return "a person said no";
    case "timeout":
      return "nobody decided in time";
    case "no_approver":
      return reason === "permission_denied"
        ? "somebody has to decide and the approve callback failed"
        : "somebody has to decide and nobody can be asked";
    case "host_stop":
      return "nobody can be asked any more";
    case "default":
      return "its risk is denied unless a rule allows it";
    default:
      return "a rule says so";
  }
}

/** What an approver that has decided nothing failed with, as the rest of the sentence; empty in all other cases. */
export function approverDetail({ sourcedFrom, detail }: Denied): string {
  return sourcedFrom === "no_approver" && typeof detail === "string" ? `: ${detail}` : "";
}

/** What would let a denied call pass, as the rest of the sentence; empty where configuration is not the reason. */
export function wayToAllow(
  what: { readonly tool: string } | { readonly server: string; readonly uri: string } | {
    readonly server: string;
    readonly prompt: string;
  },
  { outcome, events, risk }: Decision,
): string {
  const rule = JSON.stringify({ ...what, risk, decision: "allow" });
  switch (outcome.sourcedFrom) {
    case "no_approver":
      if (outcome.decision === "deny" && outcome.reason === "permission_denied") return "";
      // No rule lets a destructive call pass unasked.
      return risk === "destructive"
        ? `; to allow it, hand "approve" to the host`
        : `; to allow it, hand "approve" to the host or put ${rule} into permission.rules`;
    case "default":
      return `; to allow it, put ${rule} into permission.rules`;
    case "rule": {
      const name = events.find(({ type }) => type === "permission.resolved")?.payload["rule"];
      return typeof name === "string"
        ? `; to allow it, change rule ${JSON.stringify(name.slice(0, 100))} in permission.rules`
        : "";
    }
    default:
      return "";
  }
}
