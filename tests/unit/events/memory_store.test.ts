import { describe, expect, it } from "vitest";
import { kvLog } from "../../../src/events/kv_store.ts";
import { memoryLog, memoryStore } from "../../../src/events/memory_store.ts";
import { systemClock } from "../../../src/kernel/clock.ts";
import { countingIds } from "../../../src/kernel/ids.ts";
import type { Runtime } from "../../../src/kernel/runtime.ts";
import { memoryKeyValue } from "../../../src/store/memory_kv.ts";
import { eventStoreCases, storedEvent } from "../../contract/event_store.ts";

const runtime: Runtime = {
  name: "test",
  version: "0",
  fetch: () => Promise.reject(new Error("no network here")),
  contentLengthIsDecoded: false,
  environment: () => ({}),
};
const context = { runtime, clock: systemClock, ids: countingIds() };

describe("memory event store", () => {
  for (const { name, run } of eventStoreCases("memory event store", async () => ({ store: memoryStore() }))) {
    it(name, run);
  }

  it("is a new one for each host that opens the log", async () => {
    const log = memoryLog();
    const [a, b] = [await log.open(context), await log.open(context)];
    await (await a.open("s")).append(0, [storedEvent("s", 1)]);
    expect(a.level).toBe("memory");
    expect(await b.head("s")).toBeUndefined();
  });

  it("drops the oldest events past its limit, and tells a cursor that is too old", async () => {
    const store = memoryStore({ maxEvents: 100 });
    const writer = await store.open("s");
    for (let seq = 1; seq <= 1_000; seq++) await writer.append(seq - 1, [storedEvent("s", seq)]);
    expect(await store.head("s")).toEqual({ seq: 1_000, epoch: 1 });
    const kept = await store.read("s", { after: 0, limit: 1_000 });
    expect(kept.length).toBeGreaterThanOrEqual(100);
    expect(kept.length).toBeLessThanOrEqual(126);
    expect(kept.at(-1)?.seq).toBe(1_000);
    const firstSeq = kept[0]!.seq;
    await expect(store.read("s", { after: 5, limit: 1 })).rejects.toMatchObject({
      code: "ERR_CURSOR_EXPIRED",
      facts: { firstSeq },
    });
    expect((await store.read("s", { after: firstSeq - 1, limit: 1 }))[0]?.seq).toBe(firstSeq);
  });
});

describe("key-value log", () => {
  it("says that it is not available, and what is", async () => {
    const opening = kvLog(memoryKeyValue()).open(context);
    await expect(opening).rejects.toMatchObject({ code: "ERR_UNSUPPORTED_HERE" });
    await expect(opening).rejects.toThrow("fileLog()");
  });
});
