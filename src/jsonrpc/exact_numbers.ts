import { endOfString } from "./json_text.ts";
import { newNonce, replaceMarked } from "./marked.ts";

/** Integers with fewer digits are safe. */
const DIGITS = 16;
/** A longer integer is left to `JSON.parse`: to make a bigint of millions of digits would take seconds. */
const LONG_INTEGER = /-?\d{16,4096}/g;

/** True where a text has as many digits in a row as an integer needs that a double cannot hold. */
export function hasLongNumber(text: string): boolean {
  // A row of so many covers one of these places.
  for (let at = DIGITS - 1; at < text.length; at += DIGITS) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let from = at;
    while (isDigit(text.charCodeAt(from - 1))) from--;
    let to = at + 1;
    while (to - from < DIGITS && isDigit(text.charCodeAt(to))) to++;
    if (to - from >= DIGITS) return true;
  }
  return false;
}

/**
 * Parses JSON text; integers outside the safe ones become bigint, of up to 4,096 digits. Everything else is what
 * `JSON.parse` makes of it, also numbers with a fraction or an exponent. Throws what `JSON.parse` throws.
 */
export function parseExact(text: string): unknown {
  const nonce = newNonce();
  const marked = markLongIntegers(text, nonce);
  const value: unknown = JSON.parse(marked);
  return marked === text ? value : replaceMarked(value, nonce, BigInt);
}

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

/** The text with each unsafe integer as a string: `nonce`, then its digits. Wrong JSON stays wrong. */
export function markLongIntegers(text: string, nonce: string): string {
  let out = "";
  let copied = 0;
  /** The next string, and the end of the one before. */
  let quote = text.indexOf('"');
  let outside = 0;
  for (const { 0: digits, index } of text.matchAll(LONG_INTEGER)) {
    while (quote >= 0 && quote < index) {
      const end = endOfString(text, quote + 1);
      if (end < 0) return text;
      outside = end + 1;
      quote = text.indexOf('"', outside);
    }
    if (index < outside || !isWholeInteger(text, index, digits) || Number.isSafeInteger(Number(digits))) continue;
    out += `${text.slice(copied, index)}"${nonce}${digits}"`;
    copied = index + digits.length;
  }
  return copied === 0 ? text : out + text.slice(copied);
}

/** Digits may be a part of something else: of a fraction, an exponent, a longer integer. Some are no JSON at all. */
function isWholeInteger(text: string, index: number, digits: string): boolean {
  if (/^-?0/.test(digits)) return false;
  if (/[\w.+-]/.test(text.charAt(index - 1))) return false;
  let at = index + digits.length;
  if (/[\w.+-]/.test(text.charAt(at))) return false;
  // A number is no key, but the string in its place would be one.
  while (" \t\n\r".includes(text.charAt(at)) && at < text.length) at++;
  return text.charAt(at) !== ":";
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
