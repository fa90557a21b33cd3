import { describe, expect, it } from "vitest";
import { oauthFor, type OAuthOptions } from "../../../src/auth/mod.ts";
import type { TokenSource } from "../../../src/auth/token_source.ts";
import { memoryKeyValue } from "../../../src/store/memory_kv.ts";
import {
  type AuthorizationOptions,
  ENDPOINT,
  FakeAuthorization,
  ISSUER,
  json,
  refused,
  RESOURCE,
} from "../../fixtures/fake_oauth.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";

const REDIRECT = "http://127.0.0.1:33418/callback";
const signal = new AbortController().signal;

interface Scene {
  readonly as: FakeAuthorization;
  readonly clock: FakeClock;
  readonly tokens: TokenSource;
  readonly secrets: string[];
  /** A request as a connection makes it: refused ones go out again for as long as there are new credentials. */
  call(scene?: { readonly signal?: AbortSignal }): Promise<Response>;
}

async function scene(
  options: AuthorizationOptions = {},
  more: Partial<OAuthOptions> = {},
  as: FakeAuthorization = new FakeAuthorization(options),
): Promise<Scene> {
  const clock = (more.clock as FakeClock | undefined) ?? new FakeClock();
  const secrets: string[] = [];
  const { tokens, fetch } = await oauthFor({
    url: ENDPOINT,
    fetch: as.fetch,
    clock,
    grant: { type: "authorization_code", open: as.open, redirectUri: REDIRECT },
    addSecret: (_label, value) => void secrets.push(value),
    ...more,
  });
  const call = async ({ signal: given = signal } = {}): Promise<Response> => {
    for (let resends = 0;; resends++) {
      const shown = await tokens.authorization(ENDPOINT);
      const headers: Record<string, string> = shown === undefined ? {} : { authorization: shown };
      const response = await fetch(ENDPOINT, { method: "POST", headers, signal: given });
      if (response.status !== 401 && response.status !== 403 || resends === 3) return response;
      const header = response.headers.get("www-authenticate") ?? undefined;
      const status = response.status;
      if (!await tokens.renew({ status, header, url: ENDPOINT, shown }, given)) return response;
    }
  };
  return { as, clock, tokens, secrets, call };
}

const rejection = async (promise: Promise<unknown>): Promise<Error> =>
  await promise.then(() => Promise.reject(new Error("it was taken")), (error: unknown) => error as Error);

