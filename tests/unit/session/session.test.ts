import { describe, expect, it } from "vitest";
import { createHost } from "../../../src/host.ts";
import type { HostOptions } from "../../../src/host_options.ts";
import type { HostEvent } from "../../../src/events/event.ts";
import { type FakeProgram, fakeRuntime } from "../../fixtures/fake_runtime.ts";
import { until } from "../../fixtures/settle.ts";
import { rejection } from "../servers/supervisor_setup.ts";

const ALLOW = { rules: [{ decision: "allow" as const }] };

async function open(programs: Record<string, FakeProgram> = {}, options: Partial<HostOptions> = {}) {
  const runtime = fakeRuntime({
    echo: { tools: ["echo"] },
    other: { tools: ["echo", "more"], call: () => "from other" },
    broken: { tools: [], isBroken: true },
    ...programs,
  });
  const host = await createHost({
    runtime,
    permission: ALLOW,
    servers: [{ name: "echo", command: "echo" }],
    ...options,
  });
  await host.ready();
  const session = await host.session({ id: "s_1" });
  return { runtime, host, session };
}

async function collect(events: AsyncIterable<HostEvent>): Promise<HostEvent[]> {
  const all: HostEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe("session", () => {
  it("runs the program of the documentation as it stands there", async () => {
    const { host, session } = await open({}, { servers: [] });
    const count = await session.addMcp({
      name: "echo",
      transport: { type: "stdio", command: "echo", args: ["tools/mcp_echo_server.mjs", "example-value"] },
      timeoutMs: 30000,
    });
    expect(count).toBe(1);
    expect(await session.mcpStatus()).toMatchObject([{
      name: "echo",
      source: "private",
      state: "ready",
      connected: true,
      toolCount: 1,
      transport: "stdio",
    }]);
    expect(session.toolNames().filter((name) => name.startsWith("mcp__"))).toEqual(["mcp__echo__echo"]);
    const result = await session.tool("mcp__echo__echo", { message: "docs mcp ok" });
    expect(result.output).toBe('{"message":"docs mcp ok"}');
    await session.removeMcpServer("echo");
    expect(session.toolNames()).toEqual([]);
    await host.close();
  });

  it("takes the shapes of other language bindings", async () => {
    const { host, session } = await open({}, { servers: [] });
    const base = { transport: { type: "stdio", command: "echo", args: [] } } as const;
    expect(
      await session.addMcpServer({ name: "rust", ...base, enabled: true, env: {}, oauth: null, tool_timeout_secs: 30 }),
    ).toBe(1);
    expect(await session.addMcpServerConfig({ name: "python", ...base, timeout_ms: 30000 })).toBe(1);
    expect(await session.addMcp({ name: "go", ...base, toolTimeoutSecs: 30 })).toBe(1);
    await session.removeMcp("go");
    expect(session.mcpStatus().map((server) => server.name)).toEqual(["rust", "python"]);
    await host.close();
  });

  it("a failed start leaves nothing behind", async () => {
    const { host, session, runtime } = await open();
    expect(await rejection(session.addMcp({ name: "bad", command: "broken" }))).toMatchObject({
      code: "ERR_START_FAILED",
    });
    expect(await rejection(session.addMcp({ name: "bad", command: "nowhere" }))).toMatchObject({
      code: "ERR_START_FAILED",
    });
    expect(session.mcpStatus().map((server) => server.name)).toEqual(["echo"]);
    expect(runtime.processes.filter((process) => process.isAlive)).toHaveLength(1);
    await host.close();
  });

  it("a private server hides an inherited one of its name, and uncovers it when it goes", async () => {
    const { host, session } = await open();
    const sibling = await host.session({ id: "s_2" });
    expect((await session.tool("mcp.echo.echo", { a: 1 })).output).toBe('{"a":1}');
    await session.addMcp({ name: "echo", command: "other" });
    expect((await session.tool("mcp.echo.echo", { a: 1 })).output).toBe("from other");
    expect((await sibling.tool("mcp.echo.echo", { a: 1 })).output).toBe('{"a":1}');
    expect(session.toolNames({ spelling: "qualified" })).toEqual(["mcp.echo.echo", "mcp.echo.more"]);
    expect(session.mcpStatus().map((server) => server.source)).toEqual(["global", "private"]);
    await session.removeMcpServer("echo");
    expect((await session.tool("mcp.echo.echo", { a: 1 })).output).toBe('{"a":1}');
    expect(session.toolNames()).toEqual(["mcp__echo__echo"]);
    await host.close();
  });

  it("never touches an inherited server", async () => {
    const { host, session, runtime } = await open();
    expect(await rejection(session.removeMcpServer("echo"))).toMatchObject({ code: "ERR_SERVER_NOT_FOUND" });
    expect(await rejection(session.restartMcpServer("echo"))).toMatchObject({ code: "ERR_SERVER_NOT_FOUND" });
    await session.close();
    expect(host.globalMcpStatus()).toMatchObject([{ state: "ready" }]);
    expect(runtime.processes.filter((process) => process.isAlive)).toHaveLength(1);
    await host.close();
    expect(runtime.processes.filter((process) => process.isAlive)).toHaveLength(0);
  });

  it("closing ends its own servers and calls, writes its last event, and takes nothing new", async () => {
    let isCalled = false;
    const wait = (): Promise<never> => {
      isCalled = true;
      return new Promise(() => {});
    };
    const { host, session, runtime } = await open({ slow: { tools: ["wait"], call: wait } });
    await session.addMcp({ name: "slow", command: "slow" });
    const outcome = session.tool("mcp.slow.wait");
    await until(() => isCalled);
    await Promise.all([session.close(), session.close()]);
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason: "session_closed" } });
    expect(runtime.processes.filter((process) => process.isAlive)).toHaveLength(1);
    const events = await host.readEvents({ stream: "session:s_1" });
    expect(events.slice(-4).map((event) => event.type)).toEqual([
      "mcp.call.failed",
      "tool.failed",
      "mcp.server.shutdown",
      "session.closed",
    ]);
    expect(await rejection(session.tool("mcp.echo.echo"))).toMatchObject({ code: "ERR_SESSION_CLOSED" });
    expect(await rejection(session.addMcp({ name: "x", command: "echo" }))).toMatchObject({
      code: "ERR_SESSION_CLOSED",
    });
    expect(await rejection(session.child())).toMatchObject({ code: "ERR_SESSION_CLOSED" });
    await host.close();
  });

  it("closing during a start ends the start", async () => {
    const { host, session } = await open({ silent: { tools: [], call: () => "" } });
    const added = rejection(session.addMcp({ name: "late", command: "echo" }));
    await session.close();
    expect((await added).code).toBe("ERR_SESSION_CLOSED");
    await host.close();
  });

  it("its events come in order, without gap, and end with its last one", async () => {
    const { host, session } = await open();
    const followed = collect(session.events());
    await session.tool("mcp.echo.echo", { a: 1 });
    await session.close();
    const events = await followed;
    expect(events.map((event) => event.type)).toEqual([
      "session.opened",
      "permission.requested",
      "permission.resolved",
      "mcp.call.started",
      "tool.started",
      "mcp.call.completed",
      "tool.completed",
      "session.closed",
    ]);
    expect(events.map((event) => event.seq)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(events[0]!.payload).toMatchObject({ sources: ["global", "private"], level: "memory" });
    await host.close();
  });

  it("a reader that leaves early leaves nothing waiting", async () => {
    const { host, session } = await open();
    for await (const event of session.events()) {
      if (event.type === "session.opened") break;
    }
    await host.close();
  });

  it("opened again under its id goes on in its stream", async () => {
    const { host, session } = await open();
    expect(await rejection(host.session({ id: "s_1" }))).toMatchObject({ code: "ERR_LOG_LOCKED" });
    await session.close();
    const again = await host.session({ id: "s_1" });
    await again.tool("mcp.echo.echo", {});
    const events = await host.readEvents({ stream: "session:s_1" });
    expect(events.map((event) => event.seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)!.epoch).toBe(2);
    await host.close();
  });

  it("is not taken over from itself: that is for streams whose owner is gone", async () => {
    const { host, session } = await open({}, { takeOver: true });
    expect(await rejection(host.session({ id: "s_1" }))).toMatchObject({ code: "ERR_LOG_LOCKED" });
    expect(await session.tool("mcp.echo.echo", {})).toMatchObject({ status: "completed" });
    const both = await Promise.allSettled([host.session({ id: "two" }), host.session({ id: "two" })]);
    expect(both.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    await session.close();
    await (await host.session({ id: "s_1" })).close();
    await host.close();
  });

  it("a crash of its server tells its cause in its own stream, after the crash", async () => {
    const { host, session } = await open({
      dies: {
        tools: ["die"],
        call: (_name, _args, process) => {
          process.exit(3);
          return new Promise(() => {});
        },
      },
    });
    await session.addMcp({ name: "dies", command: "dies" });
    const outcome = await session.tool("mcp.dies.die");
    expect(outcome).toMatchObject({ status: "unknown", error: { reason: "mcp_server_restarted" } });
    const events = await host.readEvents({ stream: "session:s_1" });
    const crash = events.find((event) => event.type === "mcp.server.crashed")!;
    expect(crash.payload).toMatchObject({ server: "dies", reason: "exit", exitCode: 3, inFlight: 1 });
    const failed = events.find((event) => event.type === "tool.failed")!;
    expect(failed.seq).toBeGreaterThan(crash.seq);
    expect(failed.cause).toEqual({ stream: "session:s_1", seq: crash.seq });
    await host.close();
  });

  it("gives definitions in the formats of model APIs", async () => {
    const { host, session } = await open();
    expect(session.toolDefinitions({ format: "anthropic" })).toEqual([{
      name: "mcp__echo__echo",
      input_schema: { type: "object" },
    }]);
    expect(session.toolDefinitions().map((tool) => tool.name)).toEqual(["mcp__echo__echo"]);
    expect(session.toolDefinitions({ filter: ({ server }) => server !== "echo" })).toEqual([]);
    await host.close();
  });

  it("approvals show its own asks and decide them; a pending call goes on with resume", async () => {
    const { host, session } = await open({}, { permission: {} });
    const other = await host.session({ id: "s_2" });
    const pending = await session.tool("mcp.echo.echo", { a: 1 }, { onAsk: "return" });
    expect(pending.status).toBe("pending");
    expect((await session.approvals.list()).map((ask) => ask.tool)).toEqual(["mcp.echo.echo"]);
    expect(await other.approvals.list()).toEqual([]);
    expect(await rejection(other.approvals.resolve(pending.requestId!, { decision: "allow" }))).toMatchObject({
      code: "ERR_INVALID_ARGUMENTS",
    });
    for (
      const [approval, found] of [
        ["allow", 'found the string "allow", wanted { decision: "allow" } or { decision: "deny" }'],
        [true, 'found true, wanted { decision: "allow" } or { decision: "deny" }'],
        [undefined, 'found undefined, wanted { decision: "allow" } or { decision: "deny" }'],
        [["allow"], 'found a list, wanted { decision: "allow" } or { decision: "deny" }'],
        [{}, '"decision" is missing, wanted "allow" or "deny"'],
        [{ decision: true }, '"decision" is true, wanted "allow" or "deny"'],
        [{ decision: "allow", scope: "forever" }, '"scope" is the string "forever", wanted "once" or "session"'],
        [{ decision: "deny", reason: 7 }, '"reason" is 7, wanted a string'],
      ] as const
    ) {
      for (const { approvals } of [session, host]) {
        expect(await rejection(approvals.resolve(pending.requestId!, approval as never))).toMatchObject({
          code: "ERR_INVALID_ARGUMENTS",
          message: `Cannot decide an ask: ${found}`,
        });
      }
    }
    expect(await host.approvals.list()).toHaveLength(1);
    await session.approvals.resolve(pending.requestId!, { decision: "allow" });
    expect(await rejection(session.approvals.resolve(pending.requestId!, { decision: "deny" }))).toMatchObject({
      code: "ERR_ALREADY_DECIDED",
    });
    expect(await session.resume()).toMatchObject([{
      status: "completed",
      toolCallId: pending.toolCallId,
      output: '{"a":1}',
    }]);
    await host.close();
  });
});

