import { describe, expect, test } from "vitest";
import { isHostError } from "../../../src/kernel/errors.ts";
import { sseDialer, type SseDialerOptions } from "../../../src/transport/endpoint_sse.ts";
import type { Transport } from "../../../src/transport/transport.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { type PushedStream, pushedStream } from "./pushed_stream.ts";
import { event, type Fetched, json, listener, profile, result, scriptedFetch, type Told } from "./scripted_fetch.ts";

interface Dialled {
  readonly told: Told[];
  readonly requests: Fetched[];
  readonly stream: PushedStream;
  readonly clock: FakeClock;
  transport: Transport | undefined;
  // deno-lint-ignore no-explicit-any
  error: any;
}

interface Setting extends Partial<SseDialerOptions> {
  /** What the stream says first. */
  readonly first?: string;
  /** Answers a POST, or the GET in the place of the stream; default: the stream, and 202. */
  readonly answer?: (request: Fetched) => Response | Promise<Response> | undefined;
  readonly signal?: AbortSignal;
}

async function dial({ first = "", answer, signal, ...options }: Setting = {}): Promise<Dialled> {
  const clock = new FakeClock();
  const stream = pushedStream();
  const { fetch, requests } = scriptedFetch((request) =>
    answer?.(request) ?? (request.method === "GET" ? stream.response : new Response("Accepted", { status: 202 }))
  );
  const { handlers, told } = listener();
  const dialer = sseDialer({ url: "https://mcp.test/base/sse?key=1", fetch, clock, ...options });
  const facts = profile({ headers: ({ method }) => ({ "mcp-protocol-version": method }) });
  const dialled: Dialled = { told, requests, stream, clock, transport: undefined, error: undefined };
  void dialer.dial(facts, handlers, signal).then(
    (transport) => dialled.transport = transport,
    (error: unknown) => dialled.error = error,
  );
  if (first !== "") stream.push(first);
  await settle();
  return dialled;
}

const endpoint = (data: string): string => `event: endpoint\ndata: ${data}\n\n`;
const call = { text: '{"id":1}', method: "tools/call", id: 1 };

async function opened(setting: Setting = {}): Promise<Dialled & { readonly transport: Transport }> {
  const dialled = await dial({ first: endpoint("/messages?sid=1"), ...setting });
  expect(dialled.error).toBeUndefined();
  return dialled as Dialled & { readonly transport: Transport };
}

