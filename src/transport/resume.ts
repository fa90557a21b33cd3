import { type Clock, sleep } from "../kernel/clock.ts";
import { isHostError } from "../kernel/errors.ts";
import { dropBody, mediaType } from "./http_body.ts";

/** How long to wait before a stream is opened again, where its server has not said it. */
const RETRY_MS = 1000;
const MIN_RETRY_MS = 100;
const MAX_RETRY_MS = 60_000;
/** Ids that are known again: a server may replay a little more than was missed. */
const MAX_RECENT = 32;

/**
 * Where one stream of events can be taken up again, and when (2025-11-25, basic/transports, resumability). Ids are a
 * cursor inside their stream, so each stream has its own place.
 */
export class StreamPlace {
  #lastEventId: string | undefined;
  #retryMs = RETRY_MS;
  #idleRounds = 0;
  /** What the connection at hand has named last: an event without an id of its own repeats it. */
  #named: string | undefined;
  readonly #recent = new Set<string>();

  /** The value for `Last-Event-ID`; nothing as long as the stream cannot be taken up again. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** A connection begins. */
  begin(): void {
    this.#named = undefined;
  }

  /** Takes note of an event, and says whether it is the first time that it comes. */
  take(id: string | undefined): boolean {
    this.#idleRounds = 0;
    if (id === undefined || id === this.#named) return true;
    this.#named = id;
    if (this.#recent.has(id)) return false;
    this.#recent.add(id);
    if (this.#recent.size > MAX_RECENT) {
      const [oldest] = this.#recent;
      this.#recent.delete(oldest!);
    }
    this.#lastEventId = headerOf(id);
    return true;
  }

  retry(delayMs: number): void {
    this.#retryMs = Math.max(MIN_RETRY_MS, delayMs);
  }

  /** How long to wait before the next opening: longer from round to round that brings nothing. */
  pauseMs(): number {
    return Math.min(MAX_RETRY_MS, this.#retryMs * 2 ** Math.min(this.#idleRounds++, 16));
  }
}

/** An id is sent as its UTF-8 bytes (WHATWG HTML, section 9.2.3). An empty one takes the id back. */
function headerOf(id: string): string | undefined {
  // deno-lint-ignore no-control-regex
  if (id === "" || /[\x00-\x1f\x7f]/.test(id)) return undefined;
  return String.fromCharCode(...new TextEncoder().encode(id));
}

/** True for a response that can be read as a stream of events. */
export function isEventStream(response: Response): boolean {
  return response.ok && mediaType(response) === "text/event-stream";
}

/**
 * Opens a stream by `get` after the time that is due, or at once, and again and again while its server is out of reach
 * or busy. Gives the first response that decides: the stream itself or a refusal. Throws when `signal` fires.
 */
export async function reopen(
  place: StreamPlace,
  get: () => Promise<Response>,
  clock: Clock,
  signal: AbortSignal,
  atOnce = false,
): Promise<Response> {
  for (let waits = !atOnce;; waits = true) {
    if (waits) await sleep(clock, place.pauseMs(), signal);
    const response = await get().catch((error: unknown) => {
      // A network that is away for a while is what the pauses are for.
      if (signal.aborted || isHostError(error)) throw error;
    });
    if (response === undefined) continue;
    const { status } = response;
    // 409: the server still holds the connection before. A server that fails from the first has no such stream.
    if (status !== 409 && status !== 429 && (status < 500 || atOnce)) return response;
    dropBody(response);
  }
}
