import { cancelled, untilAborted, whenAborted } from "../kernel/abort.ts";
import { HostError, isHostError } from "../kernel/errors.ts";
import { freezeAll } from "../kernel/freeze.ts";
import type { BoundedQueue } from "../kernel/queue.ts";
import { type HostEvent, MAX_EVENT_DEPTH } from "./event.ts";
import type { StreamHub } from "./hub.ts";
import type { EventStore } from "./store.ts";

const PAGE = 256;
const ACTION = "Following a stream";

export interface FollowOptions {
  readonly stream: string;
  /** `seq` of the last event that the follower has seen. */
  readonly after: number;
  /** Published events that may wait for it. */
  readonly capacity: number;
  readonly store: EventStore;
  readonly hub: () => StreamHub;
  readonly signal?: AbortSignal;
  /** Called when the follower has ended, perhaps more than once. */
  readonly onEnd: (follower: Follower) => void;
}

/**
 * One reader of a stream: first what is stored, then what is published, each event exactly once and in order. It
 * subscribes before its last look into the store, so nothing falls between the two; `seq` tells it what it has already.
 * One that has more than `capacity` published events before it goes back to the store for them.
 */
export class Follower implements AsyncIterableIterator<HostEvent> {
  readonly #options: FollowOptions;
  readonly #events: AsyncGenerator<HostEvent, undefined>;
  readonly #stopped = new AbortController();
  readonly #leave: (() => void) | undefined;
  #queue: BoundedQueue<HostEvent> | undefined;
  #isClosing = false;

  constructor(options: FollowOptions) {
    this.#options = options;
    this.#events = this.#follow();
    if (options.signal?.aborted) this.#stopped.abort();
    this.#leave = options.signal && whenAborted(options.signal, this.#stop);
  }

  async next(): Promise<IteratorResult<HostEvent, undefined>> {
    const result = await this.#events.next();
    if (result.done !== true) freezeAll(result.value, MAX_EVENT_DEPTH);
    return result;
  }

  /** Also ends a `next` that is waiting. */
  return(): Promise<IteratorResult<HostEvent, undefined>> {
    this.#stop();
    return this.#events.return(undefined);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The log is closing: what is queued is still delivered. */
  close(): void {
    this.#isClosing = true;
    this.#queue?.end();
  }

  readonly #stop = (): void => {
    this.#leave?.();
    this.#stopped.abort();
    this.#queue?.end();
    // A generator that was never started does not run its `finally`.
    this.#options.onEnd(this);
  };

  async *#follow(): AsyncGenerator<HostEvent, undefined> {
    const { after } = this.#options;
    let seen = after;
    let missed: unknown;
    try {
      for (;;) {
        // What is stored, until there is no more and the queue stands.
        while (!this.#isOver) {
          const page = await this.#read(seen);
          for (const event of page) {
            if (this.#stopped.signal.aborted) return;
            seen = event.seq;
            yield event;
          }
          if (page.length > 0) continue;
          if (this.#queue !== undefined) break;
          if (seen === after) await this.#checkCursor(after);
          if (!this.#isOver) this.#queue = this.#options.hub().subscribe(this.#options.capacity, seen);
        }
        if (this.#stopped.signal.aborted) return;
        if (this.#isClosing && missed !== undefined) throw missed;
        missed = undefined;
        try {
          for (;;) {
            const result = await this.#queue?.next();
            if (result === undefined || result.done === true || this.#stopped.signal.aborted) return;
            const event = result.value;
            if (event.seq <= seen) continue;
            for await (const missing of this.#fill(seen, event.seq)) {
              seen = missing.seq;
              yield missing;
            }
            seen = event.seq;
            yield event;
          }
        } catch (error) {
          if (!isHostError(error, "ERR_TOO_LARGE")) throw error;
          // More was published than may wait: it lies in the store.
          missed = error;
          this.#queue = undefined;
        }
      }
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      if (this.#isClosing && missed === undefined && isHostError(error, "ERR_CLOSED")) return;
      throw this.#isClosing && missed !== undefined ? this.#cutOff(seen, missed) : error;
    } finally {
      this.#stop();
    }
  }

  get #isOver(): boolean {
    return this.#isClosing || this.#stopped.signal.aborted;
  }

  #read(after: number): Promise<HostEvent[]> {
    const { store, stream } = this.#options;
    return untilAborted(store.read(stream, { after, limit: PAGE }), ACTION, this.#stopped.signal);
  }

  /** Reads what lies between two events: others wrote it, and nobody here published it. */
  async *#fill(seen: number, next: number): AsyncGenerator<HostEvent, undefined> {
    while (seen + 1 < next) {
      const page = await this.#read(seen);
      if (this.#stopped.signal.aborted) throw cancelled(ACTION, this.#stopped.signal);
      if (page.length === 0) throw this.#gap(seen, next);
      for (const event of page) {
        if (event.seq >= next) return;
        seen = event.seq;
        yield event;
      }
    }
  }

  /** A cursor that lies beyond the end was given out by another stream of this name. */
  async #checkCursor(after: number): Promise<void> {
    if (after === 0) return;
    const { store, stream } = this.#options;
    const head = await untilAborted(store.head(stream), ACTION, this.#stopped.signal);
    const seq = head?.seq ?? 0;
    if (seq >= after) return;
    throw new HostError(
      "ERR_CURSOR_EXPIRED",
      `Cannot follow stream "${stream}" after seq ${after}: it ends at seq ${seq}`,
      { facts: { stream, after, seq } },
    );
  }

  #gap(seen: number, next: number): HostError {
    const { stream } = this.#options;
    return new HostError(
      "ERR_LOG_CORRUPT",
      `Cannot follow stream "${stream}": seq ${seen} is followed by ${next} and the store has nothing in between`,
      { facts: { stream, seq: seen + 1 } },
    );
  }

  #cutOff(seen: number, cause: unknown): HostError {
    const { stream, capacity } = this.#options;
    return new HostError(
      "ERR_TOO_LARGE",
      `Cannot follow stream "${stream}" to its end: its reader was more than ${capacity} events behind when the log closed; read on after seq ${seen}`,
      { cause, facts: { cursor: { stream, seq: seen } } },
    );
  }
}
