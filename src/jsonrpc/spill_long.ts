import type { Chunk } from "./spill_bytes.ts";
import type { SpillSink, SpillWriter } from "./spill_sink.ts";
import { decodeText, LongText, wholeCharacters } from "./spill_text.ts";

/** What a long string tells the parser that it belongs to. */
export interface LongStringOptions {
  readonly sink: SpillSink;
  /** Bytes of its beginning that stay in memory; what is no longer than that is not spilled. */
  readonly headBytes: number;
  readonly onWait: (writing: Promise<void>) => void;
  readonly onFailed: (error: unknown) => void;
}

/** One long string on its way out of its message. */
export class LongString {
  readonly #options: LongStringOptions;
  readonly #text = new LongText((utf8) => this.#take(utf8));
  readonly #head: Uint8Array;
  #headLength = 0;
  #bytes = 0;
  #writer: SpillWriter | undefined;

  constructor(options: LongStringOptions) {
    this.#options = options;
    this.#head = new Uint8Array(options.headBytes);
  }

  /** UTF-8 bytes so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Set once it is longer than its head. */
  get writer(): SpillWriter | undefined {
    return this.#writer;
  }

  get isEnded(): boolean {
    return this.#text.isEnded;
  }

  get isBroken(): boolean {
    return this.#text.isBroken;
  }

  /** Takes the bytes from `from` on; returns where it ended, behind the closing quote or at the chunk's end. */
  push(chunk: Chunk, from: number): number {
    return this.#text.push(chunk, from);
  }

  /** What stays of it, in whole characters. */
  get head(): string {
    const head = this.#head.subarray(0, this.#headLength);
    return decodeText(this.#writer === undefined ? head : head.subarray(0, wholeCharacters(head)));
  }

  #take(utf8: Uint8Array): void {
    this.#bytes += utf8.length;
    let part = utf8;
    if (this.#writer === undefined) {
      const room = this.#options.headBytes - this.#headLength;
      this.#head.set(part.subarray(0, room), this.#headLength);
      this.#headLength += Math.min(room, part.length);
      if (part.length <= room) return;
      part = part.subarray(room);
      try {
        this.#writer = this.#options.sink.open();
      } catch (error) {
        return this.#options.onFailed(error);
      }
      this.#write(this.#writer, this.#head);
    }
    this.#write(this.#writer, part);
  }

  #write(writer: SpillWriter, utf8: Uint8Array): void {
    try {
      const writing = writer.write(utf8);
      if (writing !== undefined) this.#options.onWait(writing);
    } catch (error) {
      this.#options.onFailed(error);
    }
  }
}
