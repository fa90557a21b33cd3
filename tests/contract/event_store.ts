import type { HostEvent } from "../../src/events/event.ts";
import type { EventStore, StreamWriter } from "../../src/events/store.ts";
import { assert, assertEquals, assertRejects, type ContractCase } from "./contract.ts";

/** An event as a log would hand it to a store. */
export function storedEvent(stream: string, seq: number, epoch = 1, payload: HostEvent["payload"] = {}): HostEvent {
  const id = `evt_${stream}_${epoch}_${seq}`;
  return { v: 1, seq, id, at: 1_764_500_000_000 + seq, stream, epoch, type: "host.opened", payload };
}

export interface EventStoreSubject {
  readonly store: EventStore;
  /** Another store over the same data, after the first was closed. Absent where data ends with the store. */
  readonly reopen?: () => Promise<EventStore>;
  /** Another store over the same data while the first lives, as another process would have it. */
  readonly second?: () => Promise<EventStore>;
}

/** What every {@link EventStore} promises. `make` gives an empty store for each case. */
export function eventStoreCases(name: string, make: () => Promise<EventStoreSubject>): ContractCase[] {
  const given = (claim: string, run: (subject: EventStoreSubject) => Promise<void>): ContractCase => ({
    name: `${name} ${claim}`,
    run: async () => {
      const subject = await make();
      try {
        await run(subject);
      } finally {
        await subject.store.close();
      }
    },
  });
  const append = async (writer: StreamWriter, from: number, count: number, epoch = 1): Promise<void> => {
    const events = Array.from({ length: count }, (_, n) => storedEvent("s", from + n, epoch, { n: from + n }));
    await writer.append(from - 1, events);
  };
  const seqs = async (store: EventStore, after = 0, limit = 1_000): Promise<number[]> =>
    (await store.read("s", { after, limit })).map(({ seq }) => seq);

  return [
    given("gives nothing for a stream it does not know", async ({ store }) => {
      assertEquals(await store.read("s", { after: 0, limit: 10 }), []);
      assertEquals(await store.head("s"), undefined);
      assertEquals(await store.streams(), []);
    }),
    given("opens a new stream at seq 0 and epoch 0", async ({ store }) => {
      const writer = await store.open("s");
      assertEquals(writer.head, { seq: 0, epoch: 0 });
      assertEquals(await store.head("s"), { seq: 0, epoch: 0 });
      assertEquals(await seqs(store), []);
      await writer.close();
    }),
    given("gives events back as they went in, unknown types and members too", async ({ store }) => {
      const writer = await store.open("s");
      const events = [
        {
          ...storedEvent("s", 1, 1, {
            text: 'line\nfeed, "quotes", \u2028, wörld, 😀, \ud800',
            deep: [{ a: [null, 1.5] }],
          }),
        },
        {
          ...storedEvent("s", 2),
          type: "from.the.future",
          turnId: "t_1",
          cause: { stream: "host:a", seq: 7 },
          more: [1],
        },
      ];
      await writer.append(0, events);
      assertEquals(await store.read("s", { after: 0, limit: 10 }), events);
    }),
    given("reads after a cursor and up to a limit", async ({ store }) => {
      const writer = await store.open("s");
      await append(writer, 1, 10);
      assertEquals(await seqs(store, 0, 3), [1, 2, 3]);
      assertEquals(await seqs(store, 3, 3), [4, 5, 6]);
      assertEquals(await seqs(store, 8, 100), [9, 10]);
      assertEquals(await seqs(store, 10), []);
      assertEquals(await seqs(store, 11), []);
    }),
    given("pages through thousands of events without gap or repeat", async ({ store }) => {
      const writer = await store.open("s");
      for (let from = 1; from <= 3_000; from += 100) await append(writer, from, 100);
      const all: number[] = [];
      for (let page = await seqs(store, 0, 333); page.length > 0; page = await seqs(store, all.at(-1), 333)) {
        all.push(...page);
      }
      assertEquals(all.length, 3_000);
      assert(all.every((seq, n) => seq === n + 1), "seq has a gap or a repeat");
      assertEquals(await store.head("s"), { seq: 3_000, epoch: 1 });
    }),
    given("keeps appends in the order of their calls when nobody waits", async ({ store }) => {
      const writer = await store.open("s");
      const order: number[] = [];
      await Promise.all(
        Array.from({ length: 200 }, (_, n) => append(writer, n + 1, 1).then(() => order.push(n + 1))),
      );
      assert(order.every((seq, n) => seq === n + 1), "acknowledged out of order");
      assertEquals((await seqs(store)).length, 200);
      assert((await seqs(store)).every((seq, n) => seq === n + 1), "stored out of order");
    }),
    given("refuses an append that does not go on at the head, and stores nothing of it", async ({ store }) => {
      const writer = await store.open("s");
      await append(writer, 1, 2);
      await assertRejects(() => writer.append(1, [storedEvent("s", 2)]), "ERR_FENCED");
      await assertRejects(() => writer.append(3, [storedEvent("s", 4)]), "ERR_FENCED");
      await assertRejects(() => writer.append(2, [storedEvent("s", 3), storedEvent("s", 5)]), "ERR_FENCED");
      assertEquals(await seqs(store), [1, 2]);
      await append(writer, 3, 1);
      assertEquals(await seqs(store), [1, 2, 3]);
    }),
    given("refuses a second owner while the first lives", async ({ store }) => {
      const writer = await store.open("s");
      await append(writer, 1, 1);
      await assertRejects(() => store.open("s"), "ERR_LOG_LOCKED");
      await append(writer, 2, 1);
      await writer.close();
      const next = await store.open("s");
      assertEquals(next.head, { seq: 2, epoch: 1 });
    }),
    given("fences the owner that was taken over", async ({ store }) => {
      const first = await store.open("s");
      await append(first, 1, 2);
      const second = await store.open("s", { takeOver: true });
      assertEquals(second.head, { seq: 2, epoch: 1 });
      await append(second, 3, 1, 2);
      await assertRejects(() => append(first, 3, 1), "ERR_FENCED");
      await assertRejects(() => append(first, 4, 1), "ERR_FENCED");
      await first.close();
      await append(second, 4, 1, 2);
      assertEquals(await seqs(store), [1, 2, 3, 4]);
      assertEquals(await store.head("s"), { seq: 4, epoch: 2 });
    }),
    given("keeps streams apart and lists them sorted", async ({ store }) => {
      for (const stream of ["session:b", "host:main", "session:A", "s%e/cret..\\name"]) {
        const writer = await store.open(stream);
        await writer.append(0, [storedEvent(stream, 1)]);
      }
      assertEquals(await store.streams(), ["host:main", "s%e/cret..\\name", "session:A", "session:b"]);
      assertEquals((await store.read("session:A", { after: 0, limit: 9 }))[0]?.stream, "session:A");
      assertEquals(await store.read("session:a", { after: 0, limit: 9 }), []);
    }),
    given("shows an event only once its append is acknowledged", async ({ store }) => {
      const writer = await store.open("s");
      let acknowledged = 0;
      const writing = (async () => {
        for (let seq = 1; seq <= 50; seq++) {
          await append(writer, seq, 1);
          acknowledged = seq;
        }
      })();
      let seen = 0;
      while (seen < 50) {
        const before = acknowledged;
        seen = (await seqs(store, 0, 100)).length;
        assert(seen >= before, `acknowledged ${before}, read ${seen}`);
      }
      await writing;
    }),
    given("refuses appends after close, which may be repeated", async ({ store }) => {
      const writer = await store.open("s");
      const pending = append(writer, 1, 1);
      await writer.close();
      await writer.close();
      await pending;
      await assertRejects(() => append(writer, 2, 1), "ERR_CLOSED");
      assertEquals(await seqs(store), [1]);
    }),
    given("refuses everything once it is closed", async ({ store }) => {
      const writer = await store.open("s");
      await store.close();
      await store.close();
      await assertRejects(() => store.open("t"), "ERR_CLOSED");
      await assertRejects(() => store.read("s", { after: 0, limit: 1 }), "ERR_CLOSED");
      await assertRejects(() => store.streams(), "ERR_CLOSED");
      await assertRejects(() => append(writer, 1, 1), "ERR_CLOSED");
    }),
    given("has everything that was acknowledged when it is opened again", async ({ store, reopen }) => {
      if (reopen === undefined) return;
      const writer = await store.open("s");
      await append(writer, 1, 5);
      await store.close();
      const next = await reopen();
      try {
        assertEquals(await seqs(next), [1, 2, 3, 4, 5]);
        const again = await next.open("s");
        assertEquals(again.head, { seq: 5, epoch: 1 });
        await append(again, 6, 2, 2);
        assertEquals(await seqs(next, 4), [5, 6, 7]);
        assertEquals(await next.head("s"), { seq: 7, epoch: 2 });
      } finally {
        await next.close();
      }
    }),
    given("lets another process read, but not own", async ({ store, second }) => {
      if (second === undefined) return;
      const writer = await store.open("s");
      await append(writer, 1, 3);
      const other = await second();
      try {
        assertEquals(await seqs(other), [1, 2, 3]);
        assertEquals(await other.streams(), ["s"]);
        await append(writer, 4, 2);
        assertEquals(await seqs(other, 2), [3, 4, 5]);
        assertEquals(await other.head("s"), { seq: 5, epoch: 1 });
        await assertRejects(() => other.open("s"), "ERR_LOG_LOCKED");
        await append(writer, 6, 1);
      } finally {
        await other.close();
      }
    }),
    given("lets another process take over, and fences the first", async ({ store, second }) => {
      if (second === undefined) return;
      const first = await store.open("s");
      await append(first, 1, 2);
      const other = await second();
      try {
        const owner = await other.open("s", { takeOver: true });
        assertEquals(owner.head, { seq: 2, epoch: 1 });
        await append(owner, 3, 1, 2);
        await assertRejects(() => append(first, 3, 1), "ERR_FENCED");
        assertEquals((await other.read("s", { after: 2, limit: 9 })).map(({ epoch }) => epoch), [2]);
      } finally {
        await other.close();
      }
    }),
  ];
}
