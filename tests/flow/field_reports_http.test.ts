import { describe, expect, test } from "vitest";
import { closedPort } from "../fixtures/closed_port.ts";
import { peakGrowth } from "../fixtures/held_memory.ts";
import { echoes, eventually, leaveNothing, runtime, serve, serveApart, web } from "./field_reports.ts";

leaveNothing();

const REFUSED_PROBE = { on: "server/discover", status: 404 } as const;

describe("FR-23 answers to what expects none", () => {
  const rows: [claim: string, rule: object][] = [
    ["202 without a type", { status: 202 }],
    ["202 labelled as events, without a body", { status: 202, contentType: "text/event-stream" }],
    ["200 with an empty JSON body", { status: 200, contentType: "application/json" }],
    ["204", { status: 204 }],
    ["200 with a page", { status: 200, contentType: "text/html", body: "<p>thanks</p>" }],
  ];
  test.each(rows)("FR-23 %s is success, and the connection goes on", async (_claim, rule) => {
    const server = await serve({ era: "legacy", rules: [REFUSED_PROBE, { on: "notifications/initialized", ...rule }] });
    const client = await web(server.url).connect();
    await echoes(client);
    expect(server.log.map((entry) => entry.message?.method)).toContain("notifications/initialized");
  });

  test.each([202, 204])("FR-23 %i in answer to a request is an error at once, not a wait", async (status) => {
    const server = await serve({ rules: [{ on: "tools/call", status }] });
    const client = await web(server.url).connect();
    expect(await client.callTool("echo", {})).toMatchObject({
      kind: "failed",
      sent: true,
      refused: false,
      error: { code: "ERR_PROTOCOL", facts: { status } },
    });
  });
});

describe("FR-25 events of every shape", () => {
  const shapes: [claim: string, rule: object][] = [
    ["CRLF", { lineEnd: "crlf" }],
    ["CR alone", { lineEnd: "cr" }],
    ["JSON over several data lines", { multiline: true }],
    ["no space after the colon, no event name", { tight: true }],
    ["comments, unknown fields and events of other names", { comments: true }],
    ["a byte order mark at the start", { bodyBom: true }],
    ["all of it, a byte at a time", {
      lineEnd: "crlf",
      multiline: true,
      tight: true,
      comments: true,
      bodyBom: true,
      chunk: 1,
    }],
  ];
  test.each(shapes)("FR-25 %s", async (_claim, rule) => {
    const server = await serve({ rules: [{ answer: "sse", ...rule }] });
    const attempt = web(server.url);
    await echoes(await attempt.connect());
    expect(attempt.warnings).toEqual([]);
  });
});

describe("FR-75 fetch", () => {
  test("FR-75 is called as a plain function, from the first request to the farewell", async () => {
    const receivers = new Set<unknown>();
    async function fetch(this: unknown, url: string, init?: RequestInit): Promise<Response> {
      receivers.add(this);
      if (this !== undefined && this !== globalThis) throw new TypeError("Illegal invocation");
      return await runtime.fetch(url, init);
    }
    const server = await serve({ era: "legacy" });
    const client = await web(server.url, { fetch }).connect();
    await echoes(client);
    await client.close();
    expect([...receivers]).toEqual([undefined]);
    expect(server.log.at(-1)?.method).toBe("DELETE");
  });
});

describe("FR-34 ids over HTTP", () => {
  test.each(["stringId", "duplicate", "foreignId"] as const)("FR-34 %s does not keep the answer away", async (vice) => {
    const server = await serve({ rules: [{ on: "tools/call", answer: "sse", [vice]: true }] });
    await echoes(await web(server.url).connect());
  });

  test.each(["zeroId", "nullId", "wrongId"] as const)("FR-34 %s in a JSON body is an error at once", async (vice) => {
    const server = await serve({ rules: [{ on: "tools/call", times: 1, [vice]: true }] });
    const client = await web(server.url).connect();
    expect(await client.callTool("echo", {})).toMatchObject({
      kind: "failed",
      sent: true,
      error: { code: "ERR_PROTOCOL" },
    });
    await echoes(client);
  });
});