describe("child session", () => {
  it("sees what its parent sees, private servers too, and owns none of it", async () => {
    const { host, session } = await open();
    await session.addMcp({ name: "mine", command: "other" });
    const child = await session.child({ id: "c_1" });
    expect(child.toolNames()).toEqual(["mcp__echo__echo", "mcp__mine__echo", "mcp__mine__more"]);
    expect((await child.tool("mcp.mine.more")).output).toBe("from other");
    expect(await rejection(child.removeMcpServer("mine"))).toMatchObject({ code: "ERR_SERVER_NOT_FOUND" });
    await child.addMcp({ name: "childs", command: "echo" });
    expect(session.mcpStatus().map((server) => server.name)).toEqual(["echo", "mine"]);
    await child.close();
    expect((await session.tool("mcp.mine.more")).output).toBe("from other");
    await host.close();
  });

  it("inherits live, and its filter holds at the call and for its children", async () => {
    const { host, session } = await open();
    const child = await session.child({ allow: ["mcp.*"], deny: ["mcp.*.more"] });
    await session.addMcp({ name: "mine", command: "other" });
    expect(child.toolNames({ spelling: "qualified" })).toEqual(["mcp.echo.echo", "mcp.mine.echo"]);
    expect(await child.tool("mcp.mine.more")).toMatchObject({
      status: "failed",
      error: { code: "ERR_TOOL_NOT_FOUND" },
    });
    const grandchild = await child.child({ allow: ["*"] });
    expect(await grandchild.tool("mcp__mine__more")).toMatchObject({
      status: "failed",
      error: { code: "ERR_TOOL_NOT_FOUND" },
    });
    expect((await grandchild.tool("mcp.mine.echo")).output).toBe("from other");
    await host.close();
  });
});
