import { describe, expect, it } from "vitest";
import { HostError } from "../../../src/kernel/errors.ts";
import type { RestartConfig } from "../../../src/servers/config.ts";
import type { RestartStep } from "../../../src/servers/restart_policy.ts";
import { type Dialling, failed } from "../../fixtures/fake_client.ts";
import { settle, until } from "../../fixtures/settle.ts";
import { rejection, scene } from "./supervisor_setup.ts";

const gone = new HostError("ERR_CONNECTION_LOST", "Connection is gone");

describe("supervisor", () => {
  it("starts, logs starting then ready, and only then is ready", async () => {
    const { server, connect, sink } = scene();
    server.supervise();
    expect(server.state).toBe("starting");
    await settle();
    expect(sink.types).toEqual(["mcp.server.starting"]);
    connect.pending[0]!.succeed(["echo", "add"]);
    await settle();
    expect(sink.types).toEqual(["mcp.server.starting", "mcp.server.ready"]);
    expect(server.state).toBe("ready");
    expect(server.status()).toMatchObject({ connected: true, toolCount: 2, era: "modern", version: "test" });
    expect(sink.events[1]!.payload).toMatchObject({ tools: 2, protocolVersion: "test" });
  });

  it("tells how the server speaks now, also after it was exchanged in mid-life", async () => {
    const { server, connect } = scene();
    server.supervise();
    await settle();
    const client = connect.pending[0]!.succeed(["echo"]);
    await settle();
    Object.assign(client, { facts: { ...client.facts, era: "legacy", protocolVersion: "older" } });
    expect(server.status()).toMatchObject({ state: "ready", era: "legacy", version: "older" });
  });

  it("is not ready before the ready event is durable", async () => {
    const { server, connect, sink } = scene();
    let release!: () => void;
    sink.beforeAppend = (events) =>
      events[0]!.type === "mcp.server.ready" ? new Promise((resolve) => release = resolve) : undefined;
    server.supervise();
    await settle();
    connect.pending[0]!.succeed();
    await settle();
    expect(server.state).toBe("starting");
    expect(server.tryAcquire()).toBeUndefined();
    release();
    await settle();
    expect(server.state).toBe("ready");
  });

  it("starts four times with delays of 500, 1000 and 2000 ms and then gives up once (C-STDIO-07)", async () => {
    const { server, connect, sink, clock } = scene();
    connect.onConnect = (dialling) =>
      dialling.fail(
        new HostError("ERR_START_FAILED", "Exited", { facts: { exitCode: 1, stderrTail: "boom hunter2hunter2" } }),
      );
    server.supervise();
    await clock.advance(60_000);
    expect(connect.attempts).toBe(4);
    expect(server.state).toBe("permanently_failed");
    expect(sink.types).toEqual([
      ...Array.from({ length: 3 }, () => ["mcp.server.starting", "mcp.server.crashed", "mcp.server.restarting"]).flat(),
      "mcp.server.starting",
      "mcp.server.crashed",
      "mcp.server.permanently_failed",
    ]);
    expect(sink.ofType("mcp.server.restarting").map((event) => event.payload["delayMs"])).toEqual([500, 1000, 2000]);
    expect(sink.ofType("mcp.server.starting").map((event) => event.payload["attempt"])).toEqual([1, 2, 3, 4]);
    expect(sink.ofType("mcp.server.crashed")[0]!.payload).toMatchObject({
      reason: "start_failed",
      exitCode: 1,
      stderrTail: "boom [redacted]",
      inFlight: 0,
    });
    expect(sink.ofType("mcp.server.permanently_failed")[0]!.payload).toMatchObject({
      crashes: 4,
      lastReason: "start_failed",
    });
    expect(clock.timers).toBe(0);
  });

  it("A-23 crash loop after the handshake: exactly four starts", async () => {
    const { server, connect, sink, clock } = scene();
    connect.onConnect = (dialling) => {
      const client = dialling.succeed();
      clock.after(50, () => void client.end());
    };
    server.supervise();
    await clock.advance(60_000);
    expect(connect.attempts).toBe(4);
    expect(sink.ofType("mcp.server.permanently_failed")).toHaveLength(1);
    expect(sink.ofType("mcp.server.ready")).toHaveLength(4);
  });

  it("FR-16 crashes are no longer in a row after the time of health, and a mere connect does not count", async () => {
    const { server, connect, sink, clock } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    const delays = (): unknown[] => sink.ofType("mcp.server.restarting").map((event) => event.payload["delayMs"]);
    for (let crash = 0; crash < 3; crash++) {
      await connect.last.end();
      await clock.advance(5000);
    }
    expect(delays()).toEqual([500, 1000, 2000]);
    await clock.advance(60_000);
    await connect.last.end();
    await clock.advance(5000);
    expect(delays()).toEqual([500, 1000, 2000, 500]);
    expect(server.state).toBe("ready");
  });

  it("auto: false makes one crash final", async () => {
    const { server, connect, sink, clock } = scene({ restart: { auto: false } });
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    await connect.last.end();
    await clock.advance(60_000);
    expect(connect.attempts).toBe(1);
    expect(server.state).toBe("permanently_failed");
    expect(sink.types.slice(-2)).toEqual(["mcp.server.crashed", "mcp.server.permanently_failed"]);
  });

  const way = 'echo; host.restartMcpServer("echo") starts it again; its last error: ';
  it.each<[string, Partial<RestartConfig>, (dialling: Dialling, attempt: number) => void, string]>([
    ["four starts that fail", {}, (dialling) => dialling.fail(gone), "after 4 failed starts"],
    ["one start that fails", { maxRestarts: 0 }, (dialling) => dialling.fail(gone), "after 1 failed start"],
    [
      "a start, and no other",
      { auto: false },
      (dialling) => dialling.fail(gone),
      "as its start failed and restart.auto is false",
    ],
    [
      "a start that no other can better",
      {},
      (dialling) => dialling.fail(new HostError("ERR_UNSUPPORTED_HERE", "Cannot start a process: not available here")),
      "without another try",
    ],
    [
      "a crash and starts that fail",
      {},
      (dialling, attempt) => attempt === 1 ? dialling.succeed() : dialling.fail(gone),
      "after 4 crashes in a row",
    ],
    ["a crash", { auto: false }, (dialling) => dialling.succeed(), "as it crashed and restart.auto is false"],
    ["a crash, where no restart is allowed", { maxRestarts: 0 }, (dialling) => dialling.succeed(), "after a crash"],
  ])("a call after %s is told so, and the way back", async (_what, restart, lead, why) => {
    const { server, connect, clock } = scene({ restart });
    connect.onConnect = (dialling) => lead(dialling, connect.attempts);
    server.supervise();
    await settle();
    if (server.state === "ready") {
      await connect.last.end({ reason: "exit", error: new HostError("ERR_CONNECTION_LOST", "Connection was lost") });
    }
    await clock.advance(60_000);
    await until(() => server.state === "permanently_failed");
    const { message } = await rejection(server.acquire({ timeoutMs: 1000 }));
    expect(message.slice(0, message.indexOf(way))).toBe(`MCP server given up ${why}: `);
  });

  it("obeys another restart policy", async () => {
    const { server, connect, sink, clock } = scene({}, {
      policy: {
        nextStep: ({ crashes }) =>
          crashes < 1
            ? { kind: "restart", crashes: crashes + 1, delayMs: 7 }
            : { kind: "give_up", crashes: crashes + 1 },
      },
    });
    connect.onConnect = (dialling) => dialling.fail(gone);
    server.supervise();
    await clock.advance(100);
    expect(connect.attempts).toBe(2);
    expect(sink.ofType("mcp.server.restarting")[0]!.payload).toMatchObject({ delayMs: 7 });
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["no step", {}],
    ["a promise", Promise.resolve({ kind: "restart", crashes: 1, delayMs: 1 })],
    ["a step of another kind", { kind: "x", crashes: 1 }],
    ["no number", { kind: "restart", crashes: 1, delayMs: NaN }],
    ["a negative delay", { kind: "restart", crashes: 1, delayMs: -1 }],
    ["a delay that no timer holds", { kind: "restart", crashes: 1, delayMs: 1e12 }],
  ])("reports a policy that answers %s and goes by its own", async (_what, step) => {
    const { server, connect, sink, clock, errors } = scene({}, { policy: { nextStep: () => step as RestartStep } });
    connect.onConnect = (dialling) => dialling.fail(gone);
    server.supervise();
    await clock.advance(60_000);
    expect(connect.attempts).toBe(4);
    expect(sink.types.at(-1)).toBe("mcp.server.permanently_failed");
    expect(errors).toContainEqual(expect.objectContaining({ code: "ERR_CONFIG" }));
  });

  it("does not try again what no start can change", async () => {
    const { server, sink, clock } = scene({}, {
      dial: () => {
        throw new HostError("ERR_UNSUPPORTED_HERE", "Cannot start a child process here");
      },
    });
    server.supervise();
    await clock.advance(60_000);
    expect(sink.types).toEqual(["mcp.server.crashed", "mcp.server.permanently_failed"]);
    expect(server.status().error).toBe("Cannot start a child process here");
  });

  it("a crash is durable before its calls are told, and they are told why", async () => {
    const { server, connect, sink } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    const lease = await server.acquire({ timeoutMs: 1000 });
    const reply = lease.client.callTool("echo", {});
    let settledAt = -1;
    void reply.then(() => settledAt = sink.seq);
    let release!: () => void;
    sink.beforeAppend = (events) =>
      events[0]!.type === "mcp.server.crashed" ? new Promise((resolve) => release = resolve) : undefined;
    const ended = connect.last.end();
    expect(server.state).toBe("restarting");
    await settle();
    expect(settledAt).toBe(-1);
    expect(lease.loss).toBeUndefined();
    release();
    await ended;
    await settle();
    expect(settledAt).toBe(3);
    expect(lease.loss).toEqual({ reason: "mcp_server_restarted", cause: { stream: "host:test", seq: 3 } });
    expect(sink.events[2]!.payload).toMatchObject({ reason: "exit", exitCode: 1, inFlight: 1 });
  });

  it("the failures of calls come between the crash and the restart, and hold it up for 1 s at most", async () => {
    const { server, connect, sink, clock } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    const lease = await server.acquire({ timeoutMs: 1000 });
    void connect.last.end();
    await settle();
    expect(sink.types.at(-1)).toBe("mcp.server.crashed");
    await clock.advance(999);
    expect(sink.types.at(-1)).toBe("mcp.server.crashed");
    await clock.advance(1);
    expect(sink.types.at(-1)).toBe("mcp.server.restarting");
    lease.release();
    lease.release();
    expect(server.inFlight).toBe(0);
  });

  it("a log that hangs holds up neither the calls nor the restart for more than 1 s", async () => {
    const { server, connect, sink, clock } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    const lease = await server.acquire({ timeoutMs: 1000 });
    const reply = lease.client.callTool("echo", {});
    sink.beforeAppend = (events) => events[0]!.type === "mcp.server.crashed" ? new Promise(() => {}) : undefined;
    void connect.last.end();
    await clock.advance(1000);
    expect(await reply).toMatchObject({ kind: "failed" });
    expect(lease.loss).toEqual({ reason: "mcp_server_restarted" });
  });

  it.each([[1, "mcp_server_restarted"], [2, "mcp_server_unstable"], [3, "mcp_server_unstable"], [
    4,
    "mcp_server_permanently_failed",
  ]])(
    "crash %i in a row ends its calls as %s",
    async (crash, reason) => {
      const { server, connect, clock } = scene();
      connect.onConnect = (dialling) => dialling.succeed();
      server.supervise();
      await settle();
      for (let before = 1; before < crash; before++) {
        await connect.last.end();
        await clock.advance(3000);
      }
      const lease = await server.acquire({ timeoutMs: 1000 });
      await connect.last.end();
      expect(lease.loss?.reason).toBe(reason);
      lease.release();
    },
  );

  it("a call that was not sent waits for the restart", async () => {
    const { server, connect, clock } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    await connect.last.end();
    const waiting = server.acquire({ timeoutMs: 10_000 });
    await clock.advance(500);
    expect((await waiting).client).toBe(connect.last);
    expect(connect.clients).toHaveLength(2);
    expect(clock.timers).toBe(0);
  });

  it("a call that was not sent fails when its own time is up", async () => {
    const { server, clock } = scene();
    server.supervise();
    const waiting = rejection(server.acquire({ timeoutMs: 100 }));
    await clock.advance(100);
    expect(await waiting).toMatchObject({ code: "ERR_TIMEOUT", facts: { reason: "timeout" } });
  });

  it("a call that was not sent ends with its signal and leaves no timer", async () => {
    const { server, clock } = scene();
    server.supervise();
    await settle();
    const before = clock.timers;
    const controller = new AbortController();
    const waiting = rejection(server.acquire({ timeoutMs: 10_000, signal: controller.signal }));
    controller.abort();
    expect(await waiting).toMatchObject({ code: "ERR_CANCELLED" });
    expect(clock.timers).toBe(before);
  });

  it("a call that waits fails when the server is given up, and names the crash", async () => {
    const { server, connect, clock } = scene({ restart: { maxRestarts: 1 } });
    connect.onConnect = (dialling) => dialling.fail(gone);
    server.supervise();
    const waiting = rejection(server.acquire({ timeoutMs: 100_000 }));
    await clock.advance(10_000);
    expect(await waiting).toMatchObject({
      facts: { reason: "mcp_server_permanently_failed", cause: { stream: "host:test", seq: 5 } },
    });
  });

  it("no call is refused because of a crash that is not durable yet", async () => {
    const { server, connect, sink } = scene({ restart: { auto: false } });
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    let release!: () => void;
    sink.beforeAppend = (events) =>
      events[0]!.type === "mcp.server.crashed" ? new Promise((resolve) => release = resolve) : undefined;
    void connect.last.end();
    let refusedAt = -1;
    const waiting = rejection(server.acquire({ timeoutMs: 1000 })).then((error) => {
      refusedAt = sink.seq;
      return error;
    });
    await settle();
    expect(refusedAt).toBe(-1);
    release();
    expect(await waiting).toMatchObject({ facts: { reason: "mcp_server_permanently_failed" } });
    expect(refusedAt).toBeGreaterThanOrEqual(3);
  });
});