describe("login by code", () => {
  it("asks for nothing before it is refused, then finds, registers, asks and shows (C-AUTH-02, C-AUTH-03, C-AUTH-11)", async () => {
    const { as, call, secrets } = await scene();
    expect(as.seen).toEqual([]);
    expect((await call()).status).toBe(200);
    expect(as.seen.map(({ method, url }) => `${method} ${url.pathname}`)).toEqual([
      "POST /v1/mcp",
      "GET /.well-known/oauth-protected-resource/v1/mcp",
      "GET /.well-known/oauth-authorization-server/tenant1",
      "POST /register",
      "POST /token",
      "POST /v1/mcp",
    ]);
    expect(as.to("/token")[0]!.form.get("resource")).toBe(RESOURCE.resource);
    expect(JSON.parse(as.to("/register")[0]!.body)).toMatchObject({
      redirect_uris: [REDIRECT],
      application_type: "native",
      grant_types: ["authorization_code", "refresh_token"],
    });
    expect(secrets.length).toBeGreaterThan(0);
    for (const shown of secrets) expect(shown).toMatch(/^(?:access|refresh)-/);
  });

  it("asks with everything that a request for consent needs, and keeps what the address has of its own (C-AUTH-14, C-AUTH-16, C-AUTH-27)", async () => {
    let url: URL | undefined;
    const as = new FakeAuthorization();
    const open = (ask: { readonly url: URL }): Promise<string> => {
      url = ask.url;
      return as.open(ask);
    };
    const { call } = await scene({}, { grant: { type: "authorization_code", open, redirectUri: REDIRECT } }, as);
    await call();
    expect(Object.fromEntries(url!.searchParams)).toEqual({
      x: "1",
      response_type: "code",
      client_id: expect.stringMatching(/^client-/),
      redirect_uri: REDIRECT,
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: "S256",
      state: expect.stringMatching(/^[\w-]{43}$/),
      resource: RESOURCE.resource,
      scope: "read write",
    });
  });

  it("takes the query alone, as a person pastes it", async () => {
    const { call } = await scene({ back: (good) => good.search });
    expect((await call()).status).toBe(200);
  });

  it.each<[claim: string, back: (good: URL) => URL, server?: object]>([
    ["another state", (good) => (good.searchParams.set("state", "forged"), good)],
    ["no state", (good) => (good.searchParams.delete("state"), good)],
    ["another issuer", (good) => (good.searchParams.set("iss", "https://evil.test"), good)],
    ["the issuer with a slash", (good) => (good.searchParams.set("iss", `${ISSUER}/`), good)],
    ["no issuer where one is promised", (good) => (good.searchParams.delete("iss"), good)],
    ["another issuer, though none was promised", (good) => (good.searchParams.set("iss", "https://evil.test"), good), {
      authorization_response_iss_parameter_supported: false,
    }],
    ["another issuer, in an error", (good) => {
      good.searchParams.delete("code");
      good.searchParams.set("error", "planted-description");
      good.searchParams.set("iss", "https://evil.test");
      return good;
    }],
  ])(
    "A-46 sends no code anywhere for an answer with %s (C-AUTH-18, C-AUTH-19, C-AUTH-20, C-AUTH-21)",
    async (_claim, back, server = {}) => {
      const { as, call } = await scene({ back, server: server as Record<string, unknown> });
      const error = await rejection(call());
      expect(error).toMatchObject({ code: "ERR_AUTH_FAILED" });
      expect(error.message).not.toContain("planted");
      expect(as.to("/token")).toEqual([]);
    },
  );

  it.each([[undefined], [["plain"]], [[]]])("A-48 goes no further without S256: %j (C-AUTH-15)", async (methods) => {
    const { as, call } = await scene({ server: { code_challenge_methods_supported: methods } });
    await expect(call()).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
    expect(as.to("/token")).toEqual([]);
  });

  it("says what the server has answered by its code alone", async () => {
    const { call } = await scene({ answers: { "/token": () => refused("invalid_scope") } });
    const error = await rejection(call());
    expect(error.message).toContain("invalid_scope");
    expect(JSON.stringify([error.message, (error as { facts?: unknown }).facts])).not.toContain("planted");
  });

  it("fails for good where what was just given out is refused, and asks nobody again", async () => {
    const { as, call } = await scene({ answers: { "/v1/mcp": () => new Response(null, { status: 401 }) } });
    expect((await call()).status).toBe(401);
    expect(as.grants()).toEqual(["authorization_code"]);
  });

  it("is one for all who wait, goes on while one of them does, and is given up with the last", async () => {
    const asked: AbortSignal[] = [];
    const open = ({ signal }: { readonly signal: AbortSignal }): Promise<string> => {
      asked.push(signal);
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("closed"))));
    };
    const { call } = await scene({}, { grant: { type: "authorization_code", open, redirectUri: REDIRECT } });
    const [first, second] = [new AbortController(), new AbortController()];
    const calls = [call({ signal: first.signal }), call({ signal: second.signal })].map(rejection);
    await expect.poll(() => asked.length).toBe(1);
    first.abort();
    await expect(calls[0]).resolves.toMatchObject({ code: "ERR_CANCELLED" });
    expect(asked[0]!.aborted).toBe(false);
    second.abort();
    await expect(calls[1]).resolves.toMatchObject({ code: "ERR_CANCELLED" });
    expect(asked.map(({ aborted }) => aborted)).toEqual([true]);
  });
});

