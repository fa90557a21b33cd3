import { HostError } from "../kernel/errors.ts";
import type { Approval, ApprovalRequest, Approve } from "./request.ts";

/**
 * Asks a person through the host's own callback. Throws what the callback throws, and `ERR_INVALID_ARGUMENTS` for an
 * answer that is none: then nobody has decided.
 */
export async function askApprover(approve: Approve, request: ApprovalRequest, signal: AbortSignal): Promise<Approval> {
  return readAnswer(await approve(request, signal));
}

function readAnswer(answer: unknown): Approval {
  if (answer === true || answer === "allow") return { decision: "allow", scope: "once" };
  if (answer === false || answer === "deny") return { decision: "deny" };
  const { decision, scope, reason } = (typeof answer === "object" && answer !== null ? answer : {}) as Partial<
    Approval
  >;
  if (decision !== "allow" && decision !== "deny") throw unusable(decision ?? answer);
  return {
    decision,
    ...(decision === "allow" ? { scope: scope === "session" ? "session" as const : "once" as const } : {}),
    ...(typeof reason === "string" ? { reason } : {}),
  };
}

function unusable(found: unknown): HostError {
  const shown = typeof found === "string" ? JSON.stringify(found.slice(0, 40)) : found === null ? "null" : typeof found;
  return new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot use the answer of approve: found ${shown}, wanted "allow" or "deny"`,
  );
}
