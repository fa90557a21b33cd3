import { describe, expect, it } from "vitest";
import type { HostEvent } from "../../../src/events/event.ts";
import { fileLog, fileStore, type FileStoreOptions } from "../../../src/events/file_store.ts";
import { FrameBlock } from "../../../src/events/frame.ts";
import type { EventStore } from "../../../src/events/store.ts";
import { countingIds, type Ids } from "../../../src/kernel/ids.ts";
import type { Runtime } from "../../../src/kernel/runtime.ts";
import { eventStoreCases, storedEvent } from "../../contract/event_store.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { MemoryFiles } from "../../fixtures/memory_files.ts";

const STREAM = "log/streams/s/00000000000000000001.log";

interface Disk {
  readonly files: MemoryFiles;
  readonly clock: FakeClock;
  readonly ids: Ids;
}

const disk = (): Disk => ({ files: new MemoryFiles(), clock: new FakeClock(), ids: countingIds() });
const openStore = (on: Disk, options: Partial<FileStoreOptions> = {}): EventStore =>
  fileStore({ ...on, directory: "log", ...options });

/** A disk with one stream of `count` events, its store closed. */
async function written(count: number, on = disk()): Promise<Disk> {
  const store = openStore(on);
  const writer = await store.open("s");
  for (let seq = 1; seq <= count; seq++) await writer.append(seq - 1, [storedEvent("s", seq, 1, { n: seq })]);
  await store.close();
  return on;
}

const seqs = (events: readonly HostEvent[]): number[] => events.map(({ seq }) => seq);
const readAll = (store: EventStore): Promise<HostEvent[]> => store.read("s", { after: 0, limit: 10_000 });

describe("file event store", () => {
  const subject = async () => {
    const on = disk();
    return { store: openStore(on), reopen: async () => openStore(on), second: async () => openStore(on) };
  };
  for (const { name, run } of eventStoreCases("file event store", subject)) it(name, run);
});

describe("file event store without syncs", () => {
  const subject = async () => {
    const on = disk();
    const level = { level: "none" } as const;
    return {
      store: openStore(on, level),
      reopen: async () => openStore(on, level),
      second: async () => openStore(on, level),
    };
  };
  for (const { name, run } of eventStoreCases("file event store without syncs", subject)) it(name, run);
});

describe("file log", () => {
  it("is unsupported where there are no files, and says what is", async () => {
    const runtime: Runtime = {
      name: "edge",
      version: "0",
      fetch: () => Promise.reject(new Error("no network here")),
      contentLengthIsDecoded: false,
      environment: () => ({}),
    };
    const { clock, ids } = disk();
    const opening = fileLog("log").open({ runtime, clock, ids });
    await expect(opening).rejects.toMatchObject({ code: "ERR_UNSUPPORTED_HERE" });
    const { files } = disk();
    expect((await fileLog("log").open({ runtime: { ...runtime, files }, clock, ids })).level).toBe("durable");
  });

  it("is one readable line a record, with a header, for the user alone", async () => {
    const { files } = await written(2);
    const lines = files.text(STREAM).split("\n");
    expect(lines.length).toBe(4);
    expect(lines[0]).toMatch(
      /^[0-9a-f]{8} \{"format":"portcullis\.log","version":1,"stream":"s","level":"durable","firstSeq":1\}$/,
    );
    expect(JSON.parse(lines[2]!.slice(9))).toEqual(storedEvent("s", 2, 1, { n: 2 }));
    expect(lines[3]).toBe("");
    expect(files.modeOf(STREAM)).toBe(0o600);
    expect(files.modeOf("log")).toBe(0o700);
    expect(files.modeOf("log/streams/s")).toBe(0o700);
  });

  it("leaves no lock and no open file behind when it is closed", async () => {
    const on = await written(2);
    expect(on.files.paths).toEqual([STREAM]);
    expect(on.files.openHandles).toBe(0);
    expect(on.clock.timers).toBe(0);
  });

  it("touches nothing when it is only read", async () => {
    const on = disk();
    const store = openStore(on);
    expect(await readAll(store)).toEqual([]);
    expect(await store.streams()).toEqual([]);
    await store.close();
    expect(on.files.paths).toEqual([]);
  });

  it("A-86 keeps a forged record inside its string", async () => {
    const on = disk();
    const block = new FrameBlock(0);
    block.add(JSON.stringify(storedEvent("s", 99)));
    const forged = `\n${new TextDecoder().decode(block.bytes())}`;
    const store = openStore(on);
    const writer = await store.open("s");
    const event = storedEvent("s", 1, 1, { text: forged, [forged]: 1 });
    await writer.append(0, [event]);
    await store.close();
    const again = openStore(on);
    expect(await readAll(again)).toEqual([event]);
    expect((await again.open("s")).head.seq).toBe(1);
  });
});

