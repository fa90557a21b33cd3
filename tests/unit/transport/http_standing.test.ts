import { describe, expect, test } from "vitest";
import { httpDialer, type HttpDialerOptions } from "../../../src/transport/http.ts";
import type { Transport } from "../../../src/transport/transport.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { type PushedStream, pushedStream } from "./pushed_stream.ts";
import { event, type Fetched, json, listener, profile, result, scriptedFetch, type Told } from "./scripted_fetch.ts";

interface Open {
  readonly transport: Transport;
  readonly told: Told[];
  /** The requests of which an answer was said to arrive. */
  readonly arriving: (number | undefined)[];
  /** The GETs. */
  readonly gets: Fetched[];
  readonly streams: PushedStream[];
  readonly clock: FakeClock;
}

/** Listens on a session; GETs are answered by the next answer, the last of which stays, and by streams where there is none. */
async function open(
  answers: readonly ((request: Fetched) => Response | Promise<Response> | undefined)[] = [],
  options: Partial<HttpDialerOptions> = {},
  sessions = true,
): Promise<Open> {
  const clock = new FakeClock();
  const streams: PushedStream[] = [];
  const gets: Fetched[] = [];
  const { fetch } = scriptedFetch((request) => {
    if (request.method !== "GET") {
      return json(result(JSON.parse(request.body || "{}").id), { headers: { "mcp-session-id": "s-1" } });
    }
    const script = answers[Math.min(gets.push(request), answers.length) - 1];
    const response = script?.(request);
    if (response !== undefined) return response;
    const stream = pushedStream(request.signal);
    streams.push(stream);
    return stream.response;
  });
  const { handlers, told } = listener();
  const arriving: (number | undefined)[] = [];
  const dialer = httpDialer({ url: "https://mcp.test/mcp", fetch, clock, ...options });
  const transport = await dialer.dial(profile({ sessions }), {
    ...handlers,
    onArriving: (of) => void arriving.push(of),
  });
  void transport.send({ text: '{"id":1}', method: "initialize", id: 1 });
  await settle();
  told.splice(0);
  transport.listen?.();
  await settle();
  return { transport, told, arriving, gets, streams, clock };
}

const note = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
const status = (code: number) => (): Response => new Response("no", { status: code });

