import { HostError } from "../kernel/errors.ts";
import type { LargeFrames } from "../jsonrpc/frames.ts";
import { batchId, classify, type ParsedMessage, readMessage } from "../jsonrpc/message.ts";
import { DEFAULT_PARSE_LIMITS, type ParseLimits } from "../jsonrpc/bounded_parse.ts";
import { LineSplitter, type LongLine } from "../streams/lines.ts";
import { PipeFrame } from "./pipe_frame.ts";
import type { TransportEnd, TransportHandlers, WireProfile } from "./transport.ts";

/** Lines in a row that are no message before the connection is given up. */
const MAX_NOISE_LINES = 100;
/** Members of one batch, in the one revision that has them. */
export const MAX_BATCH_MEMBERS = 100;
/** Most of one line, also of one that is skipped; what is no JSON may not even be as long as a frame. */
const MAX_LINE_BYTES = 4 * 1024 ** 3;
/** Far more than is shown: whoever shows it scrubs first and cuts then. */
const MAX_EXCERPT = 16 << 10;

/**
 * Turns the bytes of a pipe into messages: one message a line. Lines that are no message are skipped and reported; a
 * line over the limit, or too much noise without a message, is fatal. With `frames` a long line is parsed while it arrives.
 */
export class PipeReader {
  readonly #profile: WireProfile;
  readonly #handlers: TransportHandlers;
  readonly #limits: ParseLimits;
  readonly #onFatal: (end: TransportEnd) => void;
  readonly #lines: LineSplitter;
  /** The long line under way. */
  #frame: PipeFrame | undefined;
  #noise = 0;
  #done = false;

  constructor(
    profile: WireProfile,
    handlers: TransportHandlers,
    onFatal: (end: TransportEnd) => void,
    limits: ParseLimits = DEFAULT_PARSE_LIMITS,
    frames?: LargeFrames,
  ) {
    this.#profile = profile;
    this.#handlers = handlers;
    this.#onFatal = onFatal;
    this.#limits = limits;
    this.#lines = new LineSplitter(frames?.maxWholeBytes ?? limits.maxLength, {
      onLine: (text, bytes) => this.#onParsed(readMessage(text, limits), bytes, text),
      onTooLong: (bytes) => this.#onTooLong(bytes, limits.maxLength),
      ...(frames === undefined ? undefined : { onLong: () => this.#openFrame(frames) }),
    });
  }

  /** Takes the next bytes. A promise asks for a pause; with `frames`, nothing may be pushed before it has settled. */
  push(chunk: Uint8Array): void | Promise<void> {
    return this.#done ? undefined : this.#lines.push(chunk);
  }

  /** No more bytes come: what is held is the last line. Idempotent; nothing is delivered afterwards. */
  end(): void {
    if (!this.#done) void this.#lines.end();
    this.#done = true;
    this.#frame?.abort();
  }

  #openFrame(frames: LargeFrames): LongLine {
    let most = MAX_LINE_BYTES;
    const frame: PipeFrame = new PipeFrame(frames.open(), (message) => {
      if (isNoise(message)) most = this.#limits.maxLength;
      return this.#onParsed(message, frame.bytes, frame.excerpt);
    });
    this.#frame = frame;
    return {
      push: (part) => {
        const pause = frame.push(part);
        if (frame.bytes > most) this.#onTooLong(frame.bytes, most);
        return pause;
      },
      end: () => frame.end(),
    };
  }

  #onTooLong(bytes: number, maxBytes: number): void {
    const text = `a line of ${bytes} bytes and counting, at most ${maxBytes} allowed`;
    this.#fatal({
      reason: "frame_too_large",
      error: new HostError("ERR_FRAME_TOO_LARGE", `Cannot read from the server: ${text}`, {
        facts: { bytes, maxBytes },
      }),
    });
  }

  #onParsed(message: ParsedMessage, bytes: number, text: string): void | Promise<void> {
    if (this.#done) return;
    switch (message.kind) {
      case "batch":
        return this.#onBatch(message.members, bytes);
      case "malformed":
        if (isNoise(message)) return this.#onNoise(text);
        return this.#handlers.onMalformed(message.reason, message.id, undefined);
      default:
        this.#noise = 0;
        return this.#handlers.onMessage(message, bytes, undefined);
    }
  }

  #onBatch(members: readonly unknown[], bytes: number): void {
    if (!this.#profile.batches || members.length > MAX_BATCH_MEMBERS) {
      return this.#handlers.onMalformed("batch", batchId(members), undefined);
    }
    this.#noise = 0;
    for (const member of members) {
      const message = classify(member);
      if (message.kind === "malformed") this.#handlers.onMalformed(message.reason, message.id, undefined);
      else void this.#handlers.onMessage(message, bytes, undefined);
    }
  }

  #onNoise(text: string): void {
    this.#handlers.onWarning("noise", text.slice(0, MAX_EXCERPT));
    if (++this.#noise < MAX_NOISE_LINES) return;
    this.#fatal({
      reason: "noise",
      error: new HostError(
        "ERR_PROTOCOL",
        `Cannot read from the server: ${this.#noise} lines in a row are no message, at most ${
          MAX_NOISE_LINES - 1
        } allowed`,
      ),
    });
  }

  #fatal(end: TransportEnd): void {
    if (this.#done) return;
    this.#done = true;
    this.#frame?.abort();
    this.#onFatal(end);
  }
}

function isNoise(message: ParsedMessage): boolean {
  return message.kind === "malformed" && (message.reason === "not_json" || message.reason === "not_rpc");
}
