import { describe, expect, it } from "vitest";
import type { CallOptions } from "../../../src/call/call.ts";
import type { HostAskContext, HostAsks } from "../../../src/call/host_asks.ts";
import type { Reply } from "../../../src/client/reply.ts";
import type { AskAnswerer } from "../../../src/jsonrpc/peer_asks.ts";
import { HostError, RemoteError } from "../../../src/kernel/errors.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { done, failed, type TakenCall, text } from "../../fixtures/fake_client.ts";
import { settle, until } from "../../fixtures/settle.ts";
import { rejection } from "../servers/supervisor_setup.ts";
import { type CallScene, callScene, unbalanced } from "./call_setup.ts";

const SECRET = "hunter2hunter2";
const schema = { type: "object", properties: { ok: { type: "boolean", default: true } } };
const confirm = { method: "elicitation/create", params: { message: "Sure?", requestedSchema: schema } };
const accepted = { action: "accept", content: { ok: true } };
const sample = { role: "assistant", content: { type: "text", text: "Paris" }, model: "m" };
const accepts: HostAsks = { form: () => ({ action: "accept" }) };

const STARTED = ["permission.requested", "permission.resolved", "mcp.call.started", "tool.started"];
const SUSPENDED = ["mcp.call.completed", "mcp.input.requested"];
const NEXT = ["mcp.input.resolved", "mcp.call.started"];
const COMPLETED = ["mcp.call.completed", "tool.completed"];

const asksFor = (inputRequests?: JsonObject, requestState?: string): Reply => ({
  kind: "input_required",
  inputRequests,
  requestState,
  bytes: 7,
  resends: 0,
});

/** A handler that a test answers by hand. */
function byHand() {
  const asked: HostAskContext[] = [];
  let answer: (value: { action: "accept" | "decline" }) => void = () => {};
  const asks: HostAsks = {
    form: (_ask, context) => {
      asked.push(context);
      return new Promise((resolve) => answer = resolve);
    },
  };
  return { asked, asks, answer: (action: "accept" | "decline") => answer({ action }) };
}

async function calling(scene: CallScene, options?: CallOptions) {
  const outcome = scene.executor.call("mcp__echo__echo", { message: "hi" }, options);
  const call = await taken(scene, 0);
  return { outcome, call };
}

const taken = (scene: CallScene, at: number): Promise<TakenCall> => until(() => scene.connect.last.calls[at]);
const payloads = (scene: CallScene, type: string): Record<string, unknown>[] =>
  scene.sink.events.filter((event) => event.type === type).map(({ payload }) => payload);

