import { describe, expect, test } from "vitest";
import { discoverOwn, discoverResource, discoverServer } from "../../../src/auth/oauth/discovery.ts";
import { webFor } from "../../../src/auth/oauth/web.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";

const ENDPOINT = "https://mcp.example/v1/mcp";
const PATH_PLACE = "https://mcp.example/.well-known/oauth-protected-resource/v1/mcp";
const ROOT_PLACE = "https://mcp.example/.well-known/oauth-protected-resource";
const NAMED = "https://mcp.example/meta";
const signal = new AbortController().signal;

type Documents = Readonly<Record<string, unknown>>;

/** A web of documents; a `Response` stands for itself, whatever is not there is 404. */
function webOf(documents: Documents): { readonly web: ReturnType<typeof webFor>; readonly reached: string[] } {
  const reached: string[] = [];
  const fetch = (url: string): Promise<Response> => {
    reached.push(url);
    const found = documents[url];
    if (found instanceof Response) return Promise.resolve(found);
    return Promise.resolve(found === undefined ? new Response("none", { status: 404 }) : Response.json(found));
  };
  return { web: webFor(ENDPOINT, { fetch, clock: new FakeClock(), privateHosts: [] }), reached };
}

const page = (): Response => new Response("<html>", { headers: { "content-type": "text/html" } });
const resource = { resource: ENDPOINT, authorization_servers: ["https://as.example"] };

describe("metadata of a resource", () => {
  const rows: [claim: string, documents: Documents, named: string | undefined, reached: string[]][] = [
    ["where the challenge says, before all (C-AUTH-04)", { [NAMED]: resource, [PATH_PLACE]: resource }, NAMED, [NAMED]],
    ["below its path, before the root (C-AUTH-04)", { [PATH_PLACE]: resource, [ROOT_PLACE]: resource }, undefined, [
      PATH_PLACE,
    ]],
    ["at the root at last (C-AUTH-03)", { [ROOT_PLACE]: resource }, undefined, [PATH_PLACE, ROOT_PLACE]],
    ["at the well-known places where nothing is at the named one", { [ROOT_PLACE]: resource }, NAMED, [
      NAMED,
      PATH_PLACE,
      ROOT_PLACE,
    ]],
    ["behind a page for people", { [PATH_PLACE]: page(), [ROOT_PLACE]: resource }, undefined, [PATH_PLACE, ROOT_PLACE]],
    ["behind a list", { [PATH_PLACE]: [resource], [ROOT_PLACE]: resource }, undefined, [PATH_PLACE, ROOT_PLACE]],
  ];
  test.each(rows)("FR-43 is found %s", async (_claim, documents, named, places) => {
    const { web, reached } = webOf(documents);
    expect(await discoverResource(ENDPOINT, named, web, signal)).toEqual({
      resource: ENDPOINT,
      issuers: ["https://as.example"],
      scopes: [],
    });
    expect(reached).toEqual(places);
  });

  test("is none where no place has it", async () => {
    const { web, reached } = webOf({});
    expect(await discoverResource(ENDPOINT, undefined, web, signal)).toBeUndefined();
    expect(reached).toEqual([PATH_PLACE, ROOT_PLACE]);
  });

  test.each(["https://mcp.example", "https://mcp.example/", "https://mcp.example/v1", "https://mcp.example/v1/mcp/"])(
    "of %s is taken as it is written, byte for byte (C-AUTH-17)",
    async (its) => {
      const { web } = webOf({ [PATH_PLACE]: { ...resource, resource: its } });
      expect((await discoverResource(ENDPOINT, undefined, web, signal))?.resource).toBe(its);
    },
  );

  test.each([
    "https://other.example/v1/mcp",
    "http://mcp.example/v1/mcp",
    "https://mcp.example:8443/v1/mcp",
    "https://mcp.example/v1/mc",
    "https://mcp.example/v1/mcp/more",
    "https://mcp.example/v2",
    "https://mcp.example/v1/mcp#part",
    "https://mcp.example/v1/mcp?tenant=2",
    "mcp.example",
    7,
    undefined,
  ])("C-AUTH-32 FR-43 of %s is refused, and no other place is tried", async (its) => {
    const { web, reached } = webOf({ [PATH_PLACE]: { ...resource, resource: its }, [ROOT_PLACE]: resource });
    await expect(discoverResource(ENDPOINT, undefined, web, signal)).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
    expect(reached).toEqual([PATH_PLACE]);
  });

  test.each([[[]], [undefined], ["https://as.example"], [[7]]])(
    "that names %j as issuers is refused",
    async (issuers) => {
      const { web } = webOf({ [PATH_PLACE]: { ...resource, authorization_servers: issuers } });
      await expect(discoverResource(ENDPOINT, undefined, web, signal)).rejects.toThrowError(/no authorization server/);
    },
  );

  test("of a server in trouble is not looked for elsewhere", async () => {
    const { web, reached } = webOf({ [PATH_PLACE]: new Response("planted", { status: 503 }), [ROOT_PLACE]: resource });
    await expect(discoverResource(ENDPOINT, undefined, web, signal)).rejects.toThrowError(/status 503$/);
    expect(reached).toEqual([PATH_PLACE]);
  });
});

