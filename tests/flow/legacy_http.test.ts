import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import { sseDialer, type SseDialerOptions } from "../../src/transport/endpoint_sse.ts";
import type { HttpServer, HttpServerOptions } from "../fixtures/http_server.mjs";
import { type Attempt, echoes, eventually, leaveNothing, runtime, serve, web } from "./field_reports.ts";

leaveNothing();

const LEGACY = { era: "legacy", rules: [{ on: "server/discover", status: 404 }] } as const;

/** What the server got, without the probe: the method of the protocol, or that of HTTP. */
function heard({ log }: HttpServer): string[] {
  return log.map(({ method, message }) => method === "POST" ? String(message.method ?? "answer") : method)
    .filter((method) => method !== "server/discover");
}

/** A client that knows the older transport too. */
function anyWeb(url: string, options: Partial<SseDialerOptions> = {}): Attempt {
  return web(url, { older: sseDialer({ url, fetch: runtime.fetch, clock: systemClock, ...options }) });
}

/** A client that is told to speak it. */
function olderWeb(url: string, options: Partial<SseDialerOptions> = {}): Attempt {
  return web(url, { dialer: sseDialer({ url, fetch: runtime.fetch, clock: systemClock, ...options }) });
}

const settings = (more: HttpServerOptions): HttpServerOptions => ({ ...LEGACY, ...more });

describe("session that the server forgets (FR-20)", () => {
  test("is opened anew in the middle of calls: each is answered, none runs twice: C-SHTTP-06, C-SHTTP-18", async () => {
    const server = await serve(settings({ getStream: true }));
    let renewals = 0;
    const client = await web(server.url, { onRenewed: () => renewals++ }).connect();
    await eventually("the stream stands", () => heard(server).includes("GET"));
    server.expireSessions();
    const calls = Array.from({ length: 5 }, (_, n) => client.callTool("echo", { message: String(n) }));
    for (const [n, call] of calls.entries()) {
      expect(await call).toMatchObject({ kind: "done", resends: 1, result: { content: [{ text: String(n) }] } });
    }
    expect(renewals).toBe(1);
    expect(heard(server).filter((method) => method === "initialize")).toHaveLength(2);
    expect(heard(server).filter((method) => method === "notifications/initialized")).toHaveLength(2);
    await eventually("the stream stands again", () => heard(server).filter((method) => method === "GET").length === 2);
    await echoes(client);
    expect(client.isOpen).toBe(true);
    await client.close();
    expect(server.log.at(-1)).toMatchObject({ method: "DELETE", headers: { "mcp-session-id": "session-2" } });
  });

  test("is opened anew after so many requests, again and again", async () => {
    const server = await serve(settings({ expireAfter: 4 }));
    const client = await web(server.url).connect();
    for (let n = 0; n < 12; n++) await echoes(client);
    expect(heard(server).filter((method) => method === "initialize").length).toBeGreaterThan(2);
  });

  test("and whose next it forgets at once is a connection that is lost, with its cause", async () => {
    const server = await serve(settings({ rules: [...LEGACY.rules, { on: "tools/call", status: 404 }] }));
    const client = await web(server.url).connect();
    expect(await client.callTool("echo", {})).toMatchObject({
      kind: "failed",
      sent: true,
      refused: true,
      resends: 1,
      error: { code: "ERR_CONNECTION_LOST", facts: { status: 404 } },
    });
    expect(heard(server).filter((method) => method === "tools/call")).toHaveLength(2);
  });

  test("and that it does not open anew ends the connection with the cause", async () => {
    const server = await serve(settings({ rules: [...LEGACY.rules, { on: "initialize", from: 2, status: 500 }] }));
    const attempt = web(server.url);
    const client = await attempt.connect();
    await echoes(client);
    server.expireSessions();
    expect(await client.callTool("echo", {})).toMatchObject({ kind: "failed", refused: true });
    await eventually("the end is told", () => attempt.ends.length > 0);
    expect(attempt.ends).toMatchObject([{ reason: "unreachable", error: { cause: { facts: { status: 500 } } } }]);
  });
});

