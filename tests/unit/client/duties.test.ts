import { describe, expect, test } from "vitest";
import { answerAsk, answering } from "../../../src/client/asks.ts";
import type { Client, ConnectOptions } from "../../../src/client/client.ts";
import { connectClient } from "../../../src/client/connect.ts";
import { requestInRounds } from "../../../src/client/rounds.ts";
import { isRemoteError } from "../../../src/kernel/errors.ts";
import type { JsonObject } from "../../../src/kernel/json.ts";
import type { ProcessHandlers } from "../../../src/kernel/runtime.ts";
import type { VerdictCache } from "../../../src/protocol/negotiate.ts";
import { httpDialer } from "../../../src/transport/http.ts";
import { type MemoryConnection, memoryDialer } from "../../../src/transport/memory.ts";
import { stdioDialer } from "../../../src/transport/stdio.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { events, type Fetched, json, result, scriptedFetch } from "../transport/scripted_fetch.ts";

/** Duties that no single part of the library has: what is seen of a whole client from the other end. */

type Message = Readonly<Record<string, unknown>> & { readonly method?: string; readonly params?: JsonObject };
type Era = "legacy" | "modern";

const META = "io.modelcontextprotocol/";
const FACTS = { capabilities: { tools: {} }, supportedVersions: ["2026-07-28"], protocolVersion: "2025-06-18" };

/** A memory of earlier contacts that leads straight to the handshake. */
function olderServer(clock: FakeClock): VerdictCache {
  return {
    get: () => ({ era: "legacy", protocolVersion: "2025-11-25", at: clock.now() }),
    set: () => {},
    delete: () => {},
  };
}

/** What a server answers to a request, by its method; `undefined` for silence. */
type Answers = (message: Message) => object | undefined;
const plain: Answers = ({ method }) => ({
  result: method === "tools/list" ? { tools: [] } : { content: [], ...FACTS },
});

interface Scene {
  readonly clock: FakeClock;
  /** All that the client has sent. */
  readonly sent: Message[];
  readonly connection: () => MemoryConnection;
  readonly opening: Promise<Client>;
}

/** A client and a server in memory that has answers. */
function begin(era: Era, answers: Answers = plain, options: Partial<ConnectOptions> = {}): Scene {
  const clock = new FakeClock();
  const sent: Message[] = [];
  let connection: MemoryConnection | undefined;
  const dialer = memoryDialer((made) => {
    connection = made;
    return {
      onMessage: (message) => {
        sent.push(message);
        const answer = message["id"] === undefined || message["method"] === undefined ? undefined : answers(message);
        if (answer !== undefined) made.send({ jsonrpc: "2.0", id: message["id"], ...answer });
      },
    };
  });
  const older = era === "legacy" ? { verdicts: olderServer(clock) } : {};
  return {
    clock,
    sent,
    connection: () => connection!,
    opening: connectClient({ dialer, clock, ...older, ...options }),
  };
}

describe("handshake of a client", () => {
  test("begins with initialize in the newest older revision, and nothing follows before the answer (C-LIFE-01, C-LIFE-02, C-LIFE-04, C-RPC-09)", async () => {
    const clientInfo = { name: "me", version: "1" };
    let answer = (): void => {};
    const { sent, connection, opening } = begin("legacy", (message) => {
      if (message.method !== "initialize") return plain(message);
      answer = () => connection().send({ jsonrpc: "2.0", id: message["id"], result: FACTS });
      return undefined;
    }, { clientInfo });
    await settle();
    expect(sent).toEqual([{
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: expect.objectContaining({ protocolVersion: "2025-11-25", capabilities: {}, clientInfo }),
    }]);
    answer();
    const client = await opening;
    expect(sent.map(({ method }) => method)).toEqual(["initialize", "notifications/initialized"]);
    expect(client.facts.protocolVersion).toBe("2025-06-18");
  });

  test("that is given up is not cancelled on the wire (C-CANC-02)", async () => {
    const controller = new AbortController();
    const { sent, opening } = begin("legacy", () => undefined, { signal: controller.signal });
    const failed = expect(opening).rejects.toMatchObject({ code: "ERR_CANCELLED" });
    await settle();
    controller.abort();
    await failed;
    expect(sent.map(({ method }) => method)).toEqual(["initialize"]);
  });
});