describe("file log commits", () => {
  it("write what waits during a sync together: one sync for all", async () => {
    const on = disk();
    const store = openStore(on);
    const writer = await store.open("s");
    on.files.operations.length = 0;
    await Promise.all(Array.from({ length: 500 }, (_, n) => writer.append(n, [storedEvent("s", n + 1)])));
    const count = (kind: string): number => on.files.operations.filter((each) => each === `${kind} ${STREAM}`).length;
    expect(count("sync")).toBe(2);
    expect(count("write")).toBe(2);
    expect((await readAll(store)).length).toBe(500);
  });

  it("are on the device before they are acknowledged", async () => {
    const on = disk();
    const writer = await openStore(on).open("s");
    await writer.append(0, [storedEvent("s", 1)]);
    await writer.append(1, [storedEvent("s", 2)]);
    on.files.cutPower();
    const other = openStore({ ...on, clock: new FakeClock() });
    expect(seqs(await readAll(other))).toEqual([1, 2]);
  });

  it("write everything when the system takes a few bytes at a time", async () => {
    const on = disk();
    on.files.fault = ({ kind }) => kind === "write" ? { written: 7 } : undefined;
    await written(3, on);
    on.files.fault = undefined;
    expect(seqs(await readAll(openStore(on)))).toEqual([1, 2, 3]);
  });

  it("A-88 are refused while the disk is full, leave nothing behind, and go on when there is room", async () => {
    const on = disk();
    const store = openStore(on);
    const writer = await store.open("s");
    await writer.append(0, [storedEvent("s", 1)]);
    const before = on.files.bytes(STREAM);
    on.files.fault = ({ kind, path }) =>
      kind === "write" && path === STREAM ? { written: 20, then: "ENOSPC" } : undefined;
    const refused = await Promise.allSettled([1, 2, 3].map((n) => writer.append(n, [storedEvent("s", n + 1)])));
    for (const result of refused) {
      expect(result).toMatchObject({
        status: "rejected",
        reason: { code: "ERR_NOT_LOGGED", cause: { code: "ENOSPC" } },
      });
    }
    expect(on.files.bytes(STREAM)).toEqual(before);
    on.files.fault = undefined;
    await writer.append(1, [storedEvent("s", 2)]);
    expect(seqs(await readAll(store))).toEqual([1, 2]);
    await store.close();
    expect((await openStore(on).open("s")).head.seq).toBe(2);
  });

  it("poison the writer when the part that was written cannot be cut off, until it is opened again", async () => {
    const on = disk();
    const store = openStore(on);
    const writer = await store.open("s");
    await writer.append(0, [storedEvent("s", 1)]);
    on.files.fault = ({ kind, path }) => {
      if (path !== STREAM) return undefined;
      return kind === "write" ? { written: 20, then: "ENOSPC" } : kind === "truncate" ? "EIO" : undefined;
    };
    await expect(writer.append(1, [storedEvent("s", 2)])).rejects.toMatchObject({ code: "ERR_LOG_POISONED" });
    on.files.fault = undefined;
    await expect(writer.append(1, [storedEvent("s", 2)])).rejects.toMatchObject({ code: "ERR_LOG_POISONED" });
    expect(seqs(await readAll(store))).toEqual([1]);
    await writer.close();
    const again = await store.open("s");
    expect(again.head.seq).toBe(1);
    expect(again.torn).toEqual({ keptAs: `${STREAM}.torn-1`, bytes: 20 });
    await again.append(1, [storedEvent("s", 2, 2)]);
    expect(seqs(await readAll(store))).toEqual([1, 2]);
  });

  it("poison the writer when a sync fails: a later sync would only seem to work", async () => {
    const on = disk();
    const store = openStore(on);
    const writer = await store.open("s");
    await writer.append(0, [storedEvent("s", 1)]);
    let isFirst = true;
    on.files.fault = ({ kind, path }) =>
      kind === "sync" && path === STREAM && isFirst ? (isFirst = false, "EIO") : undefined;
    const [failed, behind] = await Promise.allSettled([
      writer.append(1, [storedEvent("s", 2)]),
      writer.append(2, [storedEvent("s", 3)]),
    ]);
    expect(failed).toMatchObject({ reason: { code: "ERR_LOG_POISONED" } });
    expect(behind).toMatchObject({ reason: { code: "ERR_LOG_POISONED" } });
    await expect(writer.append(1, [storedEvent("s", 2)])).rejects.toMatchObject({ code: "ERR_LOG_POISONED" });
    expect(seqs(await readAll(store))).toEqual([1]);
    await store.close();
    expect((await openStore(on).open("s")).head.seq).toBe(1);
  });
});