describe("client of a login", () => {
  it("is the one that was configured, at its own issuer alone (C-AUTH-13, C-AUTH-31)", async () => {
    const own = { clientId: "mine", clientSecret: "secret-0123456789", issuer: ISSUER };
    const { as, call } = await scene({}, own);
    await call();
    expect(as.to("/register")).toEqual([]);
    expect(as.to("/token")[0]!.headers["authorization"]).toBe(`Basic ${btoa("mine:secret-0123456789")}`);
    const other = await scene({}, { ...own, issuer: "https://as.test/other" });
    await expect(other.call()).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
    expect(other.as.to("/token")).toEqual([]);
  });

  it("is its metadata document where the server takes those, else it registers (C-AUTH-09)", async () => {
    const clientMetadataUrl = "https://client.test/metadata.json";
    const { as, call } = await scene({ server: { client_id_metadata_document_supported: true } }, {
      clientMetadataUrl,
    });
    await call();
    expect(as.to("/register")).toEqual([]);
    expect(as.to("/token")[0]!.form.get("client_id")).toBe(clientMetadataUrl);
    const other = await scene({}, { clientMetadataUrl });
    await other.call();
    expect(other.as.to("/register")).toHaveLength(1);
  });

  it("needs a configured one where nobody is registered", async () => {
    const { call } = await scene({ server: { registration_endpoint: undefined } });
    await expect(call()).rejects.toMatchObject({
      code: "ERR_AUTH_REQUIRED",
      message: expect.stringContaining("client id"),
    });
  });

  it("FR-41 that the server has forgotten is registered again, once", async () => {
    const store = memoryKeyValue();
    const first = await scene({}, { store });
    await first.call();
    expect(first.as.to("/register")).toHaveLength(1);
    const as: FakeAuthorization = new FakeAuthorization({
      answers: { "/token": () => as.to("/register").length === 0 ? refused("invalid_client", 401) : undefined },
    });
    const again = await scene({}, { store }, as);
    expect((await again.call()).status).toBe(200);
    expect(as.to("/register")).toHaveLength(1);
    const dead = new FakeAuthorization({ answers: { "/token": () => refused("invalid_client", 401) } });
    const never = await scene({}, { store }, dead);
    await expect(never.call()).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
    expect(dead.to("/register")).toHaveLength(1);
  });
});

describe("refresh", () => {
  it("comes before a token runs out, with its resource, and keeps what the server turns over", async () => {
    const { as, call, clock } = await scene();
    await call();
    for (const hour of [1, 2]) {
      await clock.advance(3_590_000);
      expect((await call()).status).toBe(200);
      expect(as.grants()).toEqual(["authorization_code", ...Array.from({ length: hour }, () => "refresh_token")]);
    }
    expect(as.to("/token").at(-1)!.form.get("resource")).toBe(RESOURCE.resource);
    expect(as.to("/v1/mcp").filter(({ headers }) => headers["authorization"] === undefined)).toHaveLength(1);
  });

  it("FR-40 is one for 1,000 calls over a token that has run out", async () => {
    const { as, call, clock } = await scene();
    await call();
    await clock.advance(3_700_000);
    const all = await Promise.all(Array.from({ length: 1_000 }, () => call()));
    expect(all.every(({ status }) => status === 200)).toBe(true);
    expect(as.grants()).toEqual(["authorization_code", "refresh_token"]);
  });

  it("FR-40 is one for 1,000 calls that are refused at once", async () => {
    const { as, call } = await scene();
    await call();
    as.revoke();
    const all = await Promise.all(Array.from({ length: 1_000 }, () => call()));
    expect(all.every(({ status }) => status === 200)).toBe(true);
    expect(as.grants()).toEqual(["authorization_code", "refresh_token"]);
  });

  it("FR-40 is one for all who share a store, each as if it were a process of its own", async () => {
    const [store, clock, as] = [memoryKeyValue(), new FakeClock(), new FakeAuthorization()];
    const three = await Promise.all([1, 2, 3].map(() => scene({}, { store, clock }, as)));
    await three[0]!.call();
    for (const each of three) await each.call();
    expect(as.grants()).toEqual(["authorization_code"]);
    as.revoke();
    const calls = Promise.all(three.flatMap(({ call }) => Array.from({ length: 333 }, () => call())));
    let done = false;
    void calls.finally(() => done = true);
    for (let ms = 0; !done && ms < 10_000; ms += 100) await clock.advance(100);
    expect((await calls).every(({ status }) => status === 200)).toBe(true);
    expect(as.grants()).toEqual(["authorization_code", "refresh_token"]);
  });

  it("that is refused ends the login, and another begins", async () => {
    const { as, call } = await scene();
    await call();
    as.revoke(true);
    expect((await call()).status).toBe(200);
    expect(as.grants()).toEqual(["authorization_code", "refresh_token", "authorization_code"]);
    expect(as.to("/register")).toHaveLength(1);
  });

  it("that the server fails to answer is no reason to give the token up", async () => {
    let isDown = false;
    const { as, call } = await scene({
      answers: { "/token": () => isDown ? new Response("down", { status: 503 }) : undefined },
    });
    await call();
    as.revoke();
    isDown = true;
    await expect(call()).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
    isDown = false;
    expect((await call()).status).toBe(200);
    expect(as.grants()).toEqual(["authorization_code", "refresh_token", "refresh_token"]);
  });

  it("that somebody began and never ended is taken over in time", async () => {
    const [store, clock, as] = [memoryKeyValue(), new FakeClock(), new FakeAuthorization()];
    const stuck = new FakeAuthorization({ answers: { "/token": () => new Promise<Response>(() => {}) } });
    const first = await scene({}, { store, clock }, as);
    await first.call();
    as.revoke();
    const dead = await scene({}, {
      store,
      clock,
      fetch: (input, init) => input.includes("/token") ? stuck.fetch(input, init) : as.fetch(input, init),
    });
    void dead.call().catch(() => {});
    await expect.poll(() => stuck.grants().length).toBe(1);
    const call = first.call();
    let done = false;
    void call.finally(() => done = true);
    let waited = 0;
    for (; !done && waited < 60_000; waited += 1_000) await clock.advance(1_000);
    expect((await call).status).toBe(200);
    expect(waited).toBeGreaterThan(20_000);
  });
});