describe("metadata of an authorization server", () => {
  const well = (kind: string, rest = ""): string => `https://as.example/.well-known/${kind}${rest}`;
  const [rfc8414, oidc] = ["oauth-authorization-server", "openid-configuration"];
  const rows: [issuer: string, place: string, reached: string[]][] = [
    ["https://as.example", well(rfc8414), [well(rfc8414)]],
    ["https://as.example", well(oidc), [well(rfc8414), well(oidc)]],
    ["https://as.example/", well(rfc8414), [well(rfc8414)]],
    ["https://as.example/t1", well(rfc8414, "/t1"), [well(rfc8414, "/t1")]],
    ["https://as.example/t1", well(oidc, "/t1"), [well(rfc8414, "/t1"), well(oidc, "/t1")]],
    ["https://as.example/t1", `https://as.example/t1/.well-known/${oidc}`, [
      well(rfc8414, "/t1"),
      well(oidc, "/t1"),
      `https://as.example/t1/.well-known/${oidc}`,
    ]],
  ];
  test.each(rows)("FR-43 of %s is found at %s (C-AUTH-05, C-AUTH-06)", async (issuer, place, places) => {
    const { web, reached } = webOf({ [place]: { issuer } });
    expect(await discoverServer(issuer, web, signal)).toEqual({ issuer });
    expect(reached).toEqual(places);
  });

  test.each([
    ["https://as.example", "https://as.example/"],
    ["https://as.example/", "https://as.example"],
    ["https://as.example", "https://AS.example"],
    ["https://as.example", "https://as.example:443"],
    ["https://as.example", "https://other.example"],
    ["https://as.example", undefined],
  ])("C-AUTH-08 C-AUTH-20 of %s that calls itself %s is refused, and no other place is tried", async (issuer, its) => {
    const { web, reached } = webOf({ [well(rfc8414)]: { issuer: its }, [well(oidc)]: { issuer } });
    await expect(discoverServer(issuer, web, signal)).rejects.toThrowError(/another issuer/);
    expect(reached).toEqual([well(rfc8414)]);
  });

  test("behind a page for people is found", async () => {
    const { web } = webOf({ [well(rfc8414)]: page(), [well(oidc)]: { issuer: "https://as.example" } });
    expect((await discoverServer("https://as.example", web, signal)).issuer).toBe("https://as.example");
  });

  test("that is nowhere is an error", async () => {
    const { web } = webOf({});
    await expect(discoverServer("https://as.example", web, signal)).rejects.toThrowError(/has no metadata/);
  });

  test("of a server in trouble is an error without its text", async () => {
    const { web } = webOf({ [well(rfc8414)]: new Response("planted", { status: 500 }) });
    await expect(discoverServer("https://as.example", web, signal)).rejects.toThrowError(/status 500$/);
  });
});

describe("authorization server of a resource without metadata", () => {
  const PLACE = "https://mcp.example/.well-known/oauth-authorization-server";

  test("is the origin of the server, with what its metadata says (C-AUTH-07)", async () => {
    const found = { issuer: "https://mcp.example", token_endpoint: "https://mcp.example/t" };
    const { web, reached } = webOf({ [PLACE]: found });
    expect(await discoverOwn(ENDPOINT, web, signal)).toEqual(found);
    expect(reached).toEqual([PLACE]);
  });

  test("has the endpoints of 2025-03-26 where it has no metadata (C-AUTH-07)", async () => {
    const { web } = webOf({});
    expect(await discoverOwn(ENDPOINT, web, signal)).toMatchObject({
      issuer: "https://mcp.example",
      authorization_endpoint: "https://mcp.example/authorize",
      token_endpoint: "https://mcp.example/token",
      registration_endpoint: "https://mcp.example/register",
    });
  });

  test.each(["https://other.example", "", 7, undefined])("that calls itself %s is refused", async (issuer) => {
    const { web } = webOf({ [PLACE]: { issuer } });
    await expect(discoverOwn(ENDPOINT, web, signal)).rejects.toMatchObject({ code: "ERR_AUTH_FAILED" });
  });
});
