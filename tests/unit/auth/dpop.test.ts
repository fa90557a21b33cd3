import { describe, expect, test } from "vitest";
import { oauthFor } from "../../../src/auth/mod.ts";
import { FakeAuthorization, request, type SeenRequest } from "../../fixtures/fake_authorization.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";

type Proof = Readonly<Record<string, unknown>>;

/** The claims of the proof of a request. */
function proofOf({ headers }: SeenRequest): Proof {
  const [, claims] = headers.get("dpop")!.split(".");
  return JSON.parse(atob(claims!.replace(/-/g, "+").replace(/_/g, "/"))) as Proof;
}

async function connect(as: FakeAuthorization): Promise<Awaited<ReturnType<typeof oauthFor>>> {
  const grant = { type: "authorization_code", redirectUri: "http://127.0.0.1:9/", open: as.consent } as const;
  return await oauthFor({ url: as.endpoint, fetch: as.fetch, grant, clock: new FakeClock(), dpop: true });
}

/** Wants a nonce of its own in each proof before it lets a request through to what stands behind. */
function wantNonce(as: FakeAuthorization, address: string, nonce: string, refusal: () => Response): void {
  as.answers.set(address, async (each) => {
    if (each.headers.has("dpop") && proofOf(each)["nonce"] !== nonce) {
      const response = refusal();
      response.headers.set("dpop-nonce", nonce);
      return response;
    }
    const own = as.answers.get(address)!;
    as.answers.delete(address);
    const { method, headers, body } = each;
    const answer = await as.fetch(each.url, { method, headers, body });
    as.requests.pop();
    as.answers.set(address, own);
    return answer;
  });
}

describe("proof of possession", () => {
  test("goes with each request, a fresh one each time, over its method, address and token", async () => {
    const as = new FakeAuthorization({ tokenType: "DPoP" });
    const connection = await connect(as);
    for (let call = 0; call < 3; call++) expect(await request(connection, as.endpoint)).toBe(200);
    const served = as.to(as.endpoint).filter(({ headers }) => headers.has("authorization"));
    expect(served).toHaveLength(3);
    const proofs = served.map(proofOf);
    expect(new Set(proofs.map(({ jti }) => jti)).size).toBe(3);
    for (const proof of proofs) {
      expect(proof).toMatchObject({ htm: "POST", htu: as.endpoint, ath: expect.stringMatching(/^[\w-]{43}$/) });
    }
    for (const { headers } of served) expect(headers.get("authorization")).toMatch(/^DPoP access-/);
    expect(proofOf(as.tokenRequests[0]!)).toMatchObject({ htm: "POST", htu: `${as.issuer}/token` });
  });

  test("takes up the nonces of both servers", async () => {
    const as = new FakeAuthorization({ tokenType: "DPoP" });
    wantNonce(
      as,
      `${as.issuer}/token`,
      "of-the-issuer",
      () => Response.json({ error: "use_dpop_nonce" }, { status: 400 }),
    );
    const headers = { "www-authenticate": 'DPoP error="use_dpop_nonce"' };
    wantNonce(as, as.endpoint, "of-the-resource", () => new Response(null, { status: 401, headers }));
    const connection = await connect(as);
    expect(await request(connection, as.endpoint)).toBe(200);
    expect(await request(connection, as.endpoint)).toBe(200);
    const nonces = (seen: SeenRequest[]): unknown[] =>
      seen.filter((each) => each.headers.has("dpop")).map((each) => proofOf(each)["nonce"]);
    expect(nonces(as.tokenRequests)).toEqual([undefined, "of-the-issuer"]);
    expect(nonces(as.to(as.endpoint))).toEqual([undefined, "of-the-resource", "of-the-resource"]);
    expect(as.asked).toHaveLength(1);
  });

  test("is asked for once more at most where no nonce satisfies", async () => {
    const as = new FakeAuthorization({ tokenType: "DPoP" });
    let count = 0;
    wantNonce(as, `${as.issuer}/token`, "never", () => Response.json({ error: "use_dpop_nonce" }, { status: 400 }));
    const own = as.answers.get(`${as.issuer}/token`)!;
    as.answers.set(`${as.issuer}/token`, async (each) => {
      const answer = await own(each);
      answer.headers.set("dpop-nonce", `another-${++count}`);
      return answer;
    });
    const connection = await connect(as);
    await expect(request(connection, as.endpoint)).rejects.toThrowError(/use_dpop_nonce$/);
    expect(as.tokenRequests).toHaveLength(2);
  });

  test("is left out where the server gives a token for bearers", async () => {
    const as = new FakeAuthorization();
    const connection = await connect(as);
    expect(await request(connection, as.endpoint)).toBe(200);
    const [, served] = as.to(as.endpoint);
    expect(served!.headers.get("authorization")).toMatch(/^Bearer access-/);
    expect(served!.headers.has("dpop")).toBe(false);
  });
});
