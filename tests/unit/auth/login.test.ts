import { describe, expect, test } from "vitest";
import { oauthFor, type OAuthOptions, type OpenLogin } from "../../../src/auth/mod.ts";
import { memoryKeyValue } from "../../../src/store/memory_kv.ts";
import { FakeAuthorization, type FakeAuthorizationOptions, request } from "../../fixtures/fake_authorization.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";

const REDIRECT = "http://127.0.0.1:33418/callback";
type More = Partial<OAuthOptions> & { readonly open?: OpenLogin };

/** Makes one request with whatever login it takes. */
async function once(as: FakeAuthorization, { open = as.consent, ...more }: More = {}): Promise<number> {
  const grant = { type: "authorization_code", redirectUri: REDIRECT, open } as const;
  const options = { url: as.endpoint, fetch: as.fetch, grant, clock: new FakeClock(), ...more };
  return await request(await oauthFor(options), as.endpoint);
}

/** The same server with an answer of the person's that is changed on its way. */
function changed(as: FakeAuthorization, change: (query: URLSearchParams) => void): OpenLogin {
  return async (ask) => {
    const back = new URL(await as.consent(ask));
    change(back.searchParams);
    return back;
  };
}

describe("who the host is", () => {
  const url = "https://host.example/client.json";
  const withDocuments = { metadata: { client_id_metadata_document_supported: true } };
  const rows: [claim: string, server: FakeAuthorizationOptions, more: More, id: string, registrations: number][] = [
    ["what is configured, first", withDocuments, { clientId: "mine", clientMetadataUrl: url }, "mine", 0],
    ["its metadata document, second", withDocuments, { clientMetadataUrl: url }, url, 0],
    ["what it registers as where documents are not taken", {}, { clientMetadataUrl: url }, "client-1", 1],
    ["what it registers as, third", {}, {}, "client-1", 1],
  ];
  test.each(rows)("is %s (C-AUTH-09, C-AUTH-31)", async (_claim, server, more, id, registrations) => {
    const as = new FakeAuthorization(server);
    expect(await once(as, more)).toBe(200);
    expect(as.asked[0]!.searchParams.get("client_id")).toBe(id);
    expect(as.tokenRequests[0]!.form.get("client_id")).toBe(id);
    expect(as.to(`${as.issuer}/register`)).toHaveLength(registrations);
  });

  test("is asked for where nothing else is left (C-AUTH-09)", async () => {
    const as = new FakeAuthorization({ metadata: { registration_endpoint: undefined } });
    await expect(once(as)).rejects.toMatchObject({ code: "ERR_AUTH_REQUIRED" });
  });

  test.each([[REDIRECT, "native"], ["https://host.example/back", "web"]])(
    "registered for %s is a %s application (C-AUTH-11, C-AUTH-30)",
    async (redirectUri, type) => {
      const as = new FakeAuthorization();
      const grant = { type: "authorization_code", redirectUri, open: as.consent } as const;
      expect(await once(as, { grant })).toBe(200);
      expect(JSON.parse(as.to(`${as.issuer}/register`)[0]!.body)).toMatchObject({
        application_type: type,
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token"],
      });
    },
  );

  test("a refused registration is told by its code alone (C-AUTH-11)", async () => {
    const as = new FakeAuthorization();
    const refusal = { error: "invalid_redirect_uri", error_description: "planted" };
    as.answers.set(`${as.issuer}/register`, () => Response.json(refusal, { status: 400 }));
    await expect(once(as)).rejects.toMatchObject({
      code: "ERR_AUTH_FAILED",
      message: "Cannot register a client: the server answered invalid_redirect_uri",
    });
  });

  test("a registration is kept, and another redirect address is another one", async () => {
    const as = new FakeAuthorization();
    const store = memoryKeyValue();
    await once(as, { store });
    as.revoke();
    await once(as, { store, subject: "another" });
    expect(as.to(`${as.issuer}/register`)).toHaveLength(1);
    const grant = { type: "authorization_code", redirectUri: "http://127.0.0.1:2/", open: as.consent } as const;
    await once(as, { store, subject: "third", grant });
    expect(as.to(`${as.issuer}/register`)).toHaveLength(2);
  });

  test("a secret without an expiry is taken", async () => {
    const as = new FakeAuthorization({ metadata: { token_endpoint_auth_methods_supported: ["client_secret_basic"] } });
    const registered = { client_id: "with:secret", client_secret: "s e", redirect_uris: [REDIRECT] };
    as.answers.set(`${as.issuer}/register`, () => Response.json(registered, { status: 201 }));
    expect(await once(as)).toBe(200);
    expect(atob(as.tokenRequests[0]!.headers.get("authorization")!.slice("Basic ".length))).toBe("with%3Asecret:s+e");
  });

  test.each(["invalid_client", "unauthorized_client"])(
    "FR-41 forgotten by its server (%s) registers again, once",
    async (error) => {
      const as = new FakeAuthorization();
      const store = memoryKeyValue();
      await once(as, { store });
      const token = `${as.issuer}/token`;
      as.answers.set(token, () => {
        as.answers.delete(token);
        return Response.json({ error }, { status: 400 });
      });
      expect(await once(as, { store, subject: "another" })).toBe(200);
      expect(as.to(`${as.issuer}/register`)).toHaveLength(2);
      const [first, second, third] = as.asked.map((each) => each.searchParams.get("client_id"));
      expect(second).toBe(first);
      expect(third).not.toBe(first);
      as.answers.set(token, () => Response.json({ error }, { status: 400 }));
      await expect(once(as, { store, subject: "third" })).rejects.toThrowError(`the server answered ${error}`);
      expect(as.to(`${as.issuer}/register`)).toHaveLength(3);
    },
  );
});

