import { describe, expect, test } from "vitest";
import { HostError } from "../../../src/kernel/errors.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { createStage } from "./scripted_transport.ts";

const NONE: ReadonlySet<number> = new Set();
const lost = new HostError("ERR_CONNECTION_LOST", "gone");

/** A signal that counts its listeners. */
function countedSignal(): { controller: AbortController; listeners: () => number } {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };
  return { controller, listeners: () => listeners };
}

describe("request", () => {
  test("before a transport, with an aborted signal, or with parameters that are no JSON never leaves", async () => {
    const stage = createStage(new FakeClock());
    const signal = AbortSignal.abort("enough");
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const options = { timeoutMs: 1000, maxTotalMs: 1000 };
    expect(await stage.peer.request("m", {}, { ...options, signal })).toMatchObject({
      ok: false,
      sent: false,
      error: { code: "ERR_CANCELLED", cause: "enough" },
    });
    for (const params of [cycle, { big: 1n }]) {
      expect(await stage.peer.request("m", params, options)).toMatchObject({
        ok: false,
        sent: false,
        error: { code: "ERR_INVALID_ARGUMENTS" },
      });
    }
    expect(stage.transport.sent).toEqual([]);
    expect(stage.peer.inFlight).toBe(0);
  });

  test("ids count up from one and are never used again (C-RPC-02, C-RPC-03, C-RPC-04)", () => {
    const stage = createStage(new FakeClock());
    for (let count = 0; count < 3; count++) stage.ask();
    stage.answer(3);
    stage.ask();
    expect(stage.transport.messages.map((message) => message["id"])).toEqual([1, 2, 3, 4]);
  });

  test("that is lost by the transport while it is handed over settles once", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    stage.transport.onSend = ({ id }) => stage.peer.onLost(id!, { error: lost, sent: false, refused: false });
    const asked = stage.ask({ signal: new AbortController().signal });
    await settle();
    expect(asked.outcome).toEqual({ ok: false, error: lost, sent: false, refused: false });
    stage.peer.onLost(1, { error: lost, sent: true, refused: false });
    stage.peer.onLost(99, { error: lost, sent: true, refused: false });
    expect(stage.peer.inFlight).toBe(0);
  });
});

describe("end of the connection", () => {
  test("settles every request once, and tells which never left", async () => {
    const stage = createStage(new FakeClock());
    const asked = [stage.ask(), stage.ask(), stage.ask()];
    stage.peer.onClosed({ reason: "exit", error: lost, exitCode: 3 }, new Set([2]));
    await settle();
    expect(asked.map(({ outcome }) => outcome)).toEqual(
      [true, false, true].map((sent) => ({ ok: false, error: lost, sent, refused: false })),
    );
    expect(stage.ends).toEqual([{ reason: "exit", error: lost, exitCode: 3 }]);
    expect(stage.peer.isOpen).toBe(false);
  });

  test("is told first: requests settle once the owner's promise has, also when it rejects", async () => {
    for (const reject of [false, true]) {
      let release = (): void => {};
      const stage = createStage(new FakeClock(), {
        onEnd: () => new Promise((resolve, refuse) => release = reject ? () => refuse(new Error("no")) : resolve),
      });
      const asked = stage.ask();
      stage.peer.onClosed({ reason: "exit", error: lost }, NONE);
      await settle();
      expect(asked.outcome).toBeUndefined();
      release();
      await settle();
      expect(asked.outcome).toMatchObject({ ok: false, error: lost });
    }
  });

  test("settles every request though the owner throws", async () => {
    const stage = createStage(new FakeClock(), {
      onEnd: () => {
        throw new Error("owner");
      },
    });
    const asked = stage.ask();
    expect(() => stage.peer.onClosed({ reason: "exit", error: lost }, NONE)).not.toThrow();
    await settle();
    expect(asked.outcome).toMatchObject({ ok: false, error: lost });
  });

  test("later requests never leave and fail with what ended it", async () => {
    const stage = createStage(new FakeClock());
    stage.peer.onClosed({ reason: "exit", error: lost }, NONE);
    const asked = stage.ask();
    await stage.peer.notify("n");
    await settle();
    expect(asked.outcome).toEqual({ ok: false, error: lost, sent: false, refused: false });
    expect(stage.transport.sent).toEqual([]);
  });

  test("leaves no timer and no listener", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    const { controller, listeners } = countedSignal();
    stage.ask({ signal: controller.signal });
    expect([clock.timers, listeners()]).toEqual([1, 1]);
    stage.peer.onClosed({ reason: "exit", error: lost }, NONE);
    expect([clock.timers, listeners()]).toEqual([0, 0]);
  });
});

