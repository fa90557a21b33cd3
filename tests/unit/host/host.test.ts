import { describe, expect, it } from "vitest";
import { createHost } from "../../../src/host.ts";
import { memoryArtifacts } from "../../../src/store/memory_artifacts.ts";
import { type FakeProgram, fakeRuntime } from "../../fixtures/fake_runtime.ts";
import { rejection } from "../servers/supervisor_setup.ts";

const ALLOW = { rules: [{ decision: "allow" as const }] };
const programs: Record<string, FakeProgram> = {
  echo: { tools: ["echo"] },
  other: { tools: ["a", "b"] },
  broken: { tools: [], isBroken: true },
};
const alive = (runtime: ReturnType<typeof fakeRuntime>): number =>
  runtime.processes.filter((process) => process.isAlive).length;

describe("createHost", () => {
  it("reports each server, and one bad entry stops no other", async () => {
    const runtime = fakeRuntime(programs);
    const host = await createHost({
      runtime,
      servers: [
        { name: "good", command: "echo" },
        { name: "typo", comand: "echo" } as never,
        null as never,
        { name: "needs", command: "echo", sandbox: { memory: 1 } },
        { name: "login", url: "https://x.test/mcp", auth: { type: "oauth" } },
        { name: "nowhere", command: "missing", restart: { maxRestarts: 0 } },
      ],
    });
    const reports = await host.ready();
    expect(reports.map(({ name, state }) => [name, state])).toEqual([
      ["typo", "rejected"],
      ["server without a name", "rejected"],
      ["good", "ready"],
      ["needs", "permanently_failed"],
      ["login", "permanently_failed"],
      ["nowhere", "permanently_failed"],
    ]);
    const errorOf = (name: string): string | undefined => reports.find((report) => report.name === name)!.error;
    expect(errorOf("typo")).toContain('did you mean "command"');
    expect(errorOf("needs")).toContain(`this version brings no sandbox: leave "sandbox" out`);
    expect(errorOf("login")).toContain(`hand oauth() of "portcullis/auth" to the host`);
    expect(errorOf("nowhere")).toContain("not found");
    expect(await host.ready({ servers: ["good"] })).toMatchObject([{ name: "good", toolCount: 1 }]);
    expect(await host.ready({ servers: ["typo"] })).toMatchObject([{ name: "typo", state: "rejected" }]);
    expect(await host.ready({ servers: [] })).toEqual([]);
    expect(await rejection(host.ready({ servers: ["good", "logn"] }))).toMatchObject({
      code: "ERR_SERVER_NOT_FOUND",
      message: 'Cannot wait for server "logn": the host has none of that name, did you mean "login"',
    });
    await host.close();
    expect(alive(runtime)).toBe(0);
  });

  it("throws when a required server does not start, and leaves nothing running", async () => {
    const runtime = fakeRuntime(programs);
    const opened = createHost({
      runtime,
      servers: [{ name: "good", command: "echo" }, { name: "bad", command: "broken", required: true }],
    });
    expect(await rejection(opened)).toMatchObject({ code: "ERR_START_FAILED", facts: { server: "bad" } });
    expect(alive(runtime)).toBe(0);
    expect(await rejection(createHost({ runtime, servers: [{ name: "bad", required: true }] }))).toMatchObject({
      code: "ERR_CONFIG",
    });
  });

  it("waits for required servers and not for the others", async () => {
    const runtime = fakeRuntime({ ...programs, silent: { tools: [], call: () => "", isBroken: false } });
    const host = await createHost({
      runtime,
      servers: [{ name: "good", command: "echo", required: true }, { name: "bad", command: "broken" }],
    });
    expect(host.globalMcpStatus()[0]).toMatchObject({ name: "good", state: "ready" });
    await host.close();
  });

  it("refuses rules and local tools of a wrong shape before anything starts", async () => {
    const runtime = fakeRuntime(programs);
    const servers = [{ name: "good", command: "echo" }];
    expect(await rejection(createHost({ runtime, servers, permission: { rules: [{ decision: "maybe" as never }] } })))
      .toMatchObject({ code: "ERR_CONFIG" });
    const tool = { name: "mcp", risk: "read", inputSchema: {}, run: () => "" } as const;
    expect(await rejection(createHost({ runtime, servers, localTools: [tool] }))).toMatchObject({
      code: "ERR_NAME_COLLISION",
    });
    expect(runtime.processes).toHaveLength(0);
  });

  it("keeps the secrets of configuration and environment out of everything", async () => {
    const runtime = fakeRuntime({
      leaky: { tools: ["leak"], call: () => "key-0123456789 and host-0123456789 and given-0123456789" },
    }, { CLOUD_TOKEN: "host-0123456789", PATH: "/bin" });
    const host = await createHost({
      runtime,
      permission: ALLOW,
      servers: [{ name: "leaky", command: "leaky", env: { API_KEY: "key-0123456789" } }],
      secrets: [{ label: "given", value: "given-0123456789" }],
    });
    await host.ready();
    const session = await host.session({ id: "s_1" });
    const outcome = await session.tool("mcp.leaky.leak");
    expect(outcome.status).toBe("completed");
    const events = [...await host.readEvents(), ...await host.readEvents({ stream: "session:s_1" })];
    expect(JSON.stringify([outcome, events])).not.toContain("0123456789");
    expect(runtime.processes[0]!.plan.env).toEqual({ PATH: "/bin", API_KEY: "key-0123456789" });
    await host.close();
  });

  it("closes sessions, servers and log, once, in that order", async () => {
    const runtime = fakeRuntime(programs);
    const host = await createHost({ runtime, servers: [{ name: "good", command: "echo" }] });
    await host.ready();
    const session = await host.session();
    await session.addMcp({ name: "mine", command: "other" });
    const types: string[] = [];
    const followed = (async () => {
      for await (const event of host.events()) types.push(event.type);
    })();
    await Promise.all([host.close(), host.close()]);
    await followed;
    expect(types).toEqual([
      "host.opened",
      "mcp.server.starting",
      "mcp.server.ready",
      "mcp.server.shutdown",
      "host.closed",
    ]);
    expect(alive(runtime)).toBe(0);
    expect(await rejection(host.session())).toMatchObject({ code: "ERR_CLOSED" });
    expect(() => host.createManager({ name: "late" })).toThrow(expect.objectContaining({ code: "ERR_CLOSED" }));
  });

  it("a session that opens while the host closes is closed too", async () => {
    const host = await createHost({ runtime: fakeRuntime(programs) });
    const opening = host.session({ id: "s_1" });
    const outcome = opening.then(() => "opened", (error: { code: string }) => error.code);
    await host.close();
    expect(["opened", "ERR_CLOSED"]).toContain(await outcome);
    expect(host.sessions()).toEqual([]);
  });

  it("gives long results to the artifact store that was handed in", async () => {
    const artifacts = memoryArtifacts();
    const host = await createHost({
      runtime: fakeRuntime({ long: { tools: ["long"], call: () => "x".repeat(10_000) } }),
      permission: ALLOW,
      artifacts,
      servers: [{ name: "long", command: "long" }],
    });
    await host.ready();
    const session = await host.session();
    const { artifact } = await session.tool("mcp.long.long");
    expect((await artifacts.stat(artifact!.sha256))!.bytes).toBe(10_000);
    // Whoever keeps no store of their own looks them up here.
    expect(await host.artifacts.stat(artifact!.sha256)).toEqual(artifact);
    const part = await host.artifacts.read(artifact!.sha256, { offset: 9_990, length: 20 });
    expect(part?.length).toBe(10);
    expect(await host.artifacts.read("0".repeat(64))).toBeUndefined();
    await host.close();
  });
});

