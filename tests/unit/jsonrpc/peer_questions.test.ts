import { describe, expect, test } from "vitest";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { createStage, type Stage } from "./scripted_transport.ts";

const notify = (stage: Stage, method: string, params?: unknown): void =>
  stage.hear({ kind: "notification", method, params });
const question = (stage: Stage, id: number | string, method: string): void =>
  stage.hear({ kind: "request", id, method, params: {} });

describe("notification", () => {
  test("is handed on, known or not", () => {
    const stage = createStage(new FakeClock());
    notify(stage, "notifications/message", { level: "info" });
    notify(stage, "notifications/unheard_of");
    expect(stage.notifications).toEqual([["notifications/message", { level: "info" }], [
      "notifications/unheard_of",
      undefined,
    ]]);
  });

  test("over 200 a second is dropped and counted, until the next second", async () => {
    const clock = new FakeClock();
    const stage = createStage(clock);
    for (let count = 0; count < 1000; count++) notify(stage, "n");
    expect([stage.notifications.length, stage.warnings.length]).toEqual([200, 800]);
    expect(new Set(stage.warnings)).toEqual(new Set(["flood"]));
    await clock.advance(1000);
    notify(stage, "n");
    expect(stage.notifications).toHaveLength(201);
    expect(stage.peer.isOpen).toBe(true);
  });

  test("that has no JSON in its parameters is refused with a typed error", () => {
    const stage = createStage(new FakeClock());
    expect(() => stage.peer.notify("n", { big: 1n })).toThrow(
      expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS" }),
    );
  });
});

describe("the server's own cancel (FR-39)", () => {
  test("fails the request it names, with its reason, and sends nothing back", async () => {
    const stage = createStage(new FakeClock());
    const [one, two] = [stage.ask(), stage.ask()];
    notify(stage, "notifications/cancelled", { requestId: 1, reason: "maintenance" });
    await settle();
    expect(one.outcome).toMatchObject({
      ok: false,
      sent: true,
      refused: false,
      error: {
        code: "ERR_CANCELLED",
        facts: { by: "server" },
        message: "Request was cancelled by the server: maintenance",
      },
    });
    expect(two.outcome).toBeUndefined();
    expect(stage.transport.sent).toHaveLength(2);
    expect(stage.notifications).toEqual([]);
  });

  test("names it also by its text", async () => {
    const stage = createStage(new FakeClock());
    const asked = stage.ask();
    notify(stage, "notifications/cancelled", { requestId: "1" });
    await settle();
    expect(asked.outcome).toMatchObject({ error: { code: "ERR_CANCELLED" } });
  });

  test.each([undefined, null, {}, { requestId: 9 }, { requestId: "x" }, { requestId: null }, { requestId: 0 }, [1]])(
    "of %j is ignored (C-CANC-04)",
    async (params) => {
      const stage = createStage(new FakeClock());
      const asked = stage.ask();
      notify(stage, "notifications/cancelled", params);
      await settle();
      expect(asked.outcome).toBeUndefined();
    },
  );

  test("is heard in the middle of a flood", async () => {
    const stage = createStage(new FakeClock());
    const asked = stage.ask();
    for (let count = 0; count < 1000; count++) notify(stage, "n");
    notify(stage, "notifications/cancelled", { requestId: 1, reason: "x".repeat(100_000) });
    await settle();
    expect(asked.outcome).toMatchObject({ error: { code: "ERR_CANCELLED" } });
    expect(asked.outcome?.ok === false && asked.outcome.error.message.length).toBeLessThan(17_000);
  });
});

describe("question of the server", () => {
  function answering(): { clock: FakeClock; stage: Stage } {
    const clock = new FakeClock();
    const stage = createStage(clock);
    stage.peer.answerer = (method) => method === "ping" ? {} : undefined;
    return { clock, stage };
  }

  test("is answered under the very id it came with (C-RPC-05)", () => {
    const { stage } = answering();
    const ids = [1, 0, -5, "1", "", "a", 2 ** 53 - 1];
    for (const id of ids) question(stage, id, "ping");
    expect(stage.transport.messages).toEqual(ids.map((id) => ({ jsonrpc: "2.0", id, result: {} })));
  });

  test("under an id of ours leaves our request alone", async () => {
    const { stage } = answering();
    const asked = stage.ask();
    question(stage, 1, "ping");
    await settle();
    expect(asked.outcome).toBeUndefined();
    stage.answer(1);
    await settle();
    expect(asked.outcome).toMatchObject({ ok: true });
  });

  test("that is not known gets -32601 and has no effect (A-19, C-RPC-07)", () => {
    const { stage } = answering();
    for (const method of ["sampling/createMessage", "elicitation/create", "roots/list", "__proto__", ""]) {
      question(stage, 1, method);
    }
    for (const message of stage.transport.messages) {
      expect(message).toEqual({ jsonrpc: "2.0", id: 1, error: { code: -32601, message: "Method not found" } });
    }
    expect(stage.notifications).toEqual([]);
  });

  test("over 20 a second is refused unheard (A-19)", async () => {
    const { clock, stage } = answering();
    for (let id = 1; id <= 30; id++) question(stage, id, "ping");
    expect(stage.transport.messages.filter((message) => "result" in message)).toHaveLength(20);
    expect(stage.transport.messages.slice(20).every((message) => "error" in message)).toBe(true);
    await clock.advance(1000);
    question(stage, 31, "ping");
    expect(stage.transport.messages.at(-1)).toMatchObject({ result: {} });
  });

  test("where the revision knows none is not answered, and counted (C-RPC-12, C-STDIO-10)", () => {
    const stage = createStage(new FakeClock());
    question(stage, 1, "ping");
    expect(stage.transport.sent).toEqual([]);
    expect(stage.warnings).toEqual(["unexpected_request"]);
  });

  test.each([true, false])(
    "over 1,000 in 10 s ends the connection with that reason (A-19; answered: %s)",
    async (answered) => {
      const { clock, stage } = answering();
      if (!answered) stage.peer.answerer = undefined;
      stage.transport.onClose = () => stage.peer.onClosed({ reason: "closed", stderrTail: "why" }, new Set());
      const asked = stage.ask();
      for (let id = 1; id <= 1000; id++) {
        question(stage, id, "sampling/createMessage");
        if (id % 200 === 0) await clock.advance(1000);
      }
      expect(stage.transport.closes).toBe(0);
      const { length } = stage.transport.sent;
      for (let id = 1001; id <= 3000; id++) question(stage, id, "sampling/createMessage");
      await settle();
      expect(stage.ends).toHaveLength(1);
      expect(stage.ends[0]).toMatchObject({
        reason: "flood",
        error: { code: "ERR_PROTOCOL" },
        stderrTail: "why",
      });
      expect(asked.outcome).toMatchObject({ ok: false, sent: true, error: { code: "ERR_PROTOCOL" } });
      expect(stage.transport.sent).toHaveLength(length);
      expect(stage.warnings.filter((kind) => kind === "flood")).toHaveLength(1);
    },
  );
});