describe("step-up", () => {
  const narrow = (wanted: string) => (granted: (scope: string) => boolean): AuthorizationOptions => {
    let scope = "";
    return {
      answers: {
        "/v1/mcp": ({ headers }) => {
          if (headers["authorization"] === undefined || granted(scope)) return undefined;
          const challenge = `Bearer error="insufficient_scope", scope="${wanted}"`;
          return new Response(null, { status: 403, headers: { "www-authenticate": challenge } });
        },
        "/token": ({ form }) => {
          if (form.get("grant_type") === "authorization_code") scope = asked.at(-1) ?? "";
          return undefined;
        },
      },
    };
  };
  let asked: string[] = [];

  async function widening(options: AuthorizationOptions): Promise<Scene> {
    asked = [];
    const as = new FakeAuthorization(options);
    const open = (ask: { readonly url: URL }): Promise<string> => {
      asked.push(ask.url.searchParams.get("scope") ?? "");
      return as.open(ask);
    };
    return await scene({}, { grant: { type: "authorization_code", open, redirectUri: REDIRECT } }, as);
  }

  it("FR-42 asks for the wider scope anew, beside what there is, and never refreshes for it (C-AUTH-28)", async () => {
    const { as, call } = await widening(narrow("x:write")((scope) => scope.includes("x:write")));
    expect((await call()).status).toBe(200);
    expect(asked).toEqual(["read write", "read write x:write"]);
    expect(as.grants()).toEqual(["authorization_code", "authorization_code"]);
  });

  it("FR-42 that does not help is not tried twice, and says what was wanted (C-AUTH-29)", async () => {
    const { call } = await widening(narrow("x:write")(() => false));
    await expect(call()).rejects.toMatchObject({ message: expect.stringContaining("insufficient scope: x:write") });
    await expect(call()).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
    expect(asked).toEqual(["read write", "read write x:write"]);
  });

  it("keeps the wider scope when it logs in again", async () => {
    const { as, call } = await widening(narrow("x:write")((scope) => scope.includes("x:write")));
    await call();
    as.revoke(true);
    expect((await call()).status).toBe(200);
    expect(asked.at(-1)).toBe("read write x:write");
  });
});

