import type { HostEvent } from "../events/event.ts";
import { fileLog } from "../events/file_store.ts";
import type { EventStore } from "../events/store.ts";
import { type Clock, sleep, systemClock } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";
import { randomIds } from "../kernel/ids.ts";
import { eventLine } from "./event_line.ts";
import { EXIT } from "./exit_codes.ts";
import { logFault } from "./files.ts";
import type { CommandContext } from "./open_host.ts";
import { safeJson } from "./safe_text.ts";

/** What `log` is told. */
export interface LogOptions {
  /** Directory of the log. */
  readonly log: string;
  /** Only this stream; absent: all of them. */
  readonly stream?: string | undefined;
  /** Only events after this `seq`, of each stream. */
  readonly after: number;
  readonly follow: boolean;
  readonly json: boolean;
}

/** `portcullis log`: what is in a log, while somebody else may be writing it. */
export async function log(context: CommandContext, options: LogOptions): Promise<number> {
  const { printer, terminal } = context;
  const store = await fileLog(options.log).open({ runtime: terminal.runtime, clock: systemClock, ids: randomIds });
  try {
    const streams = await store.streams();
    if (!options.follow && (options.stream === undefined ? streams.length === 0 : !streams.includes(options.stream))) {
      const found = streams.length === 0 ? "no stream" : streams.slice(0, 20).join(", ");
      const wanted = options.stream ?? "a log, which serve writes, and other commands with --log <directory>";
      throw new HostError("ERR_CONFIG", `Cannot read the log in ${options.log}: found ${found}, wanted ${wanted}`);
    }
    for await (const event of readStreams(store, { ...options, clock: systemClock, signal: terminal.interrupted })) {
      const { colours, columns } = printer;
      await printer.line(options.json ? safeJson(event) : eventLine(event, { colours, columns }));
    }
    return EXIT.ok;
  } catch (error) {
    throw logFault(`Cannot read the log in ${JSON.stringify(options.log)}`, error);
  } finally {
    await store.close();
  }
}

/** Which events {@link readStreams} gives, and until when. */
export interface ReadOptions {
  readonly stream?: string | undefined;
  readonly after: number;
  /** Go on until the signal fires, with streams that appear meanwhile too. */
  readonly follow: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Events of one stream that are read in one step. */
const PAGE = 500;
/** How often a log that others write is looked at. */
const POLL_MS = 500;

/** The events of several streams, each stream in its own order and together in the order of their times. */
export async function* readStreams(
  store: Pick<EventStore, "streams" | "read">,
  options: ReadOptions,
): AsyncGenerator<HostEvent, void> {
  const { stream, after, follow, clock, signal } = options;
  const seen = new Map<string, number>();
  while (!signal.aborted) {
    const names = stream === undefined ? await store.streams() : [stream];
    const pages: HostEvent[][] = [];
    for (const name of names) pages.push(await store.read(name, { after: seen.get(name) ?? after, limit: PAGE }));
    let read = 0;
    for (const event of merge(pages)) {
      if (signal.aborted) return;
      seen.set(event.stream, event.seq);
      read++;
      yield event;
    }
    if (read > 0) continue;
    if (!follow) return;
    await sleep(clock, POLL_MS, signal).catch(() => {/* the signal fired, which ends the loop */});
  }
}

/** Always the oldest of the first ones; ends where a full page does, since its successors may be older than the rest. */
function* merge(pages: readonly (readonly HostEvent[])[]): Generator<HostEvent, void> {
  const positions = pages.map(() => 0);
  while (true) {
    let next: number | undefined;
    for (const [index, page] of pages.entries()) {
      const event = page[positions[index]!];
      if (event === undefined) continue;
      if (next === undefined || event.at < pages[next]![positions[next]!]!.at) next = index;
    }
    if (next === undefined) return;
    yield pages[next]![positions[next]!++]!;
    if (positions[next] === PAGE) return;
  }
}