describe("another authorization server than before", () => {
  const one = (): FakeAuthorization => new FakeAuthorization();
  const other = (): FakeAuthorization => new FakeAuthorization({ issuer: "https://other.example" });

  test("gets a registration of its own and no token of the first (C-AUTH-12, C-AUTH-23, C-AUTH-33)", async () => {
    const store = memoryKeyValue();
    const [first, second] = [one(), other()];
    await once(first, { store });
    expect(await once(second, { store })).toBe(200);
    expect(second.to(`${second.issuer}/register`)).toHaveLength(1);
    expect(second.tokenRequests.map(({ form }) => form.get("grant_type"))).toEqual(["authorization_code"]);
    expect(second.tokenRequests[0]!.body).not.toContain("refresh-");
  });

  test("is not shown a client that was configured for another (C-AUTH-13)", async () => {
    const as = other();
    const more = { clientId: "mine", clientSecret: "planted", issuer: "https://as.example" };
    await expect(once(as, more)).rejects.toThrowError(/another authorization server/);
    expect(as.asked).toEqual([]);
    expect(as.tokenRequests).toEqual([]);
  });

  test.each(["authorization_code", "client_credentials"] as const)(
    "is not shown a client of %s that was used with another (C-AUTH-12, C-AUTH-13)",
    async (type) => {
      const store = memoryKeyValue();
      const more = (as: FakeAuthorization): More => ({
        store,
        clientId: "mine",
        clientSecret: "planted",
        grant: type === "client_credentials" ? { type } : { type, redirectUri: REDIRECT, open: as.consent },
      });
      const [first, second] = [one(), other()];
      expect(await once(first, more(first))).toBe(200);
      await expect(once(second, more(second))).rejects.toThrowError(/another authorization server/);
      expect(second.tokenRequests).toEqual([]);
    },
  );
});

