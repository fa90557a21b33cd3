import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SpillSink } from "../../../src/jsonrpc/spill_sink.ts";
import { FrameBudget } from "../../../src/transport/frame_budget.ts";
import { largeFrames } from "../../../src/transport/large_frames.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";

const budgetOf = (maxBytes: number): { budget: FrameBudget; clock: FakeClock } => {
  const clock = new FakeClock();
  return { budget: new FrameBudget({ maxBytes, clock, maxWaitMs: 1000 }), clock };
};

/** What has become of a wait. */
function watch(wait: void | Promise<void>): { state: string } {
  const watched = { state: wait === undefined ? "free" : "waits" };
  wait?.then(() => watched.state = "goes on", (error) => watched.state = error.code);
  return watched;
}

describe("budget of frames", () => {
  test("lets in what fits, lets one go on beyond, and makes the rest wait until there is room", async () => {
    const { budget, clock } = budgetOf(100);
    const [a, b, c] = [budget.open(), budget.open(), budget.open()];
    expect(a.set(30)).toBe(undefined);
    expect(b.set(20)).toBe(undefined);
    const first = watch(a.set(40));
    const second = watch(b.set(30));
    const third = watch(c.set(10));
    await settle();
    expect([first.state, second.state, third.state]).toEqual(["goes on", "waits", "waits"]);
    expect(a.set(50)).toBe(undefined);
    a.set(0);
    await settle();
    expect([second.state, third.state]).toEqual(["goes on", "goes on"]);
    b.set(0);
    c.set(0);
    expect([budget.bytes, clock.timers]).toEqual([0, 0]);
  });

  test("gives the turn on when it ends, in the order of waiting", async () => {
    const { budget } = budgetOf(100);
    const accounts = Array.from({ length: 5 }, () => budget.open());
    const waits = accounts.map((account) => watch(account.set(45)));
    for (const [at, account] of accounts.entries()) {
      await settle();
      // The first had room, the others go on one after the other.
      expect(waits.findIndex(({ state }) => state === "waits")).toBe([2, 2, 3, 4, -1][at]);
      account.set(0);
    }
  });

  test("fails one that needs more than is set aside for one", async () => {
    const { budget } = budgetOf(100);
    const only = budget.open();
    expect(only.set(50)).toBe(undefined);
    const goesOn = watch(only.set(100));
    const fails = watch(only.set(101));
    await settle();
    expect([goesOn.state, fails.state]).toEqual(["goes on", "ERR_TOO_LARGE"]);
    const atOnce = watch(budgetOf(100).budget.open().set(101));
    await settle();
    expect(atOnce.state).toBe("ERR_TOO_LARGE");
  });

  test("fails one that has waited for too long for one that stands still", async () => {
    const { budget, clock } = budgetOf(100);
    const turn = watch(budget.open().set(60));
    const waits = watch(budget.open().set(1));
    await clock.advance(999);
    expect([turn.state, waits.state]).toEqual(["goes on", "waits"]);
    await clock.advance(1);
    expect(waits.state).toBe("ERR_TOO_LARGE");
  });

  test("one that ends while it waits goes on", async () => {
    const { budget, clock } = budgetOf(100);
    void budget.open().set(100);
    const account = budget.open();
    const waits = watch(account.set(1));
    account.set(0);
    await settle();
    expect([waits.state, clock.timers]).toEqual(["goes on", 0]);
  });

  test("whatever happens in whatever order, everything ends and nothing is held at the end", async () => {
    const step = fc.record({ account: fc.nat(5), bytes: fc.nat(80) });
    await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { budget, clock } = budgetOf(100);
      const accounts = Array.from({ length: 6 }, () => budget.open());
      const waiting = new Set<number>();
      for (const { account, bytes } of steps) {
        if (waiting.has(account)) continue;
        const wait = accounts[account]!.set(bytes);
        if (wait === undefined) continue;
        waiting.add(account);
        wait.then(() => waiting.delete(account), () => {
          waiting.delete(account);
          accounts[account]!.set(0);
        });
        await settle();
        // Whatever the others do, one of those that hold something is not held up.
        expect([...waiting].filter((each) => accounts[each]!.held > 0).length).toBeLessThan(
          Math.max(1, accounts.filter(({ held }) => held > 0).length),
        );
      }
      await clock.advance(1000);
      await settle();
      expect(waiting.size).toBe(0);
      for (const account of accounts) account.set(0);
      expect([budget.bytes, clock.timers]).toEqual([0, 0]);
    }));
  });
});

describe("frames under a budget", () => {
  const sink: SpillSink = {
    open: () => ({ write() {}, close: () => Promise.reject(new Error("not asked for")), abort() {} }),
  };
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

  test("hold what they need while they are read, and nothing afterwards", async () => {
    const { budget } = budgetOf(10 << 20);
    const frames = largeFrames({ sink, budget, maxWholeBytes: 200_000 });
    const told: string[] = [];
    const lines = frames.lines({
      onLine: () => void told.push("line"),
      onTooLong: () => void told.push("too long"),
      onFrame: (message) => void told.push(message.kind),
    });
    await lines.push(encode('{"jsonrpc":"2.0","id":1,"result":{"content":"'.padEnd(100_000, "x")));
    expect(budget.bytes).toBe(100_000);
    for (let turn = 0; turn < 20; turn++) await lines.push(encode("y".repeat(100_000)));
    expect(budget.bytes).toBeGreaterThan(50_000);
    expect(budget.bytes).toBeLessThan(500_000);
    await lines.push(encode('"}}\n{}\n'));
    expect([told, budget.bytes]).toEqual([["result", "line"], 0]);
  });

  test("fail typed when there is no room, each in its way", async () => {
    const { budget, clock } = budgetOf(100_000);
    void budget.open().set(100_000);
    const frames = largeFrames({ sink, budget, maxWholeBytes: 200_000 });
    const told: unknown[] = [];
    const onFrame = (message: { kind: string; reason?: string }): void => void told.push(message.reason);
    const lines = frames.lines({ onLine: () => {}, onTooLong: () => void told.push("too long"), onFrame });
    const wait = watch(lines.push(encode("x".repeat(70_000))));
    await clock.advance(1000);
    await settle();
    expect([wait.state, told]).toEqual(["goes on", ["too long"]]);

    const large = frames.lines({ onLine: () => {}, onTooLong: () => {}, onFrame });
    const frame = watch(large.push(encode(`{"a":"${"x".repeat(300_000)}`)));
    await clock.advance(1000);
    await settle();
    await large.push(encode("x"));
    expect([frame.state, told.slice(1)]).toEqual(["goes on", ["too_large"]]);
    large.abort?.();

    const body = watch(frames.body(new Response("x".repeat(150_000)), false).then(() => {}));
    await settle();
    await clock.advance(1000);
    await expect.poll(() => body.state).toBe("ERR_TOO_LARGE");
    expect(budget.bytes).toBe(100_000);
  });
});