describe("first contact over HTTP", () => {
  test("connection refused is that, and no older handshake is tried (FR-21)", async () => {
    const { port, letGo } = await closedPort();
    let fetches = 0;
    const fetch: typeof runtime.fetch = (url, init) => {
      fetches++;
      return runtime.fetch(url, init);
    };
    try {
      await expect(web(`http://127.0.0.1:${port}/mcp`, { fetch }).connect()).rejects.toMatchObject({
        code: "ERR_CONNECTION_LOST",
        facts: { cause: expect.stringMatching(/refused/i) },
      });
      expect(fetches).toBe(1);
    } finally {
      letGo();
    }
  });

  test("401 on the probe is a login, never a sign of an older server (FR-33)", async () => {
    const server = await serve({ token: "right" });
    await expect(web(server.url).connect()).rejects.toMatchObject({
      code: "ERR_AUTH_REQUIRED",
      facts: { status: 401, challenge: expect.stringContaining("Bearer") },
    });
    expect(server.log).toHaveLength(1);
    await echoes(await web(server.url, { headers: { Authorization: "Bearer right" } }).connect());
  });

  test("500 on the probe is followed by one handshake, and its outcome counts (FR-33)", async () => {
    const alive = await serve({ era: "legacy", rules: [{ on: "server/discover", status: 500 }] });
    await echoes(await web(alive.url).connect());
    const dead = await serve({
      rules: [{ on: ["server/discover", "initialize"], status: 500, body: "boom", contentType: "text/plain" }],
    });
    await expect(web(dead.url).connect()).rejects.toMatchObject({
      code: "ERR_PROTOCOL",
      facts: { status: 500, excerpt: "boom" },
    });
    expect(dead.log.map((entry) => entry.message?.method)).toEqual(["server/discover", "initialize"]);
  });

  test.each([400, 404, 405, 406, 415])("%i on the probe is an older server (FR-33)", async (status) => {
    for (
      const body of [{}, { contentType: "text/html", body: "<p>no</p>" }, {
        contentType: "application/json",
        body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}',
      }]
    ) {
      const server = await serve({ era: "legacy", rules: [{ on: "server/discover", status, ...body }] });
      expect((await web(server.url).connect()).facts.era).toBe("legacy");
    }
  });

  test("a probe that hangs costs its short time only (FR-33)", async () => {
    const server = await serve({ era: "legacy", rules: [{ on: "server/discover", hang: "before" }] });
    await echoes(await web(server.url, { probeTimeoutMs: 300 }).connect());
  });

  test("a server that never answers fails in its time", async () => {
    const server = await serve({ rules: [{ hang: "before" }] });
    const start = performance.now();
    const error = await web(server.url, { probeTimeoutMs: 300, startTimeoutMs: 1000 }).connect().catch((
      cause: unknown,
    ) => cause);
    expect(error).toMatchObject({ code: "ERR_START_TIMEOUT" });
    const { waitedMs } = (error as { facts: { waitedMs: number } }).facts;
    expect(waitedMs).toBeGreaterThanOrEqual(990);
    expect(waitedMs).toBeLessThanOrEqual(performance.now() - start + 1);
    await eventually("its sockets are closed", () => server.openSockets() === 0);
  });
});

describe("wrong answers over HTTP (A-49)", () => {
  const rows: [claim: string, rule: object, error: object][] = [
    ["a page", { status: 200, contentType: "text/html; charset=utf-8", body: "<!doctype html>" }, {
      code: "ERR_PROTOCOL",
      facts: { status: 200, contentType: "text/html", excerpt: "<!doctype html>" },
    }],
    ["nothing", { status: 200, contentType: "application/json" }, { code: "ERR_PROTOCOL" }],
    ["JSON labelled as events", {
      status: 200,
      contentType: "text/event-stream",
      body: '{"jsonrpc":"2.0","id":2,"result":{}}',
    }, { code: "ERR_CONNECTION_LOST" }],
    ["500 with 10 MiB", { status: 500, contentType: "text/plain", body: "x".repeat(10 << 20) }, {
      code: "ERR_PROTOCOL",
      facts: { status: 500, excerpt: "[16384 characters]" },
    }],
    ["half a message", { garbage: true }, { code: "ERR_PROTOCOL", facts: { malformed: "not_json" } }],
    ["result and error", { bothMembers: true }, { code: "ERR_PROTOCOL", facts: { malformed: "envelope" } }],
    ["an array (A-20)", { batch: true }, { code: "ERR_PROTOCOL", facts: { malformed: "batch" } }],
    ["a stream that is cut before the answer", { cut: true }, { code: "ERR_CONNECTION_LOST" }],
    ["a reset in the middle of it", { reset: "middle" }, { code: "ERR_CONNECTION_LOST" }],
    ["a reset in the middle of a stream", { reset: "middle", answer: "sse" }, { code: "ERR_CONNECTION_LOST" }],
    ["a reset before anything", { reset: "before" }, { code: "ERR_CONNECTION_LOST" }],
    ["fewer bytes than it claims", { contentLength: 100_000 }, { code: "ERR_CONNECTION_LOST" }],
  ];
  test.each(rows)("%s fails the call, as sent, and only the call", async (_claim, rule, error) => {
    const server = await serve({ rules: [{ on: "tools/call", times: 1, ...rule }] });
    const attempt = web(server.url);
    const client = await attempt.connect();
    expect(await client.callTool("echo", {}, { timeoutMs: 30_000 })).toMatchObject({
      kind: "failed",
      sent: true,
      refused: false,
      error,
    });
    await echoes(client);
    expect(attempt.ends).toEqual([]);
  });

  test.each([{ bodyBom: true }, { gzip: true }, { chunk: 1 }, { gzip: true, chunk: 3 }])(
    "JSON with %j is read all the same",
    async (rule) => {
      const server = await serve({ rules: [{ on: "tools/call", ...rule }] });
      await echoes(await web(server.url).connect());
    },
  );

  test("an answer that stops in the middle ends with the time of its call", async () => {
    for (const answer of ["json", "sse"] as const) {
      const server = await serve({ rules: [{ on: "tools/call", hang: "middle", answer }] });
      const client = await web(server.url).connect();
      expect(await client.callTool("echo", {}, { timeoutMs: 500 })).toMatchObject({
        kind: "failed",
        sent: true,
        error: { code: "ERR_TIMEOUT" },
      });
      await eventually("its socket is closed", () => server.openSockets() <= 1);
    }
  });
});

