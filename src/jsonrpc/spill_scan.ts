import { BACKSLASH, type Chunk, isSpace, plainEnd, QUOTE } from "./spill_bytes.ts";
import type { SpillRest } from "./spill_rest.ts";

const COMMA = 44;
const COLON = 58;
const OPENING_BRACKET = 91;
const CLOSING_BRACKET = 93;
const OPENING_BRACE = 123;
const CLOSING_BRACE = 125;

/**
 * Follows the structure of JSON text over chunks: which bytes are strings, how deep they lie, how many values there are.
 * It refuses what passes the bounds and leaves most of what is wrong otherwise to whoever parses the text in the end.
 */
export class JsonScan {
  readonly #maxDepth: number;
  readonly #maxNodes: number;
  readonly #maxString: number;
  /** Opening brackets by depth. */
  readonly #open: Uint8Array;
  #depth = 0;
  #nodes = 1;
  #inString = false;
  /** The last byte was a backslash. */
  #escaped = false;
  /** Where the string under way begins, and where the last whole one was, as places in the rest. */
  #stringFrom = 0;
  #lastFrom = 0;
  #lastTo = 0;
  #stringLimit = 0;
  /** Where the first object or array within the message begins; 0 before. */
  prefix = 0;
  /** That one is under way. */
  isInFirst = false;
  fault: "not_json" | "too_deep" | "too_many_nodes" | undefined;
  /** The string under way has passed `maxString`, and the scan has stopped in it. */
  isLong = false;

  constructor(bounds: { readonly maxDepth: number; readonly maxNodes: number; readonly maxString: number }) {
    this.#maxDepth = bounds.maxDepth;
    this.#maxNodes = bounds.maxNodes;
    this.#maxString = bounds.maxString;
    this.#open = new Uint8Array(bounds.maxDepth + 1);
  }

  get isInString(): boolean {
    return this.#inString;
  }

  /** Where the string under way begins, behind its quote. */
  get stringFrom(): number {
    return this.#stringFrom;
  }

  /** The string under way stays, however long it gets. */
  keepString(): void {
    this.isLong = false;
    this.#stringLimit = Infinity;
  }

  /** The string under way is somebody else's up to its closing quote. */
  leaveString(): void {
    this.isLong = false;
    this.#inString = false;
    this.#escaped = false;
  }

  /** The first object or array within the message is somebody else's up to its closing bracket. */
  leaveFirst(): void {
    this.leaveString();
    this.isInFirst = false;
    this.#depth = 1;
  }

  /**
   * Scans the chunk from a place on, which is `shift` less than its place in the rest, to another. Returns where it
   * stopped: there, at a fault, or in a long string.
   */
  scan(chunk: Chunk, from: number, to: number, shift: number): number {
    const { bytes } = chunk;
    let at = from;
    for (;;) {
      if (!this.#inString) {
        at = this.#structure(bytes, at, to, shift);
        if (!this.#inString) return at;
        this.#stringFrom = at + shift;
        this.#stringLimit = this.#maxString;
      }
      if (this.#escaped && at < to) {
        this.#escaped = false;
        at++;
      }
      const limit = Math.min(to, this.#stringFrom + this.#stringLimit + 1 - shift);
      at = plainEnd(chunk, at, limit);
      while (at < limit && bytes[at] === BACKSLASH) {
        this.#escaped = at + 1 === limit;
        at = this.#escaped ? limit : plainEnd(chunk, at + 2, limit);
      }
      if (at === limit) {
        this.isLong = at + shift - this.#stringFrom > this.#stringLimit;
        return at;
      }
      if (bytes[at] !== QUOTE) return this.#stop("not_json", at);
      this.#inString = false;
      this.#lastFrom = this.#stringFrom;
      this.#lastTo = at + shift;
      at++;
    }
  }

  /**
   * Where the string under way stands: depth and name of the member whose value it is, such as `1:id`, or `item`.
   * `undefined` for what is no value within a message: a name, a text by itself, anything in a batch.
   */
  placeOfString(rest: SpillRest): string | undefined {
    if (this.#depth === 0 || this.#open[1] === OPENING_BRACKET) return undefined;
    let before = this.#stringFrom - 2;
    while (before > 0 && isSpace(rest.at(before))) before--;
    if (rest.at(before) !== COLON) return this.#open[this.#depth] === OPENING_BRACKET ? "item" : undefined;
    if (this.#lastTo - this.#lastFrom > MAX_NAME) return "member";
    try {
      const text = new TextDecoder().decode(rest.view(this.#lastFrom - 1, this.#lastTo + 1));
      return `${this.#depth}:${JSON.parse(text)}`;
    } catch {
      // No JSON: refused when all of it is parsed.
      return "member";
    }
  }

  /** On to the next string, behind its opening quote, or to the end. */
  #structure(bytes: Uint8Array, from: number, to: number, shift: number): number {
    for (let at = from; at < to; at++) {
      switch (bytes[at]) {
        case QUOTE:
          this.#inString = true;
          return at + 1;
        case OPENING_BRACKET:
        case OPENING_BRACE:
          if (this.#depth === 1 && this.prefix === 0) {
            this.prefix = at + shift;
            this.isInFirst = true;
          }
          if (++this.#depth > this.#maxDepth) return this.#stop("too_deep", at);
          this.#open[this.#depth] = bytes[at]!;
          if (++this.#nodes > this.#maxNodes) return this.#stop("too_many_nodes", at);
          break;
        case CLOSING_BRACKET:
        case CLOSING_BRACE:
          if (--this.#depth === 1) this.isInFirst = false;
          if (this.#depth < 0) return this.#stop("not_json", at);
          break;
        case COMMA:
          if (++this.#nodes > this.#maxNodes) return this.#stop("too_many_nodes", at);
          break;
      }
    }
    return to;
  }

  #stop(fault: NonNullable<JsonScan["fault"]>, at: number): number {
    this.fault = fault;
    return at;
  }
}

/** A name of which this is not enough is none that matters. */
const MAX_NAME = 256;
