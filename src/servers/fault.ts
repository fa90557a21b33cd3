import { causeCode, isHostError, isRemoteError } from "../kernel/errors.ts";
import type { Scrubber } from "../scrub/scrubber.ts";

/** An error as events, statuses and outcomes show it: scrubbed, short, and the same on every runtime. */
export interface Fault {
  /** Our own code, or the number that the peer answered with. */
  readonly code: string | number;
  readonly message: string;
}

const MAX_TEXT = 1000;

/** Reduces any thrown value. Texts of a runtime's own errors are left out: they differ and may quote input. */
export function faultOf(error: unknown, scrubber: Scrubber): Fault {
  if (isHostError(error)) return { code: error.code, message: scrubbedExcerpt(error.message, scrubber) };
  if (isRemoteError(error)) return { code: error.code, message: scrubbedExcerpt(error.message, scrubber) };
  return { code: causeCode(error), message: "Unexpected fault" };
}

/** Scrubs first, so that a cut never leaves half a secret, then keeps at most `maxLength` characters of the head. */
export function scrubbedExcerpt(text: string, scrubber: Scrubber, maxLength: number = MAX_TEXT): string {
  const enough = 16 * maxLength;
  // What is far behind the cut need not be scrubbed. A scrub that is not told of an end keeps back what may be the
  // beginning of a secret, so that the rest of one never stands where markers have shortened the text.
  return headOf(text.length > enough ? scrubber.stream().push(text.slice(0, enough)) : scrubber.text(text), maxLength);
}

/** Scrubs first, then keeps the last `maxLength` UTF-16 units, from a whole line on where there is one. */
export function scrubbedTail(text: string, scrubber: Scrubber, maxLength: number): string {
  const clean = scrubber.text(text);
  if (clean.length <= maxLength) return clean;
  const tail = clean.slice(-maxLength);
  return tail.slice(tail.indexOf("\n") + 1);
}

/** The first `maxLength` UTF-16 units, never half a surrogate pair. */
export function headOf(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const last = text.charCodeAt(maxLength - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? maxLength - 1 : maxLength);
}
