import { type Clock, sleep } from "../kernel/clock.ts";
import { HostError, isHostError } from "../kernel/errors.ts";
import type { Arrival } from "./arrival.ts";
import type { LargeFrames } from "./frames.ts";
import type { ParsedMessage } from "../jsonrpc/message.ts";
import { SseParser } from "../streams/sse.ts";
import type { StreamPlace } from "./resume.ts";

export interface EventStreamOptions {
  /** The data of one event of the name `message`; empty ones are not delivered. */
  onData(data: string): void;
  /** How data is read that is too long to be held. */
  readonly frames?: LargeFrames | undefined;
  /** The message of one event whose data was too long to be held. */
  onFrame(message: ParsedMessage, bytes: number): void;
  /** An event of another name. */
  readonly onOther?: ((event: string, data: string) => void) | undefined;
  /** Keeps where the stream stands; events that it has seen before are not delivered. */
  readonly place: StreamPlace;
  readonly clock: Clock;
  readonly arrival: Arrival;
  /** Ends the stream. */
  readonly controller: AbortController;
}

/** A stream that says nothing, in comments for ever, is read at this rate: so many characters, then a pause. */
const MAX_IDLE_LENGTH = 1 << 20;
const IDLE_MS = 1000;

/** Reads a `text/event-stream` to its end. Rejects when it breaks or an event is over `maxLength`. */
export async function readEventStream(
  response: Response,
  maxLength: number,
  options: EventStreamOptions,
): Promise<void> {
  if (response.body === null) return;
  const { place, frames } = options;
  let tooLarge: HostError | undefined;
  place.begin();
  const parser = new SseParser(maxLength, {
    onEvent: (whole) => {
      const { event, data, lastEventId } = whole;
      const isNew = place.take(lastEventId);
      if (source?.take(whole, isNew && event === "message") || !isNew || data === "") return;
      if (event === "message") options.onData(data);
      else options.onOther?.(event, data);
    },
    onRetry: (delayMs) => place.retry(delayMs),
    onTooLarge: (length) => {
      tooLarge = new HostError(
        "ERR_FRAME_TOO_LARGE",
        `Cannot read an event: over ${maxLength} characters`,
        {
          facts: { bytes: length, maxBytes: maxLength },
        },
      );
    },
  });
  const source = frames?.events?.(parser, options.onFrame);
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const idle = parser.idleLength;
      await (source ?? parser).push(value);
      // The ends of events are idle too, and comments say that the server is there, not that an answer comes.
      if (parser.idleLength > idle) options.arrival.end();
      else options.arrival.add(value.byteLength);
      if (tooLarge !== undefined) throw tooLarge;
      if (parser.idleLength > MAX_IDLE_LENGTH) {
        parser.idleLength = 0;
        await sleep(options.clock, IDLE_MS, options.controller.signal).catch(() => {/* reading says so too */});
      }
    }
  } catch (error) {
    // A bound was passed: nobody reads on. A stream that broke may be taken up again.
    if (isHostError(error)) options.controller.abort();
    throw error;
  } finally {
    // An event that was not complete is none.
    source?.abort();
  }
}
