import { BACKSLASH, type Chunk, PLAIN, plainEnd, QUOTE } from "./spill_bytes.ts";

/** What is collected before it is handed on. */
const OUT_BYTES = 64 << 10;
/** Most that one turn of the loop adds to it without looking. */
const SLACK = 64;
/** Runs longer than this are handed on as they lie in the chunk. */
const DIRECT = 4 << 10;
/** Byte by byte, before words are looked at. */
const NEAR = 32;
/** The longest escape: two surrogates. */
const MAX_ESCAPE = 12;

/** What stands for a backslash and this byte; 0 where that is no escape. */
const SIMPLE = new Uint8Array(256);
for (const [escape, character] of ['""', "\\\\", "//", "b\b", "f\f", "n\n", "r\r", "t\t"]) {
  SIMPLE[escape!.charCodeAt(0)] = character!.charCodeAt(0);
}
const LETTER_U = 117;

/** The value of a hexadecimal digit, negative for any other byte. */
const HEX = new Int8Array(256).fill(-1);
for (let digit = 0; digit < 16; digit++) {
  HEX[digit.toString(16).charCodeAt(0)] = digit;
  HEX[digit.toString(16).toUpperCase().charCodeAt(0)] = digit;
}

/** Takes the next bytes of a text. They are the taker's only until it returns. */
export type TakeBytes = (utf8: Uint8Array) => void;

/**
 * Resolves the escapes of one long JSON string whose bytes may be cut anywhere. What comes out is UTF-8 wherever what
 * goes in is; a lone surrogate comes out as U+FFFD, which is what a text encoder makes of it.
 */
export class LongText {
  readonly #take: TakeBytes;
  readonly #out = new Uint8Array(OUT_BYTES + SLACK);
  #length = 0;
  /** The beginning of an escape that the last chunk ended in, or of a surrogate whose other half may follow. */
  readonly #cut = new Uint8Array(2 * MAX_ESCAPE);
  #cutBytes = 0;
  /** The closing quote has come. */
  isEnded = false;
  /** What came can be no JSON string. */
  isBroken = false;

  constructor(take: TakeBytes) {
    this.#take = take;
  }

  /** Another string follows. */
  begin(): void {
    this.isEnded = false;
  }

  /** Takes the string's bytes from `from` on and returns where it ended: behind the quote, or at the chunk's end. */
  push(chunk: Chunk, from: number): number {
    const at = this.#cutBytes === 0 ? from : this.#join(chunk.bytes, from);
    const end = this.isBroken || this.isEnded || at === chunk.bytes.length ? at : this.#decode(chunk, at);
    if (this.isEnded) this.#flush();
    return end;
  }

