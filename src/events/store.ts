import type { Clock } from "../kernel/clock.ts";
import type { Ids } from "../kernel/ids.ts";
import type { Runtime } from "../kernel/runtime.ts";
import type { HostEvent } from "./event.ts";

/**
 * Keeps streams of events. The log in front of it scrubs, numbers and tells subscribers; a store only keeps bytes in
 * order.
 *
 * What an implementation promises:
 * - *Order and gaplessness*: a stream's events have `seq` 1, 2, 3 ... without gap, in the order they were appended.
 * - *Conditional append*: `append` with an `expectedSeq` that is not the head fails with `ERR_FENCED` and stores nothing.
 * - *All or nothing*: after an append that has failed none of its events is ever read, or the store is poisoned
 *   (`ERR_LOG_POISONED`) and refuses everything until it is opened again.
 * - *Durability*: `append` returns or resolves once the events are as durable as `level` says. Nothing is readable before that.
 * - *Stored events never change*; unknown types and members come back as they went in.
 * - Reading is open to any number of callers at once. One writer a stream; appends of one writer may be issued without
 *   waiting and are kept in that order.
 */
export interface EventStore {
  /** `durable`: on the device when acknowledged. `none`: handed to the system. `memory`: gone with the process. */
  readonly level: "durable" | "none" | "memory";
  /**
   * Makes the caller the owner of a stream, creating it when it is new. Rejects with `ERR_LOG_LOCKED` while another
   * owner lives, unless `takeOver`; with `ERR_LOG_CORRUPT` when the stream cannot be read back whole.
   */
  open(stream: string, options?: { readonly takeOver?: boolean }): Promise<StreamWriter>;
  /** Events after `after` (exclusive), oldest first, at most `limit`. Empty at the end and for an unknown stream. */
  read(stream: string, options: { readonly after: number; readonly limit: number }): Promise<HostEvent[]>;
  /** Names of all streams, sorted. */
  streams(): Promise<string[]>;
  /** The head of a stream as far as it may be read; `undefined` for an unknown one. */
  head(stream: string): Promise<StreamHead | undefined>;
  close(): Promise<void>;
}

export interface StreamHead {
  /** The last event's `seq`; 0 for an empty stream. */
  readonly seq: number;
  /** The highest epoch so far; 0 for a new stream. */
  readonly epoch: number;
}

/** The end of a stream that a crash or a power cut left unreadable. It was never acknowledged as a whole. */
export interface TornTail {
  /** Where its bytes are kept. */
  readonly keptAs: string;
  readonly bytes: number;
}

/** The right to append to one stream. */
export interface StreamWriter {
  /** The head when the stream was opened. The owner's own epoch is `epoch + 1`; its first event carries it. */
  readonly head: StreamHead;
  /** Set when the stream ended in a record that was never finished: it was put aside when the stream was opened. */
  readonly torn?: TornTail;
  /** A store that has them already gives nothing to wait for, which spares every call a timer and some promises. */
  append(expectedSeq: number, events: readonly HostEvent[]): void | Promise<void>;
  /** Waits for appends under way and lets go. Idempotent. */
  close(): Promise<void>;
}

/** Opens a store once a host knows its runtime: `memoryLog()`, `fileLog(directory)`. */
export interface LogFactory {
  /** Rejects with `ERR_UNSUPPORTED_HERE` where the runtime lacks what the store needs. */
  open(context: { readonly runtime: Runtime; readonly clock: Clock; readonly ids: Ids }): Promise<EventStore>;
}