describe("HTTP with SSE", () => {
  test("sends every message by POST to the address of the first event, and reads the answers on the stream: C-SSE-01, C-SSE-03", async () => {
    const { transport, requests, stream, told } = await opened({ headers: { Authorization: "Bearer x" } });
    expect(requests).toMatchObject([{
      method: "GET",
      url: "https://mcp.test/base/sse?key=1",
      headers: { accept: "text/event-stream", authorization: "Bearer x" },
    }]);
    transport.send(call);
    await transport.send({ text: "{}", method: "notifications/n" });
    await settle();
    expect(requests.slice(1).map(({ method, url, body }) => [method, url, body])).toEqual([
      ["POST", "https://mcp.test/messages?sid=1", '{"id":1}'],
      ["POST", "https://mcp.test/messages?sid=1", "{}"],
    ]);
    expect(requests[1]!.headers).toMatchObject({
      "content-type": "application/json",
      authorization: "Bearer x",
      "mcp-protocol-version": "tools/call",
    });
    stream.push(`event: message\n${event({ jsonrpc: "2.0", method: "n" })}${event(result(1, { n: 1 }))}`);
    stream.push(`event: weather\ndata: {}\n\n: ping\n\n${event({ jsonrpc: "2.0", id: "q", method: "ping" })}`);
    await settle();
    expect(told).toMatchObject([
      { on: "message", message: { kind: "notification" }, of: undefined },
      { on: "message", message: { kind: "result", id: 1, result: { n: 1 } }, of: undefined },
      { on: "message", message: { kind: "request", id: "q" }, of: undefined },
    ]);
    await transport.close();
    expect(told.at(-1)).toEqual({ on: "closed", end: { reason: "closed" }, unsent: [] });
    expect(requests[0]!.signal.aborted).toBe(true);
  });

  const shapes: [data: string, url: string, prefix?: string][] = [
    ["/messages?sid=1", "https://mcp.test/messages?sid=1"],
    ["messages?sid=1", "https://mcp.test/base/messages?sid=1"],
    ["?sid=1", "https://mcp.test/base/sse?sid=1"],
    ["https://mcp.test/other?sid=%2F1", "https://mcp.test/other?sid=%2F1"],
    ["//mcp.test/other", "https://mcp.test/other"],
    ["/messages?sid=1", "https://mcp.test/mcp/messages?sid=1", "/mcp"],
    ["/messages?sid=1", "https://mcp.test/mcp/messages?sid=1", "/mcp/"],
  ];
  test.each(shapes)("resolves the endpoint %s to %s: C-SSE-02 (FR-29)", async (data, url, endpointPrefix) => {
    const { transport, requests } = await opened({
      first: endpoint(data),
      ...(endpointPrefix === undefined ? {} : { endpointPrefix }),
    });
    transport.send(call);
    await settle();
    expect(requests[1]!.url).toBe(url);
    await transport.close();
  });

  test.each([
    "https://evil.test/post",
    "http://mcp.test/messages",
    "https://mcp.test:8443/messages",
    "//evil.test/x",
    "javascript:x",
    "file:///etc/passwd",
    "data:text/plain,x",
    "https://[",
  ])("refuses the endpoint %s, and sends nothing there: C-SSE-02 (FR-29, A-51)", async (data) => {
    const { error, requests, told, clock } = await dial({ first: endpoint(data) });
    expect(error).toMatchObject({
      code: "ERR_PROTOCOL",
      message: expect.stringContaining("wanted an address of https://mcp.test"),
    });
    expect(requests).toHaveLength(1);
    expect([requests[0]!.signal.aborted, told, clock.timers]).toEqual([true, [], 0]);
  });

  test("gives up when no endpoint comes in time, and waits that long: C-SSE-04 (FR-29)", async () => {
    const late = await dial({ first: event({ jsonrpc: "2.0", method: "n" }), endpointTimeoutMs: 5000 });
    await late.clock.advance(4999);
    late.stream.push(endpoint("/messages"));
    await settle();
    expect(late.transport).toBeDefined();
    await late.transport!.close();
    const never = await dial({ endpointTimeoutMs: 5000 });
    await never.clock.advance(5000);
    expect(never.error).toMatchObject({ code: "ERR_START_TIMEOUT", message: expect.stringContaining("5000 ms") });
    expect([never.requests[0]!.signal.aborted, never.clock.timers, never.told]).toEqual([true, 0, []]);
  });

  test("keeps to the first endpoint, and says that there was another (FR-29)", async () => {
    const { transport, requests, stream, told } = await opened();
    stream.push(endpoint("/messages?sid=1") + endpoint("/elsewhere") + endpoint("https://evil.test/"));
    transport.send(call);
    await settle();
    expect(requests[1]!.url).toBe("https://mcp.test/messages?sid=1");
    expect(told).toEqual(Array.from({ length: 2 }, () => ({ on: "warning", kind: "second_endpoint" })));
    await transport.close();
  });

  const refusals: [claim: string, answer: () => Response | Promise<Response>, error: object][] = [
    ["405", () => new Response("no", { status: 405 }), { code: "ERR_PROTOCOL", facts: { status: 405 } }],
    ["a page (FR-22)", () => new Response("<p>", { headers: { "content-type": "text/html" } }), {
      code: "ERR_PROTOCOL",
      facts: { status: 200, contentType: "text/html", excerpt: "<p>" },
    }],
    ["401", () => new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } }), {
      code: "ERR_AUTH_REQUIRED",
      facts: { status: 401, challenge: "Bearer" },
    }],
    ["nothing: it is not reached", () => Promise.reject(Object.assign(new Error("x"), { code: "ECONNREFUSED" })), {
      code: "ERR_CONNECTION_LOST",
      facts: { cause: "ECONNREFUSED" },
    }],
    ["a stream that ends", () => new Response("", { headers: { "content-type": "text/event-stream" } }), {
      code: "ERR_CONNECTION_LOST",
    }],
  ];
  test.each(refusals)("is not opened where the answer is %s", async (_claim, answer, error) => {
    const dialled = await dial({ answer: ({ method }) => method === "GET" ? answer() : undefined });
    expect(dialled.error).toMatchObject(error);
    expect(isHostError(dialled.error)).toBe(true);
    expect([dialled.told, dialled.clock.timers]).toEqual([[], 0]);
  });

  test("is given up with its signal, before and during the opening", async () => {
    const controller = new AbortController();
    const during = await dial({ signal: controller.signal });
    controller.abort();
    await settle();
    expect(during.error).toMatchObject({ code: "ERR_CANCELLED" });
    expect([during.requests[0]!.signal.aborted, during.clock.timers]).toEqual([true, 0]);
    const before = await dial({ signal: AbortSignal.abort() });
    expect([before.error.code, before.requests.length]).toEqual(["ERR_CANCELLED", 0]);
  });

  test.each(["end", "break"] as const)(
    "is lost with the %s of its stream, and told once: C-SSE-04 (FR-19)",
    async (way) => {
      const { transport, stream, told, requests } = await opened();
      transport.send(call);
      await settle();
      if (way === "end") stream.end();
      else stream.break("ECONNRESET");
      await settle();
      expect(told).toMatchObject([{
        on: "closed",
        end: { reason: "unreachable", error: { code: "ERR_CONNECTION_LOST" } },
        unsent: [],
      }]);
      await transport.close();
      transport.send({ ...call, id: 2 });
      await settle();
      expect([told.length, requests.length]).toEqual([1, 2]);
    },
  );

  test("fails the one message that is refused, as far as it is known to be", async () => {
    let status = 500;
    const { transport, told } = await opened({
      answer: ({ method }) => method === "POST" ? new Response("no", { status }) : undefined,
    });
    for (const [id, each] of [[1, 500], [2, 404], [3, 401]] as const) {
      status = each;
      transport.send({ ...call, id });
      await settle();
    }
    await transport.send({ text: "{}", method: "" });
    expect(told).toMatchObject([
      { on: "lost", id: 1, lost: { sent: true, refused: false, error: { code: "ERR_PROTOCOL" } } },
      { on: "lost", id: 2, lost: { sent: true, refused: true, error: { code: "ERR_PROTOCOL" } } },
      { on: "lost", id: 3, lost: { sent: true, refused: true, error: { code: "ERR_AUTH_REQUIRED" } } },
      { on: "warning", kind: "undelivered" },
    ]);
    await transport.close();
  });

  test("takes an error in the answer to a POST for the answer", async () => {
    const { transport, told } = await opened({
      answer: ({ method }) =>
        method === "POST"
          ? json({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "no" } }, { status: 400 })
          : undefined,
    });
    transport.send(call);
    await settle();
    expect(told).toMatchObject([{ on: "message", message: { kind: "error", id: 1, error: { code: -32600 } }, of: 1 }]);
    await transport.close();
  });

  test("is lost when messages do not reach the server three times in a row", async () => {
    const { transport, told } = await opened({
      answer: ({ method }) =>
        method === "POST" ? Promise.reject(Object.assign(new Error("x"), { code: "ECONNREFUSED" })) : undefined,
    });
    for (const id of [1, 2, 3]) transport.send({ ...call, id });
    await settle();
    expect(told.map(({ on }) => on)).toEqual(["lost", "lost", "lost", "closed"]);
    expect(told[0]).toMatchObject({ lost: { sent: false } });
  });

  test("is refused an endless event (A-41)", async () => {
    const { stream, told } = await opened();
    for (let n = 0; n < 10; n++) {
      stream.push((n === 0 ? "data: " : "") + "a".repeat(1 << 20));
      await settle();
    }
    expect(told).toMatchObject([{
      on: "closed",
      end: { reason: "frame_too_large", error: { code: "ERR_FRAME_TOO_LARGE" } },
    }]);
  });

  test("leaves nothing of many requests that were answered", async () => {
    const { transport, stream, told, clock } = await opened();
    for (let id = 1; id <= 100; id++) {
      transport.send({ ...call, id });
      await settle();
      stream.push(event(result(id)));
    }
    await settle();
    expect([told.length, clock.timers]).toEqual([100, 0]);
    await transport.close();
    expect(told.at(-1)).toMatchObject({ on: "closed", unsent: [] });
  });
});
