import { afterEach, describe, expect, it } from "vitest";
import { createHost } from "../../src/host.ts";
import type { Host } from "../../src/host_owner.ts";
import type { Session } from "../../src/session/session.ts";
import { eventually } from "../contract/runtime_child.ts";
import { type HttpServer, type HttpServerOptions, startHttpServer } from "../fixtures/http_server.mjs";
import { runtimeHere } from "../run/adapter.ts";

const runtime = await runtimeHere();
const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Hosted {
  readonly host: Host;
  readonly session: Session;
  readonly server: HttpServer;
  /** Crashes that were logged so far. */
  readonly crashes: () => number;
}

async function hosted(
  options: HttpServerOptions,
  config: object = {},
): Promise<Hosted> {
  const server = await startHttpServer({ era: "legacy", ...options });
  cleanups.push(() => server.close());
  const host = await createHost({
    runtime,
    servers: [{ name: "web", url: server.url, ...config }],
    permission: { rules: [{ tool: "mcp.web.*", decision: "allow" }] },
  });
  cleanups.push(() => host.close());
  await host.ready();
  let crashes = 0;
  void (async () => {
    for await (const { type } of host.events({ after: 0 })) if (type === "mcp.server.crashed") crashes++;
  })();
  return { host, session: await host.session(), server, crashes: () => crashes };
}

const count = (server: HttpServer, method: string): number =>
  server.log.filter((each) => each.message?.method === method).length;

async function stateOf(host: Host, state: string): Promise<void> {
  await eventually(`the server is ${state}`, () => host.globalMcpStatus()[0]?.state === state);
}

describe("host of a server over legacy HTTP", () => {
  it("a session that the server forgets costs no call and no restart; its tools are listed anew (FR-20)", async () => {
    const { host, session, server, crashes } = await hosted({ getStream: true });
    const lists = count(server, "tools/list");
    server.expireSessions();
    expect(await session.tool("mcp.web.echo", { message: "hi" })).toMatchObject({ status: "completed", output: "hi" });
    await eventually("the tools are listed anew", () => count(server, "tools/list") > lists);
    expect([count(server, "initialize"), host.globalMcpStatus()[0]?.state]).toEqual([2, "ready"]);
    expect(crashes()).toBe(0);
  });

  it("a call that goes out again in another session is put to the gate anew where its tool has changed", async () => {
    const { host, session, server } = await hosted({ rugPull: true });
    server.expireSessions();
    expect(await session.tool("mcp.web.echo", { message: "hi" })).toMatchObject({ status: "completed", output: "hi" });
    const events = await host.readEvents({ stream: `session:${session.id}`, after: 0 });
    expect(events.map(({ type }) => type)).toEqual([
      "session.opened",
      "permission.requested",
      "permission.resolved",
      "mcp.call.started",
      "tool.started",
      "mcp.call.failed",
      "permission.requested",
      "permission.resolved",
      "mcp.call.started",
      "mcp.call.completed",
      "tool.completed",
    ]);
    const asked = events.filter(({ type }) => type === "permission.requested").map(({ payload }) =>
      payload["fingerprint"]
    );
    expect(new Set(asked).size).toBe(2);
    // The first went to the session that was gone; the list came before the second.
    const heard = server.log.flatMap(({ message }) => message?.method?.startsWith("tools/") ? [message.method] : []);
    expect(heard).toEqual(["tools/list", "tools/call", "tools/list", "tools/call"]);
  });

  it("a server of HTTP with SSE whose stream drops is started again, and calls go on: C-SSE-04", async () => {
    const { host, session, server, crashes } = await hosted({ twoEndpoints: true }, { restart: { baseMs: 50 } });
    expect(await session.tool("mcp.web.echo", { message: "hi" })).toMatchObject({ status: "completed" });
    const running = session.tool("mcp.web.sleep", { ms: 60_000 });
    await eventually("the call has arrived", () => count(server, "tools/call") === 2);
    server.dropStreams();
    expect(await running).toMatchObject({ status: "unknown" });
    await stateOf(host, "ready");
    expect(await session.tool("mcp.web.echo", { message: "again" })).toMatchObject({ output: "again" });
    expect(crashes()).toBe(1);
  });

  it("what a server pushes on its standing stream is heard: its tools are listed anew", async () => {
    const { server } = await hosted({ getStream: true });
    await eventually("the stream stands", () => server.log.some(({ method }) => method === "GET"));
    const lists = count(server, "tools/list");
    expect(await server.push({ jsonrpc: "2.0", method: "notifications/tools/list_changed" })).toBe(1);
    await eventually("the tools are listed anew", () => count(server, "tools/list") > lists);
  });

  it("a server that is told to be of HTTP with SSE is not asked for anything newer", async () => {
    const { session, server } = await hosted({ twoEndpoints: true }, { type: "sse" });
    expect(await session.tool("mcp.web.echo", { message: "hi" })).toMatchObject({ output: "hi" });
    expect([count(server, "server/discover"), server.log[0]?.method]).toEqual([0, "GET"]);
  });
});
