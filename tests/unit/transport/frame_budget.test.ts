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
  test("lets in what fits, makes the rest wait, and lets it go on when there is room", async () => {
    const { budget } = budgetOf(100);
    const [a, b, c] = [budget.open(), budget.open(), budget.open()];
    expect(a.set(60)).toBe(undefined);
    expect(b.set(40)).toBe(undefined);
    const waits = watch(c.set(10));
    await settle();
    expect(waits.state).toBe("waits");
    a.set(50);
    await settle();
    expect(waits.state).toBe("goes on");
    a.set(0);
    b.set(0);
    c.set(0);
    expect(budget.bytes).toBe(0);
  });

  test("fails the last of those that all wait for one another", async () => {
    const { budget, clock } = budgetOf(100);
    const [a, b] = [budget.open(), budget.open()];
    a.set(50);
    b.set(50);
    const first = watch(a.set(70));
    const second = watch(b.set(70));
    await settle();
    expect([first.state, second.state]).toEqual(["waits", "ERR_TOO_LARGE"]);
    b.set(0);
    await settle();
    expect(first.state).toBe("goes on");
    a.set(0);
    expect(clock.timers).toBe(0);
  });

  test("fails one that alone needs more than there is", async () => {
    const { budget } = budgetOf(100);
    const only = watch(budget.open().set(101));
    await settle();
    expect(only.state).toBe("ERR_TOO_LARGE");
  });

  test("fails one that has waited for too long for one that stands still", async () => {
    const { budget, clock } = budgetOf(100);
    budget.open().set(100);
    const waits = watch(budget.open().set(1));
    await clock.advance(999);
    await settle();
    expect(waits.state).toBe("waits");
    await clock.advance(1);
    await settle();
    expect(waits.state).toBe("ERR_TOO_LARGE");
  });

  test("one that ends while it waits goes on", async () => {
    const { budget, clock } = budgetOf(100);
    budget.open().set(100);
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
        // At least one of those that hold something is not held up.
        expect(waiting.size).toBeLessThan(6);
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
    budget.open().set(100_000);
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
