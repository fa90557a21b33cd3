import { describe, expect, test } from "vitest";
import { HostError } from "../../../src/kernel/errors.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { createStage } from "./scripted_transport.ts";

const TOOLS = "notifications/tools/list_changed";
const notice = (method: string, params?: unknown) => ({ kind: "notification", method, params }) as const;
const throwing = (): never => {
  throw new Error("handler");
};

describe("notices of a change above the rate", () => {
  test("lead to one more of each kind at the end of the burst", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    for (let count = 0; count < 200; count++) stage.hear(notice("notifications/message"));
    for (let count = 0; count < 50; count++) {
      stage.hear(notice(TOOLS));
      stage.hear(notice("notifications/prompts/list_changed"));
      stage.hear(notice("notifications/message"));
    }
    expect(stage.notifications).toHaveLength(200);
    await clock.advance(1000);
    expect(stage.notifications.slice(200)).toEqual([
      [TOOLS, undefined],
      ["notifications/prompts/list_changed", undefined],
    ]);
    await clock.advance(10_000);
    expect([stage.notifications.length, clock.timers]).toEqual([202, 0]);
  });

  test("are kept for a bounded number of kinds, and not beyond the end of the connection", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    for (let count = 0; count < 200; count++) stage.hear(notice(TOOLS));
    for (let count = 0; count < 100; count++) {
      stage.hear(notice(`notifications/${"x".repeat((count % 50) + 1)}/list_changed`));
    }
    await clock.advance(1000);
    expect(stage.notifications).toHaveLength(208);
    for (let count = 0; count < 300; count++) stage.hear(notice(TOOLS));
    stage.peer.onClosed({ reason: "closed" }, new Set());
    expect(clock.timers).toBe(0);
  });
});

describe("a handler that throws", () => {
  test("onNotification is reported and ends nothing", async () => {
    const errors: unknown[] = [];
    const stage = createStage(new FakeClock(), {
      onNotification: throwing,
      onError: (error) => void errors.push(error),
    });
    const asked = stage.ask();
    stage.hear(notice(TOOLS));
    stage.answer(1, { fine: true });
    await asked;
    expect(errors).toEqual([new Error("handler")]);
    await Promise.resolve();
    expect(asked.outcome).toMatchObject({ ok: true });
  });

  test("onWarning is reported, also when onError itself throws", async () => {
    let told = 0;
    const onError = (): never => {
      told++;
      throw new Error("again");
    };
    const stage = createStage(new FakeClock(), { onWarning: throwing, onError });
    const asked = stage.ask();
    stage.answer(7);
    stage.peer.onWarning("noise", "x");
    stage.peer.onMalformed("not_json", undefined, undefined);
    stage.hear({ kind: "request", id: 1, method: "roots/list", params: undefined });
    stage.hear(notice("notifications/progress", { progressToken: 99, progress: 1 }));
    stage.answer("1");
    await Promise.resolve();
    await Promise.resolve();
    expect(asked.outcome).toMatchObject({ ok: true });
    expect(told).toBe(6);
  });

  test.each([
    ["throws", throwing],
    ["rejects", () => Promise.reject(new Error("handler"))],
  ])("onEnd that %s is reported, and requests in flight settle", async (_how, onEnd) => {
    const clock = new FakeClock();
    const errors: unknown[] = [];
    const stage = createStage(clock, { onEnd, onError: (error) => void errors.push(error) });
    const asked = stage.ask();
    const error = new HostError("ERR_CONNECTION_LOST", "gone");
    stage.peer.onClosed({ reason: "exit", error }, new Set());
    await clock.advance(0);
    expect(asked.outcome).toMatchObject({ ok: false, error: { code: "ERR_CONNECTION_LOST" } });
    expect(errors).toEqual([new Error("handler")]);
  });

  test("what rejects later is reported once, also when onError rejects", async () => {
    const clock = new FakeClock();
    const told: unknown[] = [];
    const later = (): never => Promise.reject(new Error("later")) as never;
    const onError = (error: unknown): never => {
      told.push(error);
      return Promise.reject(new Error("again")) as never;
    };
    const stage = createStage(clock, { onNotification: later, onWarning: later, onError });
    stage.hear(notice(TOOLS));
    stage.peer.onWarning("noise", "x");
    await clock.advance(0);
    expect(told).toEqual([new Error("later"), new Error("later")]);
  });

  test("without onError is dropped", () => {
    const stage = createStage(new FakeClock(), { onNotification: throwing });
    expect(() => stage.hear(notice(TOOLS))).not.toThrow();
  });
});
