import { describe, expect, test } from "vitest";
import type { TransportHandlers } from "../../../src/jsonrpc/link.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import { httpDialer } from "../../../src/transport/http.ts";
import type { Transport } from "../../../src/transport/transport.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { pushedStream } from "./pushed_stream.ts";
import { type Fetched, json, listener, profile, result, scriptedFetch, type Told } from "./scripted_fetch.ts";

/** A server with sessions, and what a test may do to it. */
class SessionServer {
  /** The session that it knows; it answers the others as `refuse` says. */
  current = 0;
  refuse: (request: Fetched) => Response = () => new Response("Session not found", { status: 404 });
  /** Answers in place of the server. */
  instead: ((request: Fetched) => Response | Promise<Response> | undefined) | undefined;
  readonly requests: Fetched[];
  readonly fetch;

  constructor() {
    const { fetch, requests } = scriptedFetch((request) => this.instead?.(request) ?? this.#answer(request));
    this.requests = requests;
    this.fetch = fetch;
  }

  /** Method and session of each request but the GETs and the farewell. */
  get heard(): [method: string, session: string | undefined][] {
    return this.requests.filter(({ method }) => method === "POST").map(({ body, headers }) => [
      JSON.parse(body).method,
      headers["mcp-session-id"],
    ]);
  }

  #answer(request: Fetched): Response | Promise<Response> {
    const session = request.headers["mcp-session-id"];
    if (request.method === "GET") {
      return session === `s-${this.current}` ? pushedStream(request.signal).response : this.refuse(request);
    }
    if (request.method === "DELETE") return new Response(null, { status: 204 });
    const { method, id } = JSON.parse(request.body) as { method: string; id?: number };
    if (method === "initialize") {
      return json(result(id), { headers: { "mcp-session-id": `s-${++this.current}` } });
    }
    if (session !== `s-${this.current}`) return this.refuse(request);
    return id === undefined ? new Response(null, { status: 202 }) : json(result(id));
  }
}

interface Open {
  readonly server: SessionServer;
  readonly transport: Transport;
  readonly told: Told[];
  readonly clock: FakeClock;
  /** How often another session was asked for. */
  readonly renewals: () => number;
}

const message = (method: string, id?: number): { text: string; method: string; id?: number } => ({
  text: JSON.stringify({ method, ...(id === undefined ? {} : { id }) }),
  method,
  ...(id === undefined ? {} : { id }),
});