describe("host", () => {
  it("hands managers to sessions in their order, and never closes their servers with a session", async () => {
    const runtime = fakeRuntime(programs);
    await using host = await createHost({ runtime, permission: ALLOW, servers: [{ name: "echo", command: "echo" }] });
    await host.ready();
    const [first, second] = [host.createManager({ name: "first" }), host.createManager({ name: "second" })];
    await first.add({ name: "shared", command: "other" });
    await second.add({ name: "shared", command: "echo" });
    const session = await host.session({ mcp: [first, second] });
    expect(session.mcpStatus().map(({ name, source }) => [name, source])).toEqual([["echo", "global"], [
      "shared",
      "first",
    ], ["shared", "second"]]);
    expect(session.toolNames({ spelling: "qualified" }).sort()).toEqual([
      "mcp.echo.echo",
      "mcp.shared.a",
      "mcp.shared.b",
      "mcp.shared.echo",
    ]);
    await session.close();
    expect(first.status()[0]!.state).toBe("ready");
    await first.close();
    expect(alive(runtime)).toBe(2);
    for (const name of ["first", "global", "private", "local", "", "a b"]) {
      expect(() => host.createManager({ name })).toThrow(expect.objectContaining({ code: "ERR_CONFIG" }));
    }
  });

  it("synchronises its servers with a list, one list after the other", async () => {
    const runtime = fakeRuntime(programs);
    await using host = await createHost({ runtime, servers: [{ name: "a", command: "echo" }, { name: "bad" }] });
    await host.ready();
    const [one, two] = await Promise.all([
      host.syncGlobalMcpServers([{ name: "a", command: "other" }, { name: "b", command: "echo" }]),
      host.syncGlobalMcpServers([{ name: "b", command: "echo" }, { name: "bad", comand: "x" } as never]),
    ]);
    expect(one!.map(({ name, action }) => [name, action])).toEqual([["a", "changed"], ["b", "added"]]);
    expect(two!.map(({ name, action }) => [name, action])).toEqual([["bad", "rejected"], ["a", "removed"], [
      "b",
      "unchanged",
    ]]);
    expect((await host.ready()).map(({ name, state }) => [name, state])).toEqual([["bad", "rejected"], ["b", "ready"]]);
    expect(alive(runtime)).toBe(1);
  });

  it("disconnects idle servers, keeps their tools, and connects them again by a list", async () => {
    await using host = await createHost({
      runtime: fakeRuntime(programs),
      permission: ALLOW,
      servers: [{ name: "a", command: "echo" }],
    });
    await host.ready();
    const session = await host.session();
    expect(await host.disconnectIdleMcp(60_000)).toEqual([]);
    expect(await host.disconnectIdleMcp(0)).toEqual(["a"]);
    expect(session.toolNames()).toEqual(["mcp__a__echo"]);
    expect((await session.tool("mcp.a.echo")).error!.message).toBe("MCP server not connected: a");
    expect(await host.syncGlobalMcpServers([{ name: "a", command: "echo" }])).toMatchObject([{
      action: "reconnected",
      state: "ready",
    }]);
    expect((await session.tool("mcp.a.echo")).status).toBe("completed");
  });

  it("restarts a server that was given up", async () => {
    const failing = { tools: ["x"], isBroken: true };
    const runtime = fakeRuntime({ flaky: failing });
    await using host = await createHost({
      runtime,
      servers: [{ name: "flaky", command: "flaky", restart: { auto: false } }],
    });
    expect(await host.ready()).toMatchObject([{ state: "permanently_failed" }]);
    failing.isBroken = false;
    await host.restartMcpServer("flaky");
    expect(host.globalMcpStatus()).toMatchObject([{ state: "ready" }]);
  });
});
