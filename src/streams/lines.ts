/** What a {@link LineSplitter} tells its owner. A returned promise asks whoever feeds it to pause. */
export interface LineHandlers {
  /** A complete line without its end; `bytes` is its length in UTF-8. Blank lines are not delivered. */
  onLine(text: string, bytes: number): void | Promise<void>;
  /** A line has passed the limit. Called once; the splitter takes nothing more. */
  onTooLong(bytes: number): void;
}

const LF = 10;
const CR = 13;
const EMPTY: Uint8Array = new Uint8Array(0);

/**
 * Cuts bytes into lines that end in LF or CRLF. The verdict on a line depends on its length alone, never on how the
 * bytes were cut into chunks; lines before one that is too long are delivered. Holds at most one line.
 */
export class LineSplitter {
  readonly #handlers: LineHandlers;
  readonly #maxBytes: number;
  // Invalid UTF-8 becomes U+FFFD: a broken line is the peer's fault and must not end the connection by itself.
  readonly #decoder = new TextDecoder();
  /** The line under way: grows by doubling, so that a line that drips in byte by byte costs no more than one in a piece. */
  #held: Uint8Array = EMPTY;
  #heldBytes = 0;
  #failed = false;

  constructor(maxBytes: number, handlers: LineHandlers) {
    this.#maxBytes = maxBytes;
    this.#handlers = handlers;
  }

  /** Takes the next bytes; they may be reused by the caller afterwards. */
  push(chunk: Uint8Array): void | Promise<void> {
    if (this.#failed) return;
    const last = chunk.lastIndexOf(LF);
    if (last < 0) return this.#hold(chunk);
    let block = last === chunk.length - 1 ? chunk : chunk.subarray(0, last + 1);
    if (this.#heldBytes > 0) block = this.#join(block);
    const pause = this.#deliver(block);
    if (last < chunk.length - 1) this.#hold(chunk.subarray(last + 1));
    return pause;
  }

  /** The source has ended: what is held is the last line. */
  end(): void | Promise<void> {
    if (this.#failed || this.#heldBytes === 0) return;
    return this.#deliver(this.#join(EMPTY));
  }

  /** The beginning of the line under way, which is no concern of this splitter any more. */
  takeHeld(): Uint8Array {
    return this.#join(EMPTY);
  }

  #hold(part: Uint8Array): void {
    if (this.#failed) return;
    const bytes = this.#heldBytes + part.length;
    // A CR at the very end may belong to the line end and is not counted until it is known.
    if (bytes > this.#maxBytes + 1) return this.#fail(bytes);
    if (bytes > this.#held.length) {
      const larger = new Uint8Array(Math.max(bytes, Math.min(2 * this.#held.length, this.#maxBytes + 1)));
      larger.set(this.#held.subarray(0, this.#heldBytes));
      this.#held = larger;
    }
    this.#held.set(part, this.#heldBytes);
    this.#heldBytes = bytes;
  }

  #join(rest: Uint8Array): Uint8Array {
    const whole = new Uint8Array(this.#heldBytes + rest.length);
    whole.set(this.#held.subarray(0, this.#heldBytes));
    whole.set(rest, this.#heldBytes);
    this.#drop();
    return whole;
  }

  #drop(): void {
    this.#held = EMPTY;
    this.#heldBytes = 0;
  }

  #fail(bytes: number): void {
    this.#failed = true;
    this.#drop();
    this.#handlers.onTooLong(bytes);
  }

  /** Delivers every line of a block that ends a line. Decoding all at once is cheaper than line by line. */
  #deliver(block: Uint8Array): void | Promise<void> {
    if (block.length > this.#maxBytes) return this.#deliverOneByOne(block);
    const text = this.#decoder.decode(block);
    if (text.length !== block.length) return this.#deliverOneByOne(block);
    let pause: void | Promise<void> = undefined;
    let from = 0;
    while (from < text.length) {
      let to = text.indexOf("\n", from);
      if (to < 0) to = text.length;
      const end = to > from && text.charCodeAt(to - 1) === CR ? to - 1 : to;
      if (end > from) pause = merge(pause, this.#handlers.onLine(text.slice(from, end), end - from));
      from = to + 1;
    }
    return pause;
  }

  #deliverOneByOne(block: Uint8Array): void | Promise<void> {
    let pause: void | Promise<void> = undefined;
    let from = 0;
    while (from < block.length) {
      let to = block.indexOf(LF, from);
      if (to < 0) to = block.length;
      const end = to > from && block[to - 1] === CR ? to - 1 : to;
      if (end - from > this.#maxBytes) {
        this.#fail(end - from);
        return pause;
      }
      // A byte order mark alone decodes to nothing.
      const text = this.#decoder.decode(block.subarray(from, end));
      if (text !== "") pause = merge(pause, this.#handlers.onLine(text, end - from));
      from = to + 1;
    }
    return pause;
  }
}

function merge(a: void | Promise<void>, b: void | Promise<void>): void | Promise<void> {
  if (a === undefined) return b;
  if (b === undefined) return a;
  return Promise.all([a, b]).then(() => undefined);
}