describe("discovery", () => {
  const metadata = (value: unknown) => ({ "/.well-known/oauth-protected-resource/v1/mcp": () => json(value) });

  it.each([
    ["another host", { ...RESOURCE, resource: "https://evil.test/v1/mcp" }],
    ["a part of another path", { ...RESOURCE, resource: "https://mcp.test/v1/mc" }],
    ["no authorization server", { ...RESOURCE, authorization_servers: [] }],
    ["no resource", { authorization_servers: [ISSUER] }],
  ])("FR-43 stops at metadata of %s, before anything is asked for (C-AUTH-32)", async (_claim, value) => {
    const { as, call } = await scene({ answers: metadata(value) });
    await expect(call()).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
    expect(as.seen).toHaveLength(2);
  });

  it.each(["https://mcp.test", "https://mcp.test/v1"])(
    "FR-43 takes %s, which the server is a part of, to the letter",
    async (resource) => {
      const { as, call } = await scene({ answers: metadata({ ...RESOURCE, resource }) });
      expect((await call()).status).toBe(200);
      expect(as.to("/token")[0]!.form.get("resource")).toBe(resource);
    },
  );

  it("FR-43 without a place in the challenge looks at the path, then at the root (C-AUTH-04)", async () => {
    const { as, call } = await scene({
      challenge: "Bearer",
      resource: undefined,
      answers: { "/.well-known/oauth-protected-resource": () => json({ ...RESOURCE, resource: "https://mcp.test" }) },
    });
    await call();
    expect(as.seen.slice(1, 3).map(({ url }) => url.pathname)).toEqual([
      "/.well-known/oauth-protected-resource/v1/mcp",
      "/.well-known/oauth-protected-resource",
    ]);
  });

  it.each([`${ISSUER}/`, "https://as.test", "https://evil.test/tenant1"])(
    "FR-43 uses nothing of metadata whose issuer is %s (C-AUTH-08)",
    async (issuer) => {
      const { as, call } = await scene({ server: { issuer } });
      await expect(call()).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
      expect([as.to("/register"), as.to("/token")]).toEqual([[], []]);
    },
  );

  it("FR-43 looks for the issuer's metadata at all three places (C-AUTH-05, C-AUTH-06)", async () => {
    const { as, call } = await scene({
      answers: {
        "/.well-known/oauth-authorization-server/tenant1": () => new Response("<html>", { status: 404 }),
      },
    });
    await expect(call()).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
    expect(as.seen.slice(2).map(({ url }) => url.pathname)).toEqual([
      "/.well-known/oauth-authorization-server/tenant1",
      "/.well-known/openid-configuration/tenant1",
      "/tenant1/.well-known/openid-configuration",
    ]);
  });
});

describe("server without metadata of a resource", () => {
  it("is its own authorization server, with the endpoints that every such server has (C-AUTH-07)", async () => {
    const seen: string[] = [];
    const as = new FakeAuthorization({
      challenge: "Bearer",
      resource: undefined,
      answers: {
        "/register": ({ url }) => (seen.push(url.href), json({ client_id: "c" }, 201)),
        "/token": ({ url, form }) => {
          seen.push(url.href, String(form.get("resource")));
          return json({ access_token: "access-x-0123456789", token_type: "bearer" });
        },
        "/v1/mcp": ({ headers }) =>
          headers["authorization"] === "Bearer access-x-0123456789" ? json({ ok: true }) : undefined,
      },
    });
    const open = async ({ url }: { readonly url: URL }): Promise<string> => {
      seen.push(`${url.origin}${url.pathname}`);
      return `?code=c&state=${url.searchParams.get("state")}`;
    };
    const { call } = await scene({}, { grant: { type: "authorization_code", open, redirectUri: REDIRECT } }, as);
    expect((await call()).status).toBe(200);
    expect(seen).toEqual([
      "https://mcp.test/register",
      "https://mcp.test/authorize",
      "https://mcp.test/token",
      "null",
    ]);
  });
});

