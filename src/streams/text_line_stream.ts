import { HostError } from "../kernel/errors.ts";
import { LineSplitter } from "./lines.ts";

/** Options of {@link TextLineStream}. */
export interface TextLineStreamOptions {
  /** Longest line in bytes; default 8 MiB. A longer one errors the stream with `ERR_FRAME_TOO_LARGE`. */
  readonly maxLineBytes?: number;
}

/**
 * A transform from bytes to lines of text (LF or CRLF), with the name and shape of the one in `@std/streams`. It differs
 * on purpose: it takes bytes, skips blank lines, and has a longest line; lines before one that is longer are delivered.
 */
export class TextLineStream {
  readonly readable: ReadableStream<string>;
  readonly writable: WritableStream<Uint8Array>;

  constructor(options: TextLineStreamOptions = {}) {
    const maxBytes = options.maxLineBytes ?? 8 << 20;
    let splitter: LineSplitter;
    const cut = new TransformStream<Uint8Array, string | HostError>({
      start(controller) {
        splitter = new LineSplitter(maxBytes, {
          onLine: (text) => controller.enqueue(text),
          onTooLong: (bytes) => controller.enqueue(tooLarge("a line", bytes, maxBytes)),
        });
      },
      transform: (chunk) => splitter.push(chunk),
      flush: () => splitter.end(),
    });
    this.writable = cut.writable;
    // An error empties the queue of its stream, so this one waits in line until what came before it has been read.
    this.readable = cut.readable.pipeThrough(
      new TransformStream({
        transform(line, controller) {
          if (typeof line !== "string") throw line;
          controller.enqueue(line);
        },
      }),
    );
  }
}

/**
 * A transform that lets at most `maxBytes` through, with the name of the one in `@std/streams`. Passing the limit errors
 * the stream with `ERR_FRAME_TOO_LARGE`; nothing is cut silently.
 */
export class LimitedBytesTransformStream extends TransformStream<Uint8Array, Uint8Array> {
  constructor(maxBytes: number) {
    let bytes = 0;
    super({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) controller.error(tooLarge("a stream", bytes, maxBytes));
        else controller.enqueue(chunk);
      },
    });
  }
}

function tooLarge(what: string, found: number, wanted: number): HostError {
  return new HostError(
    "ERR_FRAME_TOO_LARGE",
    `Cannot read ${what}: ${found} bytes and counting, at most ${wanted} allowed`,
    {
      facts: { bytes: found, maxBytes: wanted },
    },
  );
}
