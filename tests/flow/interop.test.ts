import { join } from "node:path";
import process from "node:process";
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterEach, describe, expect, test } from "vitest";
import { nodeRuntime } from "../../runtimes/node/mod.ts";
import {
  answering,
  type Client,
  connectClient,
  type Dialer,
  httpDialer,
  isHostError,
  isRemoteError,
  type Progress,
  requestInRounds,
  stdioDialer,
  systemClock as clock,
  type WarningKind,
} from "../../src/client/mod.ts";
import { startHttpServer } from "../fixtures/http_server.mjs";
import { type OfficialHttp, startOfficialHttp } from "../fixtures/official_servers.mjs";

const { spawn, fetch } = nodeRuntime();
const fixture = (name: string): string => join(import.meta.dirname, "..", "fixtures", name);
const env = { PATH: process.env["PATH"] ?? "" };

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** Whoever is closed later stands earlier. */
function closedLater<T extends { close(): Promise<unknown> }>(opened: T): T {
  closing.push(() => opened.close());
  return opened;
}

describe("our client and servers of the official packages", { timeout: 60_000 }, () => {
  const stdio = (kind: string) => (): Promise<Dialer> =>
    Promise.resolve(
      stdioDialer({
        spawn: spawn!,
        command: process.execPath,
        args: [fixture("official_servers.mjs"), kind],
        env,
        clock,
      }),
    );
  const http = (kind: OfficialHttp) => async (): Promise<Dialer> =>
    httpDialer({ url: closedLater(await startOfficialHttp(kind)).url, fetch, clock });

  const rows: [name: string, dial: () => Promise<Dialer>, version: string, pin?: string][] = [
    ["v1 over stdio", stdio("v1"), "2025-11-25"],
    ["v1 over stdio, pinned to an old revision", stdio("v1"), "2024-11-05", "2024-11-05"],
    ["v1 over HTTP with sessions", http("v1"), "2025-11-25"],
    ["v1 over HTTP with JSON answers", http("v1-json"), "2025-11-25"],
    ["v1 over HTTP without sessions", http("v1-stateless"), "2025-11-25"],
    ["v2 over stdio", stdio("v2"), "2026-07-28"],
    ["v2 over stdio, pinned to a legacy revision", stdio("v2"), "2025-11-25", "2025-11-25"],
    ["v2 over HTTP", http("v2"), "2026-07-28"],
    ["v2 over HTTP, pinned to a legacy revision", http("v2"), "2025-11-25", "2025-11-25"],
  ];

  describe.each(rows)("%s", (name, dial, protocolVersion, pin) => {
    const warnings: WarningKind[] = [];
    async function connect(): Promise<Client> {
      warnings.length = 0;
      const options = { dialer: await dial(), onWarning: (kind: WarningKind) => void warnings.push(kind) };
      return closedLater(await connectClient(pin === undefined ? options : { ...options, pin }));
    }

    test("client agrees on a revision, lists and calls", async () => {
      const client = await connect();
      expect(client.facts.protocolVersion).toBe(protocolVersion);
      expect(client.facts.serverInfo?.version).toBe("1.0.0");
      const { tools, malformed } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(["survey", "echo", "add", "fail", "steps", "wait", "cancelled"]);
      expect(malformed).toEqual([]);
      expect(await client.callTool("echo", { message: "é\n" })).toMatchObject({
        kind: "done",
        result: { content: [{ type: "text", text: "é\n" }] },
      });
      expect(await client.callTool("add", { a: 1, b: 2 })).toMatchObject({
        kind: "done",
        result: { structuredContent: { sum: 3 } },
      });
      expect(warnings).toEqual([]);
    });

    test("client tells a tool that fails from a request that fails", async () => {
      const client = await connect();
      expect(await client.callTool("fail", {})).toMatchObject({ kind: "done", result: { isError: true } });
      const unknown = await client.request("x/unknown", {});
      expect(unknown.kind === "failed" && isRemoteError(unknown.error) && unknown.error.code).toBe(-32601);
      expect(warnings).toEqual([]);
    });

    test("calls at once get each its own answer", async () => {
      const client = await connect();
      const messages = Array.from({ length: 20 }, (_, index) => `message ${index}`);
      const replies = await Promise.all(messages.map((message) => client.callTool("echo", { message })));
      expect(replies.map((reply) => reply.kind === "done" && (reply.result["content"] as { text: string }[])[0]!.text))
        .toEqual(messages);
    });

    test("progress is reported where there is a stream for it, and a call can be cancelled", async () => {
      const client = await connect();
      const reports: Progress[] = [];
      const steps = await client.callTool("steps", {}, { onProgress: (progress) => void reports.push(progress) });
      expect(steps.kind).toBe("done");
      const withoutStream = name.includes("JSON");
      expect(reports.map(({ progress }) => progress)).toEqual(withoutStream ? [] : [1, 2, 3]);

      const controller = new AbortController();
      const waiting = client.callTool("wait", {}, { signal: controller.signal });
      controller.abort();
      const reply = await waiting;
      expect(reply.kind === "failed" && isHostError(reply.error, "ERR_CANCELLED")).toBe(true);
      expect((await client.callTool("echo", { message: "still there" })).kind).toBe("done");
    });
  });

  // Where every POST has a server of its own, or no stream, a server of the older era cannot ask.
  test.each(rows.filter(([name]) => !/JSON|without sessions|v2 over HTTP, pinned/.test(name)))(
    "%s: what the server asks during a call is answered",
    async (_name, dial, _version, pin) => {
      const asks = answering({
        form: ({ message }) => ({ action: "accept", content: { name: `Ada, asked ${JSON.stringify(message)}` } }),
        sample: ({ maxTokens }) => ({
          role: "assistant",
          content: { type: "text", text: `at most ${maxTokens}` },
          model: "none",
        }),
        roots: () => [{ uri: "file:///place", name: "place" }],
      });
      const options = { dialer: await dial(), asks };
      const client = closedLater(await connectClient(pin === undefined ? options : { ...options, pin }));
      const reply = await requestInRounds(client, "tools/call", { name: "survey", arguments: {} }, { asks });
      expect(reply.kind === "failed" ? reply.error : reply).toMatchObject({ kind: "done" });
      const [block] = reply.kind === "done" ? reply.result["content"] as { text: string }[] : [];
      expect(JSON.parse(block!.text)).toEqual([
        "accept",
        { name: 'Ada, asked "Who are you?"', age: 36 },
        "at most 10",
        ["file:///place"],
      ]);
    },
  );

  test.each([["v1 over stdio", stdio("v1")], ["v1 over HTTP", http("v1")], ["v2 over stdio", stdio("v2")], [
    "v2 over HTTP",
    http("v2"),
  ]])("%s learns of a cancelled call", async (_name, dial) => {
    const client = closedLater(await connectClient({ dialer: await dial() }));
    const countOf = async (): Promise<number> => {
      const reply = await client.callTool("cancelled", {});
      return Number(reply.kind === "done" && (reply.result["content"] as { text: string }[])[0]!.text);
    };
    const before = await countOf();
    const controller = new AbortController();
    // It reports that it has begun.
    await client.callTool("wait", {}, { signal: controller.signal, onProgress: () => controller.abort() });
    let count = before;
    // The notice and the question are two messages, which may overtake one another.
    for (let questions = 0; count === before && questions < 200; questions++) count = await countOf();
    expect(count).toBe(before + 1);
  });
});

