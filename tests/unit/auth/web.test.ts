import { describe, expect, test } from "vitest";
import { oauthFor } from "../../../src/auth/mod.ts";
import { type Web, webFor } from "../../../src/auth/oauth/web.ts";
import type { FetchFunction } from "../../../src/kernel/runtime.ts";
import { FakeAuthorization, request } from "../../fixtures/fake_authorization.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";

const ENDPOINT = "https://mcp.example/mcp";
const never = new AbortController().signal;

/** A web over one answer, with the addresses that were connected to. */
function webOver(
  answer: FetchFunction,
  options: { readonly endpoint?: string; readonly privateHosts?: readonly string[]; readonly clock?: FakeClock } = {},
): { readonly web: Web; readonly reached: string[] } {
  const reached: string[] = [];
  const fetch: FetchFunction = (url, init) => {
    reached.push(url);
    return answer(url, init);
  };
  const { endpoint = ENDPOINT, privateHosts = [], clock = new FakeClock() } = options;
  return { web: webFor(endpoint, { fetch, clock, privateHosts }), reached };
}

const fine: FetchFunction = () => Promise.resolve(new Response("inner secret"));
const get = { method: "GET", headers: {} };

const INNER = [
  "169.254.169.254/latest/meta-data/",
  "[::ffff:a9fe:a9fe]/",
  "[::ffff:169.254.169.254]/",
  "[64:ff9b::a9fe:a9fe]/",
  "2130706433/",
  "0x7f.1/",
  "0177.0.0.1/",
  "①②⑦.⓪.⓪.①/",
  "localhost.:6379/",
  "localhost/",
  "0/",
  "10.0.0.8/",
  "172.16.0.1/",
  "192.168.1.1/",
  "100.64.0.1/",
  "[::1]/",
  "[::]/",
  "[fd00::1]/",
  "[fe80::1]/",
  "auth.internal/",
  "intranet/",
];
const inner = INNER.flatMap((each) => [`http://${each}`, `https://${each}`]);

describe("addresses that servers name", () => {
  test.each(inner)("A-44 %s is refused before any connection", async (url) => {
    const { web, reached } = webOver(fine);
    const error = await web.fetch(url, get, never).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "ERR_AUTH_FAILED" });
    expect(String(error)).not.toContain("inner secret");
    expect(reached).toEqual([]);
  });

  test.each([
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/html,x",
    "vbscript:x",
    "http://as.test/",
    "https://user:planted@as.test/",
    "no address",
  ])("A-10 %s is refused", (url) => {
    const { web } = webOver(fine);
    expect(() => web.check(url, "it")).toThrowError(expect.objectContaining({ code: "ERR_AUTH_FAILED" }));
    expect(() => web.check(url, "it")).not.toThrowError(/planted/);
  });

  const named = ["metadata of the resource", "issuer", "token endpoint", "registration endpoint"] as const;
  const places = named.flatMap((what) => INNER.slice(0, 11).map((address) => [what, `http://${address}`] as const));
  test.each(places)("A-44 FR-44 as %s, %s gets no connection", async (what, url) => {
    const as = new FakeAuthorization({
      metadata: {
        ...(what === "token endpoint" ? { token_endpoint: url } : {}),
        ...(what === "registration endpoint" ? { registration_endpoint: url } : {}),
      },
      resource: what === "issuer" ? { authorization_servers: [url] } : {},
    });
    if (what === "metadata of the resource") as.challenge = `Bearer resource_metadata="${new URL(url).href}"`;
    const grant = { type: "authorization_code", redirectUri: "http://127.0.0.1:9/", open: as.consent } as const;
    const connection = await oauthFor({ url: as.endpoint, fetch: as.fetch, grant });
    await expect(request(connection, as.endpoint)).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
    const hosts = new Set(as.requests.map((each) => new URL(each.url).host));
    expect([...hosts].filter((host) => host !== "mcp.example" && host !== "as.example")).toEqual([]);
  });

  test.each([
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/html,x",
    "vbscript:x",
    "http://as.test/",
  ])("A-10 FR-44 %s is never given to whoever opens logins", async (url) => {
    const as = new FakeAuthorization({ metadata: { authorization_endpoint: url } });
    const grant = { type: "authorization_code", redirectUri: "http://127.0.0.1:9/", open: as.consent } as const;
    const connection = await oauthFor({ url: as.endpoint, fetch: as.fetch, grant });
    await expect(request(connection, as.endpoint)).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
    expect(as.asked).toEqual([]);
    expect(as.tokenRequests).toEqual([]);
  });

  test("A-10 shell text in a login address stays one parsed address", async () => {
    const as = new FakeAuthorization({ metadata: { authorization_endpoint: "https://as.test/?x=$(touch PWNED)" } });
    const grant = { type: "authorization_code", redirectUri: "http://127.0.0.1:9/", open: as.consent } as const;
    const connection = await oauthFor({ url: as.endpoint, fetch: as.fetch, grant });
    expect(await request(connection, as.endpoint)).toBe(200);
    expect(as.asked[0]).toBeInstanceOf(URL);
    expect(as.asked[0]!.searchParams.get("x")).toBe("$(touch PWNED)");
  });

  test.each([
    ["a private host that the user names", "https://auth.internal/x", { privateHosts: ["auth.internal"] }],
    ["a private host with its port", "https://10.0.0.8:8443/", { privateHosts: ["10.0.0.8:8443"] }],
    ["the host of the MCP server itself", "https://10.0.0.5/x", { endpoint: "https://10.0.0.5/mcp" }],
    ["this machine, where the MCP server is on it", "http://127.0.0.1:9/", { endpoint: "http://localhost:8/mcp" }],
    ["a public host", "https://as.example/", {}],
  ])("lets through %s", async (_claim, url, options) => {
    const { web, reached } = webOver(fine, options);
    expect((await web.fetch(url, get, never)).status).toBe(200);
    expect(reached).toEqual([url]);
  });

  test("a private host with another port than the named one is refused", () => {
    const { web } = webOver(fine, { privateHosts: ["10.0.0.8:8443"] });
    expect(() => web.check("https://10.0.0.8:22/", "it")).toThrowError(/private network/);
  });
});

