import { describe, expect, it } from "vitest";
import type { EventInput, HostEvent } from "../../../src/events/event.ts";
import { fileStore } from "../../../src/events/file_store.ts";
import { createLog, type EventLog, type LogOptions } from "../../../src/events/log.ts";
import { memoryStore } from "../../../src/events/memory_store.ts";
import type { EventStore, StreamWriter } from "../../../src/events/store.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import { countingIds } from "../../../src/kernel/ids.ts";
import { SecretRegistry } from "../../../src/kernel/secrets.ts";
import { createScrubber } from "../../../src/scrub/known_values.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { MemoryFiles } from "../../fixtures/memory_files.ts";

const S = "session:s";
const opening: EventInput = { type: "session.opened", payload: {} };
const note = (n: number): EventInput => ({ type: "mcp.log", payload: { n } });
const nothing = { value: <T>(value: T): T => value };

interface Made {
  readonly log: EventLog;
  readonly store: EventStore;
  readonly clock: FakeClock;
}

function make(options: Partial<LogOptions> = {}): Made {
  const clock = new FakeClock();
  const store = options.store ?? memoryStore();
  return { store, clock, log: createLog({ scrubber: nothing, clock, ids: countingIds(), ...options, store }) };
}

/** Reads from a follower in the background. */
function collect(events: AsyncIterable<HostEvent>) {
  const seqs: number[] = [];
  const state = { seqs, error: undefined as unknown, isDone: false };
  const finished = (async () => {
    try {
      for await (const { seq } of events) seqs.push(seq);
    } catch (error) {
      state.error = error;
    }
    state.isDone = true;
  })();
  return Object.assign(state, { finished });
}

const upTo = (n: number, from = 1): number[] => Array.from({ length: n - from + 1 }, (_, k) => from + k);

type Append = StreamWriter["append"];

/** A store in memory whose appends go through `append`, which is given the real one. */
function storeWhose(append: (real: Append, ...args: Parameters<Append>) => ReturnType<Append>): EventStore {
  const inner = memoryStore();
  return {
    ...inner,
    open: async (stream, options): Promise<StreamWriter> => {
      const writer = await inner.open(stream, options);
      const real: Append = (expectedSeq, events) => writer.append(expectedSeq, events);
      return { head: writer.head, close: () => writer.close(), append: (...args) => append(real, ...args) };
    },
  };
}

/** A store whose appends the test lets through or refuses one by one. */
function heldStore() {
  const waiting: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  let isHeld = false;
  const store = storeWhose(async (real, ...args) => {
    if (isHeld) await new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
    await real(...args);
  });
  return { store, waiting, hold: () => isHeld = true, letGo: () => isHeld = false };
}

