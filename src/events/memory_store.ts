import { HostError } from "../kernel/errors.ts";
import { checkOptions, type OptionRules, wholeFrom } from "../kernel/options.ts";
import { checkBatch, fenced, locked } from "./batch.ts";
import type { HostEvent } from "./event.ts";
import type { EventStore, LogFactory, StreamHead, StreamWriter } from "./store.ts";

export interface MemoryLogOptions {
  /** Most events that a stream keeps, at least 1; older ones go, and a cursor below them gets `ERR_CURSOR_EXPIRED`. Default 100,000. */
  readonly maxEvents?: number;
}

const rules: OptionRules<MemoryLogOptions> = Object.freeze({ maxEvents: wholeFrom(1) });

/**
 * A log that lives and dies with the process. Each host that opens it gets a store of its own. It keeps the last events
 * of each stream and every stream, also of sessions that have closed, until it is closed itself.
 * Throws `ERR_CONFIG` for options that it does not know.
 *
 * @example
 * ```ts
 * import { memoryLog } from "portcullis";
 * const log = memoryLog({ maxEvents: 10_000 });
 * ```
 */
export function memoryLog(options: MemoryLogOptions = {}): LogFactory {
  checkOptions(options, rules, { action: "keep the event log in memory", code: "ERR_CONFIG" });
  return { open: () => Promise.resolve(memoryStore(options)) };
}

interface Stream {
  readonly events: HostEvent[];
  /** `seq` of the first kept event less one. */
  dropped: number;
  epoch: number;
  owner: MemoryWriter | undefined;
}

/** The store behind {@link memoryLog}; level `memory`. */
export function memoryStore(options: MemoryLogOptions = {}): EventStore {
  const maxEvents = Math.max(1, options.maxEvents ?? 100_000);
  const streams = new Map<string, Stream>();
  let isClosed = false;

  const checkOpen = (): void => {
    if (isClosed) throw new HostError("ERR_CLOSED", "Cannot use the event store: it is closed");
  };
  return {
    level: "memory",
    async open(stream, { takeOver = false } = {}) {
      checkOpen();
      let state = streams.get(stream);
      if (state === undefined) {
        state = { events: [], dropped: 0, epoch: 0, owner: undefined };
        streams.set(stream, state);
      }
      if (state.owner !== undefined && !takeOver) throw locked(stream);
      return new MemoryWriter(stream, state, maxEvents);
    },
    async read(stream, { after, limit }) {
      checkOpen();
      const state = streams.get(stream);
      if (state === undefined) return [];
      if (after > 0 && after < state.dropped) throw expired(stream, after, state.dropped + 1);
      const from = Math.max(0, after - state.dropped);
      return state.events.slice(from, from + limit);
    },
    async streams() {
      checkOpen();
      return [...streams.keys()].sort();
    },
    async head(stream) {
      checkOpen();
      const state = streams.get(stream);
      return state && headOf(state);
    },
    async close() {
      isClosed = true;
      for (const state of streams.values()) await state.owner?.close();
    },
  };
}

class MemoryWriter implements StreamWriter {
  readonly head: StreamHead;
  readonly #stream: string;
  readonly #state: Stream;
  readonly #maxEvents: number;
  #isClosed = false;

  constructor(stream: string, state: Stream, maxEvents: number) {
    this.head = headOf(state);
    this.#stream = stream;
    this.#state = state;
    this.#maxEvents = maxEvents;
    state.owner = this;
  }

  append(expectedSeq: number, events: readonly HostEvent[]): void {
    const state = this.#state;
    if (this.#isClosed) {
      throw new HostError("ERR_CLOSED", `Cannot append to stream "${this.#stream}": its writer is closed`);
    }
    if (state.owner !== this) throw fenced(this.#stream, "another owner has taken it over");
    checkBatch(this.#stream, state.dropped + state.events.length, expectedSeq, events);
    for (const event of events) {
      state.events.push(event);
      state.epoch = event.epoch;
    }
    // A quarter more before the oldest go, so that dropping costs little for each event.
    if (state.events.length > this.#maxEvents * 1.25) {
      const surplus = state.events.length - this.#maxEvents;
      state.events.splice(0, surplus);
      state.dropped += surplus;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#state.owner === this) this.#state.owner = undefined;
  }
}

function headOf(state: Stream): StreamHead {
  return { seq: state.dropped + state.events.length, epoch: state.epoch };
}

function expired(stream: string, after: number, firstSeq: number): HostError {
  return new HostError(
    "ERR_CURSOR_EXPIRED",
    `Cannot read stream "${stream}" after seq ${after}: it begins at seq ${firstSeq}`,
    { facts: { stream, after, firstSeq } },
  );
}
