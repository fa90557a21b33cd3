import { Arrival } from "./arrival.ts";
import { HostError } from "../kernel/errors.ts";
import { batchId, classify, type ParsedMessage, readMessage } from "../jsonrpc/message.ts";
import { DEFAULT_PARSE_LIMITS, type ParseLimits } from "../jsonrpc/bounded_parse.ts";
import { LineSplitter } from "../streams/lines.ts";
import type { FrameLineHandlers, LargeFrames, LineSource } from "./frames.ts";
import type { TransportEnd, TransportHandlers, WireProfile } from "./transport.ts";

/** Lines in a row that are no message before the connection is given up. */
const MAX_NOISE_LINES = 100;
/** Members of one batch, in the one revision that has them. */
export const MAX_BATCH_MEMBERS = 100;
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
  readonly #lines: LineSource;
  readonly #arrival: Arrival;
  #noise = 0;
  #done = false;

  constructor(
    profile: WireProfile,
    handlers: TransportHandlers,
    onFatal: (end: TransportEnd) => void,
    limits: ParseLimits = DEFAULT_PARSE_LIMITS,
    frames?: LargeFrames,
  ) {
    this.#arrival = new Arrival(() => handlers.onArriving?.(undefined));
    this.#profile = profile;
    this.#handlers = handlers;
    this.#onFatal = onFatal;
    this.#limits = limits;
    const handlersOfLines: FrameLineHandlers = {
      onLine: (text, bytes) => this.#onParsed(readMessage(text, limits, frames?.parse), bytes, text),
      onTooLong: (bytes) => this.#onTooLong(bytes),
      onFrame: (message, bytes, beginning) => this.#onParsed(message, bytes, beginning),
    };
    this.#lines = frames?.lines?.(handlersOfLines) ?? new LineSplitter(limits.maxLength, handlersOfLines);
  }

  /** Takes the next bytes. A promise asks for a pause; with `frames`, nothing may be pushed before it has settled. */
  push(chunk: Uint8Array): void | Promise<void> {
    if (this.#done) return;
    this.#arrival.add(chunk.length);
    return this.#lines.push(chunk);
  }

  /** No more bytes come: what is held is the last line. Idempotent; nothing is delivered afterwards. */
  end(): void {
    if (!this.#done) void this.#lines.end();
    this.#done = true;
    this.#lines.abort?.();
  }

  #onTooLong(bytes: number): void {
    const maxBytes = this.#limits.maxLength;
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
    this.#arrival.end();
    switch (message.kind) {
      case "batch":
        return this.#onBatch(message.members, bytes);
      case "malformed":
        if (message.reason === "not_json" || message.reason === "not_rpc") return this.#onNoise(text);
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
    this.#onFatal(end);
  }
}
