import { HostError } from "../kernel/errors.ts";
import type { ParsedMessage } from "../jsonrpc/message.ts";
import { newNonce } from "../kernel/marked.ts";
import type { SpillParser } from "../jsonrpc/spill.ts";
import { wholeCharacters } from "../jsonrpc/spill_text.ts";
import type { SseEvent, SseParser } from "../streams/sse.ts";
import type { EventSource } from "./frames.ts";
import type { FrameAccount } from "./frame_budget.ts";
import { LargeFrame, type OpenFrames, UNCOUNTED_BYTES } from "./large_frame.ts";

const NOTHING = new Uint8Array(0);
/** Most that is read of an event after it was refused. */
const MAX_DROPPED_BYTES = 64 << 20;
const LF = 10;
const CR = 13;

/**
 * Stands before the parser of a stream of events. Of a line of data that is too long to be held the parser gets a mark;
 * its bytes go to a parser of their own.
 */
export class LargeEvents implements EventSource {
  readonly #maxHeld: number;
  readonly #open: () => SpillParser;
  readonly #account: FrameAccount;
  readonly #parser: SseParser;
  readonly #onFrame: (message: ParsedMessage, bytes: number) => void;
  readonly #mark: string = newNonce();
  /** Of the line under way. */
  #bytes = 0;
  /** The data of the event under way, once it is too long to be held. */
  #frame: LargeFrame | undefined;
  /** Of it, what came after it was refused. */
  #dropped = 0;
  /** The line under way is that data. */
  #isData = false;
  /** The line under way is long and no data. */
  #isOther = false;
  /** The last bytes that the parser got: it may still hold the beginning of a character. */
  #recent: Uint8Array = NOTHING;
  #telling: void | Promise<void> = undefined;

  constructor(
    { maxHeld, open, account }: OpenFrames,
    parser: SseParser,
    onFrame: (message: ParsedMessage, bytes: number) => void,
  ) {
    this.#maxHeld = maxHeld;
    this.#open = open;
    this.#account = account();
    this.#parser = parser;
    this.#onFrame = onFrame;
  }

  push(chunk: Uint8Array): void | Promise<void> {
    if (this.#isData) return this.#goOn(chunk);
    let pause = merge(this.#parser.push(chunk), this.#telling);
    this.#telling = undefined;
    this.#recent = recentOf(this.#recent, chunk);
    const end = Math.max(chunk.lastIndexOf(LF), chunk.lastIndexOf(CR)) + 1;
    this.#bytes = end === 0 ? this.#bytes + chunk.length : chunk.length - end;
    pause = merge(pause, this.#account.set(this.#bytes > UNCOUNTED_BYTES ? this.#bytes : 0));
    // Once an event has a line of its own parser, further long ones are held and refused where they pass the limit.
    if (end > 0) this.#isOther = false;
    if (this.#bytes <= this.#maxHeld || this.#frame !== undefined || this.#isOther) return pause;
    const taken = this.#parser.takeData(this.#mark);
    if (taken === undefined) {
      this.#isOther = true;
      return pause;
    }
    this.#isData = true;
    this.#account.set(0);
    this.#dropped = 0;
    this.#frame = new LargeFrame(this.#open(), this.#onFrame);
    const cut = taken.isCut ? this.#recent.subarray(wholeCharacters(this.#recent)) : NOTHING;
    return merge(merge(pause, this.#frame.push(new TextEncoder().encode(taken.data))), this.#frame.push(cut));
  }

  take({ data }: SseEvent, isWanted: boolean): boolean {
    const frame = this.#frame;
    if (frame === undefined || !data.startsWith(this.#mark)) return false;
    this.#frame = undefined;
    if (!isWanted) frame.abort();
    else {
      const more = new TextEncoder().encode(data.slice(this.#mark.length));
      this.#telling = merge(frame.push(more), frame.end());
    }
    return true;
  }

  abort(): void {
    this.#account.set(0);
    this.#frame?.abort();
  }

  #goOn(chunk: Uint8Array): void | Promise<void> {
    let end = chunk.indexOf(LF);
    const cr = (end < 0 ? chunk : chunk.subarray(0, end)).indexOf(CR);
    if (cr >= 0) end = cr;
    const frame = this.#frame!;
    const part = end < 0 ? chunk : chunk.subarray(0, end);
    if (frame.isRefused) this.#dropped += part.length;
    if (this.#dropped > MAX_DROPPED_BYTES) {
      throw new HostError("ERR_FRAME_TOO_LARGE", "Cannot read an event: it goes on after it was refused", {
        facts: { bytes: frame.bytes, maxBytes: MAX_DROPPED_BYTES },
      });
    }
    const pause = frame.push(part);
    if (end < 0) return pause;
    this.#isData = false;
    this.#bytes = 0;
    const rest = chunk.subarray(end);
    return pause === undefined ? this.push(rest) : pause.then(() => this.push(rest));
  }
}

/** The last three bytes. */
function recentOf(before: Uint8Array, chunk: Uint8Array): Uint8Array {
  if (chunk.length >= 3) return chunk.slice(-3);
  return Uint8Array.from([...before, ...chunk]).slice(-3);
}

function merge(a: void | Promise<void>, b: void | Promise<void>): void | Promise<void> {
  if (a === undefined || b === undefined) return a ?? b;
  return Promise.all([a, b]).then(() => undefined);
}
