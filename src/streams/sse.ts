import { TextParts } from "./parts.ts";

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
  readonly #line = new TextParts();
  readonly #data = new TextParts("\n");
  #skipLf = false;
  /** The event under way has data or an id, if only an empty one. */
  #touched = false;
  #event = "";
  #lastEventId: string | undefined;
  #failed = false;
  /** Characters of lines that carried no data: comments, names, ids, blank ones. Whoever reads it may set it back. */
  idleLength = 0;

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
      if (result !== undefined) {
        pause = pause === undefined ? result : Promise.all([pause, result]).then(() => undefined);
      }
      from = to + 1;
      if (to === cr) {
        if (from === text.length) this.#skipLf = true;
        else if (text.charCodeAt(from) === 10) from++;
      }
    }
    return pause;
  }

  /**
   * If the line under way is data: what of the event's data is held, which is no concern of this parser any more. In its
   * place stands `mark`; the line goes on behind it. `isCut`: the last bytes were the beginning of a character, which are
   * not in `data`.
   */
  takeData(mark: string): { readonly data: string; readonly isCut: boolean } | undefined {
    const line = this.#line.take();
    const isData = line.startsWith("data:");
    this.#line.push(isData ? `data:${mark}` : line);
    if (!isData) return undefined;
    const before = this.#data.isEmpty ? "" : `${this.#data.take()}\n`;
    return {
      data: before + line.slice(line.charCodeAt(5) === 32 ? 6 : 5),
      isCut: this.#decoder.decode() !== "",
    };
  }

  #hold(part: string): void {
    const length = this.#line.length + part.length;
    if (length > this.#maxLength + MAX_FIELD_LENGTH) return this.#fail(length);
    if (part !== "") this.#line.push(part);
  }

  #fail(length: number): void {
    this.#failed = true;
    this.#line.clear();
    this.#data.clear();
    this.#handlers.onTooLarge(length);
  }

  #endLine(rest: string): void | Promise<void> {
    let line = rest;
    if (!this.#line.isEmpty || rest.length > this.#maxLength) {
      this.#hold(rest);
      if (this.#failed) return;
      line = this.#line.take();
    }
    if (!line.startsWith("data:")) this.idleLength += line.length + 1;
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment
    const field = colon < 0 ? line : line.slice(0, colon);
    let from = colon < 0 ? line.length : colon + 1;
    if (line.charCodeAt(from) === 32) from++;
    switch (field) {
      case "data": {
        const value = line.slice(from);
        const length = this.#data.length + value.length + (this.#data.isEmpty ? 0 : 1);
        if (length > this.#maxLength) return this.#fail(length);
        this.#data.push(value);
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
    const data = this.#data.take();
    this.#touched = false;
    return this.#handlers.onEvent({ event: event === "" ? "message" : event, data, lastEventId: this.#lastEventId });
  }
}

/** An id is sent back in a header; one longer than this could not be. */
const MAX_ID_LENGTH = 8 << 10;

/** What a line may have beside its value: the name of a field, a colon, a space. */
const MAX_FIELD_LENGTH = 64;