describe("file log after a crash", () => {
  it("keeps every whole record however its end was cut, and puts the rest aside", async () => {
    const on = await written(3);
    const whole = on.files.bytes(STREAM);
    const ends = [...whole.keys()].filter((at) => whole[at] === 10).map((at) => at + 1);
    const header = ends[0]!;
    for (let cut = 0; cut <= whole.length; cut++) {
      const each = disk();
      each.files.put(STREAM, whole.subarray(0, cut));
      const store = openStore(each);
      const kept = Math.max(0, ends.filter((end) => end <= cut).length - 1);
      expect(seqs(await readAll(store)), `read of ${cut} bytes`).toEqual([1, 2, 3].slice(0, kept));
      const writer = await store.open("s");
      expect(writer.head.seq, `open of ${cut} bytes`).toBe(kept);
      const goodEnd = Math.max(0, ...ends.filter((end) => end <= cut));
      const torn = cut - goodEnd;
      expect(writer.torn, `torn of ${cut} bytes`).toEqual(
        torn === 0 ? undefined : { keptAs: `${STREAM}.torn-1`, bytes: torn },
      );
      if (torn > 0) expect(each.files.bytes(`${STREAM}.torn-1`)).toEqual(whole.slice(goodEnd, cut));
      await writer.append(kept, [storedEvent("s", kept + 1, 2)]);
      await store.close();
      expect((await readAll(openStore(each))).length).toBe(kept + 1);
      expect(each.files.bytes(STREAM).length).toBeGreaterThan(header);
    }
  });

  it("counts a tail of zeros as torn", async () => {
    const on = await written(2);
    const whole = on.files.bytes(STREAM);
    const zeros = new Uint8Array(whole.length + 3_000_000);
    zeros.set(whole);
    on.files.put(STREAM, zeros);
    const writer = await openStore(on).open("s");
    expect(writer.head.seq).toBe(2);
    expect(writer.torn?.bytes).toBe(3_000_000);
  });

  it("gives each torn tail a name of its own", async () => {
    const on = await written(1);
    for (let n = 1; n <= 3; n++) {
      on.files.put(STREAM, new Uint8Array([...on.files.bytes(STREAM), 120, 120]));
      const store = openStore(on);
      expect((await store.open("s")).torn?.keptAs).toBe(`${STREAM}.torn-${n}`);
      await store.close();
    }
  });

  it("refuses any changed bit that has records behind it, and names the place", async () => {
    const on = await written(3);
    const whole = on.files.bytes(STREAM);
    const ends = [...whole.keys()].filter((at) => whole[at] === 10).map((at) => at + 1);
    // Without the line feed before the last record there would be no record behind the damage.
    for (let at = 0; at < ends[2]! - 1; at++) {
      const each = disk();
      const changed = whole.slice();
      changed[at]! ^= 1 << (at % 7);
      each.files.put(STREAM, changed);
      const seq = ends.filter((end) => end <= at).length;
      const error = await openStore(each).open("s").then(() => undefined, (reason: unknown) => reason);
      expect(error, `byte ${at}`).toMatchObject({ code: "ERR_LOG_CORRUPT", facts: { file: STREAM, stream: "s" } });
      if (seq > 0) {
        // A line feed that has gone joins two records; the damage is found at the first.
        const { facts } = error as { facts: { seq: number; offset: number } };
        expect(facts.seq, `byte ${at}`).toBe(seq);
        expect(facts.offset, `byte ${at}`).toBe(ends[seq - 1]);
      }
      expect(each.files.bytes(STREAM)).toEqual(changed);
      await expect(readAll(openStore(each))).rejects.toMatchObject({ code: "ERR_LOG_CORRUPT" });
    }
  });

  it.each([
    ["a removed record", (lines: string[]) => [lines[0], lines[2], lines[3]]],
    ["two records in the wrong order", (lines: string[]) => [lines[0], lines[2], lines[1], lines[3]]],
    ["a record twice", (lines: string[]) => [lines[0], lines[1], lines[1], lines[2]]],
    ["a header in upper case", (lines: string[]) => [lines[0]!.toUpperCase(), lines[1], lines[2]]],
    ["another stream's file", (lines: string[]) => lines.map((line) => line.replace('"stream":"s"', '"stream":"t"'))],
  ])("refuses %s", async (_, change) => {
    const on = await written(3);
    on.files.put(STREAM, `${change(on.files.text(STREAM).trimEnd().split("\n")).join("\n")}\n`);
    await expect(openStore(on).open("s")).rejects.toMatchObject({ code: "ERR_LOG_CORRUPT" });
  });

  it("refuses a header that belongs to another stream, right checksum or not", async () => {
    const on = await written(1);
    on.files.put("log/streams/t/00000000000000000001.log", on.files.bytes(STREAM));
    await expect(openStore(on).open("t")).rejects.toMatchObject({ code: "ERR_LOG_CORRUPT" });
  });

  it("refuses what a later version wrote", async () => {
    const on = disk();
    const store = openStore(on);
    const writer = await store.open("s");
    await writer.append(0, [{ ...storedEvent("s", 1), v: 2 }]);
    await store.close();
    const later = openStore(on);
    await expect(later.open("s")).rejects.toMatchObject({ code: "ERR_LOG_VERSION" });
    expect(seqs(await readAll(later))).toEqual([1]);
    await later.close();
    const block = new FrameBlock(0);
    block.add(JSON.stringify({ format: "portcullis.log", version: 2, stream: "s", level: "durable", firstSeq: 1 }));
    on.files.put(STREAM, block.bytes());
    await expect(openStore(on).open("s")).rejects.toMatchObject({ code: "ERR_LOG_VERSION" });
  });

  it("keeps to the level that a file was written with", async () => {
    const on = await written(1);
    await expect(openStore(on, { level: "none" }).open("s")).rejects.toMatchObject({ code: "ERR_CONFIG" });
  });

  it("leaves the file as it is when the torn tail cannot be copied", async () => {
    const on = await written(1);
    on.files.put(STREAM, new Uint8Array([...on.files.bytes(STREAM), 1, 2, 3]));
    const before = on.files.bytes(STREAM);
    on.files.fault = ({ kind, path }) => kind === "write" && path.includes(".torn-") ? "ENOSPC" : undefined;
    await expect(openStore(on).open("s")).rejects.toMatchObject({ code: "ENOSPC" });
    expect(on.files.bytes(STREAM)).toEqual(before);
    expect(on.files.paths.filter((path) => path.includes("torn"))).toEqual([]);
    expect(on.files.openHandles).toBe(1);
  });
});

