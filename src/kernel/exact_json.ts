import { endOfString } from "./json_text.ts";
import { newNonce, replaceMarked } from "./marked.ts";

/** Integers with fewer digits are safe. */
const DIGITS = 16;
/** A longer integer is left to `JSON.parse`: to make a bigint of millions of digits would take seconds. */
const LONG_INTEGER = /-?\d{16,4096}/g;

/**
 * JSON text as `JSON.stringify` writes it, with each bigint as the number that it is. `undefined` where there is none, as
 * for a function. Throws what `JSON.stringify` throws, for a cycle.
 */
export function exactJson(value: unknown, indent?: number): string | undefined {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch {
    // A bigint, or a cycle, which is thrown for once more below.
  }
  const nonce = newNonce();
  const marked = (_name: string, member: unknown): unknown => typeof member === "bigint" ? nonce + member : member;
  return JSON.stringify(value, marked, indent).replaceAll(new RegExp(`"${nonce}(-?\\d+)"`, "g"), "$1");
}

/** What `JSON.stringify` writes as the digits that it was made of. */
export type RawNumber = (digits: string) => object;

/**
 * Makes a number of any length that `JSON.stringify` writes as it is. `undefined` on runtimes without `JSON.rawJSON`: Node
 * before 22.
 */
export const rawNumber: RawNumber | undefined = (JSON as { rawJSON?: RawNumber }).rawJSON;

/** A copy of a JSON value with something else in the place of each bigint. Recursion is as deep as the value. */
export function replaceBigints(value: unknown, replace: RawNumber): unknown {
  if (typeof value === "bigint") return replace(String(value));
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => replaceBigints(item, replace));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, replaceBigints(member, replace)]));
}

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
