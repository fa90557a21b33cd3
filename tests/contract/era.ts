import type { Era } from "../../src/protocol/era.ts";
import type { JsonObject } from "../../src/protocol/model.ts";
import { assert, assertEquals, assertRejects, type ContractCase } from "./contract.ts";

/** What the revision of an era says, as data. */
export interface EraFacts {
  readonly name: string;
  readonly protocolVersion: string;
  /** What every request carries in its `_meta`, beside the progress token. */
  readonly meta: JsonObject;
  /** HTTP headers of a call of the tool `漢`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly sessions: boolean;
  readonly cancelsByClosing: boolean;
  readonly batches: boolean;
  /** Methods that the server may ask and gets an empty answer to; undefined where it may ask nothing. */
  readonly answers: readonly string[] | undefined;
  /** A result may ask for input. */
  readonly inputRounds: boolean;
  /** A call may become a task. */
  readonly tasks: boolean;
}

const METHODS = ["tools/call", "tools/list", "resources/read", "prompts/get", "ping", "x/unheard_of"];

/** What every {@link Era} must do, whatever its revision. `makeEra` gives one that is ready to speak. */
export function eraContract(makeEra: () => Era, facts: EraFacts): ContractCase[] {
  const on = (claim: string, run: (era: Era) => void | Promise<void>): ContractCase => ({
    name: `era ${facts.name} ${facts.protocolVersion} ${claim}`,
    run: () => run(makeEra()),
  });
  const sent = (era: Era, id: number, method: string, params: JsonObject | undefined): JsonObject => {
    const text = era.encoder.request(id, method, params);
    assert(!/[\n\r]/.test(text), `found more than one line: ${text}`);
    return JSON.parse(text) as JsonObject;
  };
  const invalid = (era: Era, method: string, result: unknown, code: string): void => {
    const meaning = era.read(method, result);
    assertEquals(
      meaning.kind === "invalid" ? meaning.error.code : meaning,
      code,
      `meaning of ${JSON.stringify(result)}`,
    );
  };
  const done = (era: Era, method: string, result: JsonObject): void => {
    const meaning = era.read(method, result);
    assert(
      meaning.kind === "done" && meaning.result === result,
      `found ${JSON.stringify(meaning)}, wanted the result itself`,
    );
  };

  return [
    on("states its name, its revision and what a transport must obey", (era) => {
      const { sessions, cancelsByClosing, batches } = era.profile;
      assertEquals([era.name, era.protocolVersion], [facts.name, facts.protocolVersion]);
      assertEquals([sessions, cancelsByClosing, batches], [facts.sessions, facts.cancelsByClosing, facts.batches]);
    }),
    on(
      "writes a request as one line, with the id as its progress token and the metadata of the revision (C-META-01, C-META-02, C-VER-01, C-PROG-01)",
      (era) => {
        for (const [at, method] of METHODS.entries()) {
          const id = at + 1;
          const _meta = { ...facts.meta, progressToken: id };
          assertEquals(sent(era, id, method, undefined), { jsonrpc: "2.0", id, method, params: { _meta } });
        }
      },
    ),
    on("keeps the parameters intact, those that nobody knows too", (era) => {
      const params = {
        name: "a",
        arguments: { deep: [{ 'é\n\u2028"': "\ud83d\ude00" }], none: null },
        "x-unknown": 0,
        resultType: "x",
      };
      const _meta = { ...facts.meta, progressToken: 9 };
      assertEquals(sent(era, 9, "tools/call", params), {
        jsonrpc: "2.0",
        id: 9,
        method: "tools/call",
        params: { ...params, _meta },
      });
      const plain = JSON.stringify(params);
      sent(era, 10, "tools/call", Object.freeze(params));
      assertEquals(JSON.stringify(params), plain, "the caller's parameters were changed");
    }),
    on("keeps the caller's metadata, and lets the protocol's own win", (era) => {
      const own = { ...facts.meta, progressToken: 3 };
      const evil = Object.fromEntries(Object.keys(own).map((name) => [name, "evil"]));
      const { params } = sent(era, 3, "tools/call", { _meta: { ...evil, traceparent: "00-1" } });
      assertEquals(params, { _meta: { ...own, traceparent: "00-1" } });
    }),
    on("refuses parameters that are no JSON object", async (era) => {
      const cycle: Record<string, unknown> = {};
      cycle["self"] = cycle;
      for (const params of [cycle, { big: 1n }, [1], "x", { _meta: "x" }, { toJSON: () => [] }]) {
        await assertRejects(() => era.encoder.request(1, "tools/call", params as unknown as JsonObject));
        await assertRejects(() => era.encoder.notification("notifications/n", params as unknown as JsonObject));
      }
    }),
    on("writes a notification as one line without an id", (era) => {
      const text = era.encoder.notification("notifications/cancelled", { requestId: 1, reason: "a\nb" });
      assert(!/[\n\r]/.test(text), `found more than one line: ${text}`);
      const message = JSON.parse(text) as JsonObject;
      assertEquals({ ...message, params: undefined }, { jsonrpc: "2.0", method: "notifications/cancelled" });
      const { requestId, reason } = message["params"] as JsonObject;
      assertEquals([requestId, reason], [1, "a\nb"]);
      assertEquals(JSON.parse(era.encoder.notification("n", undefined)), { jsonrpc: "2.0", method: "n" });
    }),
    on(
      "names headers in lower case, with values that are legal, whatever a tool is called (C-HTTP-04, C-HTTP-07)",
      (era) => {
        const headersOf = (name: unknown): Record<string, string> => {
          const params = { name };
          return era.profile.headers({ method: "tools/call", params });
        };
        assertEquals(headersOf("漢"), facts.headers);
        for (
          const name of ["a", "", " a ", "a\r\nx-evil: 1", "=?base64?x?=", "é", "\0", "😀".repeat(1000), 5, undefined]
        ) {
          for (const [header, value] of Object.entries(headersOf(name))) {
            assert(
              /^[a-z-]+$/.test(header) && /^[\x20-\x7e]*$/.test(value),
              `found ${header}: ${JSON.stringify(value)}`,
            );
          }
        }
        assert(typeof era.profile.headers({ method: "" }) === "object", "no headers for an answer of ours");
      },
    ),
    on("answers only what the revision lets a server ask (C-LIFE-10)", (era) => {
      assertEquals(era.answerer !== undefined, facts.answers !== undefined, "an answerer is there");
      for (const method of facts.answers ?? []) assertEquals(era.answerer?.(method, undefined), {});
      for (
        const method of ["sampling/createMessage", "elicitation/create", "roots/list", "tools/call", "__proto__", ""]
      ) {
        assertEquals(era.answerer?.(method, {}), undefined, `an answer to ${method}`);
      }
    }),
    on("reads an ordinary result as done, as it came, unknown members and all (C-VER-09)", (era) => {
      for (const method of METHODS) {
        for (const result of [{}, { content: [], odd: { x: 1 } }]) done(era, method, result);
      }
      done(era, "tools/call", JSON.parse('{"__proto__":{"resultType":"task"}}') as JsonObject);
    }),
    on("reads what is no object as invalid", (era) => {
      for (const result of [null, undefined, [], ["x"], "x", 5, true]) {
        invalid(era, "tools/call", result, "ERR_PROTOCOL");
      }
    }),
    on("reads a result type by its revision (C-RES-01)", (era) => {
      const odd = ["", "COMPLETE", "task", "input_required", 5, null, {}];
      if (!facts.inputRounds) return odd.forEach((resultType) => done(era, "tools/list", { resultType }));
      done(era, "tools/list", { resultType: "complete", tools: [] });
      for (const resultType of odd) invalid(era, "tools/list", { resultType }, "ERR_PROTOCOL");
    }),
    on("reads a request for input where there may be one (C-MRTR-09)", (era) => {
      if (!facts.inputRounds) return done(era, "tools/call", { resultType: "input_required", requestState: "s" });
      const inputRequests = { a: { method: "elicitation/create", params: {} } };
      const ask = (members: JsonObject): unknown =>
        era.read("tools/call", { resultType: "input_required", ...members });
      assertEquals(ask({ inputRequests, requestState: "s" }), {
        kind: "input_required",
        inputRequests,
        requestState: "s",
      });
      assertEquals(ask({ inputRequests }), { kind: "input_required", inputRequests });
      assertEquals(ask({ requestState: "" }), { kind: "input_required", requestState: "" });
      assertEquals(ask({ inputRequests, requestState: null }), { kind: "input_required", inputRequests });
      assertEquals(ask({ inputRequests: null, requestState: "s" }), { kind: "input_required", requestState: "s" });
      assertEquals(ask({ requestState: "s".repeat(64 << 10) }), {
        kind: "input_required",
        requestState: "s".repeat(64 << 10),
      });
      const resultType = "input_required";
      const state = { requestState: "s" };
      const none = [{}, { inputRequests: [] }, { inputRequests: "x" }, { requestState: {} }, { requestState: null }];
      // To go on without a part of it would be another answer than the one that was asked for.
      const partly = [{ inputRequests, requestState: 5 }, { ...state, inputRequests: [] }, {
        ...state,
        inputRequests: 0,
      }];
      for (const members of [...none, ...partly]) {
        invalid(era, "tools/call", { resultType, ...members }, "ERR_PROTOCOL");
      }
      invalid(era, "tools/call", { resultType, requestState: "s".repeat((64 << 10) + 1) }, "ERR_TOO_LARGE");
      invalid(era, "server/discover", { resultType, requestState: "s" }, "ERR_PROTOCOL");
    }),
    on("reads a task only where we have said that we take them (C-RES-02)", (era) => {
      const task = { resultType: "task", taskId: "t", status: "working" };
      if (!facts.inputRounds) return done(era, "tools/call", task);
      if (!facts.tasks) return invalid(era, "tools/call", task, "ERR_PROTOCOL");
      assertEquals(era.read("tools/call", task), { kind: "task", task });
      invalid(era, "prompts/get", task, "ERR_PROTOCOL");
    }),
  ];
}
