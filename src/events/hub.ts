import type { Clock, Timer } from "../kernel/clock.ts";
import { BoundedQueue } from "../kernel/queue.ts";
import type { HostEvent } from "./event.ts";
import type { EventStore } from "./store.ts";

/** How soon and how rarely a stream that another process writes is looked at. */
const POLL_FIRST_MS = 100;
const POLL_LAST_MS = 1_000;
const POLL_LIMIT = 1_000;

/**
 * Tells the followers of one stream what has been written. While this log owns the stream, its sink publishes; else
 * one poller for all followers looks into the store. A follower compares `seq` with what it has, so an event that is
 * told twice or late does no harm.
 */
export class StreamHub {
  readonly #stream: string;
  readonly #store: EventStore;
  readonly #clock: Clock;
  readonly #onIdle: () => void;
  readonly #queues = new Set<BoundedQueue<HostEvent>>();
  #isOwned = false;
  #timer: Timer | undefined;
  /** Each start of the poller has a number; a look that ends after its own was stopped says nothing. */
  #pollRun = 0;

  constructor(options: { stream: string; store: EventStore; clock: Clock; onIdle: () => void }) {
    this.#stream = options.stream;
    this.#store = options.store;
    this.#clock = options.clock;
    this.#onIdle = options.onIdle;
  }

  /** A queue of everything published from now on. `seen` is the last event that its reader has. */
  subscribe(capacity: number, seen: number): BoundedQueue<HostEvent> {
    const queue: BoundedQueue<HostEvent> = new BoundedQueue(capacity, () => {
      this.#queues.delete(queue);
      if (this.#queues.size > 0) return;
      this.#stopPolling();
      if (!this.#isOwned) this.#onIdle();
    });
    this.#queues.add(queue);
    if (!this.#isOwned && this.#queues.size === 1) this.#poll(seen, POLL_FIRST_MS);
    return queue;
  }

  publish(events: readonly HostEvent[]): void {
    if (this.#queues.size === 0) return;
    for (const queue of this.#queues) {
      for (const event of events) {
        if (!queue.push(event)) break;
      }
    }
  }

  /** A sink of this log publishes from here on. */
  own(): void {
    this.#isOwned = true;
    this.#stopPolling();
  }

  /** The sink is gone after the event with this `seq`. */
  disown(seq: number): void {
    this.#isOwned = false;
    if (this.#queues.size > 0) this.#poll(seq, POLL_FIRST_MS);
    else this.#onIdle();
  }

  /** Ends all followers; with an error they see it, else they read what they have and finish. */
  end(error?: unknown): void {
    for (const queue of [...this.#queues]) queue.end(error);
  }

  #poll(seen: number, delayMs: number): void {
    const run = ++this.#pollRun;
    this.#timer = this.#clock.after(delayMs, () => {
      this.#store.read(this.#stream, { after: seen, limit: POLL_LIMIT }).then((events) => {
        if (run !== this.#pollRun) return;
        this.publish(events);
        // The followers may all have been too slow, which stops the poller.
        if (run !== this.#pollRun) return;
        const next = events.length > 0 ? POLL_FIRST_MS : Math.min(delayMs * 2, POLL_LAST_MS);
        this.#poll(events.at(-1)?.seq ?? seen, next);
      }, (error: unknown) => {
        if (run === this.#pollRun) this.end(error);
      });
    });
  }

  #stopPolling(): void {
    this.#pollRun++;
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
