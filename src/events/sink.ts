import type { Clock } from "../kernel/clock.ts";
import { causeCode, HostError, isHostError } from "../kernel/errors.ts";
import type { Ids } from "../kernel/ids.ts";
import { makeEvent, type PayloadScrubber, preparePayload } from "./encode.ts";
import type { EventInput, EventPayload, HostEvent } from "./event.ts";
import type { StreamWriter } from "./store.ts";

/** Events as they are stored: there already, or on their way. */
export type Written = readonly HostEvent[] | Promise<readonly HostEvent[]>;

/** The right to write to one stream of the log. */
export interface EventSink {
  readonly stream: string;
  /** Of this opening; every event carries it. */
  readonly epoch: number;
  /** `seq` of the last event that is in the store. */
  readonly seq: number;
  /**
   * Scrubs, numbers and stores events, together or not at all, and resolves to them as stored. Calls need not wait for
   * one another; `seq` follows the order of the calls. Once the store has refused an append, this sink refuses all: with
   * `ERR_LOG_POISONED` if the store is, else `ERR_NOT_LOGGED`, and what the store said as `cause`. `ERR_CLOSED` after
   * `close`, `ERR_TOO_LARGE` (and nothing is numbered) while too many events wait. Gives them at once where the store has
   * them at once; never throws.
   */
  append(events: readonly EventInput[]): Written;
  /** Appends a last event, waits for what is under way and lets go of the stream. Idempotent. */
  close(closing?: EventInput): Promise<void>;
}

export interface SinkOptions {
  readonly stream: string;
  readonly writer: StreamWriter;
  readonly scrubber: PayloadScrubber;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Told of each append once it is stored, before its caller. */
  readonly onStored: (events: readonly HostEvent[]) => void;
  readonly onClosed: (seq: number) => void;
}

/** Why appends are refused. */
interface Failure {
  readonly code: "ERR_NOT_LOGGED" | "ERR_LOG_POISONED";
  readonly cause: unknown;
  /** Nothing was written: what comes once all that waits is back may succeed. */
  readonly isPassing: boolean;
}

/** Most events that may wait for the store at once. */
const MAX_WAITING_EVENTS = 65_536;

export class Sink implements EventSink {
  readonly stream: string;
  readonly epoch: number;
  readonly #options: SinkOptions;
  #seq: number;
  /** `seq` of the last event that was numbered, stored or not. */
  #numbered: number;
  #failure: Failure | undefined;
  /** Appends that the store has not answered. */
  #underWay = 0;
  #isClosed = false;
  #closing: Promise<void> | undefined;

  constructor(options: SinkOptions) {
    const { stream, writer } = options;
    this.stream = stream;
    this.epoch = writer.head.epoch + 1;
    this.#options = options;
    this.#seq = this.#numbered = writer.head.seq;
  }

  get seq(): number {
    return this.#seq;
  }

  append(events: readonly EventInput[]): Written {
    let made: HostEvent[];
    try {
      made = this.#make(events);
    } catch (error) {
      return Promise.reject(error);
    }
    const expectedSeq = this.#numbered;
    this.#numbered += made.length;
    this.#underWay++;
    let storing: void | Promise<void>;
    try {
      storing = this.#options.writer.append(expectedSeq, made);
    } catch (cause) {
      return Promise.reject(this.#refused(cause));
    }
    if (storing === undefined) return this.#stored(made);
    return Promise.resolve(storing).then(
      (answer: unknown) => {
        if (answer === false) throw this.#refused(new TypeError("The store answered false, wanted nothing"));
        return this.#stored(made);
      },
      (cause: unknown) => {
        throw this.#refused(cause);
      },
    );
  }

  #stored(events: readonly HostEvent[]): readonly HostEvent[] {
    this.#underWay--;
    this.#seq += events.length;
    this.#options.onStored(events);
    return events;
  }

  #refused(thrown: unknown): HostError {
    const cause = legible(thrown);
    this.#underWay--;
    const isPassing = isHostError(cause) && cause.facts["passing"] === true;
    if (this.#failure === undefined || (this.#failure.isPassing && !isPassing)) {
      const code = isHostError(cause, "ERR_LOG_POISONED") ? "ERR_LOG_POISONED" : "ERR_NOT_LOGGED";
      this.#failure = { code, cause, isPassing };
    }
    const refusal = this.#refusal(this.#failure);
    // The store is as it was, and so are the numbers once all that were given are back.
    if (this.#failure.isPassing && this.#underWay === 0) {
      this.#failure = undefined;
      this.#numbered = this.#seq;
    }
    return refusal;
  }

  close(closing?: EventInput): Promise<void> {
    return this.#closing ??= this.#shut(closing);
  }

  async #shut(closing: EventInput | undefined): Promise<void> {
    const last = closing === undefined ? undefined : this.append([closing]);
    this.#isClosed = true;
    try {
      await last;
    } finally {
      try {
        await this.#options.writer.close();
      } finally {
        this.#options.onClosed(this.#seq);
      }
    }
  }

  #check(count: number): void {
    if (this.#failure !== undefined) throw this.#refusal(this.#failure);
    if (this.#isClosed) {
      throw new HostError("ERR_CLOSED", `Cannot append to stream "${this.stream}": its sink is closed`);
    }
    const waiting = this.#numbered - this.#seq;
    if (waiting + count <= MAX_WAITING_EVENTS) return;
    throw new HostError(
      "ERR_TOO_LARGE",
      `Cannot append ${count} events to stream "${this.stream}": ${waiting} wait for the store, at most ${MAX_WAITING_EVENTS} may`,
      { facts: { stream: this.stream, waiting } },
    );
  }

  /**
   * All that may run code of others, and so may append meanwhile, is done before the first number is given: what a payload
   * holds, the clock, the ids. A failure there leaves no gap.
   */
  #make(events: readonly EventInput[]): HostEvent[] {
    const { stream, epoch } = this;
    const { scrubber, clock, ids } = this.#options;
    const payloads: EventPayload[] = [];
    const eventIds: string[] = [];
    for (const input of events) {
      payloads.push(preparePayload(input, stream, scrubber));
      eventIds.push(ids.next("evt"));
    }
    const at = clock.now();
    this.#check(events.length);
    return events.map((input, index) => {
      const stamp = { seq: this.#numbered + index + 1, id: eventIds[index]!, at, stream, epoch };
      return makeEvent(input, payloads[index]!, stamp);
    });
  }

  #refusal(
    { code, cause, isPassing }: Failure,
  ): HostError {
    return new HostError(
      code,
      `Cannot append to stream "${this.stream}": the store failed with ${causeCode(cause)}; ${
        isPassing ? "try again" : "open the stream again"
      }`,
      { cause, facts: { stream: this.stream, reason: causeCode(cause) } },
    );
  }
}

/** What a store has thrown, or an error in its place where it cannot be looked at without another one. */
function legible(thrown: unknown): unknown {
  try {
    causeCode(thrown);
    isHostError(thrown);
    return thrown;
  } catch {
    return new Error("The store failed with an error that cannot be read");
  }
}