describe("file log read by another process", () => {
  it("ends at the last complete valid line and goes on when the line is complete", async () => {
    const on = await written(3);
    const whole = on.files.bytes(STREAM);
    const reader = openStore(on);
    on.files.put(STREAM, whole.subarray(0, whole.length - 10));
    expect(seqs(await readAll(reader))).toEqual([1, 2]);
    expect(await reader.head("s")).toEqual({ seq: 2, epoch: 1 });
    on.files.put(STREAM, whole);
    expect(seqs(await reader.read("s", { after: 2, limit: 9 }))).toEqual([3]);
  });

  it("survives that the owner cuts off what it could not write", async () => {
    const on = await written(400);
    const reader = openStore(on);
    expect((await readAll(reader)).length).toBe(400);
    const lines = on.files.text(STREAM).split("\n");
    on.files.put(STREAM, `${lines.slice(0, 11).join("\n")}\n`);
    expect(seqs(await reader.read("s", { after: 390, limit: 10 }))).toEqual([]);
    expect(await reader.head("s")).toEqual({ seq: 10, epoch: 1 });
  });

  it("begins near its cursor, not at the beginning", async () => {
    const on = await written(2_000);
    const reader = openStore(on);
    await reader.head("s");
    on.files.operations.length = 0;
    expect(seqs(await reader.read("s", { after: 1_990, limit: 3 }))).toEqual([1_991, 1_992, 1_993]);
    expect(on.files.operations).toEqual([`open ${STREAM}`, `read ${STREAM}`]);
  });
});

