import { describe, expect, test } from "vitest";
import { type AskAnswerer, OpenAsks } from "../../../src/jsonrpc/peer_asks.ts";
import { RemoteError } from "../../../src/kernel/errors.ts";
import type { JsonObject } from "../../../src/kernel/json.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { createStage, type Stage } from "./scripted_transport.ts";

const ASK = "elicitation/create";
const ROOTS = "roots/list";

/** An ask that a test answers by hand. */
interface Open {
  readonly method: string;
  readonly params: unknown;
  readonly signal: AbortSignal;
  answer(result: JsonObject): void;
  fail(error: unknown): void;
}

interface Asking extends Stage {
  readonly clock: FakeClock;
  readonly open: Open[];
  readonly errors: unknown[];
  readonly answerAsk: AskAnswerer;
  /** What went out as an answer. */
  answers(): Record<string, unknown>[];
  hears(id: number | string, method?: string, of?: number): void;
}

/** A peer that may be asked, on a stream for all unless `of` says otherwise. */
function asking(): Asking {
  const clock = new FakeClock();
  const open: Open[] = [];
  const errors: unknown[] = [];
  const answerAsk: AskAnswerer = (method, params, signal) =>
    new Promise((answer, fail) => open.push({ method, params, signal, answer, fail }));
  const stage = createStage(clock, {
    onError: (error) => errors.push(error),
    asks: {
      open: (options) =>
        new OpenAsks(options, (method) => method === ASK ? "request" : method === ROOTS ? answerAsk : undefined),
    },
  });
  stage.peer.answerer = (method) => method === "ping" ? {} : undefined;
  return {
    ...stage,
    clock,
    open,
    errors,
    answerAsk,
    answers: () => stage.transport.messages.filter(({ method }) => method === undefined),
    hears: (id, method = ASK, of) =>
      stage.peer.onMessage({ kind: "request", id, method, params: { message: "?" } }, 10, of),
  };
}

const cancelled = (stage: Stage, requestId: unknown): void =>
  stage.hear({ kind: "notification", method: "notifications/cancelled", params: { requestId } });
const refusedAs = (id: number | string, code: number): object => ({ id, error: { code } });

describe("ask of a server", () => {
  test("is put to the request on whose own stream it came, whatever else is in flight", async () => {
    const stage = asking();
    const puts: string[] = [];
    const put = (name: string): AskAnswerer => () => {
      puts.push(name);
      return Promise.resolve({ name });
    };
    const [one, two] = [stage.ask({ answerAsk: put("one") }), stage.ask({ answerAsk: put("two") })];
    stage.hears("q", ASK, two.id);
    stage.hears("r", ASK, one.id);
    await settle();
    expect(puts).toEqual(["two", "one"]);
    expect(stage.answers()).toEqual([
      { jsonrpc: "2.0", id: "q", result: { name: "two" } },
      { jsonrpc: "2.0", id: "r", result: { name: "one" } },
    ]);
  });

  test("on a stream for all is put to the only request that takes asks", async () => {
    const stage = asking();
    stage.ask();
    stage.ask({ answerAsk: stage.answerAsk });
    stage.hears(1);
    stage.open[0]!.answer({ action: "decline" });
    await settle();
    expect(stage.open[0]).toMatchObject({ method: ASK, params: { message: "?" } });
    expect(stage.answers()).toEqual([{ jsonrpc: "2.0", id: 1, result: { action: "decline" } }]);
    expect(stage.warnings).toEqual([]);
  });

  test.each<[claim: string, askable: number, of: number | undefined]>([
    ["with two calls in flight on one pipe (A-99)", 2, undefined],
    ["with none in flight", 0, undefined],
    ["on the stream of a request that takes none", 1, 2],
    ["on the stream of a request that has ended", 1, 99],
  ])("that cannot be told to belong to a request is refused and reported: %s", async (_claim, askable, of) => {
    const stage = asking();
    for (let count = 0; count < askable; count++) stage.ask({ answerAsk: stage.answerAsk });
    if (askable === 1) stage.ask();
    stage.hears(7, ASK, of);
    await settle();
    expect(stage.open).toEqual([]);
    expect(stage.answers()).toMatchObject([refusedAs(7, -32600)]);
    expect(stage.warnings).toEqual(["misdirected_ask"]);
  });

  test("by a method that nobody answers gets -32601 and no report (A-19)", () => {
    const stage = asking();
    stage.ask({ answerAsk: stage.answerAsk });
    stage.hears(1, "sampling/createMessage");
    expect(stage.answers()).toMatchObject([refusedAs(1, -32601)]);
    expect(stage.warnings).toEqual([]);
  });

  test("about roots belongs to the connection: it is answered with nothing and with everything in flight (C-ROOT-01)", async () => {
    const stage = asking();
    stage.hears(1, ROOTS);
    stage.open[0]!.answer({ roots: [] });
    stage.ask({ answerAsk: stage.answerAsk });
    stage.ask({ answerAsk: stage.answerAsk });
    stage.hears(2, ROOTS);
    stage.open[1]!.answer({ roots: [] });
    await settle();
    expect(stage.answers()).toEqual([1, 2].map((id) => ({ jsonrpc: "2.0", id, result: { roots: [] } })));
  });

  test("leaves room for a ping, which is answered on the spot (C-LIFE-10)", () => {
    const stage = asking();
    stage.ask({ answerAsk: stage.answerAsk });
    stage.hears(1);
    stage.hears(2, "ping");
    expect(stage.answers()).toEqual([{ jsonrpc: "2.0", id: 2, result: {} }]);
  });
});

