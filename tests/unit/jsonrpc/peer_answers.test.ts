import { describe, expect, test } from "vitest";
import { RemoteError } from "../../../src/kernel/errors.ts";
import type { MalformedReason, RequestId } from "../../../src/jsonrpc/message.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { createStage } from "./scripted_transport.ts";

const FAR = new Set<number>();

describe("answer", () => {
  test("settles its request alone, whatever the order", async () => {
    const stage = createStage(new FakeClock());
    const [one, two, three] = [stage.ask(), stage.ask(), stage.ask()];
    stage.answer(3, { n: 3 });
    stage.answer(1, { n: 1 });
    await settle();
    expect(three.outcome).toEqual({ ok: true, result: { n: 3 }, bytes: 10 });
    expect(one.outcome).toEqual({ ok: true, result: { n: 1 }, bytes: 10 });
    expect(two.outcome).toBeUndefined();
    expect(stage.peer.inFlight).toBe(1);
    expect(stage.warnings).toEqual([]);
  });

  test("that is an error gives the peer's code, text and data, as sent and not refused", async () => {
    const stage = createStage(new FakeClock());
    const asked = stage.ask();
    stage.hear({ kind: "error", id: 1, error: { code: -32602, message: "no", data: { x: 1 } } });
    await settle();
    expect(asked.outcome).toEqual({
      ok: false,
      error: new RemoteError(-32602, "no", { x: 1 }),
      sent: true,
      refused: false,
    });
    expect(asked.outcome).toMatchObject({ error: { code: -32602, data: { x: 1 } } });
  });

  test("settles once: the first one wins, a second is counted (A-17, FR-34)", async () => {
    const stage = createStage(new FakeClock());
    const asked = stage.ask();
    stage.answer(1, { n: "first" });
    stage.answer(1, { n: "second" });
    stage.hear({ kind: "error", id: 1, error: { code: 1, message: "" } });
    await settle();
    expect(asked.outcome).toMatchObject({ result: { n: "first" } });
    expect(stage.warnings).toEqual(["duplicate_id", "duplicate_id"]);
  });

  const foreign: [claim: string, id: RequestId][] = [
    ["never sent", 987],
    ["zero", 0],
    ["minus zero", -0],
    ["negative", -1],
    ["a text", "abc"],
    ["an empty text", ""],
    ["a text with a leading zero", "01"],
    ["a text with a sign", "+1"],
    ["a text with spaces", " 1"],
    ["a text in exponent form", "1e0"],
    ["a hexadecimal text", "0x1"],
    ["a text with a fraction", "1.0"],
    ["a text beyond the safe integers", "9007199254740993"],
    ["a name of Object.prototype", "__proto__"],
  ];
  test.each(foreign)("under an id that is %s is counted and settles nothing (A-17, FR-34)", async (_claim, id) => {
    const stage = createStage(new FakeClock());
    const asked = stage.ask();
    stage.answer(id);
    await settle();
    expect(asked.outcome).toBeUndefined();
    expect(stage.warnings).toEqual(["unknown_id"]);
    stage.answer(1);
    await settle();
    expect(asked.outcome).toMatchObject({ ok: true });
  });

  test("under the id as a text settles it, and is counted (FR-34)", async () => {
    const stage = createStage(new FakeClock());
    const asked = stage.ask();
    stage.answer("1", { n: 1 });
    await settle();
    expect(asked.outcome).toMatchObject({ result: { n: 1 } });
    expect(stage.warnings).toEqual(["twin_id"]);
    stage.answer("1");
    stage.answer(1);
    expect(stage.warnings).toEqual(["twin_id", "duplicate_id", "duplicate_id"]);
  });

  test("of a request that was given up is ignored without a word, once (C-CANC-04)", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    const asked = stage.ask({ timeoutMs: 100 });
    await clock.advance(1000);
    expect(asked.outcome).toMatchObject({ error: { code: "ERR_TIMEOUT" } });
    stage.answer(1);
    expect(stage.warnings).toEqual([]);
    stage.answer(1);
    expect(stage.warnings).toEqual(["duplicate_id"]);
  });

  test("tells how often its request was sent again, and nothing where it was not", async () => {
    const stage = createStage(new FakeClock());
    const asked = [stage.ask(), stage.ask(), stage.ask()];
    for (const id of [1, 1, 2, 77]) stage.peer.onResent(id);
    stage.answer(1);
    stage.hear({ kind: "error", id: 2, error: { code: 1, message: "" } });
    stage.answer(3);
    await settle();
    expect(asked.map(({ outcome }) => outcome?.resends)).toEqual([2, 1, undefined]);
  });

  test("after the end settles nothing and does not throw", async () => {
    const stage = createStage(new FakeClock());
    const asked = stage.ask();
    stage.peer.onClosed({ reason: "closed" }, FAR);
    stage.answer(1);
    stage.hear({ kind: "notification", method: "n", params: {} });
    await settle();
    expect(asked.outcome).toMatchObject({ ok: false, error: { code: "ERR_CLOSED" } });
  });
});

