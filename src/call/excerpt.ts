const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A text and its size, encoded only where somebody needs the bytes. */
export interface SizedText {
  readonly text: string;
  /** UTF-8 bytes. */
  readonly bytes: number;
  /** Present where counting needed them. */
  readonly encoded?: Uint8Array;
}

/** Up to this many UTF-16 units the size is counted by hand, which is cheaper than to encode. */
const SHORT = 256;

export function sizeOf(text: string): SizedText {
  if (text.length > SHORT) {
    const encoded = encoder.encode(text);
    return { text, bytes: encoded.length, encoded };
  }
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    // Each half of a surrogate pair counts two of the pair's four bytes; a lone one is encoded in three.
    bytes += unit < 0x800 ? 1 : isPaired(text, at, unit) ? 1 : 2;
  }
  return { text, bytes };
}

function isPaired(text: string, at: number, unit: number): boolean {
  if (unit >= 0xd800 && unit < 0xdc00) return isIn(text.charCodeAt(at + 1), 0xdc00);
  return unit >= 0xdc00 && unit < 0xe000 && isIn(text.charCodeAt(at - 1), 0xd800);
}

function isIn(unit: number, from: number): boolean {
  return unit >= from && unit < from + 0x400;
}

/**
 * A text that has at most `maxBytes` of UTF-8: itself, or its head and its tail with a mark between them that tells how
 * much is left out. Never cuts a character.
 */
export function headAndTail(sized: SizedText, maxBytes: number, more = ""): string {
  const { text, bytes } = sized;
  if (bytes <= maxBytes) return text;
  const encoded = sized.encoded ?? encoder.encode(text);
  const mark = (left: number): string => `\n[... ${left} bytes left out${more} ...]\n`;
  const room = Math.max(0, maxBytes - encoder.encode(mark(bytes)).length);
  const head = characterStart(encoded, Math.ceil(room * 0.75), -1);
  const tail = characterStart(encoded, bytes - Math.floor(room * 0.25), 1);
  return decoder.decode(encoded.subarray(0, head)) + mark(tail - head) + decoder.decode(encoded.subarray(tail));
}

/** The same of a text of which only the head and the tail are at hand. */
export function spilledExcerpt(
  { head, tail, bytes }: { readonly head: string; readonly tail: string; readonly bytes: number },
  maxBytes: number,
  more = "",
): string {
  const mark = (left: number): string => `\n[... ${left} bytes left out${more} ...]\n`;
  const room = Math.max(0, maxBytes - mark(bytes).length);
  const first = encoder.encode(head);
  const last = encoder.encode(tail);
  const to = characterStart(first, Math.min(first.length, Math.ceil(room * 0.75)), -1);
  const from = characterStart(last, Math.max(0, last.length - Math.floor(room * 0.25)), 1);
  const left = bytes - to - (last.length - from);
  return decoder.decode(first.subarray(0, to)) + mark(left) + decoder.decode(last.subarray(from));
}

/** The nearest place in the given direction where a character begins. */
function characterStart(encoded: Uint8Array, at: number, step: 1 | -1): number {
  while (at > 0 && at < encoded.length && (encoded[at]! & 0xc0) === 0x80) at += step;
  return at;
}
