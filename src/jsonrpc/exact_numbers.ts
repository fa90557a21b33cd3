import { hasLongNumber, parseExact } from "../kernel/exact_json.ts";

/**
 * Parses the text of a message, or of a batch of them. Only in what a call has resulted in are unsafe integers bigint, see
 * {@link keepExact}. Throws what `JSON.parse` throws.
 */
export function parseMessage(text: string): unknown {
  return hasLongNumber(text) ? keepExact(parseExact(text)) : JSON.parse(text);
}

/** Members whose numbers stay as they are, those of members that are objects themselves, or all. */
interface Kept {
  readonly [name: string]: Kept | true;
}

/** What the result of a call consists of that is data. */
const CALL_RESULT: Kept = { content: true, structuredContent: true };
const ANSWER: Kept = { result: { ...CALL_RESULT, result: CALL_RESULT } };

/**
 * Leaves bigints where they are data: in the members that the result of a call has for it, which stands in its message or
 * in a task that has completed. Everywhere else, in definitions, asks, cursors and progress, they become the doubles that
 * everybody who reads JSON in JavaScript counts on, whatever else is in the same result.
 */
export function keepExact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(keepExact);
  return withDoubles(value, ANSWER);
}

/** Turns bigints into doubles, in place. Recursion is as deep as the value, which is bounded. */
function withDoubles(value: unknown, kept?: Kept): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null) return value;
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== "bigint" && typeof member !== "object") continue;
    const own = kept !== undefined && Object.hasOwn(kept, name) ? kept[name] : undefined;
    if (own === true) continue;
    const made = withDoubles(member, own);
    if (made !== member) (value as Record<string, unknown>)[name] = made;
  }
  return value;
}
