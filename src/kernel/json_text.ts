const QUOTE = 34;
const BACKSLASH = 92;

/** Index of the quote that closes the string whose characters begin at `from`, or -1. */
export function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = nextQuote(text, at + 1)) {
    let slashes = 0;
    while (text.charCodeAt(at - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at;
  }
  return -1;
}

/**
 * `indexOf` runs many times faster than a loop over the characters, but costs a call; where one escaped quote was, as in
 * JSON inside JSON, the next is near.
 */
function nextQuote(text: string, from: number): number {
  const near = Math.min(from + 16, text.length);
  for (let at = from; at < near; at++) if (text.charCodeAt(at) === QUOTE) return at;
  return text.indexOf('"', near);
}
