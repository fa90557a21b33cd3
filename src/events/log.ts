import type { Clock } from "../kernel/clock.ts";
import { causeCode, HostError, isHostError } from "../kernel/errors.ts";
import { freezeAll } from "../kernel/freeze.ts";
import type { Ids } from "../kernel/ids.ts";
import { locked } from "./batch.ts";
import type { PayloadScrubber } from "./encode.ts";
import { type EventInput, type HostEvent, MAX_EVENT_DEPTH } from "./event.ts";
import { Follower } from "./follow.ts";
import { StreamHub } from "./hub.ts";
import { type EventSink, Sink } from "./sink.ts";
import type { EventStore, StreamWriter } from "./store.ts";
import { checkStreamName } from "./stream_name.ts";

export type { EventSink } from "./sink.ts";

/** The one door to the event store: everything that passes is scrubbed, numbered, and told to followers once stored. */
export interface EventLog {
  /**
   * Makes the caller the owner of a stream; `opening` is appended with the raised epoch before this resolves. Rejects
   * with `ERR_LOG_LOCKED` while another owner lives, unless `takeOver`, and with `ERR_LOG_CORRUPT` or `ERR_LOG_VERSION`
   * when the stream cannot be continued.
   */
  open(stream: string, opening: EventInput, options?: { readonly takeOver?: boolean }): Promise<EventSink>;
  /**
   * Events after `after` (exclusive, default 0: from the first kept one), oldest first, at most `limit` (default 1,000,
   * never more than 10,000). Empty at the end and for an unknown stream. They are frozen, here and in `follow`.
   */
  read(options: { readonly stream: string; readonly after?: number; readonly limit?: number }): Promise<HostEvent[]>;
  /**
   * Every event after `after` (default 0), exactly once and in order: the stored ones, then each as it is stored. It
   * ends when `signal` fires or the log is closed. A reader that falls far behind holds up nobody and reads on from the
   * store: it gets `ERR_CURSOR_EXPIRED` once the store has dropped what it has not read, as does one whose cursor the
   * stream does not have, and `ERR_TOO_LARGE` with `facts.cursor`, from which it can read on, if the log closes meanwhile.
   */
  follow(
    options: { readonly stream: string; readonly after?: number; readonly signal?: AbortSignal },
  ): AsyncIterable<HostEvent>;
  /** Names of all streams, sorted. */
  streams(): Promise<string[]>;
  /** Closes all sinks, ends all followers and closes the store. Idempotent. */
  close(): Promise<void>;
}

export interface LogOptions {
  readonly store: EventStore;
  /** Every payload passes it once, before it is numbered. */
  readonly scrubber: PayloadScrubber;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Events that may wait in memory for one follower; what is beyond it reads from the store. Default 1,024. */
  readonly subscriberCapacity?: number;
}

const DEFAULT_LIMIT = 1_000;
const MAX_LIMIT = 10_000;

/** Makes the log over a store. */
export function createLog(options: LogOptions): EventLog {
  return new Log(options);
}

class Log implements EventLog {
  readonly #options: LogOptions;
  readonly #capacity: number;
  readonly #hubs = new Map<string, StreamHub>();
  readonly #sinks = new Map<string, Sink>();
  readonly #followers = new Set<Follower>();
  #closing: Promise<void> | undefined;

  constructor(options: LogOptions) {
    this.#options = options;
    this.#capacity = Math.max(1, options.subscriberCapacity ?? 1_024);
  }

  async open(
    stream: string,
    opening: EventInput,
    { takeOver = false }: { readonly takeOver?: boolean } = {},
  ): Promise<EventSink> {
    checkStreamName(stream);
    this.#checkOpen();
    if (this.#sinks.has(stream) && !takeOver) throw locked(stream);
    const sink = this.#makeSink(stream, await this.#openWriter(stream, takeOver));
    try {
      this.#checkOpen();
      this.#sinks.set(stream, sink);
      this.#hub(stream).own();
      await sink.append([opening]);
      return sink;
    } catch (error) {
      await sink.close().catch(() => {/* the first failure is the one to tell */});
      throw error;
    }
  }

  async read(options: {
    readonly stream: string;
    readonly after?: number;
    readonly limit?: number;
  }): Promise<HostEvent[]> {
    const { stream, after = 0, limit = DEFAULT_LIMIT } = options;
    checkStreamName(stream);
    checkCount("after", after, 0);
    checkCount("limit", limit, 1);
    this.#checkOpen();
    const events = await this.#options.store.read(stream, { after, limit: Math.min(limit, MAX_LIMIT) });
    for (const event of events) freezeAll(event, MAX_EVENT_DEPTH);
    return events;
  }

  follow(options: {
    readonly stream: string;
    readonly after?: number;
    readonly signal?: AbortSignal;
  }): AsyncIterable<HostEvent> {
    const { stream, after = 0, signal } = options;
    checkStreamName(stream);
    checkCount("after", after, 0);
    this.#checkOpen();
    return {
      [Symbol.asyncIterator]: () => {
        const follower = new Follower({
          stream,
          after,
          capacity: this.#capacity,
          store: this.#options.store,
          hub: () => this.#hub(stream),
          ...(signal === undefined ? undefined : { signal }),
          onEnd: (ended) => this.#followers.delete(ended),
        });
        this.#followers.add(follower);
        if (this.#closing !== undefined) follower.close();
        return follower;
      },
    };
  }

  async streams(): Promise<string[]> {
    this.#checkOpen();
    return await this.#options.store.streams();
  }

  close(): Promise<void> {
    return this.#closing ??= this.#shut();
  }

  async #shut(): Promise<void> {
    const sinks = await Promise.allSettled([...this.#sinks.values()].map((sink) => sink.close()));
    for (const follower of [...this.#followers]) follower.close();
    await this.#options.store.close();
    const failed = sinks.find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async #openWriter(stream: string, takeOver: boolean): Promise<StreamWriter> {
    try {
      return await this.#options.store.open(stream, { takeOver });
    } catch (error) {
      if (isHostError(error)) throw error;
      throw new HostError(
        "ERR_NOT_LOGGED",
        `Cannot open stream "${stream}": the store failed with ${causeCode(error)}`,
        {
          cause: error,
          facts: { stream },
        },
      );
    }
  }

  #makeSink(stream: string, writer: StreamWriter): Sink {
    const { scrubber, clock, ids } = this.#options;
    const sink: Sink = new Sink({
      stream,
      writer,
      scrubber,
      clock,
      ids,
      onStored: (events) => this.#hubs.get(stream)?.publish(events),
      onClosed: (seq) => {
        // After a take-over inside this log the stream has another sink, which goes on publishing.
        if (this.#sinks.get(stream) !== sink) return;
        this.#sinks.delete(stream);
        this.#hubs.get(stream)?.disown(seq);
      },
    });
    return sink;
  }

  #hub(stream: string): StreamHub {
    const known = this.#hubs.get(stream);
    if (known !== undefined) return known;
    const { store, clock } = this.#options;
    const hub: StreamHub = new StreamHub({
      stream,
      store,
      clock,
      onIdle: () => {
        if (this.#hubs.get(stream) === hub) this.#hubs.delete(stream);
      },
    });
    this.#hubs.set(stream, hub);
    return hub;
  }

  #checkOpen(): void {
    if (this.#closing !== undefined) throw new HostError("ERR_CLOSED", "Cannot use the event log: it is closed");
  }
}

function checkCount(name: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot read events with ${name} ${value}: wanted a whole number from ${least} up`,
  );
}