describe("answers in streams that end early", () => {
  test("are polled for until they come: C-SHTTP-10, C-SHTTP-11, C-SHTTP-12", async () => {
    const server = await serve(settings({
      answer: "sse",
      resumable: true,
      retryMs: 150,
      rules: [...LEGACY.rules, { on: "tools/call", cut: true }],
    }));
    const client = await web(server.url).connect();
    const from = performance.now();
    await echoes(client);
    expect(performance.now() - from).toBeGreaterThanOrEqual(149);
    const [get] = server.log.filter(({ headers }) => headers["last-event-id"] !== undefined);
    expect([get?.method, get?.headers]).toMatchObject(["GET", {
      "last-event-id": expect.stringMatching(/^s\d+-0$/),
      "mcp-session-id": "session-1",
    }]);
    expect(heard(server).filter((method) => method === "tools/call")).toHaveLength(1);
  });

  test("that are replayed a little too far are delivered once (FR-26)", async () => {
    const server = await serve(settings({
      answer: "sse",
      resumable: true,
      retryMs: 100,
      rules: [...LEGACY.rules, { on: "tools/call", cut: true, progress: "growing" }, { on: "GET", replayMore: true }],
    }));
    const attempt = web(server.url);
    const seen: number[] = [];
    const client = await attempt.connect();
    const reply = await client.callTool("echo", { message: "x" }, {
      onProgress: ({ progress }) => seen.push(progress),
    });
    expect([reply.kind, seen, attempt.warnings]).toEqual(["done", [1, 2, 3], []]);
  });

  test("without an id are lost, and the call is not sent again: C-SHTTP-19", async () => {
    const server = await serve(settings({ answer: "sse", rules: [...LEGACY.rules, { on: "tools/call", cut: true }] }));
    const client = await web(server.url).connect();
    expect(await client.callTool("echo", {})).toMatchObject({
      kind: "failed",
      sent: true,
      refused: false,
      error: { code: "ERR_CONNECTION_LOST" },
    });
    expect(heard(server).filter((method) => method === "tools/call")).toHaveLength(1);
  });
});

