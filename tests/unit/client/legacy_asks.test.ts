import { describe, expect, test } from "vitest";
import { answering } from "../../../src/client/asks.ts";
import type { Client, ConnectOptions } from "../../../src/client/client.ts";
import { connectClient } from "../../../src/client/connect.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { memoryDialer } from "../../../src/transport/memory.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";

interface Conversation {
  readonly client: Client;
  readonly clock: FakeClock;
  /** What the server has heard, but for the handshake. */
  readonly heard: JsonObject[];
  readonly declared: unknown;
  readonly warnings: string[];
  readonly errors: unknown[];
  /** Says something as the server. */
  say(message: JsonObject): void;
}

/** Connects to a server of 2025-11-25 that a test plays by hand; `greeting` comes right after the handshake. */
async function converse(options: Partial<ConnectOptions>, greeting?: JsonObject): Promise<Conversation> {
  const clock = new FakeClock();
  const heard: JsonObject[] = [];
  const warnings: string[] = [];
  const errors: unknown[] = [];
  let declared: unknown;
  let send: (message: unknown) => void = () => {};
  const dialer = memoryDialer((connection) => {
    send = (message) => connection.send(message);
    return {
      onMessage: (message) => {
        const { method, id, params } = message as { method?: string; id?: unknown; params?: JsonObject };
        if (method === "initialize") {
          declared = params!["capabilities"];
          const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "s", version: "1" } };
          return connection.send({ jsonrpc: "2.0", id, result });
        }
        if (method !== "notifications/initialized") return void heard.push(message);
        if (greeting !== undefined) connection.send(greeting);
      },
    };
  });
  const client = await connectClient({
    dialer,
    clock,
    pin: "2025-11-25",
    onWarning: (kind) => void warnings.push(kind),
    onError: (error) => void errors.push(error),
    ...options,
  });
  await settle();
  return { client, clock, heard, declared, warnings, errors, say: (message) => send({ jsonrpc: "2.0", ...message }) };
}

const form = {
  method: "elicitation/create",
  params: {
    message: "Sure?",
    requestedSchema: { type: "object", properties: { ok: { type: "boolean", default: true } } },
  },
};
const accepts = answering({ form: () => ({ action: "accept" }) });
const accepted = { action: "accept", content: { ok: true } };
const answers = ({ heard }: Conversation): unknown[] => heard.filter(({ method }) => method === undefined);

describe("handlers of a connection", () => {
  test("are declared, together with what was declared by hand (C-ELIC-01, C-SAMP-01, C-ROOT-01)", async () => {
    const { declared } = await converse({
      asks: answering({
        form: () => ({ action: "cancel" }),
        sample: () => undefined,
        sampleTools: true,
        roots: () => [],
      }),
      capabilities: { sampling: { context: {} }, experimental: { x: {} } },
    });
    expect(declared).toEqual({
      elicitation: { form: {} },
      sampling: { tools: {}, context: {} },
      roots: {},
      experimental: { x: {} },
    });
  });

  test("are none by default, and nothing is declared then (C-LIFE-06)", async () => {
    const conversation = await converse({});
    expect(conversation.declared).toEqual({});
    void conversation.client.callTool("t", {});
    conversation.say({ id: 1, ...form });
    conversation.say({ id: 2, method: "roots/list" });
    await settle();
    expect(answers(conversation)).toMatchObject([1, 2].map((id) => ({ id, error: { code: -32601 } })));
  });

  test.each(["tools/call", "resources/read", "prompts/get"])("answer what is asked during %s", async (method) => {
    const conversation = await converse({ asks: accepts });
    void conversation.client.request(method, {});
    conversation.say({ id: "q", ...form });
    await settle();
    expect(answers(conversation)).toEqual([{ jsonrpc: "2.0", id: "q", result: accepted }]);
  });

  test("are not asked while no such request is in flight (A-99)", async () => {
    const conversation = await converse({ asks: accepts });
    void conversation.client.request("tools/list", undefined);
    conversation.say({ id: "q", ...form });
    await settle();
    expect(answers(conversation)).toMatchObject([{ id: "q", error: { code: -32600 } }]);
    expect(conversation.warnings).toEqual(["misdirected_ask"]);
  });

  test("give roots as soon as the server asks, also right after the handshake (C-ROOT-01)", async () => {
    const roots = [{ uri: "file:///project", name: "project" }];
    const conversation = await converse({ asks: answering({ roots: () => roots }) }, {
      jsonrpc: "2.0",
      id: 0,
      method: "roots/list",
    });
    expect(answers(conversation)).toEqual([{ jsonrpc: "2.0", id: 0, result: { roots } }]);
    expect(conversation.warnings).toEqual([]);
  });

  test("that fail leave the connection alone and are reported (C-ROOT-03)", async () => {
    const error = new Error("disk");
    const conversation = await converse({
      asks: answering({
        roots: () => {
          throw error;
        },
      }),
    });
    conversation.say({ id: 1, method: "roots/list" });
    await settle();
    expect(answers(conversation)).toMatchObject([{ id: 1, error: { code: -32603, message: "Internal error" } }]);
    expect(conversation.errors).toEqual([error]);
    expect(conversation.client.isOpen).toBe(true);
  });

  test("are not asked in a mode that has none (C-ELIC-02, C-ELIC-13)", async () => {
    const conversation = await converse({ asks: accepts });
    void conversation.client.callTool("t", {});
    conversation.say({
      id: 1,
      method: "elicitation/create",
      params: { mode: "url", message: "Go", url: "https://example.com/", elicitationId: "e" },
    });
    await settle();
    expect(answers(conversation)).toMatchObject([{ id: 1, error: { code: -32602 } }]);
  });
});