describe.each(["legacy", "modern"] as const)("client in the %s era", (era) => {
  test("never answers a notification (C-RPC-06)", async () => {
    const { sent, connection, opening } = begin(era);
    await opening;
    const { length } = sent;
    for (const method of ["notifications/message", "notifications/progress", "notifications/cancelled", "x", "ping"]) {
      connection().send({ jsonrpc: "2.0", method, params: {} });
    }
    await settle();
    expect(sent).toHaveLength(length);
  });

  test("takes no error code of the older range for more than a failure of its request (C-RPC-13)", async () => {
    let code = -32_000;
    const { sent, opening } = begin(
      era,
      (message) => message.method === "tools/call" ? { error: { code: code--, message: "no" } } : plain(message),
    );
    const client = await opening;
    const { length } = sent;
    for (let wanted = -32_000; wanted > -32_020; wanted--) {
      const reply = await client.callTool("t", {});
      expect(reply.kind === "failed" && isRemoteError(reply.error) && reply.error.code).toBe(wanted);
    }
    expect([sent.length, client.isOpen]).toEqual([length + 20, true]);
  });

  test("does the same whatever a server says of itself (C-META-03)", async () => {
    const seen = [];
    for (const serverInfo of [undefined, { name: "evil", version: "9" }, { name: "portcullis", version: "0.1.0" }]) {
      const about = { serverInfo, _meta: { [`${META}serverInfo`]: serverInfo } };
      const { sent, opening } = begin(era, () => ({ result: { ...FACTS, tools: [], content: [], ...about } }));
      const client = await opening;
      await client.listTools();
      await client.callTool("t", {});
      seen.push(sent);
    }
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[2]).toEqual(seen[0]);
  });
});

describe("client in the modern era", () => {
  test("uses no method that the revision has taken away, whatever it is made to do (C-VER-14)", async () => {
    const { sent, clock, opening } = begin(
      "modern",
      (message) => message.params?.["name"] === "slow" ? undefined : plain(message),
    );
    const client = await opening;
    await client.listTools();
    const controller = new AbortController();
    const slow = client.callTool("slow", {}, { signal: controller.signal });
    await settle();
    controller.abort();
    await slow;
    await clock.advance(300_000);
    await client.close();
    const methods = new Set(sent.map(({ method }) => method));
    for (
      const method of ["initialize", "notifications/initialized", "ping", "logging/setLevel", "resources/subscribe"]
    ) expect(methods).not.toContain(method);
  });

  test("declares with every request what there are handlers for (C-META-06)", async () => {
    const asks = answering({ form: () => ({ action: "cancel" }), sample: () => undefined, roots: () => [] });
    const { sent, opening } = begin("modern", plain, { asks });
    const client = await opening;
    await client.listTools();
    await client.callTool("t", {});
    expect(sent).toHaveLength(3);
    for (const { params } of sent) {
      const meta = params?.["_meta"] as JsonObject;
      expect(meta[`${META}clientCapabilities`]).toEqual({ elicitation: { form: {} }, sampling: {}, roots: {} });
    }
  });

  test.each(['{"a":1}', "", " x ", "\u0000é😀\u2028", "=?base64?eA==?=", "x".repeat(60_000)])(
    "gives a state back as it came, and looks into none (C-MRTR-03): %#",
    async (requestState) => {
      let round = 0;
      const { sent, opening } = begin("modern", (message) => {
        if (message.method !== "tools/call" || round++ > 0) return plain(message);
        const inputRequests = { a: { method: "roots/list", params: {} } };
        return { result: { resultType: "input_required", inputRequests, requestState } };
      }, { asks: answering({ roots: () => [] }) });
      const client = await opening;
      await requestInRounds(client, "tools/call", { name: "t" }, { asks: answering({ roots: () => [] }) });
      expect(sent.at(-1)?.params).toMatchObject({ requestState, inputResponses: { a: { roots: [] } } });
    },
  );
});

describe("what a server asks", () => {
  test("is refused with codes of the specification alone (C-RPC-14, C-RPC-15)", async () => {
    const asks = answering({
      form: () => ({ action: "cancel" }),
      sample: () => undefined,
      roots: () => {
        throw new Error("broken");
      },
    });
    const { sent, connection, opening } = begin(
      "legacy",
      (message) => message.method === "tools/call" ? undefined : plain(message),
      { asks },
    );
    const client = await opening;
    void client.callTool("t", {});
    await settle();
    const questions = [
      ["x", {}],
      ["tools/call", {}],
      ["roots/list", {}],
      ["elicitation/create", {}],
      ["elicitation/create", { mode: "url", message: "m", url: "https://x.test/" }],
      ["sampling/createMessage", {}],
      ["sampling/createMessage", { messages: [], maxTokens: 1 }],
    ] as const;
    for (const [at, [method, params]] of questions.entries()) {
      connection().send({ jsonrpc: "2.0", id: `q${at}`, method, params });
    }
    await settle();
    const codes = sent.map((message) => (message["error"] as { code: number } | undefined)?.code);
    const refused = codes.filter((code) => code !== undefined);
    expect(refused).toHaveLength(questions.length);
    for (const code of refused) expect([-32_600, -32_601, -32_602, -32_603, -1]).toContain(code);
    await client.close();
  });

  test.each(["decline", "cancel"] as const)("in a form can be answered with %s (C-ELIC-04)", async (action) => {
    const params = { message: "?", requestedSchema: { type: "object", properties: { a: { type: "string" } } } };
    const context = { signal: new AbortController().signal };
    expect(await answerAsk({ form: () => ({ action }) }, "elicitation/create", params, context)).toEqual({ action });
  });
});

