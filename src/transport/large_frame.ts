import type { ParsedMessage } from "../jsonrpc/message.ts";
import type { SpillParser } from "../jsonrpc/spill.ts";
import { abortSpills } from "../jsonrpc/spill_sink.ts";
import type { FrameAccount } from "./frame_budget.ts";
import { readSpilled } from "../jsonrpc/spilled_message.ts";

/** Told of a message at most once: at the end of its frame, or as soon as it is refused. */
export type OnFrame = (message: ParsedMessage, bytes: number) => void | Promise<void>;

/** What the readers of long frames are made of. */
export interface OpenFrames {
  /** Most bytes of a frame that is held whole. */
  readonly maxHeld: number;
  open(): SpillParser;
  /** For what is held. */
  account(): FrameAccount;
}

/** So little that a frame may hold it without anybody counting. */
export const UNCOUNTED_BYTES: number = 64 << 10;

/** One frame that is parsed while it arrives. */
export class LargeFrame {
  readonly #parser: SpillParser;
  readonly #onFrame: OnFrame;
  #bytes = 0;
  #isOver = false;

  constructor(parser: SpillParser, onFrame: OnFrame) {
    this.#parser = parser;
    this.#onFrame = onFrame;
  }

  /** Bytes so far, those behind a refusal too. */
  get bytes(): number {
    return this.#bytes;
  }

  /** It was told already, though it goes on: what comes is dropped. */
  get isRefused(): boolean {
    return this.#isOver;
  }

  /** It is no message, as its beginning has shown: nothing of it is held. */
  refuse(): void | Promise<void> {
    this.#parser.abort();
    return this.#tell({ kind: "malformed", reason: "not_json" });
  }

  push(part: Uint8Array): void | Promise<void> {
    this.#bytes += part.length;
    if (this.#isOver) return;
    const pause = this.#parser.push(part);
    if (!this.#parser.isRefused) return pause;
    return pause === undefined ? this.end() : pause.then(() => this.end());
  }

  /** The frame is complete. */
  end(): void | Promise<void> {
    if (this.#isOver) return;
    const parse = this.#parser.end();
    if (parse instanceof Promise) return parse.then((parsed) => this.#tell(readSpilled(parsed)));
    return this.#tell(readSpilled(parse));
  }

  /** Nothing is told any more. */
  abort(): void {
    this.#isOver = true;
    this.#parser.abort();
  }

  #tell(message: ParsedMessage): void | Promise<void> {
    if (this.#isOver) {
      if (message.kind === "result") abortSpills(message.spills);
      return;
    }
    this.#isOver = true;
    return this.#onFrame(message, this.#bytes);
  }
}
