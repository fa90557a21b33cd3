import { describe, expect, test } from "vitest";
import type { FetchFunction } from "../../src/kernel/runtime.ts";
import { FakeClock } from "../fixtures/fake_clock.ts";
import { peakGrowth } from "../fixtures/held_memory.ts";
import { type HttpServer, type HttpServerOptions, startHttpServer } from "../fixtures/http_server.mjs";
import { until } from "../fixtures/settle.ts";
import { type Asked, hostileFetch } from "../fixtures/hostile_fetch.ts";
import { after, attackedBy, run, type Scene, SECRET, surviveAll, warnings } from "./attacks.ts";
import { leaveNothing, serveApart } from "./field_reports.ts";

leaveNothing();
surviveAll();

const MIB = 1 << 20;
/** A result may have 64 MiB here; what is no string of a result has to fit 8 MiB. */
const LIMIT = 8 * MIB;
const URL_ = "https://mcp.test/mcp";
const PATIENT = { startTimeoutMs: 60_000, probeTimeoutMs: 60_000, restart: { auto: false } };

async function serve(options: HttpServerOptions = {}): Promise<HttpServer> {
  const server = await startHttpServer(options);
  after(() => server.close());
  return server;
}

const over = (fetch: FetchFunction, config: object = {}, options: object = {}): Promise<Scene> =>
  attackedBy({ url: URL_ }, { fetch, ...options }, config);

/** A server that is well but for what it answers to calls; from the second call on it is well altogether. */
const onFirstCall = (answer: (asked: Asked) => Response): FetchFunction => {
  let calls = 0;
  return hostileFetch((asked) => asked.method === "tools/call" && ++calls === 1 ? answer(asked) : undefined);
};

/** A stream that gives what `next` makes, as fast as it is read, until it is let go. */
function stream(
  next: (at: number) => string | undefined,
): { body: ReadableStream<Uint8Array>; given: number; isCancelled: boolean } {
  const encoder = new TextEncoder();
  const state = { body: undefined as unknown as ReadableStream<Uint8Array>, given: 0, isCancelled: false };
  let at = 0;
  state.body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const text = next(at++);
      if (text === undefined) return controller.close();
      state.given += text.length;
      controller.enqueue(encoder.encode(text));
    },
    cancel() {
      state.isCancelled = true;
    },
  }, { highWaterMark: 0 });
  return state;
}

/** What the real fetch does and a scripted one does not: the body breaks when its request is given up. */
function abortable(body: ReadableStream<Uint8Array>, signal: AbortSignal): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    start: (controller) =>
      signal.addEventListener("abort", () => {
        controller.error(signal.reason);
        void reader.cancel();
      }),
    async pull(controller) {
      const { value, done } = await reader.read();
      if (signal.aborted) return;
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => reader.cancel(),
  }, { highWaterMark: 0 });
}

const events = (body: ReadableStream<Uint8Array>, { signal }: Asked): Response =>
  new Response(abortable(body, signal), { headers: { "content-type": "text/event-stream" } });

describe("A-40 decompression bomb", () => {
  test("A-40 of 100 MiB of spaces in 100 kB is cut after unpacking, in memory that knows the limit", async () => {
    const scene = await attackedBy(
      { url: await serveApart(["--on=tools/call", "--times=1", "--gzip-bomb=100"]) },
      {},
      PATIENT,
    );
    await scene.host.ready();
    const growth = await peakGrowth(async () => {
      expect(await scene.session.tool("mcp.hostile.echo", { message: "x" })).toMatchObject({
        status: "failed",
        error: { reason: "too_large" },
      });
    }, 100);
    expect(growth).toBeLessThan(3 * LIMIT);
    expect((await scene.session.tool("mcp.hostile.echo", { message: "x" })).output).toBe("x");
  });

  test("A-40 what comes behind the limit is not read: the stream is let go", async () => {
    const zeros = "\0".repeat(64 << 10);
    const bomb = stream((at) => at < 1600 ? zeros : undefined);
    const json = { "content-type": "application/json", "content-encoding": "gzip", "content-length": "102000" };
    const scene = await over(onFirstCall(() => new Response(bomb.body, { headers: json })));
    expect((await run(scene)).status).toBe("failed");
    await until(() => bomb.isCancelled);
    expect(bomb.given).toBeLessThanOrEqual(LIMIT + 2 * MIB);
    expect((await run(scene, { n: 1 })).output).toBe('{"n":1}');
  });
});