describe("client over stdio", () => {
  test("writes nothing but messages, one a line, and takes standard error for no error (C-STDIO-02, C-STDIO-03)", async () => {
    const clock = new FakeClock();
    let written = "";
    const dialer = stdioDialer({
      command: "x",
      clock,
      spawn: (_plan, handlers) => Promise.resolve(talkingChild(handlers, (text) => written += text)),
    });
    const client = await connectClient({ dialer, clock, verdicts: olderServer(clock) });
    expect((await client.callTool("t", { text: "a\nb\r\u2028" })).kind).toBe("done");
    client.notify("notifications/roots/list_changed");
    await client.close();
    expect(written.endsWith("\n")).toBe(true);
    const lines = written.slice(0, -1).split("\n");
    expect(lines.length).toBeGreaterThan(3);
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
  });
});

/** A child that answers, and complains about everything on standard error. */
function talkingChild(handlers: ProcessHandlers, hear: (text: string) => void): ReturnType<typeof childOf> {
  const encoder = new TextEncoder();
  return childOf(handlers, (text) => {
    hear(text);
    for (const line of text.split("\n").filter((each) => each !== "")) {
      const message = JSON.parse(line) as Message;
      void handlers.onErrorData(encoder.encode("ERROR: fatal\npanic!\n"));
      if (message["id"] === undefined) continue;
      const answer = { jsonrpc: "2.0", id: message["id"], ...plain(message) };
      queueMicrotask(() => void handlers.onData(encoder.encode(`${JSON.stringify(answer)}\n`)));
    }
  });
}

function childOf(handlers: ProcessHandlers, write: (text: string) => void) {
  let alive = true;
  const exit = (): void => {
    if (!alive) return;
    alive = false;
    handlers.onEnd();
    handlers.onExit({ code: 0, signal: null });
  };
  return {
    pid: 1,
    containment: "process_group" as const,
    write,
    closeInput: exit,
    kill: exit,
    groupAlive: () => alive,
    release: () => {},
  };
}

describe("client over HTTP", () => {
  const bodyOf = ({ body }: Fetched): Message => JSON.parse(body === "" ? "{}" : body) as Message;

  test("names the agreed revision with everything after initialize, and finds a session under any spelling (C-SHTTP-08, C-HTTP-12)", async () => {
    const clock = new FakeClock();
    const { fetch, requests } = scriptedFetch((request) => {
      const message = bodyOf(request);
      if (message["id"] === undefined) return new Response(null, { status: request.method === "GET" ? 405 : 202 });
      const headers = { "MCP-SESSION-ID": "s" };
      return json({ jsonrpc: "2.0", id: message["id"], ...plain(message) }, { headers });
    });
    const dialer = httpDialer({ url: "https://x.test/mcp", fetch, clock });
    const client = await connectClient({ dialer, clock, verdicts: olderServer(clock) });
    await client.listTools();
    await client.close();
    const named = requests.map(({ method, headers }) => [
      method,
      headers["mcp-protocol-version"],
      headers["mcp-session-id"],
    ]);
    expect(named[0]).toEqual(["POST", undefined, undefined]);
    expect(named.length).toBeGreaterThan(3);
    for (const [, version, session] of named.slice(1)) expect([version, session]).toEqual(["2025-06-18", "s"]);
  });

  test("names in the header the revision that the metadata names (C-HTTP-03)", async () => {
    const clock = new FakeClock();
    const { fetch, requests } = scriptedFetch((request) => {
      const message = bodyOf(request);
      return json({ jsonrpc: "2.0", id: message["id"], ...plain(message) });
    });
    const client = await connectClient({ dialer: httpDialer({ url: "https://x.test/mcp", fetch, clock }), clock });
    await client.listTools();
    await client.callTool("t", { _meta: { [`${META}protocolVersion`]: "evil" } });
    await client.close();
    expect(requests).toHaveLength(3);
    for (const request of requests) {
      const meta = bodyOf(request).params?.["_meta"] as JsonObject;
      expect(request.headers["mcp-protocol-version"]).toBe(meta[`${META}protocolVersion`]);
    }
  });

  test("does not send a call again whose stream broke; the caller's next one has another id (C-HTTP-10)", async () => {
    const clock = new FakeClock();
    const { fetch, requests } = scriptedFetch((request) => {
      const message = bodyOf(request);
      if (message.method !== "tools/call") return json({ jsonrpc: "2.0", id: message["id"], ...plain(message) });
      return message.params?.["name"] === "breaks"
        ? events(": begun\n\n", new TypeError("x"))
        : json(result(message["id"], { content: [] }));
    });
    const client = await connectClient({ dialer: httpDialer({ url: "https://x.test/mcp", fetch, clock }), clock });
    const reply = await client.callTool("breaks", {});
    expect(reply).toMatchObject({ kind: "failed", sent: true, refused: false, error: { code: "ERR_CONNECTION_LOST" } });
    expect((await client.callTool("works", {})).kind).toBe("done");
    await clock.advance(10_000);
    const calls = requests.map(bodyOf).filter(({ method }) => method === "tools/call");
    expect(calls.map(({ params }) => params?.["name"])).toEqual(["breaks", "works"]);
    expect(calls[0]!["id"]).not.toBe(calls[1]!["id"]);
    await client.close();
  });
});