describe("input rounds of a call", () => {
  it("answer by the host's handler and send the same call again, two appends a round (C-MRTR-01, C-MRTR-02)", async () => {
    const seen: [unknown, HostAskContext][] = [];
    const scene = await callScene({
      asks: {
        form: (ask, context) => {
          seen.push([ask, context]);
          expect(scene.sink.batches.at(-1)).toEqual(SUSPENDED);
          return { action: "accept" };
        },
      },
    });
    const { outcome, call } = await calling(scene);
    call.answer(asksFor({ confirm }, "state\u0000"));
    const second = await taken(scene, 1);
    expect(second.params).toEqual({
      name: "echo",
      arguments: { message: "hi" },
      inputResponses: { confirm: accepted },
      requestState: "state\u0000",
    });
    expect(scene.sink.batches).toEqual([STARTED, SUSPENDED, NEXT]);
    second.answer(done(text("done")));
    expect(await outcome).toMatchObject({ status: "completed", output: "done" });
    expect(scene.sink.batches).toEqual([STARTED, SUSPENDED, NEXT, COMPLETED]);
    expect(seen).toMatchObject([[{ message: "Sure?", schema }, {
      requestId: "req_2",
      server: "echo",
      session: "s",
      tool: "mcp.echo.echo",
      toolCallId: "tc_1",
    }]]);
    const facts = { requestId: "req_2", toolCallId: "tc_1", server: "echo", kind: "form" };
    expect(payloads(scene, "mcp.input.requested")).toEqual([{ ...facts, message: "Sure?", schema }]);
    expect(payloads(scene, "mcp.input.resolved")).toEqual([{ ...facts, action: "accept" }]);
    expect(payloads(scene, "mcp.call.started").map(({ round }) => round)).toEqual([1, 2]);
    expect(payloads(scene, "mcp.call.completed")[0]).toMatchObject({ inputRequired: { asks: 1 }, bytes: 7 });
    expect(unbalanced(scene.sink)).toEqual([]);
  });

  it("put several asks at once and send all answers together (C-MRTR-01)", async () => {
    const scene = await callScene({
      asks: { ...accepts, sample: () => sample, roots: () => [{ uri: "file:///a" }] },
    });
    const { call } = await calling(scene);
    const sampling = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };
    call.answer(asksFor({ confirm, sampling, roots: { method: "roots/list" } }));
    expect((await taken(scene, 1)).params).toMatchObject({
      inputResponses: { confirm: accepted, sampling: sample, roots: { roots: [{ uri: "file:///a" }] } },
    });
    expect(payloads(scene, "mcp.input.resolved").map(({ kind, action }) => [kind, action])).toEqual([
      ["form", "accept"],
      ["sampling", "accept"],
      ["roots", "accept"],
    ]);
  });

  it("of a server that only wants patience wait, longer each time (C-MRTR-08)", async () => {
    const scene = await callScene();
    const { outcome, call } = await calling(scene);
    call.answer(asksFor(undefined, "s"));
    await scene.clock.advance(249);
    expect(scene.connect.last.calls).toHaveLength(1);
    await scene.clock.advance(1);
    const second = await taken(scene, 1);
    expect(second.params).toMatchObject({ requestState: "s" });
    expect(second.params).not.toHaveProperty("inputResponses.x");
    second.answer(done(text("")));
    expect((await outcome).status).toBe("completed");
  });

  it("end after eight (C-MRTR-08, A-96)", async () => {
    const scene = await callScene({ asks: accepts });
    const { outcome } = await calling(scene);
    for (let round = 0; round < 8; round++) (await taken(scene, round)).answer(asksFor({ confirm }));
    expect(await outcome).toMatchObject({ status: "failed", error: { reason: "too_many_rounds" } });
    expect(scene.connect.last.calls).toHaveLength(8);
    expect(unbalanced(scene.sink)).toEqual([]);
  });

  it("each have the time of a call anew, and what is left of its maximum", async () => {
    const { asks, answer, asked } = byHand();
    const scene = await callScene({ asks, server: { timeoutMs: 1000, maxTotalMs: 5000 } });
    const { call } = await calling(scene);
    await scene.clock.advance(800);
    call.answer(asksFor({ confirm }));
    await until(() => asked.length === 1);
    await scene.clock.advance(60_000);
    answer("accept");
    expect((await taken(scene, 1)).options).toMatchObject({ timeoutMs: 1000, maxTotalMs: 4200 });
  });

  it.each<[claim: string, asks: HostAsks | undefined, requests: JsonObject]>([
    ["without a handler", undefined, { confirm }],
    ["of a kind that has none", { sample: () => undefined }, { confirm }],
    ["of an unknown method", accepts, { confirm, x: { method: "shell/run" } }],
    ["too many at once", accepts, Object.fromEntries(Array.from({ length: 33 }, (_, at) => [at, confirm]))],
  ])("that cannot be answered end the call, and nobody is asked: %s (C-MRTR-10)", async (_claim, asks, requests) => {
    const scene = await callScene(asks === undefined ? {} : { asks });
    const { outcome, call } = await calling(scene);
    call.answer(asksFor(requests));
    expect(await outcome).toMatchObject({ status: "failed", error: { reason: "invalid_result" } });
    expect(scene.sink.batches).toEqual([STARTED, ["mcp.call.failed", "tool.failed"]]);
    expect(scene.connect.last.calls).toHaveLength(1);
  });

  it("tell a refused form to the server, and end the call where a refusal has no form (C-SAMP-04)", async () => {
    const scene = await callScene({ asks: { form: () => ({ action: "decline" }), sample: () => undefined } });
    const { outcome, call } = await calling(scene);
    call.answer(asksFor({ confirm }));
    const second = await taken(scene, 1);
    expect(second.params).toMatchObject({ inputResponses: { confirm: { action: "decline" } } });
    second.answer(asksFor({ s: { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } } }));
    expect(await outcome).toMatchObject({
      status: "failed",
      error: { code: "ERR_DENIED", reason: "permission_denied" },
    });
    expect(scene.sink.batches.at(-1)).toEqual(["mcp.input.resolved", "tool.failed"]);
    expect(payloads(scene, "tool.failed")).toMatchObject([{ outcome: "answered" }]);
    expect(unbalanced(scene.sink)).toEqual([]);
  });

  it("end with a handler that fails, which is reported", async () => {
    const error = new Error("no screen");
    const scene = await callScene({
      asks: {
        form: () => {
          throw error;
        },
      },
    });
    const { outcome, call } = await calling(scene);
    call.answer(asksFor({ confirm }));
    expect(await outcome).toMatchObject({ status: "failed", error: { reason: "permission_denied" } });
    expect(scene.errors).toEqual([error]);
    expect(payloads(scene, "mcp.input.resolved")).toMatchObject([{ action: "failed" }]);
  });

  it("wait five minutes for a person, and go on without", async () => {
    const { asks, asked } = byHand();
    const scene = await callScene({ asks });
    const { call } = await calling(scene);
    call.answer(asksFor({ confirm }));
    await until(() => asked.length === 1);
    await scene.clock.advance(5 * 60_000);
    expect((await taken(scene, 1)).params).toMatchObject({ inputResponses: { confirm: { action: "cancel" } } });
    expect(asked[0]!.signal.aborted).toBe(true);
    expect(payloads(scene, "mcp.input.resolved")).toMatchObject([{ action: "expired" }]);
  });

  it.each<[claim: string, status: string, end: (scene: CallScene, controller: AbortController) => unknown]>([
    ["by the caller", "cancelled", (_scene, controller) => controller.abort()],
    ["by the end of the session", "failed", (scene) => scene.executor.close()],
  ])("can be ended while a person thinks, %s (C-CANC-01)", async (_claim, status, end) => {
    const { asks, asked } = byHand();
    const scene = await callScene({ asks });
    const controller = new AbortController();
    const { outcome, call } = await calling(scene, { signal: controller.signal });
    call.answer(asksFor({ confirm }));
    await until(() => asked.length === 1);
    void end(scene, controller);
    expect(await outcome).toMatchObject({ status });
    expect(asked[0]!.signal.aborted).toBe(true);
    expect(payloads(scene, "mcp.input.resolved")).toMatchObject([{ action: "withdrawn" }]);
    expect(scene.sink.batches.at(-1)![0]).toBe("mcp.input.resolved");
    expect(unbalanced(scene.sink)).toEqual([]);
  });

  it("can be ended while the server wants patience (C-CANC-01)", async () => {
    const scene = await callScene();
    const controller = new AbortController();
    const { outcome, call } = await calling(scene, { signal: controller.signal });
    call.answer(asksFor(undefined, "s"));
    await settle();
    controller.abort();
    expect((await outcome).status).toBe("cancelled");
    expect(payloads(scene, "tool.cancelled")).toMatchObject([{ outcome: "answered" }]);
  });

  it("No append, no next round", async () => {
    const { asks, asked, answer } = byHand();
    const scene = await callScene({ asks });
    const { outcome, call } = await calling(scene);
    call.answer(asksFor({ confirm }));
    await until(() => asked.length === 1);
    scene.sink.beforeAppend = () => Promise.reject(new HostError("ERR_LOG_POISONED", "Poisoned"));
    answer("accept");
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason: "not_logged" } });
    expect(scene.connect.last.calls).toHaveLength(1);
  });
});

