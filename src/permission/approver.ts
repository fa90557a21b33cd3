import { causeCode } from "../kernel/errors.ts";
import type { Approval, ApprovalRequest, Approve } from "./request.ts";

/**
 * Asks a person through the host's own callback. Never rejects: a callback that fails, or answers what is no answer, has
 * said no.
 */
export async function askApprover(approve: Approve, request: ApprovalRequest, signal: AbortSignal): Promise<Approval> {
  try {
    return readAnswer(await approve(request, signal));
  } catch (error) {
    return { decision: "deny", reason: `approver_failed: ${causeCode(error)}` };
  }
}

function readAnswer(answer: unknown): Approval {
  if (answer === true || answer === "allow") return { decision: "allow", scope: "once" };
  if (answer === false || answer === "deny") return { decision: "deny" };
  const { decision, scope, reason } = (typeof answer === "object" && answer !== null ? answer : {}) as Partial<
    Approval
  >;
  if (decision !== "allow" && decision !== "deny") return { decision: "deny", reason: "approver_failed: no decision" };
  return {
    decision,
    ...(decision === "allow" ? { scope: scope === "session" ? "session" as const : "once" as const } : {}),
    ...(typeof reason === "string" ? { reason } : {}),
  };
}
