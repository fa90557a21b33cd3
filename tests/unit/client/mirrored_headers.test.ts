import { describe, expect, test } from "vitest";
import { answering } from "../../../src/client/asks.ts";
import type { Reply } from "../../../src/client/reply.ts";
import { requestInRounds } from "../../../src/client/rounds.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import type { JsonObject, Tool } from "../../../src/protocol/model.ts";
import { json } from "../transport/scripted_fetch.ts";
import { type Heard, mirrored, type WebAct, webClient, type WebScene } from "./web_server.ts";

const done = { result: { content: [] } };
const mismatch = (): Response =>
  json({ jsonrpc: "2.0", id: null, error: { code: -32020, message: "headers" } }, { status: 400 });
const tool = (name: string, header: unknown): Tool => ({
  name,
  inputSchema: { type: "object", properties: { a: { type: "string", "x-mcp-header": header } } },
});
const listing = (...tools: Tool[]): WebAct => () => ({ result: { tools } });

/** Calls of `t`, as the server heard them. */
const callsOf = ({ heard }: WebScene): Heard[] => heard.filter(({ method }) => method === "tools/call");

describe("a client over HTTP", () => {
  test("learns from its own list which arguments to repeat: C-HDR-01, C-HDR-13", async () => {
    const scene = await webClient({ "tools/list": listing(tool("t", "Region")), "tools/call": () => done });
    await scene.client.callTool("t", { a: "x" });
    await scene.client.listTools();
    await scene.client.callTool("t", { a: "x" });
    await scene.client.callTool("t", { a: null });
    await scene.client.callTool("t", {});
    await scene.client.callTool("other", { a: "x" });
    expect(callsOf(scene).map(mirrored)).toEqual([{}, { "mcp-param-region": "x" }, {}, {}, {}]);
    expect(callsOf(scene)[2]!.params.arguments, "the body keeps what the header leaves out").toEqual({ a: null });
  });

  test("leaves out of the list what no call could obey, and says which and why: C-HDR-07", async () => {
    const { client } = await webClient({ "tools/list": listing(tool("bad", "a b"), tool("good", "a")) });
    const { tools, malformed } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["good"]);
    expect(malformed).toEqual([{ name: "bad", why: expect.stringContaining('"a b"') }]);
  });

  test("repeats arguments in every round of a request: C-HDR-01", async () => {
    let rounds = 0;
    const scene = await webClient({
      "tools/list": listing(tool("t", "Region")),
      "tools/call": () => rounds++ === 0 ? { result: { resultType: "input_required", requestState: "s" } } : done,
    });
    await scene.client.listTools();
    const running = requestInRounds(scene.client, "tools/call", { name: "t", arguments: { a: "x" } }, {
      asks: answering({}),
      clock: scene.clock,
    });
    await scene.clock.advance(1000);
    expect((await running).kind).toBe("done");
    expect(callsOf(scene).map(mirrored)).toEqual([{ "mcp-param-region": "x" }, { "mcp-param-region": "x" }]);
  });

  test("does not send what a header could not carry exactly: C-HDR-12", async () => {
    const scene = await webClient({ "tools/list": listing(tool("t", "N")), "tools/call": () => done });
    await scene.client.listTools();
    expect(await scene.client.callTool("t", { a: 2 ** 60 })).toMatchObject({
      kind: "failed",
      sent: false,
      error: { code: "ERR_INVALID_ARGUMENTS" },
    });
    expect(callsOf(scene)).toEqual([]);
  });

  test("wraps a tool's name that no header can carry: C-HTTP-07", async () => {
    const scene = await webClient({ "tools/call": () => done });
    await scene.client.callTool("日本語", {});
    expect(callsOf(scene)[0]!.headers["mcp-name"]).toBe("=?base64?5pel5pys6Kqe?=");
  });

  test("names version, method and name as the body does: C-HTTP-03, C-HTTP-04, C-HTTP-05", async () => {
    const { client, heard } = await webClient({});
    await client.callTool("t", {});
    await client.request("resources/read", { uri: "file:///a%20b" });
    await client.request("prompts/get", { name: "p" });
    await client.request("prompts/list", undefined);
    expect(heard.map(({ headers }) => headers["mcp-name"])).toEqual(["t", "file:///a%20b", "p", undefined]);
    for (const { headers, method, params } of heard) {
      expect(headers["mcp-method"]).toBe(method);
      expect(headers["mcp-protocol-version"]).toBe(params._meta?.["io.modelcontextprotocol/protocolVersion"]);
    }
  });
});

