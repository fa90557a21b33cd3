import type { SpillParser } from "../jsonrpc/spill.ts";
import { LineSplitter } from "../streams/lines.ts";
import type { FrameLineHandlers, LineSource } from "./frames.ts";
import type { FrameAccount } from "./frame_budget.ts";
import { LargeFrame, type OpenFrames, UNCOUNTED_BYTES } from "./large_frame.ts";

const LF = 10;
/** Most of one line, also of one that is skipped. */
const MAX_LINE_BYTES = 4 * 1024 ** 3;
/** Most of one that turned out to be no message. */
const MAX_NOISE_BYTES = 8 << 20;
/** What of a line is kept in case it turns out to be noise. */
const MAX_BEGINNING = 16 << 10;
/** A message is an object, or a list of them. */
const NO_MESSAGE = /^\uFEFF?\s*[^\s{[]/;

/** Cuts the bytes of a pipe into lines; those that are too long to be held are parsed while they arrive. */
export class LargeLines implements LineSource {
  readonly #maxHeld: number;
  readonly #open: () => SpillParser;
  readonly #account: FrameAccount;
  readonly #handlers: FrameLineHandlers;
  readonly #short: LineSplitter;
  /** Of the line under way. */
  #bytes = 0;
  /** The line under way, once it is too long to be held. */
  #frame: LargeFrame | undefined;
  /** How long it may get. */
  #maxBytes = MAX_LINE_BYTES;
  #isOver = false;

  constructor({ maxHeld, open, account }: OpenFrames, handlers: FrameLineHandlers) {
    this.#maxHeld = maxHeld;
    this.#open = open;
    this.#account = account();
    this.#handlers = handlers;
    this.#short = new LineSplitter(maxHeld, handlers);
  }

  push(chunk: Uint8Array): void | Promise<void> {
    if (this.#isOver) return;
    if (this.#frame !== undefined) return this.#goOn(this.#frame, chunk);
    if (this.#bytes + chunk.length <= this.#maxHeld) return this.#pass(chunk);
    const end = chunk.indexOf(LF);
    if (end < 0 || this.#bytes + end > this.#maxHeld) return this.#begin(chunk);
    const last = chunk.lastIndexOf(LF, Math.max(end, this.#maxHeld - 1));
    return merge(this.#pass(chunk.subarray(0, last + 1)), this.push(chunk.subarray(last + 1)));
  }

  end(): void | Promise<void> {
    this.#account.set(0);
    return this.#frame === undefined ? this.#short.end() : this.#frame.end();
  }

  abort(): void {
    this.#isOver = true;
    this.#account.set(0);
    this.#frame?.abort();
  }

  #pass(chunk: Uint8Array): void | Promise<void> {
    const end = chunk.lastIndexOf(LF) + 1;
    this.#bytes = end === 0 ? this.#bytes + chunk.length : chunk.length - end;
    return merge(this.#short.push(chunk), this.#count());
  }

  #count(): void | Promise<void> {
    const waiting = this.#account.set(this.#bytes > UNCOUNTED_BYTES ? this.#bytes : 0);
    return waiting?.catch(() => {
      // There will be no room for it, and a pipe cannot go on without it.
      this.abort();
      this.#handlers.onTooLong(this.#bytes);
    });
  }

  #begin(chunk: Uint8Array): void | Promise<void> {
    const held = this.#short.takeHeld();
    this.#account.set(0);
    const beginning = (held.length > 0 ? held : chunk).slice(0, MAX_BEGINNING);
    this.#maxBytes = MAX_LINE_BYTES;
    const frame: LargeFrame = new LargeFrame(this.#open(), (message, bytes) => {
      const isNoise = message.kind === "malformed" && (message.reason === "not_json" || message.reason === "not_rpc");
      if (isNoise) this.#maxBytes = MAX_NOISE_BYTES;
      return this.#handlers.onFrame(message, bytes, isNoise ? new TextDecoder().decode(beginning) : "");
    });
    this.#frame = frame;
    const isNoise = NO_MESSAGE.test(new TextDecoder().decode(beginning));
    const pause = merge(isNoise ? frame.refuse() : undefined, held.length > 0 ? frame.push(held) : undefined);
    return pause === undefined ? this.#goOn(frame, chunk) : pause.then(() => this.#goOn(frame, chunk));
  }

  #goOn(frame: LargeFrame, chunk: Uint8Array): void | Promise<void> {
    const end = chunk.indexOf(LF);
    const pause = frame.push(end < 0 ? chunk : chunk.subarray(0, end));
    if (frame.bytes > this.#maxBytes) {
      this.abort();
      this.#handlers.onTooLong(frame.bytes);
      return pause;
    }
    if (end < 0) return pause;
    const told = frame.end();
    this.#frame = undefined;
    this.#bytes = 0;
    const rest = chunk.subarray(end + 1);
    const settled = merge(pause, told);
    // Lines are delivered in their order: those behind a long one wait until it has been.
    if (settled === undefined) return this.push(rest);
    this.#frame = frame;
    return settled.then(() => {
      this.#frame = undefined;
      return this.push(rest);
    });
  }
}

function merge(a: void | Promise<void>, b: void | Promise<void>): void | Promise<void> {
  if (a === undefined || b === undefined) return a ?? b;
  return Promise.all([a, b]).then(() => undefined);
}
