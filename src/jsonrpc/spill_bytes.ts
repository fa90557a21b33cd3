/** Bytes of a chunk, and the same as words of four where they are aligned. */
export interface Chunk {
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
  /** Bytes before the first word. */
  readonly pad: number;
}

export const QUOTE = 34;
export const BACKSLASH = 92;

/** 1 for each byte that may stand in a JSON string as it is; bytes of characters beyond ASCII count as such. */
export const PLAIN: Uint8Array = new Uint8Array(256).fill(1);
PLAIN.fill(0, 0, 32);
PLAIN[QUOTE] = 0;
PLAIN[BACKSLASH] = 0;

/** What is looked at byte by byte before words are. */
const NEAR = 32;
const NO_WORDS = new Int32Array(0);

export function chunkOf(bytes: Uint8Array): Chunk {
  const pad = -bytes.byteOffset & 3;
  const length = bytes.length < NEAR ? 0 : (bytes.length - pad) >> 2;
  return { bytes, words: length === 0 ? NO_WORDS : new Int32Array(bytes.buffer, bytes.byteOffset + pad, length), pad };
}

/** The first place from `from` on, before `to`, of a byte that is not plain; `to` if there is none. */
export function plainEnd({ bytes, words, pad }: Chunk, from: number, to: number): number {
  let at = from;
  const near = Math.min(to, from + NEAR);
  while (at < near) {
    if (PLAIN[bytes[at]!] === 0) return at;
    at++;
  }
  if (at === to) return to;
  while (((at - pad) & 3) !== 0) {
    if (at === to || PLAIN[bytes[at]!] === 0) return at;
    at++;
  }
  let word = (at - pad) >> 2;
  const last = Math.min(words.length, (to - pad) >> 2);
  for (; word < last; word++) {
    // In each term the highest bit of a byte is set where it is below 32, a quote, a backslash; a borrow can set only
    // the bits above one that is set already.
    const four = words[word]!;
    const quote = four ^ 0x22222222;
    const slash = four ^ 0x5c5c5c5c;
    const found = ((four - 0x20202020) & ~four) | ((quote - 0x01010101) & ~quote) | ((slash - 0x01010101) & ~slash);
    if ((found & 0x80808080) !== 0) break;
  }
  at = pad + 4 * word;
  while (at < to && PLAIN[bytes[at]!] === 1) at++;
  return at;
}

/** White space in JSON. */
export function isSpace(byte: number): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9;
}