describe("standing stream", () => {
  test("carries notices and questions, which are answered by POST: C-SHTTP-17 (FR-38)", async () => {
    const server = await serve(settings({ getStream: true }));
    const attempt = web(server.url);
    await attempt.connect();
    await eventually("the stream stands", () => heard(server).includes("GET"));
    await server.push({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    await server.push({ jsonrpc: "2.0", id: "p", method: "ping" });
    await eventually("the answer has come", () => server.heard.some((each) => each.id === "p"));
    expect(server.heard.find((each) => each.id === "p")).toMatchObject({ result: {} });
    expect(attempt.notifications).toEqual(["notifications/tools/list_changed"]);
  });

  test("that drops is opened again, and nothing is said of it (FR-19, FR-27)", async () => {
    const server = await serve(settings({ getStream: true }));
    const attempt = web(server.url);
    const client = await attempt.connect();
    await eventually("the stream stands", () => heard(server).includes("GET"));
    server.dropStreams();
    await eventually("it stands again", () => heard(server).filter((method) => method === "GET").length === 2);
    await server.push({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
    await eventually("what is pushed is heard", () => attempt.notifications.length > 0);
    await echoes(client);
    expect([attempt.warnings, attempt.ends]).toEqual([[], []]);
  });

  test("that is not offered is asked for once: C-SHTTP-14", async () => {
    const server = await serve(settings({}));
    const attempt = web(server.url);
    const client = await attempt.connect();
    for (let n = 0; n < 3; n++) await echoes(client);
    expect(heard(server).filter((method) => method === "GET")).toHaveLength(1);
    expect(attempt.warnings).toEqual([]);
  });

  test("answers of ours that are refused are warnings and no more: C-SHTTP-17", async () => {
    const server = await serve(
      settings({ answer: "sse", rules: [...LEGACY.rules, { on: "tools/call", ask: "ping,x/unknown" }] }),
    );
    const attempt = web(server.url, {
      fetch: (url, init) =>
        String(init?.body).includes('"error"')
          ? Promise.resolve(new Response("no", { status: 500 }))
          : runtime.fetch(url, init),
    });
    await echoes(await attempt.connect());
    await eventually("the refusal is said", () => attempt.warnings.length > 0);
    expect(attempt.warnings).toEqual([["undelivered", "status 500"]]);
  });
});

describe("server of HTTP with SSE", () => {
  const older = (more: HttpServerOptions = {}): Promise<HttpServer> => serve({ twoEndpoints: true, ...more });

  test.each([["found out", anyWeb], ["told", olderWeb]] as const)(
    "%s is spoken to: C-VER-13, C-SSE-01, C-SSE-03",
    async (_how, reach) => {
      const server = await older({ rules: [{ on: "tools/call", ask: "ping", progress: "growing" }] });
      const attempt = reach(server.url);
      const client = await attempt.connect();
      expect(client.facts.era).toBe("legacy");
      await echoes(client);
      await eventually("its question is answered", () => server.heard.some((each) => "result" in each));
      expect((await client.listTools()).tools.length).toBeGreaterThan(5);
      await client.close();
      await eventually("its stream is closed", () => server.openAnswers() === 0);
    },
  );

  test("that is lost tells its end: C-SSE-04", async () => {
    const server = await older();
    const attempt = anyWeb(server.url);
    const client = await attempt.connect();
    const call = client.callTool("sleep", { ms: 60_000 });
    await eventually("the call has arrived", () => heard(server).includes("tools/call"));
    server.dropStreams();
    expect(await call).toMatchObject({ kind: "failed", sent: true, error: { code: "ERR_CONNECTION_LOST" } });
    expect(attempt.ends).toMatchObject([{ reason: "unreachable" }]);
  });

  test("cancels by notification, since its streams are shared: C-SHTTP-09", async () => {
    const server = await older();
    const client = await anyWeb(server.url).connect();
    expect(await client.callTool("sleep", { ms: 60_000 }, { timeoutMs: 100 })).toMatchObject({
      error: { code: "ERR_TIMEOUT" },
    });
    await eventually(
      "the notice has come",
      () => server.heard.some(({ method }) => method === "notifications/cancelled"),
    );
    await echoes(client);
  });

  test.each([500, 401])("is not looked for after %i: C-VER-10 (FR-21)", async (status) => {
    const server = await serve({
      rules: [{ on: ["server/discover", "initialize"], status, contentType: "text/plain", body: "why" }],
    });
    await expect(anyWeb(server.url).connect()).rejects.toMatchObject(
      status === 401 ? { code: "ERR_AUTH_REQUIRED" } : { code: "ERR_PROTOCOL", facts: { status: 500, excerpt: "why" } },
    );
    expect(server.log.every(({ method }) => method === "POST")).toBe(true);
  });

  test("is not looked for once a handshake was good (FR-21)", async () => {
    const server = await serve(settings({ rules: [...LEGACY.rules, { on: "tools/call", status: 405 }] }));
    const client = await anyWeb(server.url).connect();
    expect(await client.callTool("echo", {})).toMatchObject({ kind: "failed", error: { facts: { status: 405 } } });
    await echoes(await web((await serve()).url).connect());
    expect(server.log.filter(({ method, headers }) => method === "GET" && headers["mcp-session-id"] === undefined))
      .toEqual([]);
  });

  test.each([400, 404, 405])(
    "that is not there does not hide why the newer was left (%i): every step is told (FR-21)",
    async (status) => {
      const server = await serve({
        rules: [{ on: ["server/discover", "initialize", "GET"], status, contentType: "text/html", body: "<p>" }],
      });
      await expect(anyWeb(server.url).connect()).rejects.toMatchObject({
        code: "ERR_PROTOCOL",
        message: expect.stringMatching(
          new RegExp(`^Cannot send initialize: found status ${status}.*; over sse: cannot open the stream.*${status}`),
        ),
        facts: {
          status,
          tried: [
            expect.stringContaining(`server/discover: cannot send server/discover: found status ${status}`),
            expect.stringContaining(`initialize: cannot send initialize: found status ${status}`),
          ],
        },
      });
      expect(server.log.map(({ method }) => method)).toEqual(["POST", "POST", "GET"]);
    },
  );

  test("that names no endpoint is given up in its time: C-SSE-04 (FR-29)", async () => {
    const server = await older({ endpoint: "none" });
    await expect(olderWeb(server.url, { endpointTimeoutMs: 200 }).connect()).rejects.toMatchObject({
      code: "ERR_START_TIMEOUT",
    });
    await expect(anyWeb(server.url, { endpointTimeoutMs: 200 }).connect()).rejects.toMatchObject({
      code: "ERR_PROTOCOL",
      message: expect.stringContaining("no endpoint event within 200 ms"),
    });
    await eventually("its streams are closed", () => server.openAnswers() === 0);
  });

  test("that names a foreign endpoint is refused, and nothing reaches that: C-SSE-02 (FR-29, A-51)", async () => {
    const other = await older();
    const server = await older({ endpoint: `${new URL(other.url).origin}/messages` });
    await expect(olderWeb(server.url).connect()).rejects.toMatchObject({ code: "ERR_PROTOCOL" });
    expect(other.log).toEqual([]);
  });
});
