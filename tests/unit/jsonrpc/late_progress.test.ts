import { describe, expect, test } from "vitest";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { createStage, type Stage } from "./scripted_transport.ts";

const report = (stage: Stage, progressToken: number, progress: number): void =>
  stage.hear({ kind: "notification", method: "notifications/progress", params: { progressToken, progress } });

/** A request that was answered, and whose token still holds. */
async function answered(how: (stage: Stage) => void = (stage) => stage.answer(1, {})) {
  const clock = new FakeClock();
  const stage = createStage(clock);
  const seen: number[] = [];
  const until = new AbortController();
  const asked = stage.ask({ onProgress: ({ progress }) => void seen.push(progress), progressUntil: until.signal });
  report(stage, 1, 1);
  how(stage);
  await settle();
  return { clock, stage, seen, until, asked };
}

describe("token that holds beyond its answer", () => {
  test("goes on to tell progress, which must still rise, until it ends (C-TASK-08)", async () => {
    const { stage, seen, until, asked } = await answered();
    expect(asked.outcome).toMatchObject({ ok: true });
    for (const progress of [1, 2, 2, 3]) report(stage, 1, progress);
    expect(seen).toEqual([1, 2, 3]);
    expect(stage.warnings).toEqual([]);
    until.abort();
    report(stage, 1, 4);
    expect(seen).toEqual([1, 2, 3]);
    expect(stage.warnings).toEqual(["unknown_progress"]);
  });

  test("is its own: a token that ended with its answer is unknown (C-PROG-03)", async () => {
    const { stage, seen } = await answered();
    stage.ask();
    stage.answer(2, {});
    report(stage, 2, 1);
    expect(seen).toEqual([1]);
    expect(stage.warnings).toEqual(["unknown_progress"]);
  });

  test("that ends before the answer ends with the answer", async () => {
    const stage = createStage(new FakeClock());
    const until = new AbortController();
    until.abort();
    stage.ask({ onProgress: () => expect.fail("was told"), progressUntil: until.signal });
    stage.answer(1, {});
    report(stage, 1, 1);
    expect(stage.warnings).toEqual(["unknown_progress"]);
  });

  test("keeps no request open, and no listener after the end of the connection", async () => {
    const { clock, stage, until } = await answered();
    expect(stage.peer.inFlight).toBe(0);
    await clock.advance(1000);
    let listeners = 0;
    until.signal.removeEventListener = () => void listeners++;
    await stage.peer.close();
    stage.peer.onClosed({ reason: "closed" }, new Set());
    expect(listeners).toBe(1);
    expect(clock.timers).toBe(0);
  });

  test("that fails in its owner's hands ends nothing, and is reported", async () => {
    const errors: unknown[] = [];
    const stage = createStage(new FakeClock(), { onError: (each) => void errors.push(each) });
    const error = new Error("listener");
    const asked = stage.ask({
      onProgress: () => {
        throw error;
      },
      progressUntil: new AbortController().signal,
    });
    stage.answer(1, {});
    await settle();
    report(stage, 1, 1);
    await settle();
    expect(asked.outcome).toMatchObject({ ok: true });
    expect(errors).toEqual([error]);
  });
});
