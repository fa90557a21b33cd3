import { EVENT_VERSION, type EventInput, type EventPayload, type HostEvent } from "./event.ts";
import { fitPayload, markTruncated } from "./fit.ts";
import { maxJsonBytes, toPlain } from "./plain.ts";

/** Most bytes of JSON that one event may have. */
export const MAX_EVENT_BYTES: number = 16 * 1024;

/** What the log adds to an {@link EventInput}. */
export interface EventStamp {
  readonly seq: number;
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly stream: string;
  readonly epoch: number;
}

/** The part of a scrubber that the log needs. */
export interface PayloadScrubber {
  /** The very same value when it holds no secret, a changed copy otherwise. */
  value<T>(value: T): T;
}

/** Fixed text of an envelope with both optional members, and its numbers at their longest. */
const ENVELOPE_BYTES = 320;
/** Longer turn ids and causes are cut: they are our own, and the cap of an event must hold. */
const MAX_ID = 256;

/**
 * Copies, scrubs and, where it must, shortens a payload, so that the event with it stays within
 * {@link MAX_EVENT_BYTES}. It never fails because of size.
 */
export function preparePayload(input: EventInput, stream: string, scrubber: PayloadScrubber): EventPayload {
  const plain = toPlain(input.payload);
  const scrubbed = scrubber.value(plain.payload);
  const known = scrubbed === plain.payload ? plain.maxBytes : maxJsonBytes(scrubbed);
  const marked = plain.cut ? markTruncated(scrubbed) : scrubbed;
  const envelope = ENVELOPE_BYTES + 2 * stream.length + input.type.length +
    6 * (idOf(input.turnId).length + idOf(input.cause?.stream).length);
  return fitPayload(marked, MAX_EVENT_BYTES - envelope, plain.cut ? known + 24 : known);
}

/** An event with the order of members that every event has. `payload` comes from {@link preparePayload}. */
export function makeEvent(input: EventInput, payload: EventPayload, stamp: EventStamp): HostEvent {
  const { seq, id, at, stream, epoch } = stamp;
  const { type, turnId, cause } = input;
  // The common case is written out: spreading would cost more than the rest of an append to memory.
  if (turnId === undefined && cause === undefined) {
    return { v: EVENT_VERSION, seq, id, at, stream, epoch, type, payload };
  }
  const head = { v: EVENT_VERSION, seq, id, at, stream, epoch };
  const turn = turnId === undefined ? head : { ...head, turnId: idOf(turnId) };
  if (cause === undefined) return { ...turn, type, payload };
  return { ...turn, cause: { stream: idOf(cause.stream), seq: cause.seq }, type, payload };
}

/** The event's JSON, one line. Equal events give equal text. */
export function eventJson(event: HostEvent): string {
  return JSON.stringify(event);
}

/** The event's JSON as UTF-8. */
export function eventBytes(event: HostEvent): Uint8Array {
  return new TextEncoder().encode(eventJson(event));
}

function idOf(text: string | undefined): string {
  return text === undefined ? "" : text.slice(0, MAX_ID);
}