describe("client that is asked", () => {
  test("tells no progress of its own, whatever token it is given (C-PROG-02)", async () => {
    let answer: (value: { action: "decline" }) => void = () => {};
    const asks = answering({ form: () => new Promise((resolve) => answer = resolve) });
    const conversation = await converse({ asks });
    void conversation.client.callTool("t", {});
    conversation.say({ id: 1, ...form, params: { ...form.params, _meta: { progressToken: "p" } } });
    await settle();
    await conversation.clock.advance(50_000);
    answer({ action: "decline" });
    await settle();
    expect(answers(conversation)).toMatchObject([{ id: 1, result: { action: "decline" } }]);
    expect(conversation.heard.map(({ method }) => method)).toEqual(["tools/call", undefined]);
  });

  test("hosts no tasks: it declares none, answers what wants one at once, and knows no method of theirs (C-TASK-07)", async () => {
    const sample = { role: "assistant", content: { type: "text", text: "x" }, model: "m" };
    const asks = answering({ form: () => ({ action: "accept" }), sample: () => sample, roots: () => [] });
    const conversation = await converse({ asks });
    expect(conversation.declared).not.toHaveProperty("tasks");
    void conversation.client.callTool("t", {});
    const task = { ttl: 60_000 };
    const sampling = { messages: [], maxTokens: 1, task };
    conversation.say({ id: "form", ...form, params: { ...form.params, task } });
    conversation.say({ id: "sample", method: "sampling/createMessage", params: sampling });
    const methods = ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"];
    for (const method of methods) conversation.say({ id: method, method, params: { taskId: "t1" } });
    await settle();
    const byId = new Map(conversation.heard.map((message) => [message["id"], message]));
    expect(byId.get("form")!["result"]).toEqual(accepted);
    expect(byId.get("sample")!["result"]).toEqual(sample);
    for (const method of methods) expect(byId.get(method)).toMatchObject({ error: { code: -32601 } });
    expect(conversation.heard.filter(({ method }) => method === "notifications/tasks/status")).toEqual([]);
  });

  test("leaves the word that an address is done with to its owner, and does nothing about one that nobody knows (C-ELIC-14)", async () => {
    const told: [string, unknown][] = [];
    const conversation = await converse({
      asks: answering({ url: () => ({ action: "accept" }) }),
      onNotification: (method, params) => void told.push([method, params]),
    });
    const call = conversation.client.callTool("t", {});
    const complete = { method: "notifications/elicitation/complete", params: { elicitationId: "e1" } };
    const url = { mode: "url", message: "Go", url: "https://example.com/", elicitationId: "e1" };
    const unusable = [undefined, {}, { elicitationId: 7 }, { elicitationId: "__proto__" }];
    conversation.say(complete);
    conversation.say({ id: 1, method: "elicitation/create", params: url });
    await settle();
    for (const params of unusable) conversation.say({ method: complete.method, params });
    conversation.say(complete);
    conversation.say(complete);
    await settle();
    expect(answers(conversation)).toMatchObject([{ id: 1, result: { action: "accept" } }]);
    expect(conversation.heard).toHaveLength(2);
    expect([conversation.warnings, conversation.errors, conversation.client.isOpen]).toEqual([[], [], true]);
    expect(told).toHaveLength(3 + unusable.length);
    conversation.say({ id: conversation.heard[0]!["id"], result: { content: [] } });
    expect(await call).toMatchObject({ kind: "done" });
  });
});

describe("handlers of a request", () => {
  test("stand in for those of the connection, for this request alone", async () => {
    const conversation = await converse({ asks: accepts });
    const declines = answering({ form: () => ({ action: "decline" }) });
    void conversation.client.callTool("t", {}, { asks: declines });
    conversation.say({ id: 1, ...form });
    await settle();
    expect(answers(conversation)).toEqual([{ jsonrpc: "2.0", id: 1, result: { action: "decline" } }]);
  });

  test("are of no use on a connection that takes no asks: the request fails before it is sent", async () => {
    const conversation = await converse({});
    expect(await conversation.client.callTool("t", {}, { asks: accepts })).toMatchObject({
      kind: "failed",
      sent: false,
      error: { code: "ERR_INVALID_ARGUMENTS", message: expect.stringContaining("opened without asks") },
    });
  });

  test("keep two calls on one pipe from being told apart: neither is asked (A-99)", async () => {
    const conversation = await converse({ asks: accepts });
    void conversation.client.callTool("t", {}, { asks: accepts });
    void conversation.client.callTool("t", {});
    conversation.say({ id: 1, ...form });
    await settle();
    expect(answers(conversation)).toMatchObject([{ id: 1, error: { code: -32600 } }]);
  });

  test("may take longer than the request itself", async () => {
    let answer: (value: { action: "decline" }) => void = () => {};
    const conversation = await converse({
      asks: answering({ form: () => new Promise((resolve) => answer = resolve) }),
    });
    const call = conversation.client.callTool("t", {}, { timeoutMs: 1000, maxTotalMs: 2000 });
    await settle();
    conversation.say({ id: 1, ...form });
    await conversation.clock.advance(600_000);
    answer({ action: "decline" });
    await settle();
    conversation.say({ id: conversation.heard[0]!["id"], result: { content: [] } });
    expect(await call).toMatchObject({ kind: "done" });
    await conversation.client.close();
    expect(conversation.clock.timers).toBe(0);
  });
});