describe("endless answers (FR-30, A-40, A-41)", () => {
  test("200 MiB in a gzip of 200 kB are cut at the limit, in bounded memory (A-40)", async () => {
    const client = await web(await serveApart(["--on=tools/call", "--gzip-bomb=200"])).connect();
    const growth = await peakGrowth(async () => {
      expect(await client.callTool("echo", {})).toMatchObject({
        kind: "failed",
        sent: true,
        error: { code: "ERR_FRAME_TOO_LARGE" },
      });
    });
    expect(growth).toBeLessThan(64 << 20);
  });

  test.each(["json", "line"])("an endless %s is cut at the limit, in bounded memory", async (kind) => {
    const client = await web(await serveApart(["--on=tools/call", `--endless=${kind}`])).connect();
    const growth = await peakGrowth(async () => {
      expect(await client.callTool("echo", {})).toMatchObject({
        kind: "failed",
        sent: true,
        error: { code: "ERR_FRAME_TOO_LARGE" },
      });
    });
    expect(growth).toBeLessThan(64 << 20);
  });

  test.each(["events", "comments"])(
    "endless %s end with the time of the call, in bounded memory (A-41)",
    async (kind) => {
      const attempt = web(await serveApart(["--on=tools/call", `--endless=${kind}`]));
      const client = await attempt.connect();
      const start = performance.now();
      const growth = await peakGrowth(async () => {
        expect(await client.callTool("echo", {}, { timeoutMs: 1500 })).toMatchObject({
          kind: "failed",
          sent: true,
          error: { code: "ERR_TIMEOUT" },
        });
      });
      expect(growth).toBeLessThan(64 << 20);
      // 200 in each second that the span touches, of which the first and the last need not be whole.
      const seconds = Math.ceil((performance.now() - start) / 1000) + 1;
      expect(attempt.notifications.length).toBeLessThanOrEqual(200 * seconds);
    },
  );
});

describe("redirects (FR-28, A-43)", () => {
  test("to another origin is refused: nothing reaches it, least of all the credentials", async () => {
    const other = await serve();
    const server = await serve({ rules: [{ on: "tools/call", redirect: other.url }] });
    const client = await web(server.url, { headers: { authorization: "Bearer secret" } }).connect();
    expect(await client.callTool("echo", {})).toMatchObject({
      kind: "failed",
      refused: true,
      error: { code: "ERR_PROTOCOL", facts: { status: 307 } },
    });
    expect(other.log).toEqual([]);
    expect(other.openSockets()).toBe(0);
  });

  test("on first contact is an error that names the target, no older handshake", async () => {
    const other = await serve();
    const server = await serve({ rules: [{ redirect: other.url }] });
    await expect(web(server.url).connect()).rejects.toMatchObject({
      code: "ERR_PROTOCOL",
      message: expect.stringContaining(new URL(other.url).origin),
    });
    expect([server.log.length, other.log.length]).toEqual([1, 0]);
  });

  test("within the origin is followed with method, headers and body, and remembered", async () => {
    const server = await serve({ rules: [{ on: "server/discover", times: 1, redirect: "/mcp/" }] });
    await echoes(await web(server.url).connect());
    expect(server.log.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /mcp",
      "POST /mcp/",
      "POST /mcp/",
    ]);
  });

  test("in a loop ends", async () => {
    const server = await serve({ rules: [{ redirect: "/mcp" }] });
    await expect(web(server.url).connect()).rejects.toMatchObject({ code: "ERR_PROTOCOL" });
    expect(server.log.length).toBeLessThanOrEqual(6);
  });
});

describe("close over HTTP", () => {
  test("ends every request in flight and leaves no socket of theirs", async () => {
    const server = await serve({ answer: "sse" });
    const client = await web(server.url).connect();
    const calls = Array.from({ length: 5 }, () => client.callTool("sleep", { ms: 60_000 }));
    await eventually("the calls have arrived", () => server.log.length === 6);
    await client.close();
    for (const call of calls) {
      expect(await call).toMatchObject({ kind: "failed", sent: true, error: { code: "ERR_CLOSED" } });
    }
    await eventually("their sockets are closed", () => server.openSockets() <= 1);
  });

  test("of one call leaves the others alone (FR-17)", async () => {
    const server = await serve();
    const client = await web(server.url).connect();
    const controller = new AbortController();
    const [given, other] = [
      client.callTool("sleep", { ms: 60_000 }, { signal: controller.signal }),
      client.callTool("sleep", { ms: 300 }),
    ];
    controller.abort();
    expect(await given).toMatchObject({ kind: "failed", error: { code: "ERR_CANCELLED" } });
    expect(await other).toMatchObject({ kind: "done" });
    await echoes(client);
  });
});
