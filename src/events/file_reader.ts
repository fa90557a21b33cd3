import type { FileHandle, FileSystem } from "../kernel/runtime.ts";
import { unlessMissing } from "../store/small_files.ts";
import type { HostEvent } from "./event.ts";
import { corrupt, type Position, readBegin, type ScanEnd, scanRecords } from "./segment.ts";
import type { StreamHead } from "./store.ts";

/** A place is remembered for about this many bytes, so that a reader need not begin at the beginning. */
const INDEX_STEP_BYTES = 64 * 1024;

/**
 * Reads one stream's file, whoever writes it. Of a file that somebody else writes, it reads up to the last complete
 * valid line; of our own, up to what has been acknowledged.
 */
export class FileReader {
  readonly #files: FileSystem;
  readonly #stream: string;
  readonly #path: string;
  /** Places in ascending order; the first is the one behind the header. Empty: not yet read. */
  #places: Position[] = [];
  /** Set while this process owns the stream: where its acknowledged records end. */
  #acknowledged: Position | undefined;

  constructor(files: FileSystem, stream: string, path: string) {
    this.#files = files;
    this.#stream = stream;
    this.#path = path;
  }

  /** The owner has scanned the file; `places` as {@link remember} would have kept them, that behind the header first. */
  own(places: readonly Position[], end: Position): void {
    this.#places = [...places];
    this.#acknowledged = end;
  }

  /** The owner has committed up to here. */
  acknowledge(end: Position): void {
    this.#acknowledged = end;
    if (this.#places.length > 0) remember(this.#places, end);
  }

  /** The owner has let go; from here on the file is like anybody's. */
  disown(): void {
    this.#acknowledged = undefined;
    this.#places = [];
  }

  async read(after: number, limit: number): Promise<HostEvent[]> {
    const events: HostEvent[] = [];
    if (limit < 1) return events;
    await this.#scan(after, (event) => {
      events.push(event);
      return events.length < limit;
    });
    return events;
  }

  async head(): Promise<StreamHead | undefined> {
    if (this.#acknowledged !== undefined) return headAt(this.#acknowledged);
    const end = await this.#scan(Number.MAX_SAFE_INTEGER, () => true);
    return end && headAt(end);
  }

  /** Visits the events behind `after`; gives the place where it stopped, `undefined` where there is no file. */
  async #scan(after: number, visit: (event: HostEvent) => boolean): Promise<Position | undefined> {
    const file = await unlessMissing(this.#files.open(this.#path, "read"));
    if (file === undefined) return undefined;
    try {
      return await this.#scanFile(file, after, visit);
    } finally {
      await file.close();
    }
  }

  async #scanFile(
    file: FileHandle,
    after: number,
    visit: (event: HostEvent) => boolean,
  ): Promise<Position | undefined> {
    let delivered = after;
    // Another process may cut off what it failed to write while we read it, so damage is believed at the second look.
    for (let look = 1;; look++) {
      const places = this.#places;
      if (places.length === 0) {
        const begin = await readBegin(file, this.#stream, this.#path);
        if (begin === undefined) return undefined;
        // Another read may have got here first and gone on.
        if (places.length === 0) places.push(begin.end);
      }
      const from = placeBefore(places, delivered);
      const own = this.#acknowledged;
      const end = await scanRecords(file, this.#stream, from, {
        ...(own === undefined ? undefined : { end: own.offset }),
        visit: (event, place) => {
          remember(places, place);
          if (event.seq <= delivered) return true;
          delivered = event.seq;
          return visit(event);
        },
      });
      if (!isDamage(end, own)) return end.at;
      if (look === 2) throw corrupt(this.#stream, this.#path, end.at);
      this.#places = [];
    }
  }
}

/** The last known place whose event is not behind `after`. The first one always is. */
function placeBefore(places: readonly Position[], after: number): Position {
  let low = 0;
  for (let high = places.length - 1; low < high;) {
    const middle = (low + high + 1) >> 1;
    if (places[middle]!.seq <= after) low = middle;
    else high = middle - 1;
  }
  return places[low]!;
}

/** Adds a place to the sparse index unless one is near. */
export function remember(places: Position[], place: Position): void {
  const last = places.at(-1);
  if (last === undefined || place.offset >= last.offset + INDEX_STEP_BYTES) places.push(place);
}

function isDamage(end: ScanEnd, own: Position | undefined): boolean {
  return end.kind === "damaged" || (own !== undefined && end.kind === "torn");
}

function headAt({ seq, epoch }: Position): StreamHead {
  return { seq, epoch };
}