describe("answer on a stream of its own", () => {
  test("settles the stream's request only", async () => {
    const stage = createStage(new FakeClock());
    const [one, two] = [stage.ask(), stage.ask()];
    stage.peer.onMessage({ kind: "result", id: 2, result: {} }, 1, 1);
    await settle();
    expect([one.outcome, two.outcome]).toEqual([undefined, undefined]);
    expect(stage.warnings).toEqual(["unknown_id"]);
    stage.peer.onMessage({ kind: "result", id: "1", result: {} }, 1, 1);
    await settle();
    expect(one.outcome).toMatchObject({ ok: true });
  });

  test("may be an error without an id; on a shared pipe that is nobody's (C-RPC-11)", async () => {
    const stage = createStage(new FakeClock());
    const asked = stage.ask();
    const error = { code: -32700, message: "parse error" };
    stage.peer.onMessage({ kind: "error", id: undefined, error }, 1, undefined);
    await settle();
    expect(asked.outcome).toBeUndefined();
    expect(stage.warnings).toEqual(["unknown_id"]);
    stage.peer.onMessage({ kind: "error", id: undefined, error }, 1, 1);
    await settle();
    expect(asked.outcome).toMatchObject({ error: { code: -32700 } });
  });
});

describe("malformed message", () => {
  const outOfBounds: MalformedReason[] = ["too_large", "too_deep", "too_many_nodes"];
  const others: MalformedReason[] = ["not_json", "not_rpc", "envelope", "id", "batch"];
  const all = [...outOfBounds, ...others];

  test.each(all)("%s under the id of a request fails that request", async (reason) => {
    const stage = createStage(new FakeClock());
    const [one, two] = [stage.ask(), stage.ask()];
    stage.peer.onMalformed(reason, 2, undefined);
    await settle();
    expect(one.outcome).toBeUndefined();
    expect(two.outcome).toMatchObject({
      ok: false,
      sent: true,
      refused: false,
      error: {
        code: outOfBounds.includes(reason) ? "ERR_FRAME_TOO_LARGE" : "ERR_PROTOCOL",
        facts: { malformed: reason },
      },
    });
    expect(stage.warnings).toEqual([reason === "batch" ? "unexpected_batch" : "malformed"]);
  });

  test.each(all)("%s under a foreign id fails nobody (C-RPC-16)", async (reason) => {
    const stage = createStage(new FakeClock());
    const asked = stage.ask();
    for (const id of [7, "x", 0]) stage.peer.onMalformed(reason, id, undefined);
    await settle();
    expect(asked.outcome).toBeUndefined();
  });

  test.each(outOfBounds)(
    "%s without an id fails the one request in flight: it is its answer that cannot be read",
    async (reason) => {
      const stage = createStage(new FakeClock());
      const one = stage.ask();
      stage.peer.onMalformed(reason, undefined, undefined);
      await settle();
      expect(one.outcome).toMatchObject({ error: { code: "ERR_FRAME_TOO_LARGE" } });
      const [two, three] = [stage.ask(), stage.ask()];
      stage.peer.onMalformed(reason, undefined, undefined);
      await settle();
      expect([two.outcome, three.outcome]).toEqual([undefined, undefined]);
      stage.peer.onMalformed(reason, undefined, 3);
      await settle();
      expect([two.outcome, three.outcome?.ok]).toEqual([undefined, false]);
    },
  );

  test.each(others)(
    "%s without an id is counted and fails nobody: the first valid answer wins (A-17)",
    async (reason) => {
      const stage = createStage(new FakeClock());
      const asked = stage.ask();
      stage.peer.onMalformed(reason, undefined, undefined);
      stage.peer.onMalformed(reason, undefined, 1);
      await settle();
      expect(asked.outcome).toBeUndefined();
      expect(stage.warnings).toHaveLength(2);
      stage.answer(1);
      await settle();
      expect(asked.outcome).toMatchObject({ ok: true });
    },
  );
});
