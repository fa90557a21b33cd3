import type { Clock } from "../kernel/clock.ts";
import { isHostError } from "../kernel/errors.ts";
import { dropBody, readBeginning, wrongResponse } from "./http_body.ts";
import { isEventStream, reopen, StreamPlace } from "./resume.ts";

/** A stream on which a server sends what belongs to no request. */
export interface Standing {
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
  get(place: StreamPlace): Promise<Response>;
  /** Delivers what the stream carries, until its end. */
  read(response: Response, place: StreamPlace): Promise<void>;
  /** The server had a stream for this session, and now it knows nothing of it. What it rejects with is nobody's. */
  onForgotten(): Promise<void>;
  /** The server offers something in the place of a stream, or a stream that cannot be read. */
  onUnusable(why: string): void;
}

/**
 * Keeps the stream open as long as its signal lets it (2025-11-25, basic/transports, listening for messages). Its end is
 * normal, be it by the server or by something between: it is opened again, quietly, from where it stood. A server that
 * offers none is not asked again. Never rejects.
 */
export async function keepOpen({ clock, signal, get, read, onForgotten, onUnusable }: Standing): Promise<void> {
  const place = new StreamPlace();
  try {
    for (let isFirst = true;; isFirst = false) {
      const response = await reopen(place, () => get(place), clock, signal, isFirst);
      if (isEventStream(response)) {
        await read(response, place).catch((error: unknown) => {
          if (signal.aborted || isHostError(error)) throw error;
        });
        continue;
      }
      const { status, ok } = response;
      if (ok) {
        const body = await readBeginning(response);
        onUnusable(wrongResponse("listen to the server", response, "text/event-stream", body).message);
      } else if (!isFirst && (status === 404 || status === 400)) await onForgotten();
      return dropBody(response);
    }
  } catch (error) {
    // What else comes out is that it was ended.
    if (isHostError(error)) onUnusable(error.message);
  }
}
