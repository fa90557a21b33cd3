import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nodeRuntime } from "../../../runtimes/node/mod.ts";
import { readStreams } from "../../../src/cli/log.ts";
import { runCommandLine } from "../../../src/cli/main.ts";
import type { HostEvent } from "../../../src/events/event.ts";
import { fileLog } from "../../../src/events/file_store.ts";
import type { EventStore } from "../../../src/events/store.ts";
import type { Clock } from "../../../src/kernel/clock.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { countingIds } from "../../../src/kernel/ids.ts";
import { event, fakeHost, fakeTerminal } from "./fakes.ts";

/** Streams as lists, read in the store's way; a list may grow. */
function storeOf(streams: Record<string, HostEvent[]>): Pick<EventStore, "streams" | "read"> {
  return {
    streams: () => Promise.resolve(Object.keys(streams).sort()),
    read: (stream, { after, limit }) =>
      Promise.resolve((streams[stream] ?? []).filter(({ seq }) => seq > after).slice(0, limit)),
  };
}

/** A clock whose timers run at once, after `onWait`. */
const eager = (onWait: () => void = () => {}): Clock => ({
  ...systemClock,
  after: (_delayMs, run) => {
    onWait();
    queueMicrotask(run);
    return { cancel: () => {} };
  },
});

const signal = new AbortController().signal;
const at = (stream: string, seq: number, time: number): HostEvent => event(seq, "x", {}, { stream, at: time });

async function idsOf(events: AsyncIterable<HostEvent>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { stream, seq } of events) ids.push(`${stream}${seq}`);
  return ids;
}

describe("reading several streams", () => {
  const streams = { a: [at("a", 1, 10), at("a", 2, 30), at("a", 3, 20)], b: [at("b", 1, 5), at("b", 2, 25)] };
  const options = { after: 0, follow: false, clock: eager(), signal };

  it("streams come together by time, and each keeps its own order when a clock went back", async () => {
    expect(await idsOf(readStreams(storeOf(streams), options))).toEqual(["b1", "a1", "b2", "a2", "a3"]);
  });

  it("one stream can be read, and from a place on", async () => {
    expect(await idsOf(readStreams(storeOf(streams), { ...options, stream: "a", after: 1 }))).toEqual(["a2", "a3"]);
    expect(await idsOf(readStreams(storeOf(streams), { ...options, after: 1 }))).toEqual(["b2", "a2", "a3"]);
  });

  it("streams of several pages lose and repeat nothing", async () => {
    const long = Array.from({ length: 1_203 }, (_, index) => at("a", index + 1, index * 2));
    const late = Array.from({ length: 700 }, (_, index) => at("b", index + 1, 1_000 + index));
    const read = readStreams(storeOf({ a: long, b: late }), options);
    const times: number[] = [];
    for await (const shown of read) times.push(shown.at);
    expect(times).toHaveLength(1_903);
    expect(times).toEqual([...times].sort((x, y) => x - y));
  });

  it("following takes in new events and new streams until the signal fires", async () => {
    const growing: Record<string, HostEvent[]> = { a: [at("a", 1, 1)] };
    const stopped = new AbortController();
    const steps = [
      () => growing["a"]!.push(at("a", 2, 2)),
      () => growing["b"] = [at("b", 1, 3)],
      () => stopped.abort(),
    ];
    const clock = eager(() => steps.shift()!());
    const read = readStreams(storeOf(growing), { ...options, follow: true, clock, signal: stopped.signal });
    expect(await idsOf(read)).toEqual(["a1", "a2", "b1"]);
    expect(steps).toEqual([]);
  });
});

describe("log command", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "portcullis-cli-"));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  async function write(events: readonly HostEvent[]): Promise<void> {
    const store = await fileLog(directory).open({ runtime: nodeRuntime(), clock: systemClock, ids: countingIds() });
    const writer = await store.open("host:main");
    await writer.append(0, events);
    await store.close();
  }

  async function log(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    const terminal = fakeTerminal(["log", "--log", directory, ...args], { runtime: nodeRuntime() });
    const code = await runCommandLine(terminal, fakeHost().open);
    return { code, ...terminal.written };
  }

  const events = [
    event(1, "host.opened", {}, { stream: "host:main" }),
    event(2, "mcp.server.ready", { server: "a\x1b[2J", protocolVersion: "v", tools: 3 }, { stream: "host:main" }),
  ];

  it("shows what was written, one line an event", async () => {
    await write(events);
    expect(await log()).toEqual({
      code: 0,
      err: "",
      out: "10:53:20.001  host:main 1  host.opened\n" +
        "10:53:20.002  host:main 2  mcp.server.ready  a protocolVersion=v tools=3\n",
    });
  });

  it("shows events as JSON, from a place on", async () => {
    await write(events);
    const { code, out } = await log("--json", "--after", "1", "--stream", "host:main");
    expect(code).toBe(0);
    expect(out.trim().split("\n").map((line) => JSON.parse(line) as HostEvent)).toEqual([events[1]]);
  });

  it("says what is there when the log or the stream is missing", async () => {
    expect(await log()).toMatchObject({
      code: 2,
      err:
        `error: Cannot read the log in ${directory}: found no stream, wanted a log, which serve writes, and other commands with --log <directory>\n`,
    });
    await write(events);
    expect(await log("--stream", "session:x")).toMatchObject({
      code: 2,
      err: `error: Cannot read the log in ${directory}: found host:main, wanted session:x\n`,
    });
  });
});
