import type { Chunk } from "./spill_bytes.ts";
import type { SpillSink, SpillWriter } from "./spill_sink.ts";
import { decodeText, LongText, wholeCharacters } from "./spill_text.ts";

/** What takes a part of a message in the place of the parser, up to its end. */
export interface Aside {
  /** Takes the bytes from `from` on; returns where the part ended, behind its last byte, or the chunk's end. */
  push(chunk: Chunk, from: number): number;
  readonly isEnded: boolean;
  /** What came can be no such part, or is more than may come. */
  readonly fault: "not_json" | "too_large" | "too_deep" | undefined;
}

/** What it tells the parser that it belongs to. */
export interface AsideOptions {
  readonly sink: SpillSink;
  readonly onWait: (writing: Promise<void>) => void;
  readonly onFailed: (error: unknown) => void;
}

export interface LongStringOptions extends AsideOptions {
  /** Bytes of its beginning that stay in memory; what is no longer than that is not spilled. */
  readonly headBytes: number;
}

/** Writes, and tells how it goes. */
export function writeAside(writer: SpillWriter, utf8: Uint8Array, { onWait, onFailed }: AsideOptions): void {
  try {
    const writing = writer.write(utf8);
    if (writing !== undefined) onWait(writing);
  } catch (error) {
    onFailed(error);
  }
}

/** One long string on its way out of its message. */
export class LongString implements Aside {
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

  get fault(): "not_json" | undefined {
    return this.#text.isBroken ? "not_json" : undefined;
  }

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
        this.#writer = this.#options.sink.open("text/plain");
      } catch (error) {
        return this.#options.onFailed(error);
      }
      writeAside(this.#writer, this.#head, this.#options);
    }
    writeAside(this.#writer, part, this.#options);
  }
}
