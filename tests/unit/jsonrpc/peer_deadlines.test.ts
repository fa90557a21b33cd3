import { describe, expect, test } from "vitest";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { createStage, type Stage } from "./scripted_transport.ts";

const progress = (stage: Stage, params: object): void =>
  stage.hear({ kind: "notification", method: "notifications/progress", params });

describe("deadline", () => {
  test.each([1, 10, 100, 249, 250, 251, 1000, 60_000])(
    "of %i ms passes then and not before (C-LIFE-07, C-STDIO-05)",
    async (timeoutMs) => {
      const clock = new FakeClock();
      const stage = createStage(clock);
      const asked = stage.ask({ timeoutMs });
      await clock.advance(timeoutMs - 0.5);
      expect(asked.outcome).toBeUndefined();
      await clock.advance(1);
      expect(asked.outcome).toMatchObject({
        ok: false,
        sent: true,
        refused: false,
        error: { code: "ERR_TIMEOUT", facts: { method: "tools/call", timeoutMs, total: false } },
      });
      expect(stage.transport.messages.at(-1)).toMatchObject({
        method: "notifications/cancelled",
        params: { requestId: 1, reason: "timeout" },
      });
      expect(stage.transport.abandoned).toEqual([1]);
    },
  );

  test("that is short is kept though a long one was set before it, and the other way round", async () => {
    for (const order of [[60_000, 30], [30, 60_000]]) {
      const clock = new FakeClock();
      const stage = createStage(clock);
      const asked = order.map((timeoutMs) => stage.ask({ timeoutMs }));
      await clock.advance(31);
      expect(asked.map(({ outcome }) => outcome?.ok)).toEqual(
        order.map((timeoutMs) => timeoutMs === 30 ? false : undefined),
      );
    }
  });

  test("of many requests costs one timer, and none when nothing waits", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    for (let count = 0; count < 50; count++) stage.ask({ timeoutMs: 1000 + count });
    expect(clock.timers).toBe(1);
    await clock.advance(2000);
    expect(stage.peer.inFlight).toBe(0);
    expect(clock.timers).toBe(0);
  });

  test("is renewed by what arrives: of the request that it is for, or of all where that cannot be told", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    const asked = [1000, 1000, 1000].map((timeoutMs) => stage.ask({ timeoutMs, maxTotalMs: 2500 }));
    await clock.advance(900);
    stage.peer.onArriving(1);
    stage.peer.onArriving(77);
    await clock.advance(50);
    stage.answer(3);
    stage.peer.onArriving(undefined);
    stage.peer.onArriving(2);
    await clock.advance(900);
    expect(asked.map(({ outcome }) => outcome?.ok)).toEqual([undefined, undefined, true]);
    stage.peer.onArriving(1);
    await clock.advance(150);
    expect(asked.map(({ outcome }) => outcome?.ok)).toEqual([undefined, false, true]);
    await clock.advance(499);
    expect(asked[0]!.outcome).toBe(undefined);
    await clock.advance(2);
    expect(asked[0]!.outcome).toMatchObject({ error: { code: "ERR_TIMEOUT", facts: { total: true } } });
    expect(clock.timers).toBe(0);
  });

  test("of a quiet request passes without a notice", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    stage.ask({ timeoutMs: 10, quiet: true });
    await clock.advance(20);
    expect(stage.transport.sent).toHaveLength(1);
    expect(stage.transport.abandoned).toEqual([1]);
  });

  test("that passes while the notice ends the connection settles each request once", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    const asked = [stage.ask({ timeoutMs: 10 }), stage.ask({ timeoutMs: 10 }), stage.ask()];
    stage.transport.onSend = () => stage.peer.onClosed({ reason: "exit" }, new Set());
    await clock.advance(20);
    expect(asked.map(({ outcome }) => outcome?.ok)).toEqual([false, false, false]);
    expect(stage.peer.inFlight).toBe(0);
    expect(clock.timers).toBe(0);
  });
});