describe("what an older server asks during a call", () => {
  const alone = async (scene: CallScene) => {
    const called = await calling(scene);
    return { ...called, ask: called.call.options.asks as AskAnswerer };
  };
  const never = new AbortController().signal;

  it("goes to the same handler, logged before it is asked and before it is answered", async () => {
    const { asks, answer, asked } = byHand();
    const scene = await callScene({ asks });
    const { outcome, call, ask } = await alone(scene);
    const answered = ask(confirm.method, confirm.params, never);
    await until(() => asked.length === 1);
    expect(scene.sink.batches).toEqual([STARTED, ["mcp.input.requested"]]);
    answer("accept");
    expect(await answered).toEqual(accepted);
    expect(scene.sink.batches).toEqual([STARTED, ["mcp.input.requested"], ["mcp.input.resolved"]]);
    call.answer(done(text("")));
    expect((await outcome).status).toBe("completed");
  });

  it.each<[claim: string, asks: HostAsks, answer: JsonObject]>([
    ["accepted", accepts, accepted],
    ["refused", { form: () => Promise.resolve({ action: "decline" }) }, { action: "decline" }],
    ["held back", { form: () => ({ action: "accept", content: { ok: true, note: SECRET } }) }, { action: "cancel" }],
  ])("for a task is answered as the task's, also when it is %s (C-TASK-06)", async (_claim, asks, answer) => {
    const scene = await callScene({ asks });
    const { ask } = await alone(scene);
    const _meta = { "io.modelcontextprotocol/related-task": { taskId: "t1" } };
    const properties = { ...schema.properties, note: { type: "string" } };
    const params = { message: "Sure?", requestedSchema: { type: "object", properties }, _meta };
    expect(await ask(confirm.method, params, never)).toEqual({ ...answer, _meta });
  });

  it("is closed with its call, before the call", async () => {
    const { asks, asked } = byHand();
    const scene = await callScene({ asks });
    const { outcome, call, ask } = await alone(scene);
    const controller = new AbortController();
    const answered = rejection(ask(confirm.method, confirm.params, controller.signal));
    await until(() => asked.length === 1);
    call.answer(done(text("")));
    controller.abort();
    await answered;
    await outcome;
    expect(scene.sink.batches.flat().slice(-3)).toEqual(["mcp.input.resolved", ...COMPLETED]);
    expect(payloads(scene, "mcp.input.resolved")).toMatchObject([{ action: "withdrawn" }]);
  });

  it("is refused as it would be without a host when it has no usable shape (C-ELIC-13)", async () => {
    const scene = await callScene({ asks: accepts });
    const { ask } = await alone(scene);
    const url = { mode: "url", message: "Go", url: "https://example.com/" };
    expect(await rejection(ask(confirm.method, url, never))).toMatchObject({ code: -32602 });
    expect(scene.sink.batches).toEqual([STARTED]);
  });

  it("is not put to anybody when it cannot be logged", async () => {
    const { asks, asked } = byHand();
    const scene = await callScene({ asks });
    const { ask } = await alone(scene);
    scene.sink.beforeAppend = () => Promise.reject(new HostError("ERR_LOG_POISONED", "Poisoned"));
    expect(await rejection(ask(confirm.method, confirm.params, never))).toMatchObject({ code: "ERR_NOT_LOGGED" });
    expect(asked).toEqual([]);
  });

  it("costs a call nothing where the host has no handlers", async () => {
    const scene = await callScene();
    const { call } = await calling(scene);
    expect(call.options).not.toHaveProperty("asks");
  });
});

