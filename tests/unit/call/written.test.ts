import { describe, expect, it } from "vitest";
import { written } from "../../../src/call/written.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";

/** Waits for a log; what came of it is filled in. */
function waiting(write: () => Promise<unknown>, timeoutMs = 60_000) {
  const clock = new FakeClock();
  const controller = new AbortController();
  const ended: { how?: unknown } = {};
  const writer = { what: "a read", signal: controller.signal, timeoutMs, clock };
  void written(write(), writer).then((value) => ended.how = value, (error: unknown) => ended.how = error);
  return { clock, controller, ended };
}

const never = (): Promise<unknown> => new Promise(() => {});
const timeout = { code: "ERR_TIMEOUT", message: expect.stringContaining("Cannot go on with a read") as string };

describe("wait for a log", () => {
  it("ends with what the log says, and leaves no timer", async () => {
    const error = new Error("full");
    for (const [write, how] of [[() => Promise.resolve("ok"), "ok"], [() => Promise.reject(error), error]] as const) {
      const { clock, ended } = waiting(write);
      await settle();
      expect(ended.how).toBe(how);
      expect(clock.timers).toBe(0);
    }
  });

  it("that says nothing ends after the time of a server", async () => {
    const { clock, ended } = waiting(never);
    await clock.advance(59_999);
    expect(ended).toEqual({});
    await clock.advance(1);
    expect(ended.how).toMatchObject(timeout);
    expect(clock.timers).toBe(0);
  });

  it.each([[60_000, 5000], [1000, 1000]])(
    "whose time is %d ms ends %d ms after the end of what it is for",
    async (timeoutMs, afterMs) => {
      const { clock, controller, ended } = waiting(never, timeoutMs);
      await clock.advance(500);
      controller.abort();
      await clock.advance(afterMs - 1);
      expect(ended).toEqual({});
      await clock.advance(1);
      expect(ended.how).toMatchObject(timeout);
      expect(clock.timers).toBe(0);
    },
  );

  it("for something that is over already is short from the beginning", async () => {
    const clock = new FakeClock();
    const signal = AbortSignal.abort();
    const waited = written(never(), { what: "a read", signal, timeoutMs: 60_000, clock });
    const failed = expect(waited).rejects.toMatchObject(timeout);
    await clock.advance(5000);
    await failed;
  });
});