/** Opens a session, in which one request has worked; `renew` is what its owner does when it is lost. */
async function open(renew?: (transport: Transport, told: Told[]) => Promise<void>): Promise<Open> {
  const server = new SessionServer();
  const clock = new FakeClock();
  const { handlers, told } = listener();
  let renewals = 0;
  let nextId = 1000;
  const owner: TransportHandlers = Object.assign(handlers, {
    onSessionLost: async () => {
      renewals++;
      if (renew !== undefined) return await renew(transport, told);
      const id = ++nextId;
      transport.send(message("initialize", id));
      while (!told.some((each) => each.on === "message" && each.message.kind === "result" && each.message.id === id)) {
        if (told.some((each) => each.on === "lost" && each.id === id)) {
          throw new HostError("ERR_PROTOCOL", "no handshake");
        }
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      await transport.send(message("notifications/initialized"));
      transport.listen?.();
    },
  });
  const dialer = httpDialer({ url: "https://mcp.test/mcp", fetch: server.fetch, clock });
  const transport: Transport = await dialer.dial(profile(), owner);
  transport.send(message("initialize", 1));
  await settle();
  await transport.send(message("notifications/initialized"));
  transport.send(message("tools/list", 2));
  await settle();
  told.splice(0);
  server.requests.splice(0);
  return { server, transport, told, clock, renewals: () => renewals };
}

const ofCalls = (told: readonly Told[]): [on: string, id: unknown][] =>
  told.filter((each) => !(each.on === "message" && Number((each.message as { id?: unknown }).id) > 1000))
    .map((each): [string, unknown] =>
      each.on === "message"
        ? ["answer", (each.message as { id?: unknown }).id]
        : [each.on, "id" in each ? each.id : undefined]
    );

describe("session that the server has forgotten", () => {
  test("is opened anew without its id, and the refused request is sent again once: C-SHTTP-06 (FR-20)", async () => {
    const { server, transport, told } = await open();
    server.current++;
    transport.send(message("tools/call", 3));
    await settle();
    expect(server.heard).toEqual([
      ["tools/call", "s-1"],
      ["initialize", undefined],
      ["notifications/initialized", "s-3"],
      ["tools/call", "s-3"],
    ]);
    expect(ofCalls(told)).toEqual([["resent", 3], ["answer", 3]]);
    transport.send(message("tools/call", 4));
    await settle();
    expect(server.heard.at(-1)).toEqual(["tools/call", "s-3"]);
    await transport.close();
    expect(server.requests.at(-1)).toMatchObject({ method: "DELETE", headers: { "mcp-session-id": "s-3" } });
  });

  test("is told before a request is sent again, which waits, and fails with what stands in the way", async () => {
    const { server, transport, told } = await open();
    const asked: unknown[] = [];
    const inTheWay = new HostError("ERR_TOOL_NOT_FOUND", "It is another one now");
    let release!: (why: HostError | undefined) => void;
    const beforeResend = (refusal: unknown): Promise<HostError | undefined> => {
      asked.push(refusal);
      return new Promise((resolve) => release = resolve);
    };
    for (const [id, why] of [[3, undefined], [4, inTheWay]] as const) {
      server.current++;
      transport.send({ ...message("tools/call", id), beforeResend });
      await settle();
      expect(server.heard.filter(([method]) => method === "tools/call")).toHaveLength(id === 3 ? 1 : 3);
      // What has to be asked first is not held back.
      transport.send(message("tools/list", 10 + id));
      await settle();
      expect(ofCalls(told).at(-1)).toEqual(["answer", 10 + id]);
      release(why);
      await settle();
    }
    expect(asked).toMatchObject([{ code: "ERR_CONNECTION_LOST" }, { code: "ERR_CONNECTION_LOST" }]);
    expect(server.heard.filter(([method]) => method === "tools/call")).toHaveLength(3);
    expect(told.filter((each) => each.on === "lost")).toMatchObject([
      { id: 4, lost: { error: inTheWay, sent: true, refused: true } },
    ]);
    await transport.close();
  });

  test("is opened anew once for all that were refused, and new requests wait for it: C-SHTTP-18 (FR-20)", async () => {
    const { server, transport, told, renewals } = await open();
    server.current++;
    let release!: () => void;
    const held = new Promise<void>((resolve) => release = resolve);
    server.instead = (request) => {
      if (!request.body.includes('"initialize"')) return undefined;
      server.instead = undefined;
      return held.then(() =>
        json(result(JSON.parse(request.body).id), { headers: { "mcp-session-id": `s-${++server.current}` } })
      );
    };
    for (let id = 3; id < 8; id++) transport.send(message("tools/call", id));
    await settle();
    for (let id = 8; id < 10; id++) transport.send(message("tools/call", id));
    void transport.send(message("notifications/n"));
    await settle();
    expect(server.heard.map(([method]) => method)).toEqual([
      ...Array.from({ length: 5 }, () => "tools/call"),
      "initialize",
    ]);
    release();
    await settle();
    expect(renewals()).toBe(1);
    expect(ofCalls(told).filter(([on]) => on === "resent").length).toBe(5);
    expect(ofCalls(told).filter(([on]) => on === "answer").length).toBe(7);
    expect(server.heard.slice(6).every(([, session]) => session === "s-3")).toBe(true);
    await transport.close();
  });

  const answers: [status: number, code: number, text: string][] = [
    [404, -32000, "Issue 42 not found"],
    [404, -32001, "Request timed out"],
    [404, -32601, "Method not found"],
    [400, -32000, "Booking session 7 is full"],
    [400, -32001, "Bad request"],
    [404, -32001, "Cannot open the database session"],
  ];
  test.each(answers)("is not what an error with status %i, code %i and the id of its request means: %s", async (
    status,
    code,
    text,
  ) => {
    const { server, transport, told, renewals } = await open();
    const refusal = { jsonrpc: "2.0", id: 3, error: { code, message: text } };
    server.instead = (request) => request.body.includes("tools/call") ? json(refusal, { status }) : undefined;
    transport.send(message("tools/call", 3));
    await settle();
    expect(server.heard.map(([method]) => method)).toEqual(["tools/call"]);
    expect(told).toMatchObject([{ on: "message", message: { kind: "error", error: { code } }, of: 3 }]);
    expect(renewals()).toBe(0);
    await transport.close();
  });

  const forgotten: [status: number, id: unknown, code: number][] = [
    [404, null, -32001],
    [404, "server-error", -32600],
    [404, 3, -32001],
    [400, null, -32000],
  ];
  test.each(forgotten)(
    "is what an error with status %i and id %s means that speaks of the session",
    async (status, id, code) => {
      const { server, transport, renewals } = await open();
      server.current++;
      const refusal = { jsonrpc: "2.0", id, error: { code, message: "Session not found" } };
      server.refuse = () => json(refusal, { status });
      transport.send(message("tools/call", 3));
      await settle();
      expect(renewals()).toBe(1);
      await transport.close();
    },
  );

  test("is not opened again and again: a request that is refused a second time is an error (FR-20)", async () => {
    const { server, transport, told, renewals } = await open();
    server.instead = (request) => request.body.includes("tools/call") ? new Response(null, { status: 404 }) : undefined;
    transport.send(message("tools/call", 3));
    await settle();
    expect(server.heard.map(([method]) => method)).toEqual([
      "tools/call",
      "initialize",
      "notifications/initialized",
      "tools/call",
    ]);
    expect(told.at(-1)).toMatchObject({
      on: "lost",
      id: 3,
      lost: { sent: true, refused: true, error: { facts: { status: 404 } } },
    });
    expect(renewals()).toBe(1);
    await transport.close();
  });

  test("that is as good as its next ends the connection: the server keeps none (FR-20)", async () => {
    const { server, transport, told, renewals } = await open();
    server.instead = ({ headers }) =>
      headers["mcp-session-id"] === undefined ? undefined : new Response(null, { status: 404 });
    transport.send(message("tools/call", 3));
    await settle();
    expect(told.at(-1)).toMatchObject({
      on: "closed",
      end: { reason: "unreachable", error: { code: "ERR_CONNECTION_LOST" } },
    });
    expect([renewals(), server.requests.length]).toEqual([1, 3]);
    await transport.close();
  });

  test("and that no other follows ends the connection with the cause; what was refused is said to be", async () => {
    const { server, transport, told } = await open(() => Promise.reject(new HostError("ERR_VERSION", "Cannot agree")));
    server.current++;
    transport.send(message("tools/call", 3));
    transport.send(message("tools/call", 4));
    await settle();
    transport.send(message("tools/call", 5));
    await settle();
    expect(told).toMatchObject([
      { on: "lost", id: 3, lost: { sent: true, refused: true } },
      { on: "lost", id: 4, lost: { sent: true, refused: true } },
      {
        on: "closed",
        end: { reason: "unreachable", error: { code: "ERR_CONNECTION_LOST", cause: { code: "ERR_VERSION" } } },
      },
    ]);
    expect(server.heard.map(([method]) => method)).toEqual(["tools/call", "tools/call"]);
  });

  test("is noticed by a notification too, which is not sent again", async () => {
    const { server, transport, told } = await open();
    server.current++;
    await transport.send(message("notifications/cancelled"));
    await settle();
    expect(server.heard.map(([method]) => method)).toEqual([
      "notifications/cancelled",
      "initialize",
      "notifications/initialized",
    ]);
    expect(ofCalls(told)).toEqual([]);
    await transport.close();
  });

  test("lets go of a request that is given up meanwhile", async () => {
    const { server, transport, told } = await open(() => new Promise<void>(() => {}));
    server.current++;
    transport.send(message("tools/call", 3));
    transport.send(message("tools/call", 4));
    await settle();
    transport.abandon(3);
    await transport.close();
    await settle();
    expect(ofCalls(told)).toEqual([["closed", undefined]]);
    expect(server.heard.map(([method]) => method)).toEqual(["tools/call", "tools/call"]);
  });

  test("takes the stream that belonged to it along; the next session has its own, from its beginning", async () => {
    const { server, transport, clock } = await open();
    transport.listen?.();
    await settle();
    server.current++;
    transport.send(message("tools/call", 3));
    await settle();
    const gets = server.requests.filter(({ method }) => method === "GET");
    expect(gets.map(({ headers, signal }) => [headers["mcp-session-id"], headers["last-event-id"], signal.aborted]))
      .toEqual([["s-1", undefined, true], ["s-3", undefined, false]]);
    await transport.close();
    expect(clock.timers).toBe(0);
  });

  test("is noticed where its stream is opened again, and what the server pushes is heard again (FR-19)", async () => {
    const { server, transport, clock, renewals } = await open();
    const stream = pushedStream();
    server.instead = (request) => request.method === "GET" ? stream.response : undefined;
    transport.listen?.();
    await settle();
    server.instead = undefined;
    server.current++;
    stream.end();
    await clock.advance(10_000);
    expect(renewals()).toBe(1);
    expect(server.requests.at(-1)).toMatchObject({ method: "GET", headers: { "mcp-session-id": "s-3" } });
    await transport.close();
  });

  describe("and that its server forgets with each stream", () => {
    async function forgetful() {
      const opened = await open();
      const { server, transport } = opened;
      // Each stream ends at once, and with it the session.
      server.instead = (request) => {
        if (request.method !== "GET" || request.headers["mcp-session-id"] !== `s-${server.current}`) return undefined;
        server.current++;
        const stream = pushedStream();
        stream.end();
        return stream.response;
      };
      transport.listen?.();
      return opened;
    }

    test("is opened anew every ten seconds at most, and a warning says so", async () => {
      const { transport, told, clock, renewals } = await forgetful();
      for (let second = 0; second < 65; second++) await clock.advance(1000);
      expect(renewals()).toBe(6);
      expect(told.filter((each) => each.on === "warning").map((each) => each.kind)).toContain("no_stream");
      await transport.close();
      expect(clock.timers).toBe(0);
    });

    test("is opened at once where a call needs it", async () => {
      const { server, transport, told, clock, renewals } = await forgetful();
      await clock.advance(2000);
      expect(renewals()).toBe(0);
      server.instead = undefined;
      transport.send(message("tools/call", 3));
      await settle();
      expect(renewals()).toBe(1);
      expect(ofCalls(told).filter(([on]) => on !== "warning")).toEqual([["resent", 3], ["answer", 3]]);
      await clock.advance(20_000);
      expect(renewals()).toBe(1);
      await transport.close();
      expect(clock.timers).toBe(0);
    });
  });

  const refusals: [claim: string, refuse: () => Response, isLost: boolean][] = [
    ["400 that says so in a page", () => new Response("Bad Request: unknown session", { status: 400 }), true],
    [
      "400 with an error that says so",
      () =>
        json({
          jsonrpc: "2.0",
          id: null,
          error: { code: -32000, message: "Bad Request: No valid session ID provided" },
        }, {
          status: 400,
        }),
      true,
    ],
    [
      "404 with an error of its own",
      () => json({ jsonrpc: "2.0", id: null, error: { code: -32001, message: "gone" } }, { status: 404 }),
      true,
    ],
    ["400 that says it behind the id", () => new Response("Session ID 3f2a-77 not found", { status: 400 }), true],
    ["400 that says it of the header", () => new Response("Invalid Mcp-Session-Id header", { status: 400 }), true],
    [
      "400 with an error about another session",
      () =>
        json({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "cannot create database session" } }, {
          status: 400,
        }),
      false,
    ],
    ["400 in a page about another session", () => new Response("Booking session 7 is full", { status: 400 }), false],
    [
      "400 with an error of another kind",
      () => json({ jsonrpc: "2.0", id: null, error: { code: -32603, message: "Session not found" } }, { status: 400 }),
      false,
    ],
    [
      "404 with an error of another kind that says nothing of a session",
      () => json({ jsonrpc: "2.0", id: null, error: { code: -32603, message: "no such row" } }, { status: 404 }),
      false,
    ],
    [
      "404 with an error of another kind that says so",
      () => json({ jsonrpc: "2.0", id: null, error: { code: -32004, message: "Session not found" } }, { status: 404 }),
      true,
    ],
    ["400 about something else", () => new Response("Bad Request", { status: 400 }), false],
    [
      "400 that answers the request",
      () =>
        json({ jsonrpc: "2.0", id: 3, error: { code: -32602, message: "no such session of the browser" } }, {
          status: 400,
        }),
      false,
    ],
    [
      "404 that answers the request",
      () => json({ jsonrpc: "2.0", id: 3, error: { code: -32601, message: "Method not found" } }, { status: 404 }),
      false,
    ],
    ["500", () => new Response("session store is down", { status: 500 }), false],
  ];
  test.each(refusals)("is meant by %s or not", async (_claim, refuse, isLost) => {
    const { server, transport, renewals } = await open();
    server.refuse = refuse;
    server.current++;
    transport.send(message("tools/call", 3));
    await settle();
    expect(renewals()).toBe(isLost ? 1 : 0);
    await transport.close();
  });

  test("that has never worked is not taken for lost by a 400", async () => {
    const { server, transport, told, renewals } = await open();
    server.instead = (request) =>
      request.method === "POST" && !request.body.includes('"initialize"')
        ? new Response("unknown session", { status: 400 })
        : undefined;
    server.current++;
    transport.send(message("tools/call", 3));
    await settle();
    // The first one had worked; the one that replaced it is not replaced again.
    expect(renewals()).toBe(1);
    expect(told.at(-1)).toMatchObject({
      on: "lost",
      id: 3,
      lost: { error: { code: "ERR_PROTOCOL", facts: { status: 400 } } },
    });
    await transport.close();
  });

  test("is not named by what still arrives for it", async () => {
    const { server, transport } = await open();
    let release!: () => void;
    const late = new Promise<void>((resolve) => release = resolve);
    server.instead = (request) =>
      request.body.includes('"id":3')
        ? late.then(() => json(result(3), { headers: { "mcp-session-id": "s-1" } }))
        : undefined;
    transport.send(message("tools/call", 3));
    await settle();
    server.current++;
    transport.send(message("tools/call", 4));
    await settle();
    release();
    await settle();
    transport.send(message("tools/call", 5));
    await settle();
    expect(server.heard.at(-1)).toEqual(["tools/call", "s-3"]);
    await transport.close();
  });

  test("ends the resumption of its answers: the place was in it (FR-26)", async () => {
    const { server, transport, told, clock } = await open();
    server.instead = (request) => {
      if (!request.body.includes('"id":3')) return undefined;
      const stream = pushedStream();
      stream.push("id: a-1\ndata:\n\n");
      stream.end();
      return stream.response;
    };
    transport.send(message("tools/call", 3));
    await settle();
    server.current++;
    transport.send(message("tools/call", 4));
    await settle();
    await clock.advance(1000);
    expect(told.find((each) => each.on === "lost")).toMatchObject({ id: 3, lost: { sent: true, refused: false } });
    expect(server.requests.filter(({ method }) => method === "GET")).toHaveLength(1);
    await transport.close();
  });

  test("is a secret: no error, warning or end names it, and no other origin gets it: C-SHTTP-13", async () => {
    const { server, transport, told } = await open();
    const secret = `s-${server.current}`;
    const elsewhere: Fetched[] = [];
    const answers = [
      () => new Response("no", { status: 500 }),
      () => new Response("no", { status: 401 }),
      () => new Response(null, { status: 307, headers: { location: "https://evil.test/mcp" } }),
      () => new Response("<p>", { headers: { "content-type": "text/html" } }),
      () => Promise.reject(Object.assign(new Error("x"), { code: "ECONNRESET" })),
    ];
    for (const [n, answer] of answers.entries()) {
      server.instead = (request) => {
        if (request.url.includes("evil.test")) elsewhere.push(request);
        return answer();
      };
      transport.send(message("tools/call", 10 + n));
      await transport.send(message("notifications/n"));
      await settle();
    }
    server.instead = undefined;
    await transport.close();
    expect(told.filter(({ on }) => on === "lost")).toHaveLength(answers.length);
    const texts: unknown[] = told.flatMap((each): unknown[] =>
      each.on === "lost" ? [each.lost.error.message, { ...each.lost.error }] : [each]
    );
    expect(JSON.stringify(texts)).not.toContain(secret);
    expect(elsewhere).toEqual([]);
  });

  test("of a revision with arrays reads them from answers and from its stream (C-RPC-08)", async () => {
    const server = new SessionServer();
    const { handlers, told } = listener();
    const clock = new FakeClock();
    const dialer = httpDialer({ url: "https://mcp.test/mcp", fetch: server.fetch, clock });
    const transport = await dialer.dial(profile({ batches: true }), handlers);
    const stream = pushedStream();
    server.instead = (request) => {
      if (request.method === "GET") return stream.response;
      return json([{ jsonrpc: "2.0", method: "n" }, result(JSON.parse(request.body).id)]);
    };
    transport.listen?.();
    transport.send(message("tools/call", 1));
    await settle();
    stream.push(
      `data: ${JSON.stringify([{ jsonrpc: "2.0", method: "a" }, { jsonrpc: "2.0", id: "q", method: "ping" }])}\n\n`,
    );
    await settle();
    expect(told).toMatchObject([
      { on: "message", message: { kind: "notification", method: "n" }, of: 1 },
      { on: "message", message: { kind: "result", id: 1 }, of: 1 },
      { on: "message", message: { kind: "notification", method: "a" }, of: undefined },
      { on: "message", message: { kind: "request", id: "q" }, of: undefined },
    ]);
    await transport.close();
  });
});