describe("addresses that have to be visited first (C-ELIC-16)", () => {
  const wanted = new RemoteError(-32042, "Log in first", {
    elicitations: [{ mode: "url", elicitationId: "e1", url: "https://login.test/", message: "Log in" }],
  });

  it("are shown, and then the same call is sent again (C-ELIC-15)", async () => {
    const shown: string[] = [];
    const scene = await callScene({ asks: { url: ({ url }) => (shown.push(url), { action: "accept" }) } });
    const { outcome, call } = await calling(scene);
    call.answer(failed(wanted, true));
    const second = await taken(scene, 1);
    expect(second.args).toEqual({ message: "hi" });
    expect(second.params).toBeUndefined();
    second.answer(done(text("in")));
    expect(await outcome).toMatchObject({ status: "completed", output: "in" });
    expect(shown).toEqual(["https://login.test/"]);
    expect(scene.sink.batches).toEqual([STARTED, SUSPENDED, NEXT, COMPLETED]);
    expect(payloads(scene, "mcp.input.requested")).toMatchObject([{ kind: "url", urlHost: "login.test" }]);
  });

  it.each<[claim: string, asks: HostAsks]>([
    ["a person says no", { url: () => ({ action: "decline" }) }],
    ["nobody can be asked", accepts],
  ])("end the call with the server's error when %s", async (_claim, asks) => {
    const scene = await callScene({ asks });
    const { outcome, call } = await calling(scene);
    call.answer(failed(wanted, true));
    expect(await outcome).toMatchObject({ status: "failed", error: { code: "-32042", reason: "remote_error" } });
    expect(scene.connect.last.calls).toHaveLength(1);
    expect(unbalanced(scene.sink)).toEqual([]);
  });
});

