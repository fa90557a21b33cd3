import { describe, expect, it } from "vitest";
import type { FailedReply, Reply } from "../../../src/client/reply.ts";
import { HostError, RemoteError } from "../../../src/kernel/errors.ts";
import { KeepAlive } from "../../../src/servers/keep_alive.ts";
import { FakeClient } from "../../fixtures/fake_client.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";

const done: Reply = { kind: "done", result: {}, bytes: 2, resends: 0 };
const failed = (error: FailedReply["error"]): Reply => ({
  kind: "failed",
  error,
  sent: true,
  refused: false,
  resends: 0,
});
const silence = failed(new HostError("ERR_TIMEOUT", "Request timed out"));

interface Kept {
  readonly clock: FakeClock;
  readonly asked: string[];
  readonly silent: HostError[];
  readonly keepAlive: KeepAlive;
  busy: boolean;
}

/** Keeps a server that answers its questions in this way. */
function keep(answers: Readonly<Record<string, Reply>>, ping?: string): Kept {
  const clock = new FakeClock();
  const asked: string[] = [];
  const client = new FakeClient({} as ConstructorParameters<typeof FakeClient>[0], []);
  client.onRequest = (method) => {
    asked.push(method);
    return answers[method] ?? done;
  };
  Object.assign(client.facts, ping === undefined ? {} : { ping });
  const silent: HostError[] = [];
  const state = { busy: false };
  const keepAlive = new KeepAlive({
    client,
    clock,
    pingMs: 30_000,
    isBusy: () => state.busy,
    onSilent: (error) => silent.push(error),
  });
  return Object.assign(state, { clock, asked, silent, keepAlive });
}

describe("keeping a server", () => {
  it("an idle server is asked at the rate that is set, and no more: C-LIFE-11", async () => {
    const { clock, asked, silent, keepAlive } = keep({});
    await clock.advance(29_999);
    expect(asked).toEqual([]);
    await clock.advance(60_001);
    expect([asked, silent]).toEqual([["ping", "ping", "ping"], []]);
    keepAlive.stop();
    expect(clock.timers).toBe(0);
  });

  it("a revision without ping is asked in its own way: C-VER-14", async () => {
    const { clock, asked, keepAlive } = keep({}, "server/discover");
    await clock.advance(30_000);
    expect(asked).toEqual(["server/discover"]);
    keepAlive.stop();
  });

  it("a server with calls under way is left alone", async () => {
    const kept = keep({});
    kept.busy = true;
    await kept.clock.advance(90_000);
    expect(kept.asked).toEqual([]);
    kept.busy = false;
    await kept.clock.advance(30_000);
    expect(kept.asked).toEqual(["ping"]);
    kept.keepAlive.stop();
  });

  it.each([-32601, -32600, -32603, 0])(
    "an error (%i) is a sign of life, and the last question (FR-31)",
    async (code) => {
      const { clock, asked, silent } = keep({ ping: failed(new RemoteError(code, "not supported")) });
      await clock.advance(600_000);
      expect([asked, silent, clock.timers]).toEqual([["ping"], [], 0]);
    },
  );

  it("a server that ignores ping but lists its tools is there, and not asked again (FR-31)", async () => {
    for (const list of [done, failed(new RemoteError(-32601, "no tools"))]) {
      const { clock, asked, silent } = keep({ ping: silence, "tools/list": list });
      await clock.advance(600_000);
      expect([asked, silent, clock.timers]).toEqual([["ping", "tools/list"], [], 0]);
    }
  });

  it("a server that is silent twice is given up, once: C-LIFE-11 (FR-31)", async () => {
    const { clock, asked, silent } = keep({ ping: silence, "tools/list": silence });
    await clock.advance(600_000);
    expect(asked).toEqual(["ping", "tools/list"]);
    expect(silent).toMatchObject([{ code: "ERR_TIMEOUT", facts: { waitedMs: 10_000 } }]);
    expect(clock.timers).toBe(0);
  });

  it("a server that is not reached is asked again: its transport knows when it is gone", async () => {
    const { clock, asked, silent, keepAlive } = keep({ ping: failed(new HostError("ERR_CONNECTION_LOST", "x")) });
    await clock.advance(90_000);
    expect([asked.length, silent]).toEqual([3, []]);
    keepAlive.stop();
  });

  it("nothing is asked after the stop, and nothing comes of what was", async () => {
    const { clock, asked, silent, keepAlive } = keep({ ping: silence, "tools/list": silence });
    const round = clock.advance(30_000);
    keepAlive.stop();
    await round;
    await clock.advance(600_000);
    expect([asked, silent, clock.timers]).toEqual([[], [], 0]);
  });
});