describe("answers of servers that others name", () => {
  test.each([301, 302, 303, 307, 308])("FR-44 A-43 redirect %i is refused", async (status) => {
    const headers = { location: "http://127.0.0.1:9/" };
    const { web, reached } = webOver(() => Promise.resolve(new Response(null, { status, headers })));
    await expect(web.fetch("https://as.example/", get, never)).rejects.toThrowError(/redirects/);
    expect(reached).toEqual(["https://as.example/"]);
  });

  test("fetch is asked not to follow redirects", async () => {
    let redirect: unknown;
    const { web } = webOver((_url, init) => {
      redirect = init?.redirect;
      return Promise.resolve(new Response());
    });
    await web.fetch("https://as.example/", get, never);
    expect(redirect).toBe("manual");
  });

  test.each([[1 << 20, true], [(1 << 20) + 1, false]])("of %i bytes are taken: %s", async (length, isTaken) => {
    const { web } = webOver(() => Promise.resolve(new Response(new Uint8Array(length))));
    const answer = web.fetch("https://as.example/", get, never);
    if (isTaken) expect((await (await answer).arrayBuffer()).byteLength).toBe(length);
    else await expect(answer).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
  });

  test("an endless body is cancelled", async () => {
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1 << 16)),
      cancel: () => void (isCancelled = true),
    });
    const { web } = webOver(() => Promise.resolve(new Response(body)));
    await expect(web.fetch("https://as.example/", get, never)).rejects.toThrowError(/more than 1048576 bytes/);
    expect(isCancelled).toBe(true);
  });

  /** Never answers, and ends when its signal does. */
  const silent: FetchFunction = (_url, init) =>
    new Promise((_resolve, reject) => init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)));

  test("that never come end by the clock", async () => {
    const clock = new FakeClock();
    const { web } = webOver(silent, { clock });
    const error = web.fetch("https://as.example/", get, never).catch((cause: unknown) => cause);
    await clock.advance(29_999);
    expect(clock.timers).toBe(1);
    await clock.advance(1);
    expect(await error).toMatchObject({ code: "ERR_AUTH_FAILED", message: expect.stringContaining("30000 ms") });
    expect(clock.timers).toBe(0);
  });

  test("are not waited for when their caller gives up", async () => {
    const clock = new FakeClock();
    const { web } = webOver(silent, { clock });
    const leaving = new AbortController();
    const error = web.fetch("https://as.example/", get, leaving.signal).catch((cause: unknown) => cause);
    await settle();
    leaving.abort();
    expect(await error).toMatchObject({ code: "ERR_AUTH_FAILED", message: expect.stringContaining("given up") });
    expect(clock.timers).toBe(0);
  });
});