  #decode(chunk: Chunk, from: number): number {
    const { bytes } = chunk;
    const to = bytes.length;
    const out = this.#out;
    let length = this.#length;
    let at = from;
    while (at < to) {
      if (length > OUT_BYTES - NEAR) {
        this.#take(out.subarray(0, length));
        length = 0;
      }
      const near = Math.min(to, at + NEAR);
      let byte = 0;
      while (at < near && PLAIN[byte = bytes[at]!] === 1) {
        out[length++] = byte;
        at++;
      }
      if (at === near) {
        if (at === to) break;
        const end = plainEnd(chunk, at, to);
        const run = end - at;
        if (run > DIRECT || length + run > OUT_BYTES) {
          if (length > 0) this.#take(out.subarray(0, length));
          length = 0;
        }
        if (run > DIRECT) this.#take(bytes.subarray(at, end));
        else if (run > 0) {
          out.set(bytes.subarray(at, end), length);
          length += run;
        }
        at = end;
        continue;
      }
      if (byte === QUOTE) {
        this.isEnded = true;
        this.#length = length;
        return at + 1;
      }
      // A backslash, or a control character, which no JSON string may hold.
      const next = byte === BACKSLASH && at + 1 < to ? bytes[at + 1]! : 0;
      const simple = SIMPLE[next]!;
      if (simple !== 0) {
        out[length++] = simple;
        at += 2;
        continue;
      }
      if (next === LETTER_U && at + 6 <= to) {
        const unit = hexUnit(bytes, at + 2);
        if (unit >= 0 && (unit & 0xf800) !== 0xd800) {
          if (unit < 0x80) out[length++] = unit;
          else {
            if (unit < 0x800) out[length++] = 0xc0 | (unit >> 6);
            else {
              out[length++] = 0xe0 | (unit >> 12);
              out[length++] = 0x80 | ((unit >> 6) & 0x3f);
            }
            out[length++] = 0x80 | (unit & 0x3f);
          }
          at += 6;
          continue;
        }
      }
      this.#length = length;
      const used = this.#escape(bytes, at, to);
      length = this.#length;
      if (this.isBroken) return at;
      if (used === 0) {
        this.#keepCut(bytes, at);
        return to;
      }
      at += used;
    }
    this.#length = length;
    return at;
  }

  /** The slow way for surrogates, faults and escapes that may go on in the next chunk. Bytes used; 0 asks for more. */
  #escape(bytes: Uint8Array, at: number, to: number): number {
    if (bytes[at] !== BACKSLASH) return this.#break();
    if (at + 1 === to) return 0;
    const next = bytes[at + 1]!;
    if (next !== LETTER_U) {
      const simple = SIMPLE[next]!;
      if (simple === 0) return this.#break();
      this.#out[this.#length++] = simple;
      return 2;
    }
    for (let digit = at + 2; digit < Math.min(at + 6, to); digit++) if (HEX[bytes[digit]!]! < 0) return this.#break();
    if (at + 6 > to) return 0;
    const unit = hexUnit(bytes, at + 2);
    if ((unit & 0xf800) !== 0xd800) return this.#put(unit, 6);
    if (unit >= 0xdc00) return this.#put(0xfffd, 6);
    if (at + 6 === to) return 0;
    if (bytes[at + 6] !== BACKSLASH) return this.#put(0xfffd, 6);
    if (at + 7 === to) return 0;
    if (bytes[at + 7] !== LETTER_U) return this.#put(0xfffd, 6);
    if (at + MAX_ESCAPE > to) return 0;
    const low = hexUnit(bytes, at + 8);
    // What is no number is found when its own turn comes.
    if (low < 0xdc00 || low > 0xdfff) return this.#put(0xfffd, 6);
    return this.#put(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00), MAX_ESCAPE);
  }

  #put(point: number, used: number): number {
    const out = this.#out;
    if (point < 0x80) out[this.#length++] = point;
    else {
      if (point < 0x800) out[this.#length++] = 0xc0 | (point >> 6);
      else {
        if (point < 0x10000) out[this.#length++] = 0xe0 | (point >> 12);
        else {
          out[this.#length++] = 0xf0 | (point >> 18);
          out[this.#length++] = 0x80 | ((point >> 12) & 0x3f);
        }
        out[this.#length++] = 0x80 | ((point >> 6) & 0x3f);
      }
      out[this.#length++] = 0x80 | (point & 0x3f);
    }
    return used;
  }

  #keepCut(bytes: Uint8Array, at: number): void {
    this.#cut.set(bytes.subarray(at));
    this.#cutBytes = bytes.length - at;
  }

  /** Goes on with an escape that the chunk before ended in. */
  #join(bytes: Uint8Array, from: number): number {
    const held = this.#cutBytes;
    const more = Math.min(MAX_ESCAPE, bytes.length - from);
    this.#cut.set(bytes.subarray(from, from + more), held);
    this.#cutBytes = 0;
    let at = 0;
    while (at < held) {
      const used = this.#escape(this.#cut, at, held + more);
      if (this.isBroken) return from;
      if (used === 0) {
        // Even with all of the new chunk it is not whole: no escape is longer than what was looked at.
        this.#cut.copyWithin(0, at, held + more);
        this.#cutBytes = held + more - at;
        return from + more;
      }
      at += used;
    }
    if (this.#length > OUT_BYTES - NEAR) this.#flush();
    return from + at - held;
  }

  #break(): number {
    this.isBroken = true;
    return 0;
  }

  #flush(): void {
    if (this.#length > 0) this.#take(this.#out.subarray(0, this.#length));
    this.#length = 0;
  }
}

function hexUnit(bytes: Uint8Array, at: number): number {
  return (HEX[bytes[at]!]! << 12) | (HEX[bytes[at + 1]!]! << 8) | (HEX[bytes[at + 2]!]! << 4) | HEX[bytes[at + 3]!]!;
}

/** How many of the bytes are whole characters: without the beginning of one at the end. */
export function wholeCharacters(utf8: Uint8Array): number {
  const length = utf8.length;
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = utf8[length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return size > back ? length - back : length;
  }
  return length;
}

/** Decodes as a text decoder does, but leaves a byte order mark where it is. */
export function decodeText(utf8: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(utf8);
}