describe("close", () => {
  test("refuses requests from then on, unsent, though the transport takes its time", async () => {
    const stage = createStage(new FakeClock());
    const before = stage.ask();
    const closing = stage.peer.close();
    expect(stage.peer.isOpen).toBe(false);
    const after = stage.ask();
    await stage.peer.notify("n");
    await closing;
    await settle();
    expect(after.outcome).toMatchObject({ ok: false, sent: false, error: { code: "ERR_CLOSED" } });
    expect(before.outcome).toBeUndefined();
    stage.peer.onClosed({ reason: "closed" }, NONE);
    await settle();
    expect(before.outcome).toMatchObject({ ok: false, sent: true, error: { code: "ERR_CLOSED" } });
    expect(stage.transport.sent).toHaveLength(1);
  });

  test("may be called twice, and before there is a transport", async () => {
    const stage = createStage(new FakeClock());
    await Promise.all([stage.peer.close(), stage.peer.close()]);
    expect(stage.transport.closes).toBeGreaterThan(0);
  });
});

describe("signal", () => {
  test("touches only its requests, and tells the server (FR-17, C-CANC-01, C-STDIO-05, C-SHTTP-09)", async () => {
    const stage = createStage(new FakeClock());
    const [mine, other] = [new AbortController(), new AbortController()];
    const asked = [
      stage.ask({ signal: mine.signal }),
      stage.ask({ signal: other.signal }),
      stage.ask(),
      stage.ask({ signal: mine.signal }),
    ];
    mine.abort(new Error("enough"));
    await settle();
    expect(asked.map(({ outcome }) => outcome?.ok)).toEqual([false, undefined, undefined, false]);
    expect(asked[0]!.outcome).toMatchObject({ sent: true, error: { code: "ERR_CANCELLED" } });
    expect(stage.transport.abandoned).toEqual([1, 4]);
    expect(stage.transport.messages.slice(4)).toEqual([1, 4].map((requestId) => ({
      jsonrpc: "2.0",
      method: "notifications/cancelled",
      params: { requestId, reason: "the caller gave up" },
    })));
    stage.answer(2);
    stage.answer(3);
    await settle();
    expect(asked.map(({ outcome }) => outcome?.ok)).toEqual([false, true, true, false]);
  });

  test("sends no notice for a quiet request, nor where closing the stream is the notice (C-HTTP-11)", async () => {
    const stage = createStage(new FakeClock());
    const controller = new AbortController();
    stage.ask({ signal: controller.signal, quiet: true });
    controller.abort();
    stage.peer.cancelsByClosing = true;
    const second = new AbortController();
    stage.ask({ signal: second.signal });
    second.abort();
    expect(stage.transport.messages.map((message) => message["method"])).toEqual(["tools/call", "tools/call"]);
    expect(stage.transport.abandoned).toEqual([1, 2]);
  });

  test("has one listener for all requests at once, and none soon after the last", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    const { controller, listeners } = countedSignal();
    for (let count = 0; count < 100; count++) stage.ask({ signal: controller.signal });
    expect(listeners()).toBe(1);
    for (let id = 1; id <= 100; id++) stage.answer(id);
    await clock.advance(1000);
    expect([listeners(), clock.timers]).toEqual([0, 0]);
  });

  test("of a finished request is let go though others are always in flight", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    const signals = Array.from({ length: 40 }, countedSignal);
    const standing = stage.ask({ timeoutMs: 60_000 });
    for (const [at, { controller }] of signals.entries()) {
      stage.ask({ signal: controller.signal });
      stage.answer(at + 2);
      await clock.advance(250);
    }
    await clock.advance(500);
    expect(standing.outcome).toBeUndefined();
    expect(signals.filter(({ listeners }) => listeners() > 0)).toHaveLength(0);
  });

  test("that is aborted after the answer does nothing (C-CANC-01)", async () => {
    const stage = createStage(new FakeClock());
    const controller = new AbortController();
    const asked = stage.ask({ signal: controller.signal });
    stage.answer(1);
    controller.abort();
    await settle();
    expect(asked.outcome).toMatchObject({ ok: true });
    expect(stage.transport.sent).toHaveLength(1);
  });
});