describe("supervisor restart", () => {
  it("FR-15 ten restarts in one tick make one connection and share the result", async () => {
    const { server, connect, sink } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    await Promise.all(Array.from({ length: 10 }, () => server.restart()));
    expect(connect.attempts).toBe(2);
    expect(connect.mostOpen).toBe(1);
    expect(connect.clients[0]!.isOpen).toBe(false);
    expect(sink.types.slice(2)).toEqual(["mcp.server.restarting", "mcp.server.starting", "mcp.server.ready"]);
  });

  it("during a start shares that start", async () => {
    const { server, connect } = scene();
    server.supervise();
    await settle();
    const restarted = server.restart();
    connect.pending[0]!.succeed();
    await restarted;
    expect(connect.attempts).toBe(1);
  });

  it("during the second start shares the second start, not the failed first", async () => {
    const { server, connect, clock } = scene();
    server.supervise();
    await settle();
    connect.pending[0]!.fail(gone);
    await clock.advance(500);
    expect(server.state).toBe("starting");
    const restarted = server.restart();
    connect.pending[0]!.succeed();
    await restarted;
    expect(server.state).toBe("ready");
  });

  it("cuts a backoff short", async () => {
    const { server, connect, clock } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    await connect.last.end();
    await server.restart();
    expect(server.state).toBe("ready");
    expect(clock.timers).toBe(0);
    expect(connect.attempts).toBe(2);
  });

  it("is the way out of permanently_failed, with the count begun anew", async () => {
    const { server, connect, clock, sink } = scene();
    connect.onConnect = (dialling) => dialling.fail(gone);
    server.supervise();
    await clock.advance(60_000);
    connect.onConnect = (dialling) => dialling.succeed();
    await server.restart();
    expect(server.state).toBe("ready");
    await connect.last.end();
    await settle();
    expect(sink.ofType("mcp.server.restarting").at(-1)!.payload).toMatchObject({ delayMs: 500 });
  });

  it("rejects with what the start failed with, and the policy goes on", async () => {
    const { server, connect, clock } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    connect.onConnect = (dialling) => dialling.fail(new HostError("ERR_START_TIMEOUT", "No answer"));
    expect(await rejection(server.restart())).toMatchObject({
      code: "ERR_START_TIMEOUT",
      message: 'Cannot start server "echo": no answer',
    });
    connect.onConnect = (dialling) => dialling.succeed();
    await clock.advance(500);
    expect(server.state).toBe("ready");
  });

  it("ends the calls that were running as restarted", async () => {
    const { server, connect } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    const lease = await server.acquire({ timeoutMs: 1000 });
    const reply = lease.client.callTool("echo", {});
    const restarted = server.restart();
    void reply.then(() => lease.release());
    await restarted;
    expect(await reply).toMatchObject(failed(new HostError("ERR_CLOSED", "Connection was closed by this side"), true));
    expect(lease.loss).toEqual({ reason: "mcp_server_restarted" });
  });
});