describe("headers that do not fit", () => {
  test("are made anew by a new list, and the call goes out once more under another id: C-HTTP-14", async () => {
    const noticed: string[] = [];
    const scene = await webClient({
      "tools/list": listing(tool("t", "Region")),
      "tools/call": (heard) => mirrored(heard)["mcp-param-region"] === "x" ? done : mismatch(),
    }, { onNotification: (method) => void noticed.push(method) });
    expect(await scene.client.callTool("t", { a: "x" })).toMatchObject({ kind: "done", resends: 1 });
    expect(scene.heard.map(({ method }) => method)).toEqual(["tools/call", "tools/list", "tools/call"]);
    const [first, second] = callsOf(scene);
    expect(first!.id).not.toBe(second!.id);
    expect(noticed, "the owner's list is as old").toEqual(["notifications/tools/list_changed"]);
    expect(await scene.client.callTool("t", { a: "x" })).toMatchObject({ kind: "done", resends: 0 });
  });

  test("are not made a third time", async () => {
    const scene = await webClient({ "tools/list": listing(tool("t", "A")), "tools/call": mismatch });
    expect(await scene.client.callTool("t", { a: "x" })).toMatchObject({
      kind: "failed",
      resends: 1,
      error: { code: -32020 },
    });
    expect(callsOf(scene)).toHaveLength(2);
  });

  test("of many calls cost one list", async () => {
    const scene = await webClient({
      "tools/list": listing(tool("t", "Region")),
      "tools/call": (heard) => mirrored(heard)["mcp-param-region"] === undefined ? mismatch() : done,
    });
    const replies = await Promise.all(Array.from({ length: 20 }, () => scene.client.callTool("t", { a: "x" })));
    expect(replies.every(({ kind }) => kind === "done")).toBe(true);
    expect(scene.heard.filter(({ method }) => method === "tools/list")).toHaveLength(1);
  });

  test("stay as they are where no new list can be had: the call failed with what the server said", async () => {
    const scene = await webClient({ "tools/call": mismatch });
    expect(await scene.client.callTool("t", { a: "x" })).toMatchObject({ kind: "failed", error: { code: -32020 } });
    const broken = await webClient({ "tools/call": mismatch, "tools/list": () => ({ result: { tools: 5 } }) });
    expect(await broken.client.callTool("t", { a: "x" })).toMatchObject({ kind: "failed", error: { code: -32020 } });
    expect(callsOf(broken)).toHaveLength(1);
  });

  test("keep nobody who has given up", async () => {
    const controller = new AbortController();
    const scene = await webClient({
      "tools/call": mismatch,
      "tools/list": () => {
        controller.abort();
        return new Promise(() => {});
      },
    });
    expect(await scene.client.callTool("t", {}, { signal: controller.signal })).toMatchObject({
      kind: "failed",
      error: { code: "ERR_CANCELLED" },
    });
  });

  test("share the time of the call, which runs out as any does", async () => {
    const scene = await webClient({ "tools/call": mismatch, "tools/list": () => new Promise(() => {}) });
    const calling = scene.client.callTool("t", {}, { maxTotalMs: 500 });
    await scene.clock.advance(1000);
    expect(await calling).toMatchObject({ kind: "failed", error: { code: "ERR_TIMEOUT" } });
  });

  test.each([["another method", "prompts/list"], ["a code that means nothing here", "tools/call"]])(
    "are no reason for a list after %s",
    async (_claim, method) => {
      const code = method === "tools/call" ? -32001 : -32020;
      const scene = await webClient({
        [method]: () => json({ jsonrpc: "2.0", id: 1, error: { code, message: "x" } }, { status: 400 }),
      });
      expect(await scene.client.request(method, { name: "t" })).toMatchObject({ kind: "failed", error: { code } });
      expect(scene.heard).toHaveLength(1);
    },
  );
});