describe("official clients and our test servers", { timeout: 60_000 }, () => {
  interface Official {
    listTools(): Promise<{ tools: { name: string }[] }>;
    callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<Record<string, unknown>>;
    close(): Promise<void>;
  }
  type Era = "legacy" | "modern" | "dual";
  const me = { name: "interop", version: "1.0.0" };
  const pipe = (era: Era) => ({
    command: process.execPath,
    args: [fixture("stdio_server.mjs"), `--era=${era}`],
    env,
    stderr: "ignore" as const,
  });

  async function v1Stdio(era: Era): Promise<Official> {
    const client = new ClientV1(me);
    await client.connect(new StdioV1(pipe(era)));
    return client;
  }
  async function v1Http(url: string): Promise<Official> {
    const client = new ClientV1(me);
    await client.connect(new HttpV1(new URL(url)));
    return client;
  }
  async function v2(mode: "auto" | "legacy", transport: StdioV2 | HttpV2): Promise<Official> {
    const client = new ClientV2(me, { versionNegotiation: { mode } });
    await client.connect(transport);
    return client;
  }

  const overHttp = (
    open: (url: string) => Promise<Official>,
    era: Era,
    options: { readonly answer?: "sse"; readonly sessionless?: true } = {},
  ) =>
  async (): Promise<Official> => await open(closedLater(await startHttpServer({ era, ...options })).url);
  const auto = (url: string): Promise<Official> => v2("auto", new HttpV2(new URL(url)));
  const old = (url: string): Promise<Official> => v2("legacy", new HttpV2(new URL(url)));

  const rows: [name: string, open: () => Promise<Official>][] = [
    ["v1 and the legacy pipe", () => v1Stdio("legacy")],
    ["v1 and the pipe of both eras", () => v1Stdio("dual")],
    ["v1 and legacy HTTP", overHttp(v1Http, "legacy")],
    ["v1 and legacy HTTP with streams", overHttp(v1Http, "legacy", { answer: "sse" })],
    ["v1 and legacy HTTP without sessions", overHttp(v1Http, "legacy", { sessionless: true })],
    ["v1 and HTTP of both eras", overHttp(v1Http, "dual")],
    ["v2 and the legacy pipe", () => v2("auto", new StdioV2(pipe("legacy")))],
    ["v2 and the modern pipe", () => v2("auto", new StdioV2(pipe("modern")))],
    ["v2 and the pipe of both eras", () => v2("auto", new StdioV2(pipe("dual")))],
    ["v2 that is bound to the legacy era, and the pipe of both eras", () => v2("legacy", new StdioV2(pipe("dual")))],
    ["v2 and legacy HTTP", overHttp(auto, "legacy")],
    ["v2 and modern HTTP", overHttp(auto, "modern")],
    ["v2 and modern HTTP with streams", overHttp(auto, "modern", { answer: "sse" })],
    ["v2 and HTTP of both eras", overHttp(auto, "dual")],
    ["v2 that is bound to the legacy era, and HTTP of both eras", overHttp(old, "dual")],
  ];

  test.each(rows)("%s understand each other", async (_name, open) => {
    const client = closedLater(await open());
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain("echo");
    expect(await client.callTool({ name: "echo", arguments: { message: "é" } })).toMatchObject({
      content: [{ type: "text", text: "é" }],
    });
    expect(await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })).toMatchObject({
      structuredContent: { sum: 3 },
    });
    expect(await client.callTool({ name: "fail", arguments: {} })).toMatchObject({ isError: true });
    await expect(client.callTool({ name: "rpc_error", arguments: { code: -32000 } })).rejects.toMatchObject({
      code: -32000,
    });
  });
});