describe("A-41 bombs of events", () => {
  const tiny = 'data: {"jsonrpc":"2.0","method":"notifications/none"}\n\n';

  test.each([
    ["a line of 100 MiB that is no JSON", "data: ", "a".repeat(64 << 10), "\n\n"],
    ["a line of 100 MiB that begins like JSON", 'data: {"jsonrpc":"2.0",', '"a":1,'.repeat(10_000), "\n\n"],
    ["lines of 100 MiB in one event", "data: [\n", `data: ${"1,".repeat(30_000)}\n`, "\n"],
    ["an event whose name never ends", "event: ", "a".repeat(64 << 10), "\n\n"],
  ])(
    "A-41 %s fails its call, in bounded memory, and is read no further than needs be",
    async (_claim, first, more, end) => {
      const rounds = Math.ceil(100 * MIB / more.length);
      const bomb = stream((at) => at === 0 ? first : at <= rounds ? more : at === rounds + 1 ? end : undefined);
      const scene = await over(onFirstCall((asked) => events(bomb.body, asked)), { timeoutMs: 100_000 });
      await scene.host.ready();
      const growth = await peakGrowth(async () => {
        expect(await run(scene)).toMatchObject({ status: "failed", error: { reason: "too_large" } });
      }, 100);
      expect(growth).toBeLessThan(6 * LIMIT);
      expect((await run(scene, { n: 1 })).output).toBe('{"n":1}');
    },
    // Collecting garbage all the time is slow on a busy machine.
    120_000,
  );

  test("A-41 a million tiny events reach nobody faster than 200 a second, and the answer behind them comes", async () => {
    let seconds = 0;
    const scene = await over(
      onFirstCall((asked) =>
        events(
          stream((at) =>
            at < 1000
              ? tiny.repeat(1000)
              : at === 1000
              ? `data: {"jsonrpc":"2.0","id":${String(asked.id)},"result":{"resultType":"complete","content":[]}}\n\n`
              : undefined
          ).body,
          asked,
        )
      ),
    );
    await scene.host.ready();
    const started = performance.now();
    const growth = await peakGrowth(async () => {
      expect((await run(scene)).status).toBe("completed");
    }, 100);
    seconds = Math.ceil((performance.now() - started) / 1000) + 1;
    expect(growth).toBeLessThan(6 * LIMIT);
    expect((await warnings(scene))["flood"]).toBeGreaterThanOrEqual(1_000_000 / 10 - 200 * seconds);
    expect((await scene.log()).length).toBeLessThan(50_000);
  });

  test("A-41 comments for ever are read at a bounded rate and end with their call", async () => {
    const clock = new FakeClock();
    const comments = stream(() => ": still here\n".repeat(5000));
    const scene = await over(onFirstCall((asked) => events(comments.body, asked)), { timeoutMs: 20_000 }, { clock });
    await clock.advance(0);
    const call = run(scene);
    await clock.advance(10_000);
    expect(comments.given).toBeGreaterThan(5 * MIB);
    expect(comments.given).toBeLessThanOrEqual(13 * MIB);
    await clock.advance(10_000);
    expect(await call).toMatchObject({ status: "unknown", error: { reason: "timeout" } });
    const read = comments.given;
    await clock.advance(10_000);
    expect(comments.given).toBe(read);
    expect((await run(scene, { n: 1 })).output).toBe('{"n":1}');
  });
});

describe("A-43 redirect with credentials", () => {
  test.each([
    ["http://169.254.169.254/latest/meta-data/", 307],
    ["https://evil.test/mcp", 307],
    ["https://evil.test/mcp", 308],
    ["https://mcp.test.evil.test/mcp", 307],
    ["https://mcp.test:8443/mcp", 307],
    ["http://mcp.test/mcp", 307],
    ["https://user@evil.test/mcp", 301],
    ["//evil.test/mcp", 302],
    ["javascript:alert(1)", 307],
  ])("A-43 to %s (%i) is not followed, and no credential leaves", async (location, status) => {
    const headers: (string | undefined)[] = [];
    const scene = await over(
      hostileFetch((asked) => {
        headers.push(new Headers(asked.headers).get("authorization") ?? undefined);
        return asked.method === "tools/call" ? new Response(null, { status, headers: { location } }) : undefined;
      }),
      { headers: { Authorization: `Bearer ${SECRET}` } },
    );
    // Of 307 and 308 it is known that nothing was executed.
    const outcome = status >= 307 ? "failed" : "unknown";
    expect(await run(scene)).toMatchObject({ status: outcome, error: { code: "ERR_PROTOCOL" } });
    expect([...new Set(scene.fetched)]).toEqual([URL_]);
    expect([...new Set(headers)]).toEqual([`Bearer ${SECRET}`]);
  });

  test("A-43 of the real fetch neither: nothing reaches the other origin, and no connection is made", async () => {
    const other = await serve();
    const server = await serve({ rules: [{ on: "tools/call", redirect: other.url }] });
    const scene = await attackedBy({ url: server.url }, {}, {
      ...PATIENT,
      headers: { Authorization: `Bearer ${SECRET}` },
    });
    expect(await scene.session.tool("mcp.hostile.echo", { message: "x" })).toMatchObject({ status: "failed" });
    expect([other.log.length, other.openSockets()]).toEqual([0, 0]);
    expect(server.log.at(-1)!.headers["authorization"]).toBe(`Bearer ${SECRET}`);
  });
});

