import { HostError, isHostError } from "../kernel/errors.ts";
import { wholeText } from "../kernel/foreign_text.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import { readApproval, shownValue } from "./approval.ts";
import type { Approval, ApprovalRequest, Approve } from "./request.ts";

const MAX_TEXT = 300;
const WANTED_ANSWER = 'true, false, "allow", "deny" or { decision: "allow" or "deny" }';

/**
 * Asks a person through the host's own callback. Throws what the callback throws, and `ERR_INVALID_ARGUMENTS` for an
 * answer that is none: then nobody has decided.
 */
export async function askApprover(approve: Approve, request: ApprovalRequest, signal: AbortSignal): Promise<Approval> {
  return readAnswer(await approve(request, signal));
}

/** What a callback failed with, for the sentence that says so: scrubbed, at most 300 characters. */
export function approverFault(error: unknown, scrubber: Scrubber): string {
  const returned = isHostError(error) ? error.facts["returned"] : undefined;
  let text: string;
  try {
    text = scrubber.text(typeof returned === "string" ? `it returned ${returned}` : `it threw ${thrown(error)}`);
  } catch {
    // A scrubber of the user's may fail, which must not keep anybody waiting; what it has not seen is not shown.
    return "what it gave cannot be scrubbed";
  }
  return text.length <= MAX_TEXT ? text : text.slice(0, MAX_TEXT).replace(/[\ud800-\udbff]$/, "");
}

function readAnswer(answer: unknown): Approval {
  if (answer === true || answer === "allow") return { decision: "allow", scope: "once" };
  if (answer === false || answer === "deny") return { decision: "deny" };
  const read = readApproval(answer);
  if (!("approval" in read)) {
    const isObject = typeof answer === "object" && answer !== null && !Array.isArray(answer);
    throw isObject
      ? unusable(`an object whose ${read.found}, wanted ${read.wanted}`)
      : unusable(`${shownValue(answer)}, wanted ${WANTED_ANSWER}`);
  }
  const { decision, scope = "once", reason } = read.approval;
  return {
    decision,
    ...(decision === "allow" ? { scope } : {}),
    ...(reason === undefined ? {} : { reason }),
  };
}

function unusable(returned: string): HostError {
  return new HostError("ERR_INVALID_ARGUMENTS", `Cannot use the answer of approve: it returned ${returned}`, {
    facts: { returned },
  });
}

function thrown(error: unknown): string {
  try {
    if (!(error instanceof Error)) return shownValue(error);
    // Whole, since half a secret would pass the scrubber.
    return `${error.name}: ${wholeText(error.message)}`;
  } catch {
    // Members of what a user's code has thrown may themselves throw when they are read.
    return "what cannot be read";
  }
}
