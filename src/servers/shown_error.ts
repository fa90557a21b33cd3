import { HostError, isHostError, isRemoteError, RemoteError } from "../kernel/errors.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import { scrubbedExcerpt, scrubbedTail } from "./fault.ts";

const MAX_CAUSES = 5;
const MAX_MESSAGE = 4000;
const MAX_STACK = 8000;
const MAX_FACT = 2000;
const MAX_MEMBERS = 50;
const MAX_FACT_DEPTH = 4;

/**
 * Any thrown value as it may leave the host, where it is printed with all that hangs on it: a copy with code, message,
 * facts and stack scrubbed, and so its causes, the first five. Objects that are no errors stay behind, and members of
 * foreign errors beside their code.
 */
export function shownError(error: unknown, scrubber: Scrubber): unknown {
  return shown(error, scrubber, 0);
}

function shown(error: unknown, scrubber: Scrubber, depth: number): unknown {
  if (typeof error === "string") return scrubbedExcerpt(error, scrubber, MAX_MESSAGE);
  if (typeof error !== "object" || error === null) return typeof error === "function" ? undefined : error;
  try {
    return copyOf(error, scrubber, depth);
  } catch {
    // Members of what a user's code has thrown may themselves throw when they are read.
    return new Error("Unexpected fault");
  }
}

function copyOf(error: object, scrubber: Scrubber, depth: number): Error | undefined {
  const { cause, message, stack } = error as { cause?: unknown; message?: unknown; stack?: unknown };
  const copy = emptyCopy(error, typeof message === "string" ? message : "", scrubber);
  if (copy === undefined) return depth === 0 ? new Error("Unexpected fault: what was thrown is no error") : undefined;
  if (typeof stack === "string") {
    hide(copy, "stack", scrubbedExcerpt(stack, scrubber, MAX_STACK));
  }
  const led = cause === undefined || depth === MAX_CAUSES ? undefined : shown(cause, scrubber, depth + 1);
  if (led !== undefined) hide(copy, "cause", led);
  return copy;
}

function emptyCopy(error: object, message: string, scrubber: Scrubber): Error | undefined {
  const text = scrubbedExcerpt(message, scrubber, MAX_MESSAGE);
  if (isHostError(error)) return new HostError(error.code, text, { facts: shownFacts(error.facts, scrubber) });
  if (isRemoteError(error)) return new RemoteError(error.code, text, shownFact(error.data, scrubber, 0));
  if (!(error instanceof Error)) return undefined;
  const copy = new Error(text);
  const { name, code } = error as { name: unknown; code?: unknown };
  if (typeof name === "string" && /^[A-Za-z]{1,40}$/.test(name)) hide(copy, "name", name);
  if (typeof code === "string" && /^[A-Z][A-Za-z0-9_]{1,40}$/.test(code)) Object.assign(copy, { code });
  return copy;
}

function shownFacts(facts: object, scrubber: Scrubber): Record<string, unknown> {
  return shownFact(facts, scrubber, 0) as Record<string, unknown>;
}

function shownFact(value: unknown, scrubber: Scrubber, depth: number): unknown {
  if (typeof value === "string") return scrubbedExcerpt(value, scrubber, MAX_FACT);
  if (typeof value === "function" || typeof value === "symbol") return undefined;
  if (typeof value !== "object" || value === null) return scrubber.value(value);
  if (depth === MAX_FACT_DEPTH) return undefined;
  if (Array.isArray(value)) return value.slice(0, MAX_MEMBERS).map((item) => shownFact(item, scrubber, depth + 1));
  return Object.fromEntries(
    Object.entries(value).slice(0, MAX_MEMBERS).map(([name, member]) => [
      scrubbedExcerpt(name, scrubber, MAX_FACT),
      // The newest lines stand at its end.
      name === "stderrTail" && typeof member === "string"
        ? scrubbedTail(member, scrubber, MAX_FACT)
        : shownFact(member, scrubber, depth + 1),
    ]),
  );
}

/** Sets a member that is not listed among the others, as those of an error are. */
function hide(error: Error, name: "name" | "stack" | "cause", value: unknown): void {
  Object.defineProperty(error, name, { value, configurable: true, writable: true });
}
