import { HostError } from "../kernel/errors.ts";
import { kindOf } from "../kernel/kind_of.ts";
import type { Approval } from "./request.ts";

/** What somebody decided, as plain JavaScript may have said it: at most the members of an {@link Approval}, copied. */
export type ReadApproval =
  | { readonly approval: Approval }
  /** What is wrong with it: what was found, and what was wanted. */
  | { readonly found: string; readonly wanted: string };

export const WANTED_APPROVAL = '{ decision: "allow" } or { decision: "deny" }';

/** Reads what somebody decided. A member that means nothing is no decision: what was meant by it is not known. */
export function readApproval(value: unknown): ReadApproval {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { found: `found ${shownValue(value)}`, wanted: WANTED_APPROVAL };
  }
  const { decision, scope, reason } = value as Readonly<Record<keyof Approval, unknown>>;
  if (decision !== "allow" && decision !== "deny") return wrong("decision", decision, '"allow" or "deny"');
  if (scope !== undefined && scope !== "once" && scope !== "session") {
    return wrong("scope", scope, '"once" or "session"');
  }
  if (reason !== undefined && typeof reason !== "string") return wrong("reason", reason, "a string");
  return {
    approval: { decision, ...(scope === undefined ? {} : { scope }), ...(reason === undefined ? {} : { reason }) },
  };
}

/** The same for whoever decides an ask. Throws `ERR_INVALID_ARGUMENTS`. */
export function checkedApproval(value: unknown): Approval {
  const read = readApproval(value);
  if ("approval" in read) return read.approval;
  throw new HostError("ERR_INVALID_ARGUMENTS", `Cannot decide an ask: ${read.found}, wanted ${read.wanted}`);
}

/** A value in a refusal: a short word is shown, whole, so that a scrubber still knows it; of all else what it is. */
export function shownValue(value: unknown): string {
  return typeof value === "string" && /^[\w .:-]{1,40}$/.test(value) ? `the string "${value}"` : kindOf(value);
}

function wrong(member: keyof Approval, value: unknown, wanted: string): ReadApproval {
  return { found: value === undefined ? `"${member}" is missing` : `"${member}" is ${shownValue(value)}`, wanted };
}