describe("supervisor stop", () => {
  it("stops once, whatever the number of callers, and logs the first reason", async () => {
    const { server, connect, sink } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    await Promise.all([server.stop("removed"), server.stop("closed")]);
    expect(server.state).toBe("removed");
    expect(connect.last.isOpen).toBe(false);
    expect(sink.types.slice(2)).toEqual(["mcp.server.shutdown"]);
    expect(sink.events.at(-1)!.payload).toEqual({ server: "echo", reason: "removed", containment: "process_group" });
  });

  it("wins over a start that is under way and leaves nothing running", async () => {
    const { server, connect, sink, clock } = scene();
    server.supervise();
    await settle();
    await server.stop("removed");
    expect(connect.pending).toHaveLength(0);
    expect(sink.types).toEqual(["mcp.server.starting", "mcp.server.shutdown"]);
    expect(clock.timers).toBe(0);
  });

  it("wins over a start whose ready event is being written", async () => {
    const { server, connect, sink } = scene();
    let release!: () => void;
    sink.beforeAppend = (events) =>
      events[0]!.type === "mcp.server.ready" ? new Promise((resolve) => release = resolve) : undefined;
    server.supervise();
    await settle();
    const client = connect.pending[0]!.succeed();
    await settle();
    const stopped = server.stop("removed");
    release();
    await stopped;
    expect(server.state).toBe("removed");
    expect(client.isOpen).toBe(false);
    expect(sink.types).toEqual(["mcp.server.starting", "mcp.server.ready", "mcp.server.shutdown"]);
  });

  it("wins over a pending restart: stop() during restart()", async () => {
    const { server, connect, sink } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    const restarted = rejection(server.restart());
    const stopped = server.stop("removed");
    expect(await restarted).toMatchObject({ facts: { reason: "mcp_server_removed" } });
    await stopped;
    expect(connect.attempts).toBe(1);
    expect(connect.last.isOpen).toBe(false);
    expect(sink.types.at(-1)).toBe("mcp.server.shutdown");
  });

  it("wins over a backoff", async () => {
    const { server, connect, clock } = scene();
    connect.onConnect = (dialling) => dialling.fail(gone);
    server.supervise();
    await settle();
    expect(server.state).toBe("restarting");
    await server.stop("removed");
    await clock.advance(60_000);
    expect(connect.attempts).toBe(1);
    expect(clock.timers).toBe(0);
  });

  it("wins over a crash that is being written", async () => {
    const { server, connect, sink, clock } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    let release!: () => void;
    sink.beforeAppend = (events) =>
      events[0]!.type === "mcp.server.crashed" ? new Promise((resolve) => release = resolve) : undefined;
    void connect.last.end();
    await settle();
    const stopped = server.stop("removed");
    expect(server.state).toBe("removed");
    release();
    await stopped;
    await clock.advance(60_000);
    expect(sink.types.slice(2)).toEqual(["mcp.server.crashed", "mcp.server.shutdown"]);
    expect(server.state).toBe("removed");
    expect(connect.attempts).toBe(1);
  });

  it("refuses callers that wait as removed", async () => {
    const { server } = scene();
    server.supervise();
    await settle();
    const waiting = rejection(server.acquire({ timeoutMs: 1000 }));
    void server.stop("removed");
    expect(await waiting).toMatchObject({ facts: { reason: "mcp_server_removed" } });
    expect(await rejection(server.restart())).toMatchObject({ code: "ERR_SERVER_NOT_FOUND" });
  });

  it("of a server that never started writes nothing", async () => {
    const { server, sink } = scene();
    await server.stop("closed");
    expect(sink.types).toEqual([]);
  });
});

