import type { ApprovalRequest, Approve } from "../permission/request.ts";
import { oneLine, safeJson } from "./safe_text.ts";
import type { Choice, Choose } from "./terminal.ts";

/** Longest picture of the arguments in a question; the whole is in the log. */
const MAX_ARGUMENTS = 2_000;

const ONCE: Choice = { value: "once", label: "Allow once" };
const SESSION: Choice = {
  value: "session",
  label: "Allow for this session",
  hint: "the same tool, until this program ends",
};
const DENY: Choice = { value: "deny", label: "Deny" };

/**
 * Asks the person at the terminal, one question at a time in the order of the requests. Whoever would rather stop the
 * program has denied.
 */
export function askOnTerminal(choose: Choose): Approve {
  let before: Promise<unknown> = Promise.resolve();
  return (request, signal) => {
    const answer = before.then(async () => {
      if (signal.aborted) return { decision: "deny" } as const;
      // A destructive call is asked about each time, so there is nothing to remember.
      const choices = request.risk === "destructive" ? [ONCE, DENY] : [ONCE, SESSION, DENY];
      const chosen = await choose(questionOf(request), choices, signal);
      if (chosen === "once" || chosen === "session") return { decision: "allow", scope: chosen } as const;
      return { decision: "deny" } as const;
    });
    before = answer.catch(() => {/* the asker hears of it; the next question is not concerned */});
    return answer;
  };
}

function questionOf({ tool, risk, by, args }: ApprovalRequest): string {
  const text = safeJson(args, 2);
  const cut = text.length > MAX_ARGUMENTS
    ? `${text.slice(0, MAX_ARGUMENTS)}… (${text.length - MAX_ARGUMENTS} more characters)`
    : text;
  return `Allow ${oneLine(tool)}? Risk: ${risk}. Wanted by: ${WANTED_BY[by]}. Arguments: ${cut}`;
}

const WANTED_BY: Readonly<Record<ApprovalRequest["by"], string>> = Object.freeze({
  model: "a model",
  caller: "this program",
  gateway: "an agent behind the gateway",
  user: "you",
});
