import { describe, expect, test } from "vitest";
import type { Spill } from "../../../src/jsonrpc/spill_sink.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { createStage } from "./scripted_transport.ts";

function spilled(
  id: number | string,
  more: Partial<Spill> = {},
): { message: Parameters<ReturnType<typeof createStage>["hear"]>[0]; state: { aborted: number } } {
  const state = { aborted: 0 };
  const writer = {
    write() {},
    close: () => Promise.reject(new Error("not asked for")),
    abort: () => void state.aborted++,
  };
  const spills: Spill[] = [{ pointer: "/result/text", bytes: 100_000, writer, ...more }];
  return { message: { kind: "result", id, result: { text: "head" }, spills }, state };
}

describe("long strings that were put aside", () => {
  test("go to the request that takes them", async () => {
    const stage = createStage(new FakeClock());
    const asked = stage.ask({ takesSpills: true });
    const { message, state } = spilled(1);
    stage.hear(message);
    await settle();
    expect(asked.outcome).toMatchObject({ ok: true, spills: [{ pointer: "/result/text" }] });
    expect(state.aborted).toBe(0);
  });

  test("are let go of when the request does not take them, and it has their beginnings", async () => {
    const stage = createStage(new FakeClock());
    const asked = stage.ask();
    const { message, state } = spilled(1);
    stage.hear(message);
    await settle();
    expect(asked.outcome).toMatchObject({ ok: true, result: { text: "head" } });
    expect(state.aborted).toBe(1);
  });

  test.each([true, false])(
    "that are a whole result are no answer for a request that does not take them (%s)",
    async (takes) => {
      const stage = createStage(new FakeClock());
      const asked = stage.ask({ takesSpills: takes });
      const { message, state } = spilled(1, { isWhole: true });
      stage.hear(message);
      await settle();
      expect([asked.outcome, state.aborted]).toMatchObject(
        takes
          ? [{ ok: true, spills: [{ isWhole: true }] }, 0]
          : [{ ok: false, sent: true, refused: false, error: { code: "ERR_FRAME_TOO_LARGE" } }, 1],
      );
    },
  );

  test.each([["of nobody", 7], ["of one that was answered", 1], ["of one that was given up", 2]])(
    "are let go of when the answer is one %s",
    async (_whose, id) => {
      const stage = createStage(new FakeClock());
      const controller = new AbortController();
      void stage.ask({ takesSpills: true });
      void stage.ask({ takesSpills: true, signal: controller.signal });
      stage.answer(1);
      controller.abort();
      const { message, state } = spilled(id);
      stage.hear(message);
      await settle();
      expect(state.aborted).toBe(1);
    },
  );

  test("are let go of when the connection has ended", async () => {
    const stage = createStage(new FakeClock());
    void stage.ask({ takesSpills: true });
    stage.peer.onClosed({ reason: "closed" }, new Set());
    const { message, state } = spilled(1);
    stage.hear(message);
    await settle();
    expect(state.aborted).toBe(1);
  });
});