describe("time of a request", () => {
  test("stands still while something is asked for its sake, and its silence begins anew after the answer", async () => {
    const stage = asking();
    const asked = stage.ask({ timeoutMs: 1000, maxTotalMs: 5000, answerAsk: stage.answerAsk });
    await stage.clock.advance(900);
    stage.hears(1);
    await stage.clock.advance(3_600_000);
    expect(asked.outcome).toBeUndefined();
    stage.open[0]!.answer({ action: "accept" });
    await settle();
    await stage.clock.advance(999);
    expect(asked.outcome).toBeUndefined();
    await stage.clock.advance(1);
    expect(asked.outcome).toMatchObject({ ok: false, error: { code: "ERR_TIMEOUT", facts: { total: false } } });
    expect(stage.clock.timers).toBe(0);
  });

  test("stands still until the last of several is answered", async () => {
    const stage = asking();
    const asked = stage.ask({ timeoutMs: 1000, answerAsk: stage.answerAsk });
    stage.hears(1);
    stage.hears(2);
    stage.open[0]!.answer({});
    await stage.clock.advance(60_000);
    expect(asked.outcome).toBeUndefined();
    stage.open[1]!.fail(new RemoteError(-1, "User rejected sampling request"));
    await stage.clock.advance(1000);
    expect(asked.outcome).toMatchObject({ error: { code: "ERR_TIMEOUT" } });
  });

  test("spent on waiting for an answer does not count against its maximum, all other time does (C-LIFE-08)", async () => {
    const stage = asking();
    const asked = stage.ask({ timeoutMs: 1000, maxTotalMs: 2000, answerAsk: stage.answerAsk });
    for (let id = 1; id <= 3; id++) {
      await stage.clock.advance(600);
      stage.hears(id);
      await stage.clock.advance(10_000);
      stage.open.at(-1)!.answer({});
      await settle();
    }
    await stage.clock.advance(199);
    expect(asked.outcome).toBeUndefined();
    await stage.clock.advance(1);
    expect(asked.outcome).toMatchObject({ error: { code: "ERR_TIMEOUT", facts: { total: true } } });
  });

  test("stays still when progress is reported meanwhile", async () => {
    const stage = asking();
    const asked = stage.ask({ timeoutMs: 1000, answerAsk: stage.answerAsk });
    stage.hears(1);
    stage.hear({ kind: "notification", method: "notifications/progress", params: { progressToken: 1, progress: 1 } });
    await stage.clock.advance(60_000);
    expect(asked.outcome).toBeUndefined();
  });

  test("of the others goes on", async () => {
    const stage = asking();
    stage.ask({ timeoutMs: 1000, answerAsk: stage.answerAsk });
    stage.hears(1);
    const other = stage.ask({ timeoutMs: 1000 });
    await stage.clock.advance(1000);
    expect(other.outcome).toMatchObject({ error: { code: "ERR_TIMEOUT" } });
  });
});

describe("end of an ask", () => {
  test.each<[claim: string, end: (stage: Asking, controller: AbortController) => unknown]>([
    ["its withdrawal by the server (C-CANC-05)", (stage) => cancelled(stage, "q")],
    ["the answer to its request", (stage) => stage.answer(1)],
    ["the caller, who gives its request up", (_stage, controller) => controller.abort()],
    ["the end of the connection", (stage) => stage.peer.onClosed({ reason: "exit" }, new Set())],
    ["this side, which closes the connection", (stage) => stage.peer.close()],
  ])("by %s fires the handler's signal, and no answer is sent", async (_claim, end) => {
    const stage = asking();
    const controller = new AbortController();
    stage.ask({ answerAsk: stage.answerAsk, signal: controller.signal });
    stage.hears("q");
    await end(stage, controller);
    const [ask] = stage.open;
    expect(ask!.signal).toMatchObject({ aborted: true, reason: { code: "ERR_CANCELLED" } });
    ask!.answer({ action: "accept" });
    await settle();
    expect(stage.answers()).toEqual([]);
    expect(stage.errors).toEqual([]);
  });

  test("by withdrawal lets its request go on, whose silence begins anew", async () => {
    const stage = asking();
    const asked = stage.ask({ timeoutMs: 1000, answerAsk: stage.answerAsk });
    stage.hears(1);
    await stage.clock.advance(5000);
    cancelled(stage, 1);
    await stage.clock.advance(999);
    expect(asked.outcome).toBeUndefined();
    await stage.clock.advance(1);
    expect(asked.outcome).toMatchObject({ error: { code: "ERR_TIMEOUT" } });
  });

  test("by a withdrawal that comes late leaves the request of ours with the same id alone (C-CANC-04)", async () => {
    const stage = asking();
    const asked = stage.ask({ answerAsk: stage.answerAsk });
    stage.hears(1);
    stage.open[0]!.answer({});
    await settle();
    cancelled(stage, 1);
    await settle();
    expect(asked.outcome).toBeUndefined();
  });
});