describe("progress", () => {
  test("starts the deadline again, with and without a callback (FR-35)", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    const seen: unknown[] = [];
    const asked = [
      stage.ask({ timeoutMs: 300 }),
      stage.ask({ timeoutMs: 300, onProgress: (report) => seen.push(report) }),
    ];
    for (let step = 1; step <= 9; step++) {
      await clock.advance(100);
      if (step % 2 === 0) {
        for (const progressToken of [1, 2]) {
          progress(stage, { progressToken, progress: step, total: 9, message: "at work", extra: 1 });
        }
      }
    }
    expect(asked.map(({ outcome }) => outcome)).toEqual([undefined, undefined]);
    expect(seen).toEqual([2, 4, 6, 8].map((step) => ({ progress: step, total: 9, message: "at work" })));
    await clock.advance(300);
    expect(asked.map(({ outcome }) => outcome?.ok)).toEqual([false, false]);
  });

  test.each([["stands still", [1, 1, 1, 1, 1, 1]], ["goes down", [6, 5, 4, 3, 2, 1]]])(
    "that %s buys no time (FR-36, A-26)",
    async (_claim, values) => {
      const clock = new FakeClock();
      const stage = createStage(clock);
      const seen: number[] = [];
      const asked = stage.ask({ timeoutMs: 300, onProgress: (report) => seen.push(report.progress) });
      for (const value of values) {
        await clock.advance(100);
        progress(stage, { progressToken: 1, progress: value });
      }
      expect(asked.outcome).toMatchObject({ error: { code: "ERR_TIMEOUT" } });
      expect(seen).toEqual([values[0]]);
    },
  );

  test("that rises for ever ends at the total (FR-36, A-26, C-LIFE-08)", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    const asked = stage.ask({ timeoutMs: 300, maxTotalMs: 1000 });
    for (let step = 1; step < 100; step++) {
      progress(stage, { progressToken: 1, progress: step });
      await clock.advance(10);
    }
    expect(asked.outcome).toBeUndefined();
    await clock.advance(10);
    expect(asked.outcome).toMatchObject({ error: { code: "ERR_TIMEOUT", facts: { total: true } } });
  });

  const foreign: [claim: string, params: unknown][] = [
    ["no parameters", undefined],
    ["null", null],
    ["a token never given", { progressToken: 77, progress: 1 }],
    ["token 0", { progressToken: 0, progress: 1 }],
    ['token "0"', { progressToken: "0", progress: 1 }],
    ["token null", { progressToken: null, progress: 1 }],
    ["token __proto__", { progressToken: "__proto__", progress: 1 }],
    ["an object as token", { progressToken: { id: 1 }, progress: 1 }],
    ["no progress", { progressToken: 1 }],
    ["progress as a text", { progressToken: 1, progress: "1" }],
    ["endless progress", { progressToken: 1, progress: Infinity }],
  ];
  test.each(foreign)("with %s is counted and buys no time (FR-37)", async (_claim, params) => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    const asked = stage.ask({ timeoutMs: 300, onProgress: () => expect.unreachable() });
    await clock.advance(200);
    stage.hear({ kind: "notification", method: "notifications/progress", params });
    await clock.advance(150);
    expect(asked.outcome).toMatchObject({ ok: false });
    expect(stage.warnings).toEqual(["unknown_progress"]);
    expect(stage.peer.isOpen).toBe(true);
  });

  test("of a finished request is counted and nothing else (FR-37)", () => {
    const stage = createStage(new FakeClock());
    stage.ask({ onProgress: () => expect.unreachable() });
    stage.answer(1);
    progress(stage, { progressToken: 1, progress: 1 });
    expect(stage.warnings).toEqual(["unknown_progress"]);
  });

  test("under the token as a text counts", async () => {
    const stage = createStage(new FakeClock());
    const seen: number[] = [];
    stage.ask({ onProgress: (report) => seen.push(report.progress) });
    progress(stage, { progressToken: "1", progress: 0.5, total: Infinity, message: 5 });
    expect(seen).toEqual([0.5]);
  });

  test("a million reports at once reach the caller at a bounded rate, and buy time all the same (A-26, C-PROG-03)", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    let calls = 0;
    const asked = stage.ask({ timeoutMs: 300, onProgress: () => calls++ });
    await clock.advance(200);
    for (let step = 1; step <= 100_000; step++) progress(stage, { progressToken: 1, progress: step });
    expect(calls).toBe(200);
    await clock.advance(250);
    expect(asked.outcome).toBeUndefined();
    progress(stage, { progressToken: 1, progress: 1_000_000 });
    expect(calls).toBe(200);
    for (let step = 1; step <= 3; step++) {
      await clock.advance(290);
      progress(stage, { progressToken: 1, progress: 1_000_000 + step });
    }
    expect(calls).toBe(201);
    expect(asked.outcome).toBeUndefined();
    stage.hear({ kind: "notification", method: "notifications/tools/list_changed", params: {} });
    expect(stage.notifications).toHaveLength(1);
  });

  test("whose callback throws fails its own request with that error, and the server is told", async () => {
    const stage = createStage(new FakeClock());
    const cause = new Error("callback");
    const [mine, other] = [
      stage.ask({
        onProgress: () => {
          throw cause;
        },
      }),
      stage.ask(),
    ];
    progress(stage, { progressToken: 1, progress: 1 });
    await settle();
    expect(mine.outcome).toMatchObject({ ok: false, sent: true, error: { code: "ERR_CANCELLED", cause } });
    expect(other.outcome).toBeUndefined();
    expect(stage.transport.messages.at(-1)).toMatchObject({
      method: "notifications/cancelled",
      params: { requestId: 1 },
    });
  });
});