describe("event log", () => {
  it("opens a stream with its first event and a raised epoch", async () => {
    const { log, clock } = make();
    const sink = await log.open(S, opening);
    expect([sink.stream, sink.epoch, sink.seq]).toEqual([S, 1, 1]);
    const [event] = await sink.append([{ ...note(1), turnId: "t_1", cause: { stream: "host:a", seq: 3 } }]);
    expect(event).toEqual({
      v: 1,
      seq: 2,
      id: "evt_2",
      at: clock.now(),
      stream: S,
      epoch: 1,
      turnId: "t_1",
      cause: { stream: "host:a", seq: 3 },
      type: "mcp.log",
      payload: { n: 1 },
    });
    await sink.close({ type: "session.closed", payload: {} });
    const again = await log.open(S, opening);
    expect([again.epoch, again.seq]).toEqual([2, 4]);
    const events = await log.read({ stream: S });
    expect(events.map(({ seq, epoch, type }) => [seq, epoch, type])).toEqual([
      [1, 1, "session.opened"],
      [2, 1, "mcp.log"],
      [3, 1, "session.closed"],
      [4, 2, "session.opened"],
    ]);
    expect(await log.streams()).toEqual([S]);
  });

  it("numbers in the order of the calls when many are under way", async () => {
    const { log } = make();
    const sink = await log.open(S, opening);
    const made = await Promise.all(Array.from({ length: 300 }, (_, n) => sink.append([note(2 * n), note(2 * n + 1)])));
    expect(made.flat().map(({ seq }) => seq)).toEqual(upTo(601, 2));
    const stored = await log.read({ stream: S, after: 1, limit: 1_000 });
    expect(stored.map(({ payload }) => payload["n"])).toEqual(upTo(599, 0));
    expect(new Set(stored.map(({ id }) => id)).size).toBe(600);
    expect(await sink.append([])).toEqual([]);
    expect(sink.seq).toBe(601);
  });

  it("scrubs every payload once, before it is numbered and stored", async () => {
    const secrets = new SecretRegistry();
    secrets.add("token", "very-secret-value");
    let calls = 0;
    const inner = createScrubber(secrets);
    const scrubber = { value: <T>(value: T): T => (calls++, inner.value(value)) };
    const { log } = make({ scrubber });
    const sink = await log.open(S, { type: "session.opened", payload: { reason: "very-secret-value" } });
    const [event] = await sink.append([
      {
        type: "mcp.log",
        payload: {
          "very-secret-value": [{ deep: "a very-secret-value b" }],
          when: { toJSON: () => "very-secret-value" },
        },
      },
    ]);
    expect(calls).toBe(2);
    expect(event?.payload).toEqual({
      "[redacted:token#1]": [{ deep: "a [redacted:token#1] b" }],
      when: "[redacted:token#1]",
    });
    expect(JSON.stringify(await log.read({ stream: S }))).not.toContain("very-secret-value");
  });

  it("leaves no gap when a payload cannot be prepared", async () => {
    const scrubber = {
      value: <T>(value: T): T => {
        if (JSON.stringify(value).includes("bad")) throw new TypeError("broken scrubber");
        return value;
      },
    };
    const { log } = make({ scrubber });
    const sink = await log.open(S, opening);
    const [first, failed, last] = await Promise.allSettled([
      sink.append([note(1)]),
      sink.append([note(2), { type: "mcp.log", payload: { bad: 1 } }]),
      sink.append([note(3)]),
    ]);
    expect(failed.status).toBe("rejected");
    expect([first, last].map((result) => result.status)).toEqual(["fulfilled", "fulfilled"]);
    expect((await log.read({ stream: S })).map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it("keeps what it stored apart from what its writer changes later", async () => {
    const { log } = make();
    const sink = await log.open(S, opening);
    const payload = { list: [1] };
    await sink.append([{ type: "mcp.log", payload }]);
    payload.list.push(2);
    expect((await log.read({ stream: S, after: 1 }))[0]?.payload).toEqual({ list: [1] });
  });

  it("refuses a stream that is open, unless it is taken over", async () => {
    const { log } = make();
    const first = await log.open(S, opening);
    await expect(log.open(S, opening)).rejects.toMatchObject({ code: "ERR_LOG_LOCKED" });
    const second = await log.open(S, opening, { takeOver: true });
    expect(second.epoch).toBe(2);
    await expect(first.append([note(1)])).rejects.toMatchObject({
      code: "ERR_NOT_LOGGED",
      cause: { code: "ERR_FENCED" },
    });
    await first.close();
    await second.append([note(2)]);
    expect((await log.read({ stream: S })).map(({ epoch }) => epoch)).toEqual([1, 2, 2]);
  });

  it("refuses all that follows a failed append, without a gap", async () => {
    const { store, waiting, hold, letGo } = heldStore();
    const { log } = make({ store });
    const sink = await log.open(S, opening);
    hold();
    const appends = [sink.append([note(1)]), sink.append([note(2)]), sink.append([note(3)])];
    const settled = Promise.allSettled(appends);
    await settle();
    waiting[0]!.resolve();
    waiting[1]!.reject(Object.assign(new Error("broken"), { code: "EIO" }));
    waiting[2]!.resolve();
    const [first, second, third] = await settled;
    expect(first).toMatchObject({ status: "fulfilled" });
    for (const result of [second, third]) {
      expect(result).toMatchObject({
        reason: { code: "ERR_NOT_LOGGED", facts: { reason: "EIO" }, cause: { code: "EIO" } },
      });
    }
    await expect(sink.append([note(4)])).rejects.toMatchObject({ code: "ERR_NOT_LOGGED", cause: { code: "EIO" } });
    expect(sink.seq).toBe(2);
    expect((await log.read({ stream: S })).map(({ seq }) => seq)).toEqual([1, 2]);
    await sink.close();
    letGo();
    expect((await log.open(S, opening)).seq).toBe(3);
  });

  it.each([false, Promise.resolve(false)])(
    "counts an append that a store answers with false as refused",
    async (answer) => {
      let isBroken = false;
      const store = storeWhose((real, ...args) => isBroken ? answer as unknown as undefined : real(...args));
      const { log } = make({ store });
      const sink = await log.open(S, opening);
      isBroken = true;
      await expect(sink.append([note(1)])).rejects.toMatchObject({ code: "ERR_NOT_LOGGED" });
      await expect(sink.append([note(2)])).rejects.toMatchObject({ code: "ERR_NOT_LOGGED" });
      expect(await log.read({ stream: S })).toHaveLength(1);
      await log.close();
    },
  );

  it("says poisoned when the store is", async () => {
    const { store, waiting, hold } = heldStore();
    const { log } = make({ store });
    const sink = await log.open(S, opening);
    hold();
    const append = sink.append([note(1)]);
    await settle();
    waiting[0]!.reject(new HostError("ERR_LOG_POISONED", "Cannot append: the sync failed"));
    await expect(append).rejects.toMatchObject({ code: "ERR_LOG_POISONED" });
    await expect(sink.append([note(2)])).rejects.toMatchObject({ code: "ERR_LOG_POISONED" });
    await expect(sink.close({ type: "session.closed", payload: {} })).rejects.toMatchObject({
      code: "ERR_LOG_POISONED",
    });
  });

  it("lets go of the stream when the opening event cannot be stored", async () => {
    const { store, waiting, hold, letGo } = heldStore();
    const { log } = make({ store });
    hold();
    const failed = log.open(S, opening);
    await settle();
    waiting[0]!.reject(new Error("no"));
    await expect(failed).rejects.toMatchObject({ code: "ERR_NOT_LOGGED" });
    letGo();
    expect((await log.open(S, opening)).seq).toBe(1);
  });

  it("tells what kept it from opening by its code alone", async () => {
    const store: EventStore = {
      ...memoryStore(),
      open: () => Promise.reject(Object.assign(new Error("open '/secret/path'"), { code: "EACCES" })),
    };
    const error = await make({ store }).log.open(S, opening).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "ERR_NOT_LOGGED", cause: { code: "EACCES" } });
    expect((error as Error).message).toContain("EACCES");
    expect((error as Error).message).not.toContain("/secret/path");
  });

  it("refuses to number more than may wait", async () => {
    const { store, waiting, hold } = heldStore();
    const { log } = make({ store });
    const sink = await log.open(S, opening);
    hold();
    const batch = Array.from({ length: 65_536 }, () => note(0));
    const first = sink.append(batch);
    await expect(sink.append([note(1)])).rejects.toMatchObject({ code: "ERR_TOO_LARGE" });
    await settle();
    waiting[0]!.resolve();
    await first;
    const next = sink.append([note(2)]);
    await settle();
    waiting[1]!.resolve();
    expect((await next)[0]?.seq).toBe(65_538);
  });

  it("refuses appends to a closed sink, and closes once", async () => {
    const { log } = make();
    const sink = await log.open(S, opening);
    const pending = sink.append([note(1)]);
    const closed = sink.close({ type: "session.closed", payload: {} });
    expect(sink.close()).toBe(closed);
    await expect(sink.append([note(2)])).rejects.toMatchObject({ code: "ERR_CLOSED" });
    await closed;
    await pending;
    expect((await log.read({ stream: S })).map(({ type }) => type)).toEqual([
      "session.opened",
      "mcp.log",
      "session.closed",
    ]);
  });

  it("closes its sinks and its store, and refuses everything then", async () => {
    const { log, store } = make();
    const sink = await log.open(S, opening);
    await log.close();
    await log.close();
    await expect(sink.append([note(1)])).rejects.toMatchObject({ code: "ERR_CLOSED" });
    await expect(log.open(S, opening)).rejects.toMatchObject({ code: "ERR_CLOSED" });
    await expect(log.read({ stream: S })).rejects.toMatchObject({ code: "ERR_CLOSED" });
    await expect(store.streams()).rejects.toMatchObject({ code: "ERR_CLOSED" });
  });

  it.each([
    [{ stream: "a b" }],
    [{ stream: S, after: -1 }],
    [{ stream: S, after: 0.5 }],
    [{ stream: S, after: NaN }],
  ])("refuses to read or follow %j", async (options) => {
    const { log } = make();
    await expect(log.read(options)).rejects.toMatchObject({ code: "ERR_INVALID_ARGUMENTS" });
    expect(() => log.follow(options)).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS" }));
    await expect(log.read({ stream: S, limit: 0 })).rejects.toMatchObject({ code: "ERR_INVALID_ARGUMENTS" });
  });
});

describe("event log follower", () => {
  it("sees stored events, then each as it is stored", async () => {
    const { log } = make();
    const sink = await log.open(S, opening);
    for (let n = 0; n < 600; n++) void sink.append([note(n)]);
    const follower = collect(log.follow({ stream: S }));
    await settle();
    expect(follower.seqs).toEqual(upTo(601));
    await sink.append([note(1), note(2)]);
    await sink.append([note(3)]);
    await settle();
    expect(follower.seqs).toEqual(upTo(604));
    await log.close();
    await follower.finished;
    expect(follower.error).toBeUndefined();
  });

  it("resumes at every cursor with exactly what follows", async () => {
    const { log } = make();
    const sink = await log.open(S, opening);
    for (let n = 2; n <= 20; n++) await sink.append([note(n)]);
    const followers = upTo(20, 0).map((after) => collect(log.follow({ stream: S, after })));
    for (let n = 21; n <= 30; n++) await sink.append([note(n)]);
    await settle();
    followers.forEach((follower, after) => expect(follower.seqs).toEqual(upTo(30, after + 1)));
    await log.close();
  });

  it("loses and repeats nothing at whatever moment it joins a stream that is being written", async () => {
    for (let delay = 0; delay < 40; delay++) {
      const { log } = make();
      const sink = await log.open(S, opening);
      const writing = (async () => {
        for (let n = 0; n < 300; n++) {
          await sink.append([note(n)]);
          if (n % 7 === 0) await Promise.resolve();
        }
      })();
      for (let turn = 0; turn < delay * 5; turn++) await Promise.resolve();
      const follower = collect(log.follow({ stream: S, after: delay % 3 }));
      await writing;
      await settle();
      expect(follower.seqs).toEqual(upTo(301, delay % 3 + 1));
      await log.close();
    }
  });

  it("sees an event only once the store has it", async () => {
    const { store, waiting, hold } = heldStore();
    const { log } = make({ store });
    const sink = await log.open(S, opening);
    const follower = collect(log.follow({ stream: S }));
    await settle();
    hold();
    const append = sink.append([note(1)]);
    await settle();
    expect(follower.seqs).toEqual([1]);
    expect(await log.read({ stream: S, after: 1 })).toEqual([]);
    waiting[0]!.resolve();
    await append;
    await settle();
    expect(follower.seqs).toEqual([1, 2]);
    await log.close();
  });

  it("A-62 holds up nobody and keeps a bounded number of events when it is slow, and reads on from the store", async () => {
    const { log } = make({ subscriberCapacity: 10 });
    const sink = await log.open(S, opening);
    const events = log.follow({ stream: S })[Symbol.asyncIterator]();
    expect((await events.next()).value.seq).toBe(1);
    const second = events.next();
    await settle();
    for (let n = 2; n <= 1_000; n++) await sink.append([note(n)]);
    let seen = (await second).value.seq;
    for (; seen < 1_000; seen++) expect((await events.next()).value.seq).toBe(seen + 1);
    const next = events.next();
    await settle();
    await sink.append([note(1_001)]);
    expect((await next).value.seq).toBe(1_001);
    await log.close();
    expect((await events.next()).done).toBe(true);
  });

  it("is told at once of more events than may wait, and misses none", async () => {
    const { log } = make({ subscriberCapacity: 10 });
    const sink = await log.open(S, opening);
    const follower = collect(log.follow({ stream: S }));
    await settle();
    const all = Promise.all(upTo(300).map((n) => sink.append([note(n), note(n)])));
    await all;
    await settle();
    expect([follower.error, follower.seqs]).toEqual([undefined, upTo(601)]);
    await log.close();
    await follower.finished;
    expect(follower.error).toBeUndefined();
  });

  it("is ended with a cursor when the log closes before it has caught up, or the store has dropped what it wants", async () => {
    const { log } = make({ subscriberCapacity: 10 });
    const sink = await log.open(S, opening);
    const events = log.follow({ stream: S })[Symbol.asyncIterator]();
    await events.next();
    const second = events.next();
    await settle();
    for (let n = 2; n <= 1_000; n++) await sink.append([note(n)]);
    let seen = (await second).value.seq;
    await log.close();
    let error: unknown;
    while (error === undefined) {
      await events.next().then(({ value }) => {
        expect(value.seq).toBe(seen + 1);
        seen = value.seq;
      }, (reason: unknown) => error = reason);
    }
    expect(error).toMatchObject({ code: "ERR_TOO_LARGE", facts: { cursor: { stream: S, seq: seen } } });
    expect((await events.next()).done).toBe(true);

    const short = make({ subscriberCapacity: 10, store: memoryStore({ maxEvents: 20 }) });
    const writer = await short.log.open(S, opening);
    const late = short.log.follow({ stream: S })[Symbol.asyncIterator]();
    await late.next();
    const waiting = late.next();
    await settle();
    for (let n = 2; n <= 1_000; n++) await writer.append([note(n)]);
    expect((await waiting).value.seq).toBe(2);
    let expired: unknown;
    while (expired === undefined) await late.next().catch((reason: unknown) => expired = reason);
    expect(expired).toMatchObject({ code: "ERR_CURSOR_EXPIRED", facts: { firstSeq: expect.any(Number) } });
    await short.log.close();
  });

  it("gives out events that nobody can change", async () => {
    const { log } = make();
    const sink = await log.open(S, opening);
    await sink.append([{ type: "mcp.log", payload: { deep: { list: [1] } } }]);
    const [, read] = await log.read({ stream: S });
    const events = log.follow({ stream: S, after: 1 })[Symbol.asyncIterator]();
    const { value: followed } = await events.next();
    for (const event of [read!, followed as HostEvent]) {
      const payload = event.payload as { deep: { list: number[] }; more?: number };
      expect(() => (event as { seq: number }).seq = 9).toThrow(TypeError);
      expect(() => payload.more = 1).toThrow(TypeError);
      expect(() => payload.deep.list.push(2)).toThrow(TypeError);
    }
    expect((await log.read({ stream: S }))[1]).toMatchObject({ seq: 2, payload: { deep: { list: [1] } } });
    await log.close();
  });

  it("never slows the writer or the others down by being slow", async () => {
    const { log } = make({ subscriberCapacity: 50 });
    const sink = await log.open(S, opening);
    const slow = log.follow({ stream: S })[Symbol.asyncIterator]();
    await slow.next();
    void slow.next();
    await settle();
    const fast = collect(log.follow({ stream: S }));
    for (let n = 2; n <= 1_000; n++) await sink.append([note(n)]);
    await settle();
    expect(fast.seqs).toEqual(upTo(1_000));
    await log.close();
  });

  it("ends when its signal fires, wherever it is", async () => {
    const { log } = make();
    await log.open(S, opening);
    const waiting = new AbortController();
    const follower = collect(log.follow({ stream: S, signal: waiting.signal }));
    await settle();
    waiting.abort();
    await follower.finished;
    expect([follower.seqs, follower.error]).toEqual([[1], undefined]);
    const before = collect(log.follow({ stream: S, signal: AbortSignal.abort() }));
    await before.finished;
    expect([before.seqs, before.error]).toEqual([[], undefined]);
    const reading = new AbortController();
    const stuck = { ...memoryStore(), read: () => new Promise<HostEvent[]>(() => {}) };
    const inStore = collect(make({ store: stuck }).log.follow({ stream: S, signal: reading.signal }));
    await settle();
    reading.abort();
    await inStore.finished;
    expect(inStore.error).toBeUndefined();
  });

  it("ends a waiting read when its reader returns", async () => {
    const { log } = make();
    await log.open(S, opening);
    const events = log.follow({ stream: S })[Symbol.asyncIterator]();
    await events.next();
    const waiting = events.next();
    await settle();
    await events.return!();
    expect((await waiting).done).toBe(true);
  });

  it("leaves no listener at the signal and no timer when it has ended", async () => {
    const { log, clock } = make();
    const listeners = new Set<unknown>();
    const signal = new AbortController().signal;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (type: string, listener: EventListenerOrEventListenerObject) => {
      listeners.add(listener);
      addEventListener.call(signal, type, listener);
    };
    signal.removeEventListener = (type: string, listener: EventListenerOrEventListenerObject) => {
      listeners.delete(listener);
      removeEventListener.call(signal, type, listener);
    };
    await log.open(S, opening);
    for await (const event of log.follow({ stream: S, signal })) if (event.seq === 1) break;
    const other = log.follow({ stream: "session:other", signal })[Symbol.asyncIterator]();
    void other.next();
    await settle();
    expect([listeners.size, clock.timers]).toEqual([1, 1]);
    await other.return!();
    expect(listeners.size).toBe(0);
    expect(clock.timers).toBe(0);
  });

  it("refuses a cursor beyond the end: it belongs to another stream", async () => {
    const { log } = make();
    await log.open(S, opening);
    const follower = collect(log.follow({ stream: S, after: 7 }));
    await follower.finished;
    expect(follower.error).toMatchObject({ code: "ERR_CURSOR_EXPIRED", facts: { after: 7, seq: 1 } });
  });

  it("passes on a cursor that has expired", async () => {
    const { log } = make({ store: memoryStore({ maxEvents: 10 }) });
    const sink = await log.open(S, opening);
    for (let n = 0; n < 100; n++) await sink.append([note(n)]);
    const follower = collect(log.follow({ stream: S, after: 3 }));
    await follower.finished;
    expect(follower.error).toMatchObject({ code: "ERR_CURSOR_EXPIRED" });
    await log.close();
  });

  it("goes on over the end of one sink and the beginning of the next", async () => {
    const { log, clock } = make();
    const follower = collect(log.follow({ stream: S }));
    await settle();
    for (let round = 0; round < 3; round++) {
      const sink = await log.open(S, opening);
      await sink.append([note(1)]);
      await sink.close({ type: "session.closed", payload: {} });
      await clock.advance(50);
    }
    await settle();
    expect(follower.seqs).toEqual(upTo(9));
    await log.close();
    expect(clock.timers).toBe(0);
  });
});

describe("event log follower of another process's stream", () => {
  const twoLogs = () => {
    const files = new MemoryFiles();
    const clock = new FakeClock();
    const ids = countingIds();
    const open = (): EventLog =>
      createLog({ store: fileStore({ files, directory: "log", clock, ids }), scrubber: nothing, clock, ids });
    return { files, clock, writer: open(), reader: open() };
  };

  it("finds events by polling, sooner while there are some", async () => {
    const { clock, writer, reader } = twoLogs();
    const follower = collect(reader.follow({ stream: S }));
    const another = collect(reader.follow({ stream: S }));
    await clock.advance(5_000);
    const sink = await writer.open(S, opening);
    for (let ms = 0; ms < 1_000 && follower.seqs.length === 0; ms++) await clock.advance(1);
    expect(follower.seqs).toEqual([1]);
    await sink.append([note(2), note(3)]);
    await clock.advance(100);
    expect(follower.seqs).toEqual([1, 2, 3]);
    expect(another.seqs).toEqual([1, 2, 3]);
    await reader.close();
    await writer.close();
    await follower.finished;
    expect(clock.timers).toBe(0);
  });

  it("polls once for all of them", async () => {
    const { files, clock, writer, reader } = twoLogs();
    const sink = await writer.open(S, opening);
    const followers = upTo(5).map(() => collect(reader.follow({ stream: S })));
    await clock.advance(3_000);
    files.operations.length = 0;
    await clock.advance(1_000);
    expect(files.operations.filter((each) => each.startsWith("open") && each.endsWith(".log")).length).toBe(1);
    await sink.append([note(2)]);
    await clock.advance(1_000);
    for (const { seqs } of followers) expect(seqs).toEqual([1, 2]);
    await Promise.all([reader.close(), writer.close()]);
  });

  it("ends with the error that the poller meets", async () => {
    const { files, clock, writer, reader } = twoLogs();
    await writer.open(S, opening);
    const follower = collect(reader.follow({ stream: S }));
    await settle();
    files.fault = ({ kind, path }) => kind === "open" && path.endsWith(".log") ? "EIO" : undefined;
    await clock.advance(1_000);
    await follower.finished;
    expect(follower.error).toMatchObject({ code: "EIO" });
    files.fault = undefined;
    await Promise.all([reader.close(), writer.close()]);
    expect(clock.timers).toBe(0);
  });
});

describe("code of others that runs while an event is made", () => {
  it("may append itself: what it writes comes first, and nothing is refused", async () => {
    const { log } = make();
    const sink = await log.open(S, opening);
    const inner: unknown[] = [];
    const text = {
      toJSON: () => {
        inner.push(sink.append([note(1)]));
        return "text";
      },
    };
    await sink.append([{ type: "mcp.log", payload: { text } }]);
    await sink.append([note(2)]);
    const events = await log.read({ stream: S });
    expect(events.map(({ seq, payload }) => [seq, payload["n"] ?? payload["text"]])).toEqual([
      [1, undefined],
      [2, 1],
      [3, "text"],
      [4, 2],
    ]);
    expect(inner).toHaveLength(1);
  });

  it("may close the log: what was to be written then is refused", async () => {
    const { log } = make();
    const sink = await log.open(S, opening);
    const text = { toJSON: () => (void sink.close(), "text") };
    await expect(sink.append([{ type: "mcp.log", payload: { text } }])).rejects.toMatchObject({ code: "ERR_CLOSED" });
  });
});

describe("a store that fails with an error that cannot be read", () => {
  const traps: [string, () => unknown][] = [
    ["is a revoked proxy", () => {
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      return proxy;
    }],
    ["has a code that throws", () =>
      Object.defineProperty(new Error("x"), "code", {
        get: () => {
          throw new Error("no code");
        },
      })],
  ];
  it.each(traps)("fails the append, and all after it: one that %s", async (_what, thrown) => {
    let isBroken = false;
    const store = storeWhose((real, ...args) => {
      if (isBroken) throw thrown();
      return real(...args);
    });
    const { log } = make({ store });
    const sink = await log.open(S, opening);
    isBroken = true;
    await expect(sink.append([note(1)])).rejects.toMatchObject({ code: "ERR_NOT_LOGGED" });
    isBroken = false;
    await expect(sink.append([note(2)])).rejects.toMatchObject({ code: "ERR_NOT_LOGGED" });
  });
});
