import { describe, expect, test } from "vitest";
import type { Transport } from "../../../src/jsonrpc/link.ts";
import { sseDialer } from "../../../src/transport/endpoint_sse.ts";
import { httpDialer } from "../../../src/transport/http.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { type PushedStream, pushedStream } from "./pushed_stream.ts";
import {
  body,
  event,
  type Fetched,
  json,
  listener,
  profile,
  result,
  scriptedFetch,
  type Told,
} from "./scripted_fetch.ts";

interface Open {
  readonly transport: Transport;
  readonly told: Told[];
  /** The POSTs. */
  readonly posts: Fetched[];
  /** What carries the answers that come on no stream of their own. */
  readonly stream: PushedStream;
  readonly clock: FakeClock;
}

type Script = (request: Fetched) => Response | Promise<Response>;

const ways = {
  "Streamable HTTP": httpDialer,
  "HTTP with SSE": sseDialer,
};

async function open(script: Script, dial: typeof httpDialer | typeof sseDialer = httpDialer): Promise<Open> {
  const clock = new FakeClock();
  const stream = pushedStream();
  const posts: Fetched[] = [];
  const { fetch } = scriptedFetch((request) => {
    if (request.method === "GET") return stream.response;
    posts.push(request);
    return script(request);
  });
  const { handlers, told } = listener();
  stream.push("event: endpoint\ndata: /messages\n\n");
  const transport = await dial({ url: "https://mcp.test/mcp", fetch, clock }).dial(profile(), handlers);
  transport.listen?.();
  await settle();
  return { transport, told, posts, stream, clock };
}

const never = (): Promise<Response> => new Promise(() => {});
const call = (id: number): { text: string; method: string; id: number } => ({
  text: JSON.stringify({ id }),
  method: "tools/call",
  id,
});
const answer = { text: "{}", method: "" };
const kept = (posts: readonly Fetched[]): number => posts.filter(({ signal }) => !signal.aborted).length;
const warnings = (told: readonly Told[]): number => told.filter(({ on }) => on === "warning").length;

describe.each(Object.entries(ways))("message by POST over %s", (_name, dial) => {
  test("whose answer came elsewhere is let go of within a second, though nothing comes of it", async () => {
    const { transport, told, posts, stream, clock } = await open(never, dial);
    transport.send(call(1));
    await settle();
    stream.push(event(result(1)));
    await clock.advance(999);
    expect(kept(posts)).toBe(1);
    await clock.advance(1);
    expect(kept(posts)).toBe(0);
    expect(told).toMatchObject([{ on: "message", message: { kind: "result", id: 1 } }]);
    expect(clock.timers).toBe(0);
    await transport.close();
  });

  test("leaves nothing open for longer, however many answers come elsewhere", async () => {
    const { transport, told, posts, stream, clock } = await open(never, dial);
    for (let id = 1; id <= 300; id++) {
      transport.send(call(id));
      stream.push(event(result(id)));
      await settle();
    }
    expect(told.filter(({ on }) => on === "message")).toHaveLength(300);
    expect(posts).toHaveLength(300);
    await clock.advance(1000);
    expect([kept(posts), clock.timers]).toEqual([0, 0]);
    await transport.close();
  });

  test("waits for its answer as long as its owner does", async () => {
    const { transport, told, posts, clock } = await open(never, dial);
    for (let id = 1; id <= 100; id++) transport.send(call(id));
    await clock.advance(3_600_000);
    expect([kept(posts), told]).toEqual([100, []]);
    await transport.close();
  });

  test("that nobody waits for is given up after half a minute, with a warning, and blames no server", async () => {
    const { transport, told, posts, clock } = await open(never, dial);
    let left = 0;
    for (let n = 0; n < 5; n++) void Promise.resolve(transport.send(answer)).then(() => left++);
    await clock.advance(29_999);
    expect([kept(posts), told, left]).toEqual([5, [], 0]);
    await clock.advance(1);
    expect([kept(posts), clock.timers, left]).toEqual([0, 0, 5]);
    expect(told).toEqual(Array.from({ length: 5 }, () => ({ on: "warning", kind: "undelivered" })));
    await transport.close();
  });

  test("that nobody waits for takes its turn: 32 under way, and none is dropped that the server takes", async () => {
    const acknowledge: (() => void)[] = [];
    const { transport, told, posts } = await open(
      () => new Promise((resolve) => acknowledge.push(() => resolve(new Response(null, { status: 202 })))),
      dial,
    );
    for (let n = 1; n <= 100; n++) void transport.send({ ...answer, text: `${n}` });
    await settle();
    expect(posts).toHaveLength(32);
    while (acknowledge.length > 0) {
      for (const each of acknowledge.splice(0)) each();
      await settle();
    }
    expect(posts.map((post) => Number(post.body)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 100 }, (_, n) => n + 1),
    );
    expect(told).toEqual([]);
    await transport.close();
  });

  test("that nobody waits for piles up for half a minute at most, and holds up no request", async () => {
    const { transport, told, posts, stream, clock } = await open(never, dial);
    let most = 0;
    for (let second = 0; second < 60; second++) {
      for (let n = 0; n < 20; n++) void transport.send(answer);
      await clock.advance(1000);
      most = Math.max(most, kept(posts));
    }
    expect(most).toBe(32);
    expect(warnings(told)).toBeGreaterThanOrEqual(20 * 29);
    void transport.send({ text: "initialized", method: "notifications/initialized" });
    transport.send(call(1));
    await settle();
    expect(posts.slice(-2).map((post) => post.body)).toEqual(["initialized", '{"id":1}']);
    stream.push(event(result(1)));
    await settle();
    expect(told.at(-1)).toMatchObject({ on: "message" });
    const sent = posts.length;
    await transport.close();
    await settle();
    expect([posts.length, kept(posts), clock.timers, told.at(-1)!.on]).toEqual([sent, 0, 0, "closed"]);
  });
});

describe("response whose request was answered elsewhere", () => {
  const responses: [claim: string, respond: () => Response][] = [
    [
      "a body that does not go on",
      () => new Response(body("{", new Promise<never>(() => {})), { headers: { "content-type": "application/json" } }),
    ],
    [
      "a stream without a word",
      () => new Response(body(new Promise<never>(() => {})), { headers: { "content-type": "text/event-stream" } }),
    ],
    ["a refusal without an end", () => new Response(body(new Promise<never>(() => {})), { status: 500 })],
  ];
  test.each(responses)("is let go of: %s", async (_claim, respond) => {
    const { transport, told, posts, stream, clock } = await open(respond);
    transport.send(call(1));
    await settle();
    stream.push(event(result(1)));
    await clock.advance(1000);
    expect([kept(posts), clock.timers]).toEqual([0, 0]);
    expect(told).toMatchObject([{ on: "message", message: { kind: "result", id: 1 } }]);
    await transport.close();
  });

  test("costs no timer where it is there with its answer", async () => {
    const { transport, clock } = await open((request) => json(result(JSON.parse(request.body).id)));
    let timers = 0;
    const after = clock.after.bind(clock);
    clock.after = (...args) => {
      timers++;
      return after(...args);
    };
    for (let id = 1; id <= 10; id++) {
      transport.send(call(id));
      await settle();
    }
    expect(timers).toBe(0);
    await transport.close();
  });
});