describe("secrets in asks", () => {
  it.each(["password", "apiKey", "api_key", "user_pin", "access token", "clientSecret"])(
    "a form that asks for %s is declined without asking, with a finding (A-78)",
    async (field) => {
      const scene = await callScene({ asks: { form: () => expect.fail("was asked") } });
      const { call } = await calling(scene);
      const requestedSchema = { type: "object", properties: { [field]: { type: "string" } } };
      call.answer(asksFor({ f: { method: confirm.method, params: { message: "Hi", requestedSchema } } }));
      expect((await taken(scene, 1)).params).toMatchObject({ inputResponses: { f: { action: "decline" } } });
      expect(payloads(scene, "security.finding")).toMatchObject([{ rule: "secret_form", severity: "high" }]);
      expect(payloads(scene, "mcp.input.resolved")).toMatchObject([{ action: "decline", reason: "secret_form" }]);
    },
  );

  it.each<[field: string, shape: object]>([
    ["issue_key", { type: "string" }],
    ["max_tokens", { type: "integer" }],
    ["shipping", { type: "string" }],
  ])("a form that asks for %s is shown", async (field, shape) => {
    const scene = await callScene({ asks: { form: () => ({ action: "cancel" }) } });
    const { call } = await calling(scene);
    const requestedSchema = { type: "object", properties: { [field]: shape } };
    call.answer(asksFor({ f: { method: confirm.method, params: { message: "Hi", requestedSchema } } }));
    expect((await taken(scene, 1)).params).toMatchObject({ inputResponses: { f: { action: "cancel" } } });
  });

  it("an answer that holds a secret of the host is not sent", async () => {
    const properties = { note: { type: "string" } };
    const scene = await callScene({ asks: { form: () => ({ action: "accept", content: { note: SECRET } }) } });
    const { call } = await calling(scene);
    const params = { message: "Hi", requestedSchema: { type: "object", properties } };
    call.answer(asksFor({ f: { method: confirm.method, params } }));
    expect((await taken(scene, 1)).params).toMatchObject({ inputResponses: { f: { action: "cancel" } } });
    expect(payloads(scene, "security.finding")).toMatchObject([{ rule: "secret_in_answer" }]);
    expect(JSON.stringify(scene.sink.events)).not.toContain(SECRET);
  });

  it("texts of a server are scrubbed for handlers and events", async () => {
    const shown: unknown[] = [];
    const scene = await callScene({ asks: { form: (ask) => (shown.push(ask), { action: "cancel" }) } });
    const { call } = await calling(scene);
    const requestedSchema = { type: "object", properties: { a: { type: "string", title: `Is it ${SECRET}` } } };
    call.answer(asksFor({ f: { method: confirm.method, params: { message: `Hi ${SECRET}`, requestedSchema } } }));
    await taken(scene, 1);
    expect(shown).toHaveLength(1);
    expect(JSON.stringify([shown, scene.sink.events])).not.toContain(SECRET);
  });

  it("an address that deceives is shown with its doubts, and is a finding (A-78, C-ELIC-10)", async () => {
    const shown: unknown[] = [];
    const scene = await callScene({ asks: { url: (ask) => (shown.push(ask), { action: "decline" }) } });
    const { call } = await calling(scene);
    const url = "http://bank.test@xn--80ak6aa92e.test/";
    call.answer(asksFor({ u: { method: confirm.method, params: { mode: "url", message: "Pay", url } } }));
    await taken(scene, 1);
    expect(shown).toMatchObject([{
      url,
      host: "xn--80ak6aa92e.test",
      doubts: ["userinfo", "punycode", "not_https"],
    }]);
    expect(payloads(scene, "security.finding")).toMatchObject([{ rule: "deceptive_url", count: 3 }]);
  });
});
