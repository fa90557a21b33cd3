import type { Arrival } from "./arrival.ts";
import type { Incoming, ParsedMessage } from "../jsonrpc/message.ts";
import type { LineHandlers } from "../streams/lines.ts";
import type { SseEvent, SseParser } from "../streams/sse.ts";

/**
 * How messages are read that are too long to be held whole, or hold numbers beyond what a double holds. Handed to a dialer,
 * so that only those who want it pay for it: a dialer without it refuses messages over 8 MiB, and has doubles for all
 * numbers. One of its members alone is enough.
 */
export interface LargeFrames {
  /** Parses the text of a message that was held whole. Throws for what is no JSON. */
  parse?(text: string): unknown;
  /** Cuts the bytes of a pipe into lines. */
  lines?(handlers: FrameLineHandlers): LineSource;
  /** Stands before the parser of a stream of events. */
  events?(parser: SseParser, onFrame: (message: ParsedMessage, bytes: number) => void): EventSource;
  /** Reads the body of a response. Rejects when it breaks. */
  body?(response: Response, lengthIsDecoded: boolean, arrival?: Arrival): Promise<FrameBody>;
}

export interface FrameLineHandlers extends LineHandlers {
  /** A line that was too long to be held, at its end or as soon as it is refused; `beginning` is how it begins. */
  onFrame(message: ParsedMessage, bytes: number, beginning: string): void | Promise<void>;
}

/** Takes bytes; nothing may be pushed before what the last push returned has settled. */
export interface LineSource {
  push(chunk: Uint8Array): void | Promise<void>;
  end(): void | Promise<void>;
  /** Nothing is told any more. */
  abort?(): void;
}

/** Takes the bytes of a stream of events; what is not too long goes to the parser that it stands before. */
export interface EventSource {
  push(chunk: Uint8Array): void | Promise<void>;
  /** True for an event whose data went another way: it is read and told, if it `isWanted`. */
  take(event: SseEvent, isWanted: boolean): boolean;
  abort(): void;
}

/** A body as it was read: its text, or what it was parsed to because it was too long to be held. */
export type FrameBody = { readonly text: string } | { readonly message: ParsedMessage; readonly bytes: number };

/** What `ParsedMessage`s are made of, for those who only pass them on. */
export type { Incoming, ParsedMessage };
