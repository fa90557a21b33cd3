import { describe, expect, test } from "vitest";
import { cancelled, SignalWatch, untilAborted } from "../../../src/kernel/abort.ts";
import { atMost, sleep, systemClock } from "../../../src/kernel/clock.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";

/** A signal that counts its listeners. */
function counted(): { controller: AbortController; signal: AbortSignal; listeners: () => number } {
  const controller = new AbortController();
  const { signal } = controller;
  const live = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (type: string, listener: EventListener, options?: AddEventListenerOptions) => {
    live.add(listener);
    add(type, listener, options);
  };
  signal.removeEventListener = (type: string, listener: EventListener) => {
    live.delete(listener);
    remove(type, listener);
  };
  return { controller, signal, listeners: () => signal.aborted ? 0 : live.size };
}

describe("sleep", () => {
  test("ends at its time and leaves nothing behind", async () => {
    const clock = new FakeClock();
    const { signal, listeners } = counted();
    let done = false;
    const sleeping = sleep(clock, 100, signal).then(() => done = true);
    await clock.advance(99);
    expect(done).toBe(false);
    await clock.advance(1);
    await sleeping;
    expect([clock.timers, listeners()]).toEqual([0, 0]);
  });

  test("ends with the reason of its signal and leaves nothing behind", async () => {
    const clock = new FakeClock();
    const { controller, signal } = counted();
    const reason = new Error("enough");
    const sleeping = sleep(clock, 100, signal);
    controller.abort(reason);
    await expect(sleeping).rejects.toBe(reason);
    expect(clock.timers).toBe(0);
    await expect(sleep(clock, 100, signal)).rejects.toBe(reason);
    expect(clock.timers).toBe(0);
  });
});

describe("atMost", () => {
  test("gives the value or what it failed with, and drops its timer", async () => {
    const clock = new FakeClock();
    expect(await atMost(clock, 10, Promise.resolve("x"))).toBe("x");
    await expect(atMost(clock, 10, Promise.reject(new Error("no")))).rejects.toThrow("no");
    await settle();
    expect(clock.timers).toBe(0);
  });

  test("gives undefined when the time is over; a late failure harms nobody", async () => {
    const clock = new FakeClock();
    let fail = (_error: Error): void => {};
    const waiting = atMost(clock, 10, new Promise((_, reject) => fail = reject));
    await clock.advance(10);
    expect(await waiting).toBeUndefined();
    fail(new Error("late"));
    await settle();
  });
});

describe("untilAborted", () => {
  test("gives what the promise gives, without a signal and with one", async () => {
    const { signal, listeners } = counted();
    expect(await untilAborted(Promise.resolve(1), "Wait", undefined)).toBe(1);
    expect(await untilAborted(Promise.resolve(1), "Wait", signal)).toBe(1);
    await expect(untilAborted(Promise.reject(new Error("no")), "Wait", signal)).rejects.toThrow("no");
    await settle();
    expect(listeners()).toBe(0);
  });

  test("ends with its signal, before and during the wait; the late outcome harms nobody", async () => {
    const { controller, signal } = counted();
    const waiting = untilAborted(
      Promise.resolve().then(settle).then(() => Promise.reject(new Error("late"))),
      "Wait",
      signal,
    );
    controller.abort("enough");
    await expect(waiting).rejects.toMatchObject({
      code: "ERR_CANCELLED",
      message: "Wait was cancelled by its caller",
      cause: "enough",
    });
    await expect(untilAborted(Promise.reject(new Error("x")), "Wait", signal)).rejects.toMatchObject({
      code: "ERR_CANCELLED",
    });
    await settle();
  });

  test("a signal whose reason is an error of ours gives that very error", () => {
    const reason = new HostError("ERR_TIMEOUT", "late");
    expect(cancelled("Wait", AbortSignal.abort(reason))).toBe(reason);
  });
});

describe("signal watch", () => {
  test("has one listener a signal, and tells each key once", () => {
    const told: unknown[] = [];
    const watch = new SignalWatch<number>((key) => told.push(key));
    const [one, two] = [counted(), counted()];
    for (const key of [1, 2, 3]) watch.add(one.signal, key);
    watch.add(two.signal, 4);
    watch.remove(one.signal, 2);
    expect([watch.size, one.listeners(), two.listeners()]).toEqual([2, 1, 1]);
    one.controller.abort();
    expect(told).toEqual([1, 3]);
    expect(watch.size).toBe(1);
  });

  test("sweep drops what nobody uses and keeps the rest", () => {
    const watch = new SignalWatch<number>(() => {});
    const signals = [1, 2, 3].map((key) => {
      const each = counted();
      watch.add(each.signal, key);
      return each;
    });
    watch.remove(signals[0]!.signal, 1);
    watch.remove(signals[2]!.signal, 3);
    watch.sweep();
    expect(signals.map(({ listeners }) => listeners())).toEqual([0, 1, 0]);
    watch.add(signals[0]!.signal, 1);
    watch.clear();
    expect(signals.map(({ listeners }) => listeners())).toEqual([0, 0, 0]);
    expect(watch.size).toBe(0);
  });

  test("takes the removal of a key or signal it does not know", () => {
    const watch = new SignalWatch<number>(() => {});
    watch.remove(new AbortController().signal, 1);
    watch.sweep();
    expect(watch.size).toBe(0);
  });
});

describe("system clock", () => {
  test("runs a timer once, and a cancelled one never", async () => {
    const ran: string[] = [];
    systemClock.after(0, () => ran.push("cancelled")).cancel();
    await new Promise<void>((resolve) => {
      const timer = systemClock.after(1, () => {
        ran.push("ran");
        resolve();
      });
      void timer;
    });
    systemClock.after(0, () => {}).cancel();
    expect(ran).toEqual(["ran"]);
    expect(systemClock.monotonic()).toBeLessThanOrEqual(systemClock.monotonic());
    const [before, now, after] = [Date.now(), systemClock.now(), Date.now()];
    expect([now >= before, now <= after]).toEqual([true, true]);
  });
});