describe("file log lock", () => {
  it("is held for the whole directory, and free once the store is closed", async () => {
    const on = disk();
    const first = openStore(on);
    await first.open("s");
    const second = openStore(on);
    const refused = await second.open("other").catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "ERR_LOG_LOCKED", facts: { directory: "log" } });
    await first.close();
    expect((await second.open("other")).head.seq).toBe(0);
  });

  it("stays while its owner shows life, and is free half a minute after a crash", async () => {
    const on = disk();
    await openStore(on).open("s");
    await on.clock.advance(300_000);
    await expect(openStore(on).open("s")).rejects.toMatchObject({ code: "ERR_LOG_LOCKED" });
    // The clock of a process that has crashed does not run; that of the next one does.
    const later = new FakeClock(on.clock.now() + 25_000);
    await expect(openStore({ ...on, clock: later }).open("s")).rejects.toMatchObject({ code: "ERR_LOG_LOCKED" });
    const latest = new FakeClock(on.clock.now() + 35_000);
    expect((await openStore({ ...on, clock: latest }).open("s")).head.seq).toBe(0);
  });

  it("fences an owner that slept while another one took over", async () => {
    const on = disk();
    const sleeper = await openStore(on).open("s");
    await sleeper.append(0, [storedEvent("s", 1)]);
    const next = openStore({ ...on, clock: new FakeClock(on.clock.now() + 40_000) });
    const writer = await next.open("s");
    await writer.append(1, [storedEvent("s", 2, 2)]);
    const before = on.files.bytes(STREAM);
    await on.clock.advance(40_000);
    await expect(sleeper.append(1, [storedEvent("s", 2)])).rejects.toMatchObject({ code: "ERR_FENCED" });
    await expect(sleeper.append(1, [storedEvent("s", 2)])).rejects.toMatchObject({ code: "ERR_FENCED" });
    // It did not even write: what it knew about its lock was too old.
    expect(on.files.bytes(STREAM)).toEqual(before);
    await writer.append(2, [storedEvent("s", 3, 2)]);
    expect((await readAll(next)).map(({ epoch }) => epoch)).toEqual([1, 2, 2]);
  });

  it("does not acknowledge what was written while another one took over", async () => {
    const on = disk();
    const first = await openStore(on).open("s");
    await first.append(0, [storedEvent("s", 1)]);
    on.files.fault = ({ kind, path }) => {
      if (kind === "sync" && path === STREAM) on.files.put("log/lock", "lock_of_another");
      return undefined;
    };
    await expect(first.append(1, [storedEvent("s", 2)])).rejects.toMatchObject({ code: "ERR_FENCED" });
  });

  it("refuses what it could not look before, and goes on with what comes then", async () => {
    const on = disk();
    const store = openStore(on);
    const writer = await store.open("s");
    await writer.append(0, [storedEvent("s", 1)]);
    await on.clock.advance(2000);
    on.files.fault = ({ path }) => path === "log/lock" ? "EMFILE" : undefined;
    const refused = await Promise.allSettled([
      writer.append(1, [storedEvent("s", 2)]),
      writer.append(2, [storedEvent("s", 3)]),
    ]);
    for (const result of refused) expect(result).toMatchObject({ reason: { code: "ERR_NOT_LOGGED" } });
    on.files.fault = undefined;
    await writer.append(1, [storedEvent("s", 2)]);
    expect(seqs(await readAll(store))).toEqual([1, 2]);
    await store.close();
  });

  it("does not cut into a file that another one may own by now", async () => {
    const on = disk();
    const first = await openStore(on).open("s");
    await first.append(0, [storedEvent("s", 1)]);
    on.files.fault = ({ kind, path }) => {
      if (kind !== "write" || path !== STREAM) return undefined;
      on.files.put("log/lock", "lock_of_another");
      return "EIO";
    };
    on.files.operations.length = 0;
    await expect(first.append(1, [storedEvent("s", 2)])).rejects.toMatchObject({ code: "ERR_LOG_POISONED" });
    expect(on.files.operations.some((each) => each.startsWith("truncate"))).toBe(false);
  });

  it("counts as held while it cannot be read, and gives way to a take-over", async () => {
    for (const content of ["", "../../odd", "x".repeat(200)]) {
      const on = disk();
      on.files.put("log/lock", content);
      await expect(openStore(on).open("s")).rejects.toMatchObject({ code: "ERR_LOG_LOCKED" });
      expect((await openStore(on).open("s", { takeOver: true })).head.seq).toBe(0);
    }
  });

  it("leaves nothing behind that would lock everybody out when it cannot be written", async () => {
    for (const kind of ["write", "sync"]) {
      const on = disk();
      on.files.fault = (operation) => operation.kind === kind && operation.path === "log/lock" ? "ENOSPC" : undefined;
      await expect(openStore(on).open("s")).rejects.toMatchObject({ code: "ENOSPC" });
      expect(on.files.paths).toEqual([]);
      expect(on.files.openHandles).toBe(0);
      expect(on.clock.timers).toBe(0);
      on.files.fault = undefined;
      expect((await openStore(on).open("s")).head.seq).toBe(0);
    }
  });

  it("is not lost over a beat that could not be written", async () => {
    const on = disk();
    const writer = await openStore(on).open("s");
    on.files.fault = ({ path }) => path.includes("beat-") ? "ENOSPC" : undefined;
    await on.clock.advance(25_000);
    on.files.fault = undefined;
    await on.clock.advance(10_000);
    await expect(openStore(on).open("s")).rejects.toMatchObject({ code: "ERR_LOG_LOCKED" });
    await writer.append(0, [storedEvent("s", 1)]);
    await settle();
  });
});
