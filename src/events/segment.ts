import * as v from "valibot";
import { HostError } from "../kernel/errors.ts";
import type { FileHandle } from "../kernel/runtime.ts";
import { EVENT_VERSION, type HostEvent } from "./event.ts";
import { checkFrame, FrameBlock, frameValue } from "./frame.ts";
import { forEachLine } from "./lines_of_file.ts";

/** Version of the file format: framing and header. */
const FORMAT_VERSION = 1;

/** The first record of each file. It has no `seq`, so it is never taken for an event. */
const headerSchema = v.looseObject({
  format: v.literal("portcullis.log"),
  version: v.pipe(v.number(), v.integer()),
  stream: v.string(),
  level: v.picklist(["durable", "none"]),
  firstSeq: v.pipe(v.number(), v.integer(), v.minValue(1)),
});

export interface SegmentHeader {
  readonly stream: string;
  /** What an acknowledged append was worth in this file. */
  readonly level: "durable" | "none";
  /** `seq` of the first event. */
  readonly firstSeq: number;
}

/** A place between two records: what stands before it. */
export interface Position {
  /** Bytes before it. */
  readonly offset: number;
  /** `seq` and epoch of the event before it; 0 at the beginning of a stream. */
  readonly seq: number;
  readonly epoch: number;
  /** Checksum of the record before it. */
  readonly crc: number;
}

/** File name of the segment that begins with `firstSeq`. */
export function segmentName(firstSeq: number): string {
  return `${String(firstSeq).padStart(20, "0")}.log`;
}

/** The header as the first bytes of a file, and the place behind it. */
export function makeHeader(header: SegmentHeader): { readonly bytes: Uint8Array; readonly end: Position } {
  const { stream, level, firstSeq } = header;
  const block = new FrameBlock(0);
  block.add(JSON.stringify({ format: "portcullis.log", version: FORMAT_VERSION, stream, level, firstSeq }));
  return { bytes: block.bytes(), end: { offset: block.length, seq: firstSeq - 1, epoch: 0, crc: block.crc } };
}

/** The beginning of a file: its header, and the place behind it. */
export interface SegmentBegin {
  readonly header: SegmentHeader;
  readonly end: Position;
}

/**
 * Reads the header of a stream's file. `undefined` where there is none yet: the first line is not finished, and its
 * writer never came to trust it. Throws `ERR_LOG_CORRUPT` for one that is damaged or another stream's, and
 * `ERR_LOG_VERSION` for a later format.
 */
export async function readBegin(file: FileHandle, stream: string, path: string): Promise<SegmentBegin | undefined> {
  let begin: SegmentBegin | undefined;
  let isWhole = false;
  await forEachLine(file, 0, Infinity, (line, isWholeLine) => {
    isWhole = isWholeLine;
    begin = isWhole ? readHeader(line) : undefined;
    return false;
  });
  if (isWhole && begin?.header.stream !== stream) throw corrupt(stream, path, { offset: 0, seq: 0, epoch: 0, crc: 0 });
  return begin;
}

function readHeader(line: Uint8Array): SegmentBegin | undefined {
  const crc = checkFrame(line, 0);
  if (crc === undefined) return undefined;
  const parsed = v.safeParse(headerSchema, frameValue(line));
  if (!parsed.success) return undefined;
  const { version, stream, level, firstSeq } = parsed.output;
  if (version > FORMAT_VERSION) throw laterVersion(stream, "file format", version, FORMAT_VERSION);
  return {
    header: { stream, level, firstSeq },
    end: { offset: line.length + 1, seq: firstSeq - 1, epoch: 0, crc },
  };
}

/** What a scan found at the place where it stopped. */
export type ScanEnd =
  /** Every byte has been read, or the visitor had enough. */
  | { readonly kind: "whole"; readonly at: Position }
  /** The rest is no record, and nothing behind it is one. */
  | { readonly kind: "torn"; readonly at: Position }
  /** A bad record with others behind it. */
  | { readonly kind: "damaged"; readonly at: Position };

export interface ScanOptions {
  /** Where to stop; the end of the file if absent. */
  readonly end?: number;
  /** Called for each event with the place behind it; false ends the scan. */
  readonly visit: (event: HostEvent, after: Position) => boolean;
}

/** Reads records from a place that an earlier scan or header gave, checking checksum, order and stream of each. */
export async function scanRecords(
  file: FileHandle,
  stream: string,
  from: Position,
  { end = Infinity, visit }: ScanOptions,
): Promise<ScanEnd> {
  let at = from;
  let isBad = false;
  let isDamaged = false;
  await forEachLine(file, from.offset, end, (line, isWhole) => {
    if (isBad) {
      // Behind a bad line the chain of checksums is cut, so shape decides: JSON with a seq was once a record.
      isDamaged = isWhole && isRecord(frameValue(line));
      return !isDamaged;
    }
    const crc = isWhole ? checkFrame(line, at.crc) : undefined;
    const event = crc === undefined ? undefined : frameValue(line);
    if (!isRecord(event) || event.seq !== at.seq + 1 || event.epoch < at.epoch || event.stream !== stream) {
      isBad = true;
      // With its checksum right, the line is what somebody wrote, at a place where it must not be.
      isDamaged = crc !== undefined;
      return !isDamaged;
    }
    at = { offset: at.offset + line.length + 1, seq: event.seq, epoch: event.epoch, crc: crc! };
    return visit(event, at);
  });
  return { kind: isDamaged ? "damaged" : isBad ? "torn" : "whole", at };
}

function isRecord(value: unknown): value is HostEvent {
  if (typeof value !== "object" || value === null) return false;
  const { seq, epoch, stream } = value as { seq?: unknown; epoch?: unknown; stream?: unknown };
  return Number.isSafeInteger(seq) && Number.isSafeInteger(epoch) && typeof stream === "string";
}

/** Throws `ERR_LOG_VERSION` for an event whose meaning this version does not know. */
export function checkVersion(event: HostEvent): void {
  if (event.v > EVENT_VERSION) throw laterVersion(event.stream, `event ${event.seq}`, event.v, EVENT_VERSION);
}

export function corrupt(stream: string, file: string, at: Position): HostError {
  const seq = at.seq + 1;
  return new HostError(
    "ERR_LOG_CORRUPT",
    `Cannot read stream "${stream}": the record with seq ${seq} at byte ${at.offset} of ${file} is damaged`,
    { facts: { stream, file, offset: at.offset, seq } },
  );
}

function laterVersion(stream: string, what: string, found: number, known: number): HostError {
  return new HostError(
    "ERR_LOG_VERSION",
    `Cannot open stream "${stream}": ${what} has version ${found}, at most ${known} is known here`,
    { facts: { stream, found, known } },
  );
}