describe("supervisor start once", () => {
  it("fails with what the start failed with, logs it once and leaves nothing", async () => {
    const { server, connect, sink, clock } = scene();
    connect.onConnect = (dialling) =>
      dialling.fail(
        new HostError("ERR_START_FAILED", "Cannot start: token hunter2hunter2 is refused", {
          facts: { stderrTail: "hunter2hunter2" },
        }),
      );
    const error = await rejection(server.startOnce());
    expect(error).toMatchObject({ code: "ERR_START_FAILED", facts: { server: "echo", stderrTail: "[redacted]" } });
    expect(error.message).not.toContain("hunter2");
    await clock.advance(60_000);
    expect(connect.attempts).toBe(1);
    expect(sink.types).toEqual(["mcp.server.starting", "mcp.server.failed"]);
    expect(JSON.stringify(sink.events)).not.toContain("hunter2");
    expect(clock.timers).toBe(0);
  });

  it("closes the connection when the list fails", async () => {
    const { server, connect, sink } = scene();
    connect.onConnect = (dialling) => {
      dialling.succeed().onList = () => Promise.reject(new HostError("ERR_PROTOCOL", "No list"));
    };
    expect(await rejection(server.startOnce())).toMatchObject({ code: "ERR_PROTOCOL" });
    expect(connect.last.isOpen).toBe(false);
    expect(sink.types).toEqual(["mcp.server.starting", "mcp.server.failed"]);
  });

  it("is kept up by the policy once it was ready", async () => {
    const { server, connect, clock } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    await server.startOnce();
    await connect.last.end();
    await clock.advance(500);
    expect(server.state).toBe("ready");
  });

  it("fails when the log takes nothing, and starts nothing", async () => {
    const { server, connect, sink } = scene();
    sink.beforeAppend = () => {
      throw new HostError("ERR_LOG_POISONED", "Log is poisoned");
    };
    expect(await rejection(server.startOnce())).toMatchObject({ code: "ERR_LOG_POISONED" });
    expect(connect.attempts).toBe(0);
  });

  it("a crash between the connect and the ready event is a failed start", async () => {
    const { server, connect, sink, clock } = scene();
    let release!: () => void;
    sink.beforeAppend = (events) =>
      events[0]!.type === "mcp.server.ready" ? new Promise((resolve) => release = resolve) : undefined;
    server.supervise();
    await settle();
    const client = connect.pending[0]!.succeed();
    await settle();
    await client.end({ reason: "signal", signal: "SIGKILL", error: gone });
    release();
    await settle();
    expect(server.state).toBe("restarting");
    expect(sink.types).toEqual([
      "mcp.server.starting",
      "mcp.server.ready",
      "mcp.server.crashed",
      "mcp.server.restarting",
    ]);
    expect(sink.events[2]!.payload).toMatchObject({ reason: "start_failed", signal: "SIGKILL" });
    sink.beforeAppend = undefined;
    await clock.advance(500);
    connect.pending[0]!.succeed();
    await settle();
    expect(server.state).toBe("ready");
  });

  it("a login that is missing is not tried again", async () => {
    const { server, connect, sink, clock } = scene();
    connect.onConnect = (dialling) =>
      dialling.fail(new HostError("ERR_AUTH_REQUIRED", "Refused", { facts: { scopes: ["read"] } }));
    server.supervise();
    await clock.advance(60_000);
    expect(connect.attempts).toBe(1);
    expect(server.state).toBe("auth_required");
    expect(sink.types).toEqual(["mcp.server.starting", "mcp.server.auth_required"]);
    expect(await rejection(server.acquire({ timeoutMs: 10 }))).toMatchObject({ facts: { reason: "auth_required" } });
  });
});