describe("server that moves to another authorization server", () => {
  it("gets a registration and a login of its own there, and nothing of the one before (C-AUTH-12, C-AUTH-33)", async () => {
    let issuer = ISSUER;
    const other = "https://other.test";
    const metadata = (origin: string) => ({
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/other-token`,
      registration_endpoint: `${origin}/other-register`,
      code_challenge_methods_supported: ["S256"],
    });
    const forms: URLSearchParams[] = [];
    const as = new FakeAuthorization({
      answers: {
        "/.well-known/oauth-protected-resource/v1/mcp": () => json({ ...RESOURCE, authorization_servers: [issuer] }),
        "/.well-known/oauth-authorization-server": () => json(metadata(other)),
        "/other-register": () => json({ client_id: "other-client" }, 201),
        "/other-token": ({ form }) => {
          forms.push(form);
          return json({ access_token: "access-o-0123456789", token_type: "Bearer" });
        },
        "/v1/mcp": ({ headers }) =>
          headers["authorization"] === "Bearer access-o-0123456789" ? json({ ok: true }) : undefined,
      },
      back: (good) => (good.searchParams.delete("iss"), good),
      server: { authorization_response_iss_parameter_supported: false },
    });
    const { call } = await scene({}, {}, as);
    await call();
    const before = as.to("/token")[0]!.form.get("client_id");
    issuer = other;
    as.revoke(true);
    expect((await call()).status).toBe(200);
    expect(forms.map((form) => form.get("client_id"))).toEqual(["other-client"]);
    for (const { url, body } of as.seen.filter(({ url }) => url.host === "other.test")) {
      expect(`${url.href} ${body}`).not.toContain(before);
    }
  });
});

describe("scopes", () => {
  it("of the challenge count, whatever the metadata lists (C-AUTH-26)", async () => {
    const challenge =
      'Basic realm="a, b", Bearer scope="x:read y" , resource_metadata="https://mcp.test/.well-known/oauth-protected-resource/v1/mcp"';
    let scope: string | null = null;
    const as = new FakeAuthorization({ challenge });
    const open = (ask: { readonly url: URL }): Promise<string> => {
      scope = ask.url.searchParams.get("scope");
      return as.open(ask);
    };
    const { call } = await scene({}, { grant: { type: "authorization_code", open, redirectUri: REDIRECT } }, as);
    await call();
    expect(scope).toBe("x:read y");
  });

  it.each([
    [{ scopes_supported: ["offline_access"] }, "read write offline_access", "consent"],
    [{ scopes_supported: ["email"] }, "read write", null],
    [{}, "read write", null],
  ])(
    "that bring a refresh token are asked for where the server lists them: %j (C-AUTH-30)",
    async (server, wanted, prompt) => {
      let asked: URLSearchParams | undefined;
      const as = new FakeAuthorization({ server });
      const open = (ask: { readonly url: URL }): Promise<string> => {
        asked = ask.url.searchParams;
        return as.open(ask);
      };
      const { call } = await scene({}, { grant: { type: "authorization_code", open, redirectUri: REDIRECT } }, as);
      await call();
      expect([asked!.get("scope"), asked!.get("prompt")]).toEqual([wanted, prompt]);
    },
  );
});

describe("addresses that servers name", () => {
  const PRIVATE = [
    "http://169.254.169.254/latest/meta-data/",
    "https://169.254.169.254/",
    "http://[::ffff:a9fe:a9fe]/",
    "https://[::ffff:10.0.0.1]/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://①②⑦.⓪.⓪.①/",
    "http://localhost.:6379/",
    "https://localhost.:6379/",
    "http://0/",
    "https://10.1.2.3/",
    "https://172.16.0.1/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "https://[fd00::1]/",
    "https://[fe80::1]/",
    "https://metadata.google.internal/",
    "https://intranet/",
    "http://as.test/",
    "https://user:pass@as.test/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "no address",
  ];

  it.each(PRIVATE)("A-44 nothing connects to %s (C-SEC-01)", async (address) => {
    for (
      const options of [
        { challenge: `Bearer resource_metadata="${encodeURI(address)}"` },
        { resource: { ...RESOURCE, authorization_servers: [address] } },
        { server: { token_endpoint: address } },
        { server: { registration_endpoint: address } },
      ]
    ) {
      const { as, call } = await scene(options);
      await expect(call()).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
      expect(as.seen.every(({ url }) => ["mcp.test", "as.test"].includes(url.hostname) && url.protocol === "https:"))
        .toBe(true);
    }
  });

  it.each(["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "vbscript:x", "http://as.test/"])(
    "A-10 FR-44 nobody is shown %s (C-SEC-02)",
    async (address) => {
      let shown = 0;
      const open = (): Promise<string> => Promise.resolve(String(shown++));
      const grant = { type: "authorization_code", open, redirectUri: REDIRECT } as const;
      const { call } = await scene({ server: { authorization_endpoint: address } }, { grant });
      await expect(call()).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
      expect(shown).toBe(0);
    },
  );

  it("A-10 FR-44 what a shell would read is handed on as one address (C-SEC-03)", async () => {
    let shown: URL | undefined;
    const open = ({ url }: { readonly url: URL }): Promise<string> => {
      shown = url;
      return Promise.reject(new Error("closed"));
    };
    const grant = { type: "authorization_code", open, redirectUri: REDIRECT } as const;
    const { call } = await scene({ server: { authorization_endpoint: "https://as.test/?x=$(touch PWNED)" } }, {
      grant,
    });
    await expect(call()).rejects.toThrow();
    expect(shown?.searchParams.get("x")).toBe("$(touch PWNED)");
  });

  it("are reached in a private network where the user has named them", async () => {
    const issuer = "https://10.0.0.8:8443/t";
    const options = { resource: { ...RESOURCE, authorization_servers: [issuer] } };
    const { as, call } = await scene(options, { privateHosts: ["10.0.0.8:8443"] });
    await expect(call()).rejects.toThrow();
    expect(as.seen.at(-1)?.url.host).toBe("10.0.0.8:8443");
  });

  it.each<[claim: string, answer: () => Response]>([
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "http://127.0.0.1:9/" } })],
    ["more than a megabyte", () => new Response("x".repeat((1 << 20) + 1))],
    ["a failure", () => new Response("planted", { status: 500 })],
  ])("FR-44 that answer with %s end the login", async (_claim, answer) => {
    const { as, call } = await scene({ answers: { "/.well-known/oauth-authorization-server/tenant1": answer } });
    const error = await rejection(call());
    expect(error).toMatchObject({ code: "ERR_AUTH_FAILED" });
    expect(error.message).not.toContain("planted");
    expect(as.seen).toHaveLength(3);
  });

  it("that do not answer end the login in time", async () => {
    const { clock, call } = await scene({
      answers: {
        "/.well-known/oauth-authorization-server/tenant1": () => new Promise<Response>(() => {}),
      },
    });
    const error = rejection(call());
    let done = false;
    void error.then(() => done = true);
    for (let waited = 0; !done && waited < 60_000; waited += 1_000) await clock.advance(1_000);
    expect(await error).toMatchObject({ code: "ERR_AUTH_FAILED", message: expect.stringContaining("30000 ms") });
    expect(clock.timers).toBe(0);
  });
});

describe("other grants", () => {
  it("client credentials prove themselves with the secret, and log in again when refused", async () => {
    const { as, call } = await scene({}, {
      clientId: "host-1",
      scope: "read",
      grant: { type: "client_credentials", clientSecret: () => "s e:c/ret" },
    });
    expect((await call()).status).toBe(200);
    const { headers, form } = as.to("/token")[0]!;
    expect(headers["authorization"]).toBe(`Basic ${btoa("host-1:s+e%3Ac%2Fret")}`);
    expect(Object.fromEntries(form)).toEqual({
      grant_type: "client_credentials",
      resource: RESOURCE.resource,
      scope: "read",
    });
  });

  it("a workload's assertion is shown once, whatever comes of it", async () => {
    let made = 0;
    const { as, call } = await scene({}, {
      clientId: "host-1",
      grant: { type: "jwt_bearer", assertion: () => `jwt-${++made}` },
    });
    await expect(call()).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
    expect([made, as.to("/token").length]).toEqual([1, 1]);
  });
});
