import { describe, expect, test } from "vitest";
import { type OAuthConnection, oauthFor, type OAuthOptions } from "../../../src/auth/mod.ts";
import { FakeAuthorization, request } from "../../fixtures/fake_authorization.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";

function connect(as: FakeAuthorization, more: Partial<OAuthOptions> = {}): Promise<OAuthConnection> {
  const grant = { type: "authorization_code", redirectUri: "http://127.0.0.1:9/", open: as.consent } as const;
  return oauthFor({ url: as.endpoint, fetch: as.fetch, grant, clock: new FakeClock(), ...more });
}

/** A server that refuses whatever is shown, wanting these scopes. */
function insufficient(scope: string): () => Response {
  const challenge = `Bearer error="insufficient_scope", scope="${scope}"`;
  return () => new Response(null, { status: 403, headers: { "www-authenticate": challenge } });
}

const scopesOf = (as: FakeAuthorization): (string | null)[] => as.asked.map((each) => each.searchParams.get("scope"));

describe("wider scope", () => {
  test("FR-42 is got by a login for all scopes so far and those that are wanted, never by refresh (C-AUTH-28)", async () => {
    const as = new FakeAuthorization();
    as.challenge = 'Bearer scope="x:read"';
    const connection = await connect(as);
    await request(connection, as.endpoint);
    as.needs = ["x:write"];
    expect(await request(connection, as.endpoint)).toBe(200);
    as.needs = ["x:admin", "x:read"];
    expect(await request(connection, as.endpoint)).toBe(200);
    expect(scopesOf(as)).toEqual(["x:read", "x:read x:write", "x:read x:write x:admin"]);
    expect(as.tokenRequests.map(({ form }) => form.get("grant_type"))).not.toContain("refresh_token");
  });

  test("that did not help is not asked for twice (C-AUTH-29)", async () => {
    const as = new FakeAuthorization();
    const connection = await connect(as);
    await request(connection, as.endpoint);
    as.answers.set(as.endpoint, insufficient("x:write"));
    for (let call = 0; call < 3; call++) {
      await expect(request(connection, as.endpoint)).rejects.toMatchObject({
        code: "ERR_AUTH_FAILED",
        message: expect.stringContaining("insufficient scope: x:write"),
      });
    }
    expect(scopesOf(as)).toEqual([null, "x:write"]);
    as.answers.clear();
    expect(await request(connection, as.endpoint)).toBe(200);
  });

  test("is not asked for where the refusal is of another kind", async () => {
    const as = new FakeAuthorization();
    const connection = await connect(as);
    await request(connection, as.endpoint);
    as.answers.set(as.endpoint, () => new Response(null, { status: 403 }));
    expect(await request(connection, as.endpoint)).toBe(403);
    expect(as.asked).toHaveLength(1);
  });

  test("FR-42 of a grant that cannot be widened fails with the scope that is missing", async () => {
    const as = new FakeAuthorization();
    const connection = await connect(as, { clientId: "mine", grant: { type: "jwt_bearer", assertion: () => "jwt" } });
    as.answers.set(as.endpoint, insufficient("x:write"));
    await expect(request(connection, as.endpoint)).rejects.toThrowError(/insufficient scope: x:write$/);
    expect(as.tokenRequests).toEqual([]);
  });
});

describe("logins in a row", () => {
  test("are three at most, whatever scopes are wanted (C-AUTH-29)", async () => {
    const as = new FakeAuthorization({ refreshes: false });
    let wanted = 0;
    as.answers.set(as.endpoint, () => insufficient(`scope-${++wanted}`)());
    const connection = await connect(as);
    for (let call = 0; call < 3; call++) await request(connection, as.endpoint).catch(() => {});
    expect(as.asked).toHaveLength(3);
    await expect(request(connection, as.endpoint)).rejects.toThrowError(/after 3 logins$/);
  });

  test("are three at most where every token is refused (C-AUTH-29)", async () => {
    const as = new FakeAuthorization({ refreshes: false });
    as.answers.set(as.endpoint, () => new Response(null, { status: 401 }));
    const connection = await connect(as);
    for (let call = 0; call < 5; call++) await request(connection, as.endpoint).catch(() => {});
    expect(as.asked.length).toBeGreaterThan(0);
    expect(as.asked.length).toBeLessThanOrEqual(3);
  });

  test("are counted anew once a request was let through", async () => {
    const as = new FakeAuthorization({ refreshes: false });
    const connection = await connect(as);
    for (let login = 0; login < 5; login++) {
      expect(await request(connection, as.endpoint)).toBe(200);
      as.revoke();
    }
    expect(as.asked).toHaveLength(5);
  });

  test("are one for all who wait for it", async () => {
    const as = new FakeAuthorization();
    const connection = await connect(as);
    const calls = Array.from({ length: 100 }, () => request(connection, as.endpoint));
    expect(new Set(await Promise.all(calls))).toEqual(new Set([200]));
    expect(as.asked).toHaveLength(1);
    expect(as.to(`${as.issuer}/register`)).toHaveLength(1);
  });
});
