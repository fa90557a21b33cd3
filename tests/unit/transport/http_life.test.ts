import { describe, expect, test } from "vitest";
import type { TokenSource } from "../../../src/auth/token_source.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import { httpDialer, type HttpDialerOptions } from "../../../src/transport/http.ts";
import type { Transport, WireProfile } from "../../../src/transport/transport.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { events, type Fetched, json, listener, profile, result, scriptedFetch, type Told } from "./scripted_fetch.ts";

interface Open {
  readonly transport: Transport;
  readonly told: Told[];
  readonly requests: Fetched[];
  readonly clock: FakeClock;
}

async function open(
  script: (request: Fetched) => Response | Promise<Response>,
  options: Partial<HttpDialerOptions> = {},
  facts: Partial<WireProfile> = {},
): Promise<Open> {
  const clock = new FakeClock();
  const { fetch, requests } = scriptedFetch(script);
  const { handlers, told } = listener();
  const dialer = httpDialer({ url: "https://mcp.test/mcp?key=1", fetch, clock, ...options });
  return { transport: await dialer.dial(profile(facts), handlers), told, requests, clock };
}

const never = (): Promise<Response> => new Promise(() => {});
const fails = (code: string) => (): Promise<Response> =>
  Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code }) }));
const call = (id: number): { text: string; method: string; id: number } => ({
  text: `{"id":${id}}`,
  method: "tools/call",
  id,
});
const note = { text: "{}", method: "notifications/n" };
/** Opens a session under id 1. */
const hello = { ...call(1), method: "initialize" };

describe("request over HTTP", () => {
  test("goes out as it is, with its headers, to its URL with the query (C-SHTTP-01, C-SHTTP-02, C-HTTP-01, C-HTTP-02)", async () => {
    const { transport, requests } = await open(() => json(result(1)), {
      headers: { Authorization: "Bearer x", ACCEPT: "text/html" },
    }, { headers: () => ({ "mcp-method": "tools/call" }) });
    void transport.send(call(1));
    await settle();
    expect(requests).toMatchObject([{
      url: "https://mcp.test/mcp?key=1",
      method: "POST",
      body: '{"id":1}',
      headers: {
        authorization: "Bearer x",
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-method": "tools/call",
      },
    }]);
  });

  test("goes out through a fetch that must not be called as a method (FR-75)", async () => {
    const { transport, told } = await open(() => json(result(1)));
    void transport.send(call(1));
    await settle();
    expect(told).toMatchObject([{ on: "message" }]);
  });

  const failures: [code: string, sent: boolean][] = [
    ["ECONNREFUSED", false],
    ["ENOTFOUND", false],
    ["ConnectionRefused", false],
    ["ECONNRESET", true],
    ["UND_ERR_SOCKET", true],
    ["ETIMEDOUT", true],
  ];
  test.each(failures)("that fails with %s: sent %s", async (code, sent) => {
    const { transport, told } = await open(fails(code));
    void transport.send(call(1));
    await settle();
    expect(told).toMatchObject([{
      on: "lost",
      id: 1,
      lost: { sent, refused: false, error: { code: "ERR_CONNECTION_LOST", facts: { cause: code } } },
    }]);
  });
});

describe("server that is not reached", () => {
  test("ends the connection at the third attempt in a row, and not before", async () => {
    let up = false;
    const { transport, told } = await open((request) =>
      up ? json(result(JSON.parse(request.body).id)) : fails("ECONNREFUSED")()
    );
    for (const id of [1, 2]) void transport.send(call(id));
    await settle();
    up = true;
    void transport.send(call(3));
    await settle();
    up = false;
    void transport.send(call(4));
    await transport.send(note);
    await settle();
    expect(told.map(({ on }) => on)).toEqual(["lost", "lost", "message", "lost", "warning"]);
    void transport.send(call(5));
    await settle();
    expect(told.at(-1)).toMatchObject({
      on: "closed",
      end: { reason: "unreachable", error: { code: "ERR_CONNECTION_LOST" } },
    });
    await transport.close();
    expect(told.filter(({ on }) => on === "closed")).toHaveLength(1);
  });

  test("is not blamed for requests that were given up", async () => {
    const { transport, told } = await open(never);
    for (let id = 1; id <= 5; id++) {
      void transport.send(call(id));
      transport.abandon(id);
    }
    await settle();
    expect(told).toEqual([]);
    await transport.close();
  });

  test("is not blamed for an answer that broke off", async () => {
    const { transport, told } = await open(() => events(new Error("x") as never));
    for (let id = 1; id <= 5; id++) void transport.send(call(id));
    await settle();
    expect(told.map(({ on }) => on)).toEqual(Array.from({ length: 5 }, () => "lost"));
  });
});

