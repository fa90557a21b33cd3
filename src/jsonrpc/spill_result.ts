import { type Chunk, isSpace, PLAIN, QUOTE } from "./spill_bytes.ts";
import { type Aside, type AsideOptions, writeAside } from "./spill_long.ts";
import type { SpillWriter } from "./spill_sink.ts";
import { LongText } from "./spill_text.ts";

/** What is collected before it is written. */
const OUT_BYTES = 64 << 10;
/** Most that one escape adds to it without looking. */
const SLACK = 8;
/** Most bytes of its plain members, with their names. */
const MAX_MEMBERS = 64 << 10;
/** A longer string is no plain member. */
const MAX_STRING = 4 << 10;

const COLON = 58;
const OPENING_BRACKET = 91;
const CLOSING_BRACKET = 93;
const OPENING_BRACE = 123;
const CLOSING_BRACE = 125;

const NULL = new TextEncoder().encode("null");
const QUOTES = Uint8Array.of(QUOTE);
/** How the bytes that cannot stand in a JSON string as they are are written. */
const ESCAPES: readonly Uint8Array[] = Array.from(
  { length: 128 },
  (_, byte) => new TextEncoder().encode(JSON.stringify(String.fromCharCode(byte)).slice(1, -1)),
);

export interface LongResultOptions extends AsideOptions {
  readonly maxDepth: number;
}

/**
 * A result on its way out of its message, as JSON text. Of each string the escapes are those that `JSON.stringify` writes:
 * in any other writing a secret would pass whoever looks for it. That the text is JSON is not checked beyond its strings
 * and its brackets.
 */
export class LongResult implements Aside {
  readonly #options: LongResultOptions;
  readonly #text = new LongText((utf8) => this.#addString(utf8));
  readonly #out = new Uint8Array(OUT_BYTES + SLACK);
  #length = 0;
  /** The object itself, with null for each object, array and long string in it. */
  #members: Uint8Array = new Uint8Array(1 << 10);
  #membersLength = 0;
  /** Where in it the string under way begins, with its quote; nothing more of one that was too long is added. */
  #stringFrom = 0;
  #skips = false;
  /** Opening brackets by depth. */
  readonly #open: Uint8Array;
  #depth = 0;
  #inString = false;
  bytes = 0;
  /** Absent where it could not be opened. */
  readonly writer: SpillWriter | undefined;
  isEnded = false;
  fault: Aside["fault"];

  constructor(options: LongResultOptions) {
    this.#options = options;
    this.#open = new Uint8Array(options.maxDepth + 1);
    try {
      this.writer = options.sink.open("application/json");
    } catch (error) {
      options.onFailed(error);
    }
  }

  push(chunk: Chunk, from: number): number {
    const { bytes } = chunk;
    let at = from;
    while (at < bytes.length && !this.isEnded && this.fault === undefined) {
      if (!this.#inString) {
        at = this.#structure(bytes, at);
        continue;
      }
      at = this.#text.push(chunk, at);
      if (this.#text.isBroken) this.fault = "not_json";
      if (!this.#text.isEnded) continue;
      this.#inString = false;
      this.#add(QUOTES, 0, 1);
      this.#skips = false;
    }
    return at;
  }

  /** Its members that are no objects, no arrays and no long strings. Throws for what is no JSON. */
  members(): Record<string, unknown> {
    const text = new TextDecoder().decode(this.#members.subarray(0, this.#membersLength));
    const members = JSON.parse(text) as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(members).filter(([name, value]) => value !== null && name !== "__proto__"),
    );
  }

  /** On to the next string, behind its opening quote, or to the end. */
  #structure(bytes: Uint8Array, from: number): number {
    let kept = from;
    for (let at = from; at < bytes.length; at++) {
      switch (bytes[at]) {
        case QUOTE:
          this.#add(bytes, kept, at + 1);
          this.#inString = true;
          this.#stringFrom = this.#membersLength - 1;
          this.#text.begin();
          return at + 1;
        case OPENING_BRACKET:
        case OPENING_BRACE:
          if (this.#depth === 1) {
            this.#add(bytes, kept, at);
            this.#addMember(NULL);
            kept = at;
          }
          if (++this.#depth > this.#options.maxDepth) {
            this.fault = "too_deep";
            return at;
          }
          this.#open[this.#depth] = bytes[at]!;
          break;
        case CLOSING_BRACKET:
        case CLOSING_BRACE:
          if (this.#open[this.#depth] !== (bytes[at] === CLOSING_BRACE ? OPENING_BRACE : OPENING_BRACKET)) {
            this.fault = "not_json";
            return at;
          }
          if (this.#depth <= 2) {
            this.#add(bytes, kept, at + 1);
            kept = at + 1;
          }
          if (--this.#depth > 0) break;
          this.isEnded = true;
          this.#flush();
          return at + 1;
      }
    }
    this.#add(bytes, kept, bytes.length);
    return bytes.length;
  }

  /** Adds a part of a string, escaped. */
  #addString(utf8: Uint8Array): void {
    const out = this.#out;
    for (let at = 0; at < utf8.length;) {
      if (this.#length > OUT_BYTES) this.#flush();
      const from = this.#length;
      let length = from;
      for (; at < utf8.length && length <= OUT_BYTES; at++) {
        const byte = utf8[at]!;
        if (PLAIN[byte] === 1) out[length++] = byte;
        else for (const each of ESCAPES[byte]!) out[length++] = each;
      }
      this.#length = length;
      if (this.#depth <= 1) this.#addMember(out.subarray(from, length));
    }
  }

  /** Adds what stands between strings, and their quotes. */
  #add(bytes: Uint8Array, from: number, to: number): void {
    if (from === to) return;
    if (this.#depth <= 1) this.#addMember(bytes.subarray(from, to));
    if (this.#length + to - from > OUT_BYTES) this.#flush();
    if (to - from > OUT_BYTES) return this.#write(bytes.subarray(from, to));
    // Most of it is so short that a loop is faster than any call.
    const out = this.#out;
    let length = this.#length;
    for (let at = from; at < to; at++) out[length++] = bytes[at]!;
    this.#length = length;
  }

  #addMember(part: Uint8Array): void {
    if (this.#skips) return;
    if (this.#inString && this.#membersLength + part.length - this.#stringFrom > MAX_STRING + 1) {
      return this.#skipString();
    }
    const length = this.#membersLength + part.length;
    if (length > MAX_MEMBERS) {
      this.fault ??= "too_large";
      return;
    }
    if (length > this.#members.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#members.length));
      larger.set(this.#members);
      this.#members = larger;
    }
    this.#members.set(part, this.#membersLength);
    this.#membersLength = length;
  }

  #skipString(): void {
    let before = this.#stringFrom - 1;
    while (isSpace(this.#members[before]!)) before--;
    // Its name alone is too long.
    if (this.#members[before] !== COLON) this.fault = "too_large";
    this.#membersLength = this.#stringFrom;
    this.#members.set(NULL, this.#membersLength);
    this.#membersLength += NULL.length;
    this.#skips = true;
  }

  #flush(): void {
    if (this.#length > 0) this.#write(this.#out.subarray(0, this.#length));
    this.#length = 0;
  }

  #write(part: Uint8Array): void {
    this.bytes += part.length;
    if (this.writer !== undefined) writeAside(this.writer, part, this.#options);
  }
}
