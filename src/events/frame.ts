import { crc32c } from "./crc32c.ts";

/**
 * One record is one line: the checksum as eight lower-case hex digits, a space, JSON, a line feed. JSON escapes line
 * feeds, so no text inside a record can begin another. The checksum goes on from that of the record before it, which
 * also finds a line that was removed or moved.
 */
const CRC_DIGITS = 8;
const PREFIX = CRC_DIGITS + 1;
const SPACE = 0x20;
const LINE_FEED = 0x0a;
const HEX = new Uint8Array([48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 97, 98, 99, 100, 101, 102]);
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Collects records into one block of bytes that is written in one go. */
export class FrameBlock {
  #bytes = new Uint8Array(4096);
  #length = 0;
  #crc: number;

  /** `crc` is the checksum of the record before the block; 0 at the beginning of a file. */
  constructor(crc: number) {
    this.#crc = crc;
  }

  /** Checksum of the last record. */
  get crc(): number {
    return this.#crc;
  }

  get length(): number {
    return this.#length;
  }

  add(json: string): void {
    this.#reserve(PREFIX + json.length * 3 + 1);
    const start = this.#length + PREFIX;
    const { written } = encoder.encodeInto(json, this.#bytes.subarray(start));
    const end = start + written;
    this.#crc = crc32c(this.#bytes.subarray(start, end), this.#crc);
    for (let digit = 0; digit < CRC_DIGITS; digit++) this.#bytes[this.#length + digit] = hexDigit(this.#crc, digit);
    this.#bytes[start - 1] = SPACE;
    this.#bytes[end] = LINE_FEED;
    this.#length = end + 1;
  }

  /** The block; valid until the next `add`. */
  bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + more));
    larger.set(this.bytes());
    this.#bytes = larger;
  }
}

/**
 * Checks a line (without its line feed) against the checksum before it. Gives the line's own checksum, or `undefined`
 * when it is not what was written. Checksums are compared as text: parsing them would take `A` for `a`.
 */
export function checkFrame(line: Uint8Array, previousCrc: number): number | undefined {
  if (line.length <= PREFIX || line[CRC_DIGITS] !== SPACE) return undefined;
  const crc = crc32c(line.subarray(PREFIX), previousCrc);
  for (let digit = 0; digit < CRC_DIGITS; digit++) {
    if (line[digit] !== hexDigit(crc, digit)) return undefined;
  }
  return crc;
}

/** The JSON value of a line, whatever its checksum; `undefined` when it has none. */
export function frameValue(line: Uint8Array): unknown {
  if (line.length <= PREFIX || line[CRC_DIGITS] !== SPACE) return undefined;
  try {
    return JSON.parse(decoder.decode(line.subarray(PREFIX)));
  } catch {
    // Not JSON or not UTF-8: there is no value, which is all that the caller wants to know.
    return undefined;
  }
}

function hexDigit(crc: number, digit: number): number {
  return HEX[(crc >>> (28 - digit * 4)) & 15]!;
}