describe("standing stream", () => {
  test("is opened with the session, and carries what belongs to no request: C-SHTTP-04, C-SHTTP-05", async () => {
    const { transport, told, gets, streams, clock } = await open();
    expect(gets).toMatchObject([{ headers: { accept: "text/event-stream", "mcp-session-id": "s-1" } }]);
    streams[0]!.push(event(note) + event({ jsonrpc: "2.0", id: "q", method: "ping" }));
    await settle();
    expect(told).toMatchObject([
      { on: "message", message: { kind: "notification" }, of: undefined },
      { on: "message", message: { kind: "request", id: "q" }, of: undefined },
    ]);
    expect(clock.timers).toBe(0);
    await transport.close();
    expect([streams[0]!.isCancelled(), clock.timers]).toEqual([true, 0]);
  });

  test("says nothing of the answers to requests, however much arrives on it", async () => {
    const { told, streams, arriving } = await open();
    streams[0]!.push(`data: ${"x".repeat(200_000)}`);
    await settle();
    expect([told, arriving]).toEqual([[], [0]]);
  });

  test.each([405, 404, 400, 500, 501, 401])(
    "that the server does not offer (%i) is not asked for again: C-SHTTP-14",
    async (code) => {
      const { told, gets, clock, transport } = await open([status(code)]);
      await clock.advance(600_000);
      expect([gets.length, told, clock.timers]).toEqual([1, [], 0]);
      await transport.close();
    },
  );

  test.each([
    ["a page", "text/html", "<!doctype html>"],
    ["a status page", "application/json", '{"status":"ok"}'],
  ])("in whose place there is %s is said and not asked for again (FR-22)", async (_claim, type, text) => {
    const { told, gets, clock, transport } = await open([
      () => new Response(text, { headers: { "content-type": type } }),
    ]);
    await clock.advance(600_000);
    expect([gets.length, told]).toEqual([1, [{ on: "warning", kind: "no_stream" }]]);
    await transport.close();
  });

  test("may be labelled in any way that means the same (FR-22)", async () => {
    const stream = pushedStream();
    const { told, transport } = await open([
      () => new Response(stream.response.body, { headers: { "content-type": "Text/Event-Stream; charset=UTF-8" } }),
    ]);
    stream.push(event(note));
    await settle();
    expect(told).toMatchObject([{ on: "message" }]);
    await transport.close();
  });

  test.each(["end", "break"] as const)(
    "that comes to an %s is opened again quietly, from its own last id (FR-19, FR-26, FR-27)",
    async (way) => {
      const { told, gets, streams, clock, transport } = await open();
      streams[0]!.push(`id: g-1\nretry: 300\n${event(note)}`);
      await settle();
      if (way === "end") streams[0]!.end();
      else streams[0]!.break("ECONNRESET");
      await clock.advance(299);
      expect(gets).toHaveLength(1);
      await clock.advance(1);
      expect(gets.map(({ headers }) => headers["last-event-id"])).toEqual([undefined, "g-1"]);
      expect(told).toMatchObject([{ on: "message" }]);
      await transport.close();
    },
  );

  test("that brings nothing is opened again ever more seldom, and no failure ends the connection (FR-19, FR-27)", async () => {
    const fails = (): Promise<Response> => Promise.reject(Object.assign(new Error("x"), { code: "ECONNREFUSED" }));
    const { told, gets, clock, transport } = await open([() => undefined, fails, status(409), status(503), fails]);
    expect(gets).toHaveLength(1);
    await transport.close();
    const again = await open([fails]);
    await again.clock.advance(3_600_000);
    expect(again.gets.length).toBeGreaterThan(55);
    expect(again.gets.length).toBeLessThan(75);
    expect([told.filter(({ on }) => on !== "closed"), again.told]).toEqual([[], []]);
    await again.transport.close();
    expect([clock.timers, again.clock.timers]).toEqual([0, 0]);
  });

  test("waits for a stream that the server still holds: 409 is no failure (FR-27)", async () => {
    const { gets, streams, clock, told, transport } = await open([status(409), status(409), () => undefined]);
    await clock.advance(3000);
    expect([gets.length, streams.length, told]).toEqual([3, 1, []]);
    await transport.close();
  });

  test("is silent for as long as it likes (FR-27)", async () => {
    const { gets, clock, transport } = await open();
    await clock.advance(3_600_000);
    expect(gets).toHaveLength(1);
    await transport.close();
  });

  test("is not opened where the revision has none, nor where it is not wanted", async () => {
    for (const each of [await open([], {}, false), await open([], { listens: false })]) {
      expect(each.gets).toEqual([]);
      await each.transport.close();
    }
  });

  test("is ended by the close, also before it was answered and between two openings", async () => {
    const never = (): Promise<Response> => new Promise(() => {});
    const waiting = await open([never]);
    await waiting.transport.close();
    expect(waiting.gets[0]!.signal.aborted).toBe(true);
    const between = await open();
    between.streams[0]!.end();
    await settle();
    expect(between.clock.timers).toBe(1);
    await between.transport.close();
    await settle();
    expect(between.clock.timers).toBe(0);
    between.transport.listen?.();
    expect(between.gets).toHaveLength(1);
  });

  test("with what cannot be read harms no request that waits", async () => {
    const { told, streams, transport } = await open();
    streams[0]!.push(
      event("hello") + event("[".repeat(90) + "]".repeat(90)) + event({ jsonrpc: "2.0", id: 7, error: 1 }),
    );
    await settle();
    expect(told).toMatchObject([
      { on: "malformed", reason: "not_json", of: 0 },
      { on: "malformed", reason: "too_deep", of: 0 },
      { on: "malformed", reason: "envelope", of: 0 },
    ]);
    await transport.close();
  });

  test("with an endless event is given up and said (A-41)", async () => {
    const { told, gets, streams, clock, transport } = await open();
    for (let n = 0; n < 10; n++) {
      streams[0]!.push((n === 0 ? "data: " : "") + "a".repeat(1 << 20));
      await settle();
    }
    await clock.advance(60_000);
    expect([gets.length, told]).toEqual([1, [{ on: "warning", kind: "no_stream" }]]);
    await transport.close();
  });
});