describe("session over HTTP", () => {
  const withSession = (id: string, init: ResponseInit = {}) => (request: Fetched): Response =>
    json(result(JSON.parse(request.body || '{"id":0}').id), { ...init, headers: { "mcp-session-id": id } });

  test("is kept from its answer on, whatever later ones say, and ended at the close (C-SHTTP-05, C-SHTTP-07)", async () => {
    let session = "s-1";
    const { transport, requests, told } = await open((request) => withSession(session)(request), {}, {
      headers: () => ({ "mcp-protocol-version": "v" }),
    });
    for (const message of [hello, call(2)]) {
      void transport.send(message);
      await settle();
      session = "s-2";
    }
    await transport.close();
    expect(requests.map(({ method, headers }) => [method, headers["mcp-session-id"]])).toEqual([["POST", undefined], [
      "POST",
      "s-1",
    ], ["DELETE", "s-1"]]);
    expect(requests[2]!.headers["mcp-protocol-version"]).toBe("v");
    expect(told.at(-1)).toEqual({ on: "closed", end: { reason: "closed" }, unsent: [] });
  });

  test.each(["a b", "é", "", "x".repeat(1025), "a\tb"])("named %j is none", async (id) => {
    const { transport, requests } = await open((request) => {
      const response = json(result(JSON.parse(request.body).id));
      const get = response.headers.get.bind(response.headers);
      response.headers.get = (name) => name === "mcp-session-id" ? id : get(name);
      return response;
    });
    for (const message of [hello, call(2)]) {
      void transport.send(message);
      await settle();
    }
    expect(requests[1]!.headers["mcp-session-id"]).toBeUndefined();
  });

  test("is not taken from a refusal, nor where the revision has none (C-HTTP-13)", async () => {
    for (const [init, facts] of [[{ status: 404 }, {}], [{}, { sessions: false }]] as const) {
      const { transport, requests, told } = await open(withSession("s-1", init), {}, facts);
      for (const message of [hello, call(2)]) {
        void transport.send(message);
        await settle();
      }
      expect(requests[1]!.headers["mcp-session-id"]).toBeUndefined();
      expect(told.map(({ on }) => on)).not.toContain("closed");
      await transport.close();
      expect(requests).toHaveLength(2);
    }
  });

  test("that the server has forgotten ends the connection: its request was refused, others are in doubt (FR-20)", async () => {
    const { transport, told, requests } = await open((request) => {
      const { id } = JSON.parse(request.body) as { id: number };
      return id === 1 ? withSession("s-1")(request) : id === 2 ? never() : new Response(null, { status: 404 });
    });
    for (const message of [hello, call(2), call(3), call(4)]) {
      void transport.send(message);
      await settle();
    }
    expect(told.slice(1)).toMatchObject([
      { on: "lost", id: 3, lost: { refused: true, error: { code: "ERR_CONNECTION_LOST", facts: { status: 404 } } } },
      { on: "closed", end: { reason: "unreachable" }, unsent: [] },
    ]);
    expect(requests).toHaveLength(3);
    await transport.close();
    expect(requests).toHaveLength(3);
  });

  test("is ended within a second though the server does not answer", async () => {
    const { transport, told, clock } = await open((request) =>
      request.method === "DELETE" ? never() : withSession("s-1")(request)
    );
    void transport.send(hello);
    await settle();
    const closing = Promise.all([transport.close(), transport.close()]);
    await clock.advance(1000);
    await closing;
    expect(told.filter(({ on }) => on === "closed")).toHaveLength(1);
    expect(clock.timers).toBe(0);
  });
});

