/** One event of a `text/event-stream` (WHATWG HTML, section 9.2.6). */
export interface SseEvent {
  /** The `event` field; `message` when there was none. */
  readonly event: string;
  /** The `data` lines joined with LF; empty for an event that only carried an id. */
  readonly data: string;
  /** The last `id` field seen on this stream so far, also from earlier events. */
  readonly lastEventId: string | undefined;
}

/** What an {@link SseParser} tells its owner. */
export interface SseHandlers {
  /** An event is complete. A returned promise asks whoever feeds the parser to pause. */
  onEvent(event: SseEvent): void | Promise<void>;
  /** A `retry` field: milliseconds to wait before reconnecting. */
  onRetry?(delayMs: number): void;
  /** The event under way has passed the limit. Called once; the parser takes nothing more. */
  onTooLarge(length: number): void;
}

/**
 * Cuts bytes into server-sent events. Line ends may be LF, CR or CRLF and may be split over chunks; so may characters.
 * An event that is not finished when the stream ends is not delivered, as the standard says. Holds at most one event.
 */
export class SseParser {
  readonly #handlers: SseHandlers;
  readonly #maxLength: number;
  readonly #decoder = new TextDecoder();
  #line: string[] = [];
  #lineLength = 0;
  /** Parts of `#line` that are already joined; joining by the thousand keeps a line that drips in affordable. */
  #joined = 0;
  #skipLf = false;
  #data: string[] = [];
  #dataLength = 0;
  #hasData = false;
  #touched = false;
  #event = "";
  #lastEventId: string | undefined;
  #failed = false;

  /** `maxLength` bounds the data of one event, and any one line, in UTF-16 units. */
  constructor(maxLength: number, handlers: SseHandlers) {
    this.#maxLength = maxLength;
    this.#handlers = handlers;
  }

  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  push(chunk: Uint8Array): void | Promise<void> {
    if (this.#failed) return;
    const text = this.#decoder.decode(chunk, { stream: true });
    let pause: void | Promise<void> = undefined;
    let from = 0;
    if (this.#skipLf && text.length > 0) {
      this.#skipLf = false;
      if (text.charCodeAt(0) === 10) from = 1;
    }
    // Each search runs once over the text: a stream that never uses one of the two must not be searched for it at every line.
    let cr = text.indexOf("\r", from);
    let lf = text.indexOf("\n", from);
    while (from < text.length && !this.#failed) {
      if (cr >= 0 && cr < from) cr = text.indexOf("\r", from);
      if (lf >= 0 && lf < from) lf = text.indexOf("\n", from);
      const to = lf < 0 ? cr : cr < 0 ? lf : Math.min(lf, cr);
      if (to < 0) {
        this.#hold(text.slice(from));
        break;
      }
      const result = this.#endLine(text.slice(from, to));
      if (result !== undefined) pause = pause === undefined ? result : Promise.all([pause, result]).then(() => undefined);
      from = to + 1;
      if (to === cr) {
        if (from === text.length) this.#skipLf = true;
        else if (text.charCodeAt(from) === 10) from++;
      }
    }
    return pause;
  }

  #hold(part: string): void {
    this.#lineLength += part.length;
    if (this.#lineLength > this.#maxLength + 64) return this.#fail(this.#lineLength);
    this.#line.push(part);
    if (this.#line.length - this.#joined >= 1024) this.#line.push(this.#line.splice(this.#joined++).join(""));
  }

  #fail(length: number): void {
    this.#failed = true;
    this.#line = [];
    this.#data = [];
    this.#handlers.onTooLarge(length);
  }

  #endLine(rest: string): void | Promise<void> {
    let line = rest;
    if (this.#lineLength > 0) {
      this.#line.push(rest);
      line = this.#line.join("");
      this.#line = [];
      this.#lineLength = 0;
      this.#joined = 0;
    }
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    let from = colon < 0 ? line.length : colon + 1;
    if (line.charCodeAt(from) === 32) from++;
    switch (field) {
      case "data": {
        const value = line.slice(from);
        this.#dataLength += value.length + (this.#hasData ? 1 : 0);
        if (this.#dataLength > this.#maxLength) return this.#fail(this.#dataLength);
        this.#data.push(value);
        this.#hasData = true;
        this.#touched = true;
        return;
      }
      case "event":
        this.#event = line.slice(from);
        if (this.#event.length > this.#maxLength) this.#fail(this.#event.length);
        return;
      case "id": {
        const id = line.slice(from);
        if (!id.includes("\0") && id.length <= MAX_ID_LENGTH) {
          this.#lastEventId = id;
          this.#touched = true;
        }
        return;
      }
      case "retry": {
        const value = line.slice(from);
        if (/^\d{1,9}$/.test(value)) this.#handlers.onRetry?.(Number(value));
        return;
      }
    }
  }

  #dispatch(): void | Promise<void> {
    const event = this.#event;
    this.#event = "";
    if (!this.#touched) return;
    const data = this.#data.length === 1 ? this.#data[0]! : this.#data.join("\n");
    this.#data = [];
    this.#dataLength = 0;
    this.#hasData = false;
    this.#touched = false;
    return this.#handlers.onEvent({ event: event === "" ? "message" : event, data, lastEventId: this.#lastEventId });
  }
}

/** An id is sent back in a header; one longer than this could not be. */
const MAX_ID_LENGTH = 8 << 10;