describe("A-49 wrong answers", () => {
  const of = (body: string | null, type: string | undefined, status = 200): (asked: Asked) => Response => ({ id }) =>
    new Response(body?.replace("ID", String(id)) ?? null, {
      status,
      ...(type === undefined ? {} : { headers: { "content-type": type } }),
    });
  const result = '{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[]}}';

  test.each<[string, (asked: Asked) => Response, object]>([
    ["a page", of("<!doctype html><title>Login</title>", "text/html"), {
      status: "unknown",
      error: { code: "ERR_PROTOCOL" },
    }],
    ["a page that quotes a secret", of(`<p>${SECRET}</p>`, "text/html"), {
      status: "unknown",
      error: { code: "ERR_PROTOCOL" },
    }],
    ["nothing", of("", "application/json"), { status: "unknown", error: { code: "ERR_PROTOCOL" } }],
    ["202", of(null, undefined, 202), { status: "unknown", error: { code: "ERR_PROTOCOL" } }],
    ["204", of(null, undefined, 204), { status: "unknown", error: { code: "ERR_PROTOCOL" } }],
    ["JSON labelled as events", of(result, "text/event-stream"), { status: "unknown" }],
    ["500 with 10 MiB", of("x".repeat(10 * MIB), "text/plain", 500), { status: "unknown" }],
    ["500 with 10 MiB of a secret", of(SECRET.repeat((10 * MIB) / SECRET.length), "text/plain", 500), {
      status: "unknown",
    }],
    ["500 that quotes a secret", of(`no: Bearer ${SECRET}`, "text/plain", 500), { status: "unknown" }],
    [
      "an error of JSON-RPC that quotes a secret",
      of(
        `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"no: ${SECRET}"}}`,
        "application/json",
        500,
      ),
      { status: "failed", error: { reason: "remote_error" } },
    ],
  ])("A-49 %s is a typed error, short and without a secret, and no hang", async (_claim, answer, outcome) => {
    const scene = await over(onFirstCall(answer), { headers: { Authorization: `Bearer ${SECRET}` } });
    const found = await run(scene);
    expect(found).toMatchObject(outcome);
    expect(found.error!.code).toMatch(/^(?:ERR_[A-Z_]+|-\d+)$/);
    expect(JSON.stringify(found).length).toBeLessThan(20_000);
    expect(JSON.stringify(found)).not.toContain(SECRET);
    const [failed] = await scene.events("tool.failed");
    expect(JSON.stringify(failed).length).toBeLessThan(20_000);
    expect((await run(scene, { n: 1 })).output).toBe('{"n":1}');
    expect(await scene.events("mcp.server.crashed")).toEqual([]);
  });

  test("A-49 a byte order mark before JSON is none of its faults", async () => {
    const scene = await over(onFirstCall(of(`\uFEFF${result}`, "application/json")));
    expect((await run(scene)).status).toBe("completed");
  });
});

describe("A-51 hijacked endpoint", () => {
  test.each([
    "https://evil.test/post",
    "//evil.test/post",
    "http://mcp.test/post",
    "https://mcp.test:444/post",
    "https://mcp.test@evil.test/post",
    "javascript:alert(1)",
    "file:///etc/passwd",
  ])("A-51 %s is refused: nothing is sent there, and the server does not start", async (endpoint) => {
    const asked: string[] = [];
    const scene = await attackedBy({
      transport: {
        type: "sse",
        url: "https://mcp.test/sse",
        headers: { Authorization: `Bearer ${SECRET}` },
      },
    }, {
      fetch: (url, init) => {
        asked.push(`${init?.method} ${url}`);
        const text = `event: endpoint\ndata: ${endpoint}\n\n`;
        const body = stream((at) => at === 0 ? text : undefined).body;
        return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
      },
    }, { restart: { auto: false } });
    const reports = await scene.host.ready();
    expect(reports.map(({ state }) => state)).toEqual(["permanently_failed", "ready"]);
    expect(asked).toEqual(["GET https://mcp.test/sse"]);
    expect(scene.session.toolNames()).toEqual(["mcp__bystander__run"]);
  });

  test("A-51 the same origin is accepted, so that the rule is what refuses the others", async () => {
    const server = await serve({ twoEndpoints: true });
    const scene = await attackedBy({ transport: { type: "sse", url: server.url } }, {}, PATIENT);
    expect((await scene.session.tool("mcp.hostile.echo", { message: "x" })).output).toBe("x");
    expect(new Set(scene.fetched.map((url) => new URL(url).origin))).toEqual(new Set([new URL(server.url).origin]));
  });
});
