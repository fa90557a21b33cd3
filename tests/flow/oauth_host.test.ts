import { afterEach, describe, expect, it } from "vitest";
import { createHost, type Host, type HostOptions, memoryKeyValue } from "../../mod.ts";
import { oauth } from "../../src/auth/mod.ts";
import { ENDPOINT, FakeAuthorization } from "../fixtures/fake_oauth.ts";
import { startHttpServer } from "../fixtures/http_server.mjs";
import { runtimeHere } from "../run/adapter.ts";

const runtime = await runtimeHere();
const SECRET = "planted-secret-0123456789";
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A host over one MCP server that wants a token; behind it stands a real one on loopback. */
async function hostOver(
  as: FakeAuthorization,
  auth: HostOptions["auth"],
  settings: Readonly<Record<string, unknown>>,
): Promise<Host> {
  const server = await startHttpServer({ era: "legacy", answer: "json" });
  const host = await createHost({
    runtime: {
      ...runtime,
      fetch: async (input, init) => {
        if (input !== ENDPOINT) return await as.fetch(input, init);
        const answer = await as.fetch(input, init);
        return answer.status === 200 ? await runtime.fetch(server.url, init) : answer;
      },
    },
    ...(auth === undefined ? {} : { auth }),
    servers: [{ name: "reports", url: ENDPOINT, auth: settings as { readonly type: "oauth" } }],
    permission: { rules: [{ decision: "allow" }] },
  });
  closing.push(() => server.close(), () => host.close());
  return host;
}

async function logOf(host: Host): Promise<string> {
  const streams = await host.streams();
  return JSON.stringify(await Promise.all(streams.map((stream) => host.readEvents({ stream }))));
}

describe("login of a host", () => {
  it("by client credentials needs nobody, and leaves no credential in the log", async () => {
    const as = new FakeAuthorization();
    const settings = { type: "client_credentials", clientId: "host-1", clientSecret: SECRET, scope: "read" };
    const host = await hostOver(as, [oauth()], settings);
    expect(await host.ready()).toMatchObject([{ name: "reports", state: "ready" }]);
    const session = await host.session({ id: "s" });
    const call = () => session.tool("mcp.reports.echo", { message: "hi" });
    expect(await call()).toMatchObject({ status: "completed" });
    as.revoke();
    expect(await call()).toMatchObject({ status: "completed" });
    const given = as.to("/v1/mcp").map(({ headers }) => headers["authorization"]?.slice(7));
    expect(new Set(given.filter((token) => token !== undefined)).size).toBe(2);
    const log = await logOf(host);
    for (const secret of [SECRET, btoa(`host-1:${SECRET}`), "access-", "refresh-"]) expect(log).not.toContain(secret);
  });

  it("by consent says what a person has to do, where nobody is there to give it", async () => {
    const as = new FakeAuthorization();
    const host = await hostOver(as, [oauth()], { type: "oauth" });
    expect(await host.ready()).toMatchObject([{ name: "reports", state: "auth_required" }]);
    const events = await host.readEvents({ stream: "host:main" });
    expect(events.find(({ type }) => type === "mcp.server.auth_required")?.payload).toMatchObject({
      server: "reports",
      scopes: ["read", "write"],
    });
    const session = await host.session();
    expect(await session.tool("mcp.reports.echo", { message: "hi" })).toMatchObject({
      status: "failed",
      error: { reason: "auth_required" },
    });
    expect(as.to("/token")).toEqual([]);
  });

  it("by consent is done once for all hosts over one store", async () => {
    const as = new FakeAuthorization();
    const store = memoryKeyValue();
    const interaction = { redirectUri: "http://127.0.0.1:33418/callback", open: as.open };
    const first = await hostOver(as, [oauth({ store, interaction })], { type: "oauth" });
    expect(await first.ready()).toMatchObject([{ state: "ready" }]);
    const second = await hostOver(as, [oauth({ store })], { type: "oauth" });
    expect(await second.ready()).toMatchObject([{ state: "ready" }]);
    expect(as.grants()).toEqual(["authorization_code"]);
  });

  it.each<[claim: string, settings: Readonly<Record<string, unknown>>, message: string]>([
    ["an unknown setting", { type: "oauth", clientID: "x" }, 'did you mean "clientId"'],
    ["no secret and no key", { type: "client_credentials", clientId: "x" }, "wanted one of them"],
    ["a setting of a wrong type", { type: "oauth", scope: 5 }, '"scope" is 5, wanted a string'],
  ])("refuses %s", async (_claim, settings, message) => {
    const host = await hostOver(new FakeAuthorization(), [oauth()], settings);
    expect(JSON.stringify(await host.ready())).toContain(JSON.stringify(message).slice(1, -1));
  });

  it("refuses options that it does not know", () => {
    expect(() => oauth({ clientname: "x" } as never)).toThrow(expect.objectContaining({ code: "ERR_CONFIG" }));
    expect(() => oauth({ interaction: { open: () => {} } } as never)).toThrow(/redirectUri/);
  });
});
