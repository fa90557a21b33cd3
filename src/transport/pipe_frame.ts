import type { FrameParser } from "../jsonrpc/frames.ts";
import { abortSpills } from "../jsonrpc/spill_sink.ts";
import type { ParsedMessage } from "../jsonrpc/message.ts";
import type { LongLine } from "../streams/lines.ts";

/** What of a line is kept in case it turns out to be noise. */
const MAX_EXCERPT = 16 << 10;

/** One line of a pipe that is parsed while it arrives. */
export class PipeFrame implements LongLine {
  readonly #parser: FrameParser;
  readonly #onParsed: (message: ParsedMessage) => void | Promise<void>;
  #beginning: Uint8Array | undefined;
  #bytes = 0;
  #isTold = false;

  /** `onParsed` is called once: at the end of the line, or as soon as it is refused. */
  constructor(parser: FrameParser, onParsed: (message: ParsedMessage) => void | Promise<void>) {
    this.#parser = parser;
    this.#onParsed = onParsed;
  }

  /** Bytes of the line so far, those behind a refusal too. */
  get bytes(): number {
    return this.#bytes;
  }

  get excerpt(): string {
    // Only of noise: most lines never need it as text.
    return new TextDecoder().decode(this.#beginning);
  }

  push(part: Uint8Array): void | Promise<void> {
    this.#beginning ??= part.slice(0, MAX_EXCERPT);
    this.#bytes += part.length;
    if (this.#isTold) return;
    const pause = this.#parser.push(part);
    if (!this.#parser.isRefused) return pause;
    const told = this.#tell(this.#parser.end());
    return pause === undefined ? told : pause.then(() => told);
  }

  end(): void | Promise<void> {
    if (!this.#isTold) return this.#tell(this.#parser.end());
  }

  /** Nothing is told any more. */
  abort(): void {
    this.#isTold = true;
    this.#parser.abort();
  }

  #tell(message: ParsedMessage | Promise<ParsedMessage>): void | Promise<void> {
    if (message instanceof Promise) return message.then((parsed) => this.#tell(parsed));
    if (this.#isTold) {
      if (message.kind === "result") abortSpills(message.spills);
      return;
    }
    this.#isTold = true;
    return this.#onParsed(message);
  }
}