describe("supervisor idle", () => {
  it("disconnects only what no call uses and none has for that long", async () => {
    const { server, connect, sink, clock } = scene();
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    const lease = await server.acquire({ timeoutMs: 1000 });
    await clock.advance(10_000);
    expect(server.disconnectIfIdle(5000)).toBeUndefined();
    lease.release();
    await clock.advance(4999);
    expect(server.disconnectIfIdle(5000)).toBeUndefined();
    await clock.advance(1);
    expect(server.disconnectIfIdle(5000)).toBeDefined();
    await settle();
    expect(server.state).toBe("idle_disconnected");
    expect(server.status()).toMatchObject({ connected: false, toolCount: 1 });
    expect(sink.events.at(-1)).toMatchObject({
      type: "mcp.server.idle_disconnected",
      payload: { server: "echo", idleMs: 5000 },
    });
    expect(await rejection(server.acquire({ timeoutMs: 10 }))).toMatchObject({
      code: "ERR_SERVER_NOT_CONNECTED",
      message: "MCP server not connected: echo",
      facts: { reason: "mcp_server_not_connected" },
    });
    expect(clock.timers).toBe(0);
  });

  it("a lazy server is started by the next call, by one start for all", async () => {
    const { server, connect, clock } = scene({ reconnect: "lazy" });
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    await clock.advance(1000);
    void server.disconnectIfIdle(1000);
    const leases = await Promise.all([1, 2, 3].map(() => server.acquire({ timeoutMs: 1000 })));
    expect(new Set(leases.map((lease) => lease.client)).size).toBe(1);
    expect(connect.attempts).toBe(2);
    expect(connect.mostOpen).toBe(1);
  });

  it("idleMs disconnects by itself, counted from the last call", async () => {
    const { server, connect, clock } = scene({ idleMs: 1000 });
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    await clock.advance(600);
    (await server.acquire({ timeoutMs: 10 })).release();
    await clock.advance(999);
    expect(server.state).toBe("ready");
    await clock.advance(1);
    expect(server.state).toBe("idle_disconnected");
    expect(clock.timers).toBe(0);
  });

  it("pingMs: a server that is silent is started again, and asking is no activity (C-LIFE-11, FR-31)", async () => {
    const { server, connect, clock, sink } = scene({ pingMs: 1000 });
    connect.onConnect = (dialling) => dialling.succeed();
    server.supervise();
    await settle();
    const activeAt = server.status().lastActivityAt;
    await clock.advance(5000);
    expect([server.state, server.status().lastActivityAt]).toEqual(["ready", activeAt]);
    connect.clients[0]!.onRequest = () => failed(new HostError("ERR_TIMEOUT", "Request timed out"), true);
    await clock.advance(1500);
    expect(sink.ofType("mcp.server.crashed")[0]!.payload).toMatchObject({ reason: "unreachable" });
    await clock.advance(500);
    expect([server.state, connect.attempts, connect.mostOpen]).toEqual(["ready", 2, 1]);
    await server.stop("removed");
    expect(clock.timers).toBe(0);
  });
});