describe("credentials of a source", () => {
  const source = (parts: Partial<TokenSource>): TokenSource => ({
    authorization: () => "Bearer a",
    renew: () => Promise.resolve(false),
    ...parts,
  });
  const denied = (): Response => new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } });

  test("go out with every message, the farewell too, and win over a fixed header (C-AUTH-22)", async () => {
    const tokens = source({ authorization: (url) => Promise.resolve(`Bearer for ${new URL(url).pathname}`) });
    const { transport, requests } = await open(() => json(result(1), { headers: { "mcp-session-id": "s" } }), {
      tokens,
      headers: { authorization: "Bearer fixed" },
    });
    void transport.send(hello);
    await settle();
    await transport.send(note);
    await transport.close();
    expect(requests.map(({ headers }) => headers["authorization"])).toEqual(
      Array.from({ length: 3 }, () => "Bearer for /mcp"),
    );
  });

  test("are renewed once, and the request is sent once more", async () => {
    let token = "old";
    const challenges: unknown[] = [];
    const tokens = source({
      authorization: () => `Bearer ${token}`,
      renew: (challenge) => {
        challenges.push(challenge);
        token = "new";
        return Promise.resolve(true);
      },
    });
    const { transport, told, requests } = await open(
      ({ headers }) => headers["authorization"] === "Bearer new" ? json(result(1)) : denied(),
      { tokens },
    );
    void transport.send(call(1));
    await settle();
    expect(told).toMatchObject([{ on: "resent", id: 1 }, { on: "message" }]);
    expect(challenges).toEqual([
      { status: 401, header: "Bearer", url: "https://mcp.test/mcp?key=1", shown: "Bearer old" },
    ]);
    expect(requests).toHaveLength(2);
  });

  test("that are refused again and again are renewed three times and no more", async () => {
    const { transport, told, requests } = await open(denied, {
      tokens: source({ renew: () => Promise.resolve(true) }),
    });
    void transport.send(call(1));
    await settle();
    expect(told).toMatchObject([{ on: "resent" }, { on: "resent" }, { on: "resent" }, {
      on: "lost",
      lost: { sent: true, refused: true, error: { code: "ERR_AUTH_REQUIRED" } },
    }]);
    expect(requests).toHaveLength(4);
  });

  const broken = new HostError("ERR_AUTH_FAILED", "no");
  test.each([["an error of ours", broken], ["any other", new TypeError("secret text")]])(
    "whose source throws %s: the request has not left",
    async (_kind, error) => {
      for (let id = 1; id <= 4; id++) {
        const { transport, told, requests } = await open(denied, {
          tokens: source({ authorization: () => Promise.reject(error) }),
        });
        void transport.send(call(1));
        await settle();
        expect(told).toMatchObject([{
          on: "lost",
          lost: { sent: false, refused: false, error: { code: "ERR_AUTH_FAILED" } },
        }]);
        expect(JSON.stringify(told)).not.toContain("secret text");
        expect(requests).toEqual([]);
      }
    },
  );

  test("whose renewal throws: the request was sent and refused", async () => {
    const { transport, told } = await open(denied, { tokens: source({ renew: () => Promise.reject(new Error("x")) }) });
    for (let id = 1; id <= 4; id++) void transport.send(call(id));
    await settle();
    expect(told).toHaveLength(4);
    for (const each of told) {
      expect(each).toMatchObject({
        on: "lost",
        lost: { sent: true, refused: true, error: { code: "ERR_AUTH_FAILED" } },
      });
    }
  });

  test("that are still awaited at the close: the request never left", async () => {
    const { transport, told, requests } = await open(denied, {
      tokens: source({ authorization: () => new Promise(() => {}) }),
    });
    void transport.send(call(7));
    await transport.close();
    expect(told).toEqual([{ on: "closed", end: { reason: "closed" }, unsent: [7] }]);
    expect(requests).toEqual([]);
  });
});

describe("dial over HTTP", () => {
  test("does nothing but stand ready; an aborted signal ends it", async () => {
    const { requests } = await open(never);
    expect(requests).toEqual([]);
    const dialer = httpDialer({ url: "https://mcp.test/mcp?key=secret", fetch: never, clock: new FakeClock() });
    expect(dialer).toMatchObject({ kind: "web", name: "http", key: "http:https://mcp.test/mcp?key=secret" });
    await expect(dialer.dial(profile(), listener().handlers, AbortSignal.abort())).rejects.toMatchObject({
      code: "ERR_CANCELLED",
    });
  });
});