describe("consent of a person", () => {
  test("carries PKCE, state and resource, byte for byte in both requests (C-AUTH-14, C-AUTH-16)", async () => {
    const resource = "https://mcp.example/v1/";
    const as = new FakeAuthorization({ resource: { resource } });
    expect(await once(as)).toBe(200);
    const query = as.asked[0]!.searchParams;
    expect(Object.fromEntries(query)).toMatchObject({
      response_type: "code",
      code_challenge_method: "S256",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      redirect_uri: REDIRECT,
      resource,
    });
    expect(as.tokenRequests[0]!.form.get("resource")).toBe(resource);
    expect(as.tokenRequests[0]!.form.get("code_verifier")).toMatch(/^[\w-]{43,128}$/);
  });

  test("state and verifier are others each time (C-AUTH-21)", async () => {
    const as = new FakeAuthorization();
    await once(as);
    await once(as);
    expect(new Set(as.asked.map((each) => each.searchParams.get("state"))).size).toBe(2);
    expect(new Set(as.tokenRequests.map(({ form }) => form.get("code_verifier"))).size).toBe(2);
  });

  const rows: [claim: string, change: (query: URLSearchParams) => void, metadata?: Record<string, unknown>][] = [
    ["with another state (C-AUTH-21)", (query) => query.set("state", "planted")],
    ["without state (C-AUTH-21)", (query) => query.delete("state")],
    ["with two states", (query) => query.append("state", "planted")],
    ["of another issuer (C-AUTH-18, C-AUTH-19)", (query) => query.set("iss", "https://planted.example")],
    ["of an issuer with one slash more (C-AUTH-20)", (query) => query.set("iss", "https://as.example/")],
    ["of an issuer in other case (C-AUTH-20)", (query) => query.set("iss", "https://AS.example")],
    ["without the issuer that was promised (C-AUTH-19)", (query) => query.delete("iss"), {
      authorization_response_iss_parameter_supported: true,
    }],
    ["without a code", (query) => query.delete("code")],
  ];
  test.each(rows)("A-46 answered %s brings no code anywhere", async (_claim, change, metadata = {}) => {
    const as = new FakeAuthorization({ metadata });
    const error = await once(as, { open: changed(as, change) }).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "ERR_AUTH_FAILED" });
    expect(String(error)).not.toContain("planted");
    expect(as.tokenRequests).toEqual([]);
  });

  test("answered without an issuer that was not promised is taken (C-AUTH-19)", async () => {
    const as = new FakeAuthorization();
    expect(await once(as, { open: changed(as, (query) => query.delete("iss")) })).toBe(200);
  });

  test.each([
    ["access_denied", "Cannot log in: the server answered access_denied"],
    ["Planted <b>text</b>", "Cannot log in: OAUTH_AUTHORIZATION_RESPONSE_ERROR"],
  ])("refused with %s is told by a known code alone", async (code, message) => {
    const as = new FakeAuthorization();
    const open = changed(as, (query) => {
      query.delete("code");
      query.set("error", code);
      query.set("error_description", "Planted description");
    });
    const error = await once(as, { open }).catch((cause: unknown) => cause);
    expect(error).toMatchObject({ code: "ERR_AUTH_FAILED", message });
    expect(JSON.stringify((error as { facts: unknown }).facts)).not.toContain("lanted");
  });

  test("A-46 an error of another issuer is not even told by its code (C-AUTH-19)", async () => {
    const as = new FakeAuthorization();
    const open = changed(as, (query) => {
      query.delete("code");
      query.set("error", "planted_code");
      query.set("iss", "https://planted.example");
    });
    await expect(once(as, { open })).rejects.not.toThrowError(/planted/);
  });

  const unfit: [methods: readonly string[] | undefined][] = [[undefined], [["plain"]], [[]]];
  test.each(unfit)(
    "A-48 without PKCE by S256 (%j) is not asked for (C-AUTH-15)",
    async (methods) => {
      const as = new FakeAuthorization({ metadata: { code_challenge_methods_supported: methods } });
      await expect(once(as)).rejects.toThrowError(/PKCE/);
      expect(as.asked).toEqual([]);
      expect(as.tokenRequests).toEqual([]);
    },
  );

  const pastes: [what: string, paste: (back: string) => string][] = [
    ["the query alone", (back) => back.slice(back.indexOf("?") + 1)],
    ["the query with its mark", (back) => back.slice(back.indexOf("?"))],
    ["the address without its scheme", (back) => back.replace("http://", "")],
  ];
  test.each(pastes)("may come back as %s", async (_what, paste) => {
    const as = new FakeAuthorization();
    expect(await once(as, { open: async (ask) => paste(await as.consent(ask)) })).toBe(200);
  });

  test("that is withheld ends the request with its own error", async () => {
    const as = new FakeAuthorization();
    const no = new Error("closed the window");
    await expect(once(as, { open: () => Promise.reject(no) })).rejects.toBe(no);
  });
});

describe("scopes of the first login", () => {
  const rows: [
    claim: string,
    challenge: string,
    more: More,
    resource: Record<string, unknown>,
    scope: string | null,
  ][] = [
    ["those of the challenge", 'Bearer scope="a b"', { scope: "c" }, { scopes_supported: ["d"] }, "a b"],
    ["those of the configuration", "Bearer", { scope: "c" }, { scopes_supported: ["d"] }, "c"],
    ["those of the metadata", "Bearer", {}, { scopes_supported: ["d", "e"] }, "d e"],
    ["none where nobody names any", "Bearer", {}, {}, null],
  ];
  test.each(rows)("are %s (C-AUTH-26, C-AUTH-27)", async (_claim, challenge, more, resource, scope) => {
    const as = new FakeAuthorization({ resource });
    as.challenge = challenge;
    expect(await once(as, more)).toBe(200);
    expect(as.asked[0]!.searchParams.get("scope")).toBe(scope);
  });
});

describe("credentials", () => {
  test.each([400, 401, 500])("never stand in the error of a refused exchange (%i)", async (status) => {
    const as = new FakeAuthorization();
    as.answers.set(`${as.issuer}/token`, ({ body, headers }) => {
      const echo = `${body} ${headers.get("authorization")}`;
      return Response.json({ error: "invalid_grant", error_description: echo, error_uri: echo }, { status });
    });
    const planted = "planted-secret";
    const more = { clientId: "mine", clientSecret: planted };
    const error = await once(as, more).catch((cause: unknown) => cause) as Error & { facts: unknown };
    const { form } = as.tokenRequests[0]!;
    const text = `${error.message} ${JSON.stringify(error.facts)}`;
    for (const value of [planted, btoa(`mine:${planted}`), form.get("code")!, form.get("code_verifier")!]) {
      expect(text).not.toContain(value);
    }
  });

  test("are told to whoever hides them", async () => {
    const as = new FakeAuthorization();
    const told: string[] = [];
    await once(as, { addSecret: (_label, value) => void told.push(value) });
    expect(told).toEqual([[...as.good.keys()][0], expect.stringMatching(/^refresh-/)]);
  });
});