describe("a request that is too large for its server", () => {
  const rows: [status: number, what: string][] = [[413, "its body is too large"], [431, "its headers are too large"]];
  test.each(rows)("fails with the headers that repeat arguments, after status %s: C-HTTP-15", async (status, what) => {
    const scene = await webClient({
      "tools/list": listing(tool("t", "Region")),
      "tools/call": () => new Response("no", { status }),
    });
    await scene.client.listTools();
    const reply = await scene.client.callTool("t", { a: "x".repeat(9000) }) as Reply & { kind: "failed" };
    expect(reply.error).toMatchObject({ code: "ERR_TOO_LARGE", facts: { status, mirrored: ["mcp-param-region"] } });
    expect(reply.error.message).toContain(what);
    expect(reply.error.message).toContain("mcp-param-region has 9000 characters");
    expect(reply.error.message).not.toContain("xxx");
    expect(await scene.client.callTool("plain", {})).toMatchObject({
      error: { code: "ERR_TOO_LARGE", message: expect.not.stringContaining("mcp-param") },
    });
  });

  test("whose server answers in JSON-RPC fails with that answer", async () => {
    const error = { code: -32602, message: "too long" };
    const scene = await webClient({ "tools/call": () => json({ jsonrpc: "2.0", id: 1, error }, { status: 413 }) });
    expect(await scene.client.callTool("t", {})).toMatchObject({ error: { code: -32602 } });
  });
});

describe("an error in JSON-RPC", () => {
  test.each([200, 400, 404, 405, 409, 422, 500, 503])("is read at status %s: C-HTTP-16", async (status) => {
    const error = { code: -32602, message: "Unknown tool: t", data: { x: 1 } };
    const scene = await webClient({
      "tools/call": ({ id }) => json({ jsonrpc: "2.0", id, error } as JsonObject, { status }),
    });
    expect(await scene.client.callTool("t", {})).toMatchObject({ kind: "failed", error });
  });
});

describe("a request that may go out once more", () => {
  test("does not where its caller finds something in the way, and fails with that", async () => {
    const scene = await webClient({ "tools/list": listing(tool("t", "Region")), "tools/call": mismatch });
    const inTheWay = new HostError("ERR_TOOL_NOT_FOUND", "Tool has changed");
    const refusals: unknown[] = [];
    const heardBefore: string[][] = [];
    const reply = await scene.client.callTool("t", { a: "x" }, {
      beforeResend: (refusal) => {
        refusals.push(refusal);
        heardBefore.push(scene.heard.map(({ method }) => method));
        return Promise.resolve(inTheWay);
      },
    });
    expect(reply).toMatchObject({ kind: "failed", sent: true, refused: true, error: inTheWay });
    expect(refusals).toMatchObject([{ code: -32020 }]);
    expect(heardBefore, "asked once the headers can be made anew").toEqual([["tools/call", "tools/list"]]);
    expect(callsOf(scene)).toHaveLength(1);
  });

  test("does where nothing is in the way", async () => {
    const scene = await webClient({
      "tools/list": listing(tool("t", "Region")),
      "tools/call": (heard) => mirrored(heard)["mcp-param-region"] === "x" ? done : mismatch(),
    });
    const reply = await scene.client.callTool("t", { a: "x" }, { beforeResend: () => Promise.resolve(undefined) });
    expect(reply).toMatchObject({ kind: "done", resends: 1 });
  });
});