describe("bounds of asks", () => {
  test("more than 32 open at a time are refused", async () => {
    const stage = asking();
    stage.ask({ answerAsk: stage.answerAsk });
    for (let id = 0; id < 40; id++) {
      if (id % 20 === 0) await stage.clock.advance(1000);
      stage.hears(id);
    }
    expect(stage.open).toHaveLength(32);
    expect(stage.answers()).toMatchObject(Array.from({ length: 8 }, (_, at) => refusedAs(32 + at, -32603)));
  });

  test("more than 20 a second are refused (C-ELIC-17)", () => {
    const stage = asking();
    stage.ask({ answerAsk: stage.answerAsk });
    for (let id = 0; id < 25; id++) stage.hears(id);
    expect(stage.open).toHaveLength(20);
    expect(stage.answers()).toMatchObject(Array.from({ length: 5 }, (_, at) => refusedAs(20 + at, -32601)));
  });

  test("a repeat of what is open is no other ask; the text of its id is one, and after the answer it is free", async () => {
    const stage = asking();
    stage.ask({ answerAsk: stage.answerAsk });
    stage.hears(1);
    stage.hears(1);
    stage.hears("1");
    expect(stage.open).toHaveLength(2);
    expect([stage.answers(), stage.warnings]).toEqual([[], ["duplicate_id"]]);
    stage.open[0]!.answer({});
    await settle();
    expect(stage.answers()).toMatchObject([{ id: 1, result: {} }]);
    stage.hears(1);
    expect(stage.open).toHaveLength(3);
  });

  test("more than 64 for the sake of one request are refused: its time stands still meanwhile (A-26)", async () => {
    const stage = asking();
    stage.ask({ answerAsk: stage.answerAsk });
    for (let id = 0; id < 70; id++) {
      if (id % 10 === 0) await stage.clock.advance(1000);
      stage.hears(id);
      stage.open.at(-1)!.answer({});
      await settle();
    }
    expect(stage.open).toHaveLength(64);
    expect(stage.answers().slice(64)).toMatchObject(Array.from({ length: 6 }, (_, at) => refusedAs(64 + at, -32600)));
  });
});

describe("session that the server has forgotten", () => {
  test("takes its asks along: nothing of them is answered, their ids are free, and the time of requests goes on", async () => {
    const stage = asking();
    const asked = stage.ask({ timeoutMs: 1000, maxTotalMs: 5000, answerAsk: stage.answerAsk });
    stage.hears(1);
    stage.hears(2, ROOTS);
    stage.peer.endAsks();
    expect(stage.open.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    for (const open of stage.open) open.answer({ late: true });
    await settle();
    expect(stage.answers()).toEqual([]);
    stage.hears(1);
    expect(stage.open).toHaveLength(3);
    stage.open[2]!.answer({ now: true });
    await settle();
    expect(stage.answers()).toMatchObject([{ id: 1, result: { now: true } }]);
    await stage.clock.advance(1000);
    expect(asked.outcome).toMatchObject({ error: { code: "ERR_TIMEOUT" } });
  });
});

describe("failure of a handler", () => {
  test.each<[claim: string, error: unknown, sent: object, reported: number]>([
    ["with a code passes it on (C-SAMP-04)", new RemoteError(-1, "no"), { code: -1, message: "no" }, 0],
    [
      "with data passes it on",
      new RemoteError(-32602, "no", { a: 1 }),
      { code: -32602, message: "no", data: { a: 1 } },
      0,
    ],
    ["of any other kind is an internal error and is reported (C-ROOT-03)", new Error("secret"), {
      code: -32603,
      message: "Internal error",
    }, 1],
  ])("%s", async (_claim, error, sent, reported) => {
    const stage = asking();
    const asked = stage.ask({ answerAsk: stage.answerAsk });
    stage.hears(1);
    stage.open[0]!.fail(error);
    await settle();
    expect(stage.answers()).toEqual([{ jsonrpc: "2.0", id: 1, error: sent }]);
    expect(stage.errors).toHaveLength(reported);
    expect([asked.outcome, stage.peer.isOpen]).toEqual([undefined, true]);
  });

  test("that throws at once, or answers what is no JSON, is the same", async () => {
    const stage = asking();
    const one = stage.ask({
      answerAsk: () => {
        throw new Error("at once");
      },
    });
    stage.hears(1);
    await settle();
    stage.answer(one.id);
    stage.ask({ answerAsk: () => Promise.resolve({ big: 1n }) });
    stage.hears(2);
    await settle();
    expect(stage.answers()).toMatchObject([refusedAs(1, -32603), refusedAs(2, -32603)]);
    expect(stage.errors).toHaveLength(2);
  });
});
