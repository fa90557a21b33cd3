import { describe, expect, it } from "vitest";
import type { CallOptions } from "../../../src/call/call.ts";
import { HostError, RemoteError } from "../../../src/kernel/errors.ts";
import type { Approval, Gate } from "../../../src/permission/request.ts";
import type { Progress } from "../../../src/protocol/model.ts";
import { done, failed, text, toolNamed } from "../../fixtures/fake_client.ts";
import { settle, until } from "../../fixtures/settle.ts";
import { rejection } from "../servers/supervisor_setup.ts";
import { type CallScene, callScene, unbalanced } from "./call_setup.ts";

const GOOD = ["permission.requested", "permission.resolved", "mcp.call.started", "tool.started"];

/** Makes a call and waits until it has reached the server. */
async function sent(scene: CallScene, ...given: [args?: unknown, options?: CallOptions]) {
  const [args, options] = given.length === 0 ? [{ message: "hi" }] : given;
  const before = scene.connect.last.calls.length;
  const outcome = scene.executor.call("mcp__echo__echo", args, options);
  return { outcome, call: await until(() => scene.connect.last.calls[before]) };
}

describe("a call that is allowed", () => {
  it("takes two appends, the first before anything is sent", async () => {
    const scene = await callScene();
    const { outcome, call } = await sent(scene);
    expect(scene.sink.batches).toEqual([GOOD]);
    expect(call).toMatchObject({ name: "echo", args: { message: "hi" } });
    call.answer(done(text("hi")));
    expect(await outcome).toEqual({
      status: "completed",
      output: "hi",
      content: [{ type: "text", text: "hi" }],
      isError: false,
      truncated: false,
      findings: [],
      toolCallId: "tc_1",
      requestId: "req_1",
      durationMs: 0,
    });
    expect(scene.sink.batches).toEqual([GOOD, ["mcp.call.completed", "tool.completed"]]);
    expect(scene.sink.events.slice(2).map((event) => event.payload)).toEqual([
      {
        server: "echo",
        toolCallId: "tc_1",
        method: "tools/call",
        args: { name: "echo", arguments: { message: "hi" } },
        round: 1,
      },
      { tool: "mcp.echo.echo", toolCallId: "tc_1" },
      { server: "echo", toolCallId: "tc_1", durationMs: 0, bytes: 41, resends: 0 },
      {
        tool: "mcp.echo.echo",
        toolCallId: "tc_1",
        isError: false,
        resultPreview: "hi",
        resultSize: 2,
        truncated: false,
        findings: 0,
        durationMs: 0,
      },
    ]);
  });

  it("nothing is sent before the intent is durable", async () => {
    const scene = await callScene();
    let release: (() => void) | undefined;
    scene.sink.beforeAppend = () => new Promise((resolve) => release = resolve);
    const outcome = scene.executor.call("mcp.echo.echo", {});
    await until(() => release);
    await settle();
    expect(scene.connect.last.calls).toHaveLength(0);
    release!();
    await until(() => scene.connect.last.calls.length === 1);
    scene.sink.beforeAppend = undefined;
    scene.connect.last.calls[0]!.answer(done(text("hi")));
    expect((await outcome).status).toBe("completed");
  });

  it("No append, no send", async () => {
    const scene = await callScene();
    scene.sink.beforeAppend = () => Promise.reject(new HostError("ERR_LOG_POISONED", "Poisoned"));
    const outcome = await scene.executor.call("mcp.echo.echo", {});
    expect(outcome).toMatchObject({ status: "failed", error: { code: "ERR_NOT_LOGGED", reason: "not_logged" } });
    expect(scene.connect.last.calls).toHaveLength(0);
    expect(scene.manager.find("echo").inFlight).toBe(0);
  });

  it("a closing event that cannot be written makes the outcome unknown and shows no result", async () => {
    const scene = await callScene();
    const { outcome, call } = await sent(scene);
    scene.sink.beforeAppend = () => Promise.reject(new HostError("ERR_LOG_POISONED", "Poisoned"));
    call.answer(done(text("hi")));
    expect(await outcome).toMatchObject({
      status: "unknown",
      error: { code: "ERR_NOT_LOGGED", reason: "not_logged" },
      content: [],
    });
  });

  it("a tool's own failure is a completed call (C-TOOL-04)", async () => {
    const scene = await callScene();
    const { outcome, call } = await sent(scene);
    call.answer(done({ ...text("no such file"), isError: true }));
    expect(await outcome).toMatchObject({ status: "completed", isError: true, output: "no such file" });
    expect(scene.sink.types.at(-1)).toBe("tool.completed");
  });

  it("what was allowed is what is sent, whatever the caller does to its object meanwhile", async () => {
    const args = { message: "hi", nested: { a: 1 } };
    let decide: ((answer: "allow") => void) | undefined;
    const scene = await callScene({ permission: {}, approve: () => new Promise((resolve) => decide = resolve) });
    const outcome = scene.executor.call("mcp.echo.echo", args);
    await until(() => decide);
    args.message = "changed";
    args.nested.a = 2;
    decide!("allow");
    await until(() => scene.connect.last.calls[0]);
    expect(scene.connect.last.calls[0]!.args).toEqual({ message: "hi", nested: { a: 1 } });
    scene.connect.last.calls[0]!.answer(done(text("hi")));
    await outcome;
  });

  it("its events carry the turn that it belongs to", async () => {
    const scene = await callScene();
    const { outcome, call } = await sent(scene, {}, { turnId: "t_1", by: "model" });
    call.answer(done(text("hi")));
    await outcome;
    expect(scene.sink.events.slice(2).every((event) => event.turnId === "t_1")).toBe(true);
    expect(scene.sink.events[0]!.payload["by"]).toBe("model");
  });
});

describe("a call that gets no usable answer", () => {
  it.each([
    [
      "the server's error",
      failed(new RemoteError(-32602, "no hunter2hunter2"), true),
      "failed",
      "remote_error",
      "answered",
      "-32602",
    ],
    ["silence", failed(new HostError("ERR_TIMEOUT", "Silent"), true), "unknown", "timeout", "unknown", "ERR_TIMEOUT"],
    [
      "silence before it left",
      failed(new HostError("ERR_TIMEOUT", "Silent"), false),
      "failed",
      "timeout",
      "not_sent",
      "ERR_TIMEOUT",
    ],
    [
      "a lost request",
      failed(new HostError("ERR_CONNECTION_LOST", "Lost"), true),
      "unknown",
      "connection_lost",
      "unknown",
      "ERR_CONNECTION_LOST",
    ],
    [
      "a gateway's 502",
      failed(new HostError("ERR_PROTOCOL", "502", { facts: { status: 502 } }), true),
      "unknown",
      "connection_lost",
      "unknown",
      "ERR_PROTOCOL",
    ],
    [
      "a login page",
      failed(new HostError("ERR_PROTOCOL", "HTML", { facts: { status: 200 } }), true),
      "unknown",
      "invalid_result",
      "unknown",
      "ERR_PROTOCOL",
    ],
    [
      "no result",
      failed(new HostError("ERR_PROTOCOL", "Shape"), true),
      "failed",
      "invalid_result",
      "answered",
      "ERR_PROTOCOL",
    ],
    [
      "too much",
      failed(new HostError("ERR_FRAME_TOO_LARGE", "Much"), true),
      "failed",
      "too_large",
      "answered",
      "ERR_FRAME_TOO_LARGE",
    ],
    [
      "a refusal for want of a login",
      failed(new HostError("ERR_AUTH_REQUIRED", "401"), true, true),
      "failed",
      "auth_required",
      "answered",
      "ERR_AUTH_REQUIRED",
    ],
    [
      "the server's own cancellation",
      failed(new HostError("ERR_CANCELLED", "By it", { facts: { by: "server" } }), true),
      "failed",
      "cancelled_by_server",
      "answered",
      "ERR_CANCELLED",
    ],
    [
      "a question back",
      { kind: "input_required", inputRequests: {}, requestState: "s", bytes: 1, resends: 0 } as const,
      "failed",
      "invalid_result",
      "answered",
      "ERR_UNSUPPORTED_HERE",
    ],
    [
      "a task without a name",
      { kind: "task", task: {}, bytes: 1, resends: 0 } as const,
      "unknown",
      "invalid_result",
      "unknown",
      "ERR_PROTOCOL",
    ],
    ["content of another shape", done({ content: "text" }), "failed", "invalid_result", "answered", "ERR_PROTOCOL"],
  ])("%s", async (_what, reply, status, reason, sentAs, code) => {
    const scene = await callScene();
    const { outcome, call } = await sent(scene);
    call.answer(reply);
    expect(await outcome).toMatchObject({ status, isError: true, content: [], error: { code, reason } });
    expect(scene.sink.batches).toHaveLength(2);
    expect(scene.sink.batches[1]!.at(-1)).toBe("tool.failed");
    expect(scene.sink.events.at(-1)!.payload).toMatchObject({ reason, outcome: sentAs });
    expect(JSON.stringify(scene.sink.events)).not.toContain("hunter2");
    expect(unbalanced(scene.sink)).toEqual([]);
    expect(scene.manager.find("echo").inFlight).toBe(0);
  });

  it("FR-13 a crash ends it at once, with the reason and the crash as its cause", async () => {
    const scene = await callScene({ server: { timeoutMs: 1_800_000 } });
    const { outcome, call } = await sent(scene);
    void call;
    void scene.connect.last.end();
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason: "mcp_server_restarted" } });
    expect(scene.sink.batches[1]).toEqual(["mcp.call.failed", "tool.failed"]);
    const cause = { stream: "host:test", seq: scene.hostSink.ofType("mcp.server.crashed")[0]!.seq };
    expect(scene.sink.events.slice(-2).map((event) => event.cause)).toEqual([cause, cause]);
    await scene.clock.advance(500);
    expect(scene.hostSink.types.slice(2)).toEqual([
      "mcp.server.crashed",
      "mcp.server.restarting",
      "mcp.server.starting",
      "mcp.server.ready",
    ]);
  });

  it("FR-14 what was sent is never sent again (C-SHTTP-19)", async () => {
    const scene = await callScene();
    const { outcome } = await sent(scene);
    void scene.connect.last.end();
    await outcome;
    await scene.clock.advance(60_000);
    expect(scene.connect.clients).toHaveLength(2);
    expect(scene.connect.last.calls).toHaveLength(0);
  });

  it("what had not left when the connection ended goes to the next one, with a closing event for the first", async () => {
    const scene = await callScene();
    scene.connect.last.onCall = () => {
      const client = scene.connect.last;
      client.onCall = undefined;
      return client.end().then(() => failed(new HostError("ERR_CONNECTION_LOST", "Lost"), false));
    };
    const outcome = scene.executor.call("mcp.echo.echo", {});
    await until(() => scene.sink.ofType("mcp.call.failed").length === 1);
    await scene.clock.advance(500);
    scene.connect.last.calls[0]!.answer(done(text("hi")));
    expect((await outcome).status).toBe("completed");
    expect(scene.sink.batches).toEqual([
      GOOD,
      ["mcp.call.failed"],
      ["mcp.call.started"],
      ["mcp.call.completed", "tool.completed"],
    ]);
    expect(unbalanced(scene.sink)).toEqual([]);
  });

  it("a request that a dead session refused is sent once more and counted, and not a third time", async () => {
    const scene = await callScene();
    const refuse = async () => {
      await scene.connect.last.end({ reason: "unreachable", error: new HostError("ERR_CONNECTION_LOST", "404") });
      return failed(new HostError("ERR_CONNECTION_LOST", "404"), true, true);
    };
    scene.connect.last.onCall = refuse;
    scene.connect.onConnect = (dialling) => dialling.succeed().onCall = refuse;
    const outcome = scene.executor.call("mcp.echo.echo", {});
    await until(() => scene.sink.ofType("mcp.call.failed").length === 1);
    await scene.clock.advance(10_000);
    expect(await outcome).toMatchObject({ status: "failed", error: { reason: "mcp_server_unstable" } });
    expect(scene.sink.ofType("mcp.call.started")).toHaveLength(2);
    expect(scene.sink.ofType("mcp.call.failed").map((event) => event.payload["resends"])).toEqual([0, 1]);
    expect(unbalanced(scene.sink)).toEqual([]);
  });

  it("waits for a server that restarts, unsent, and says so in the log first", async () => {
    const scene = await callScene();
    await scene.connect.last.end();
    const outcome = scene.executor.call("mcp.echo.echo", {});
    await until(() => scene.sink.seq === 2);
    await settle();
    expect(scene.sink.batches).toEqual([["permission.requested", "permission.resolved"]]);
    await scene.clock.advance(500);
    scene.connect.last.calls[0]!.answer(done(text("hi")));
    expect((await outcome).status).toBe("completed");
    expect(scene.sink.batches).toEqual([GOOD.slice(0, 2), GOOD.slice(2), ["mcp.call.completed", "tool.completed"]]);
  });

  it("fails unsent when its server is given up while it waits", async () => {
    const scene = await callScene();
    scene.connect.onConnect = (dialling) => dialling.fail(new HostError("ERR_START_FAILED", "No"));
    await scene.connect.last.end();
    const outcome = scene.executor.call("mcp.echo.echo", {});
    await until(() => scene.sink.seq === 2);
    await settle();
    await scene.clock.advance(60_000);
    expect(await outcome).toMatchObject({ status: "failed", error: { reason: "mcp_server_permanently_failed" } });
    expect(scene.sink.events.at(-1)).toMatchObject({
      type: "tool.failed",
      payload: { outcome: "not_sent" },
      cause: { stream: "host:test" },
    });
    expect((await scene.executor.call("mcp.echo.echo", {})).error).toMatchObject({
      reason: "mcp_server_permanently_failed",
    });
  });

  it("fails unsent when its time is up while it waits", async () => {
    const scene = await callScene();
    scene.connect.onConnect = undefined;
    await scene.connect.last.end();
    const outcome = scene.executor.call("mcp.echo.echo", {}, { timeoutMs: 100 });
    await until(() => scene.sink.seq === 2);
    await settle();
    await scene.clock.advance(100);
    expect(await outcome).toMatchObject({ status: "failed", error: { code: "ERR_TIMEOUT", reason: "timeout" } });
    expect(scene.sink.types).toEqual([...GOOD.slice(0, 2), "tool.failed"]);
  });

  it("a removed server ends its calls as removed", async () => {
    const scene = await callScene();
    const { outcome } = await sent(scene);
    await scene.manager.remove("echo");
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason: "mcp_server_removed" } });
  });
});

describe("a caller that gives up", () => {
  it("FR-17 ends its own call and nothing else", async () => {
    const scene = await callScene();
    const controller = new AbortController();
    const { outcome } = await sent(scene, {}, { signal: controller.signal });
    controller.abort();
    expect(await outcome).toMatchObject({ status: "cancelled" });
    expect(scene.sink.batches[1]).toEqual(["mcp.call.failed", "tool.cancelled"]);
    expect(scene.manager.find("echo").state).toBe("ready");
    const next = await sent(scene);
    next.call.answer(done(text("hi")));
    expect((await next.outcome).status).toBe("completed");
  });

  it("while somebody is asked, ends the ask", async () => {
    const controller = new AbortController();
    const scene = await callScene({ permission: {}, approve: () => new Promise(() => {}) });
    const outcome = scene.executor.call("mcp.echo.echo", {}, { signal: controller.signal });
    await until(() => scene.sink.seq > 0);
    await settle();
    controller.abort();
    expect(await outcome).toMatchObject({ status: "cancelled" });
    expect(scene.sink.batches).toEqual([["permission.requested"], ["permission.resolved", "tool.cancelled"]]);
    expect(await scene.desk.list()).toEqual([]);
  });

  it("while its server restarts, ends the wait", async () => {
    const scene = await callScene();
    await scene.connect.last.end();
    const controller = new AbortController();
    const outcome = scene.executor.call("mcp.echo.echo", {}, { signal: controller.signal });
    await until(() => scene.sink.seq > 0);
    await settle();
    controller.abort();
    expect(await outcome).toMatchObject({ status: "cancelled" });
    expect(scene.sink.types.at(-1)).toBe("tool.cancelled");
  });

  it("before the call, sends nothing", async () => {
    const scene = await callScene();
    expect(await scene.executor.call("mcp.echo.echo", {}, { signal: AbortSignal.abort() })).toMatchObject({
      status: "cancelled",
    });
    expect(scene.connect.last.calls).toHaveLength(0);
    expect(unbalanced(scene.sink)).toEqual([]);
  });
});

describe("the gate", () => {
  it("a denied call is not sent, and says so (C-TOOL-01)", async () => {
    const scene = await callScene({
      permission: { rules: [{ tool: "mcp.echo.*", decision: "deny", name: "no echo" }] },
    });
    expect(await scene.executor.call("mcp.echo.echo", {})).toMatchObject({
      status: "denied",
      requestId: "req_1",
      error: { code: "ERR_DENIED", reason: "permission_denied" },
    });
    expect(scene.sink.batches).toEqual([["permission.requested", "permission.resolved", "tool.failed"]]);
    expect(scene.connect.last.calls).toHaveLength(0);
  });

  it("without an approver an ask is denied", async () => {
    const scene = await callScene({ permission: {} });
    expect(await scene.executor.call("mcp.echo.echo", {})).toMatchObject({
      status: "denied",
      error: { reason: "no_approver" },
    });
  });

  it("an ask is logged before anybody is asked, and takes one append more", async () => {
    let loggedBefore = -1;
    const scene = await callScene({
      permission: {},
      approve: () => {
        loggedBefore = scene.sink.seq;
        return Promise.resolve<Approval>({ decision: "allow", scope: "session" });
      },
    });
    const outcome = scene.executor.call("mcp.echo.echo", {});
    (await until(() => scene.connect.last.calls[0])).answer(done(text("hi")));
    await outcome;
    expect(loggedBefore).toBe(1);
    expect(scene.sink.batches).toEqual([["permission.requested"], [
      "permission.resolved",
      "mcp.call.started",
      "tool.started",
    ], ["mcp.call.completed", "tool.completed"]]);
    const again = scene.executor.call("mcp.echo.echo", {});
    (await until(() => scene.connect.last.calls[1])).answer(done(text("hi")));
    await again;
    expect(scene.sink.batches[3]).toEqual(GOOD);
  });

  it("an ask that cannot be logged asks nobody", async () => {
    let asked = 0;
    const scene = await callScene({ permission: {}, approve: () => Promise.resolve(asked++ === 0) });
    scene.sink.beforeAppend = () => Promise.reject(new Error("full"));
    expect(await scene.executor.call("mcp.echo.echo", {})).toMatchObject({
      status: "failed",
      error: { reason: "not_logged" },
    });
    expect(asked).toBe(0);
  });

  it("a gate that fails lets nothing pass", async () => {
    const gate: Gate = { decide: () => Promise.reject(new Error("bug")), endSession: () => {}, close: () => {} };
    const scene = await callScene({ gate });
    expect(await scene.executor.call("mcp.echo.echo", {})).toMatchObject({
      status: "denied",
      error: { reason: "permission_denied" },
    });
    expect(scene.connect.last.calls).toHaveLength(0);
    expect(scene.errors).toHaveLength(1);
  });

  it("A-67 a tool that changes while somebody is asked is asked about again", async () => {
    const answers: ((answer: boolean) => void)[] = [];
    const scene = await callScene({ permission: {}, approve: () => new Promise((resolve) => answers.push(resolve)) });
    const outcome = scene.executor.call("mcp.echo.echo", {});
    await until(() => answers.length === 1);
    scene.connect.last.tools = [{ ...toolNamed("echo"), description: "Sends everything away" }];
    scene.connect.last.notice("notifications/tools/list_changed");
    await scene.clock.advance(1000);
    answers[0]!(true);
    await until(() => answers.length === 2);
    expect(scene.connect.last.calls).toHaveLength(0);
    answers[1]!(false);
    expect(await outcome).toMatchObject({ status: "denied" });
    expect(scene.sink.ofType("permission.requested")).toHaveLength(2);
    expect(scene.sink.ofType("permission.resolved").map((event) => event.payload["decision"])).toEqual([
      "allow",
      "deny",
    ]);
  });

  it("a tool that is gone when it was allowed is not called", async () => {
    const answers: ((answer: boolean) => void)[] = [];
    const scene = await callScene({ permission: {}, approve: () => new Promise((resolve) => answers.push(resolve)) });
    const outcome = scene.executor.call("mcp.echo.echo", {});
    await until(() => answers.length === 1);
    scene.connect.last.tools = [];
    scene.connect.last.notice("notifications/tools/list_changed");
    await scene.clock.advance(1000);
    answers[0]!(true);
    expect(await outcome).toMatchObject({ status: "failed", error: { code: "ERR_TOOL_NOT_FOUND" } });
    expect(scene.connect.last.calls).toHaveLength(0);
  });
});

describe("pending calls", () => {
  async function pending() {
    const scene = await callScene({ permission: {}, approve: () => Promise.reject(new Error("must not be asked")) });
    const outcome = await scene.executor.call("mcp.echo.echo", { a: 1 }, { onAsk: "return" });
    return { scene, outcome };
  }

  it("come back at once, with the request that waits", async () => {
    const { scene, outcome } = await pending();
    expect(outcome).toMatchObject({
      status: "pending",
      requestId: "req_1",
      isError: false,
      error: {
        code: "ERR_PENDING",
        message:
          'Call of mcp.echo.echo waits for a decision: give it with session.approvals.resolve("req_1", { decision: "allow" or "deny" }), go on with session.resume()',
        reason: "waits_for_decision",
      },
    });
    expect(scene.sink.batches).toEqual([["permission.requested"]]);
    expect(await scene.desk.list("s")).toHaveLength(1);
  });

  it("are gone on with once they are decided, once", async () => {
    const { scene, outcome } = await pending();
    expect(await scene.executor.resume()).toEqual([outcome]);
    await scene.desk.resolve("req_1", { decision: "allow", actor: "user" });
    const resumed = Promise.all([scene.executor.resume(), scene.executor.resume()]);
    await until(() => scene.connect.last.calls.length === 1);
    scene.connect.last.calls[0]!.answer(done(text("hi")));
    expect((await resumed).flat()).toMatchObject([{
      status: "completed",
      toolCallId: outcome.toolCallId,
      output: "hi",
    }]);
    expect(scene.sink.batches.slice(1)).toEqual([["permission.resolved", "mcp.call.started", "tool.started"], [
      "mcp.call.completed",
      "tool.completed",
    ]]);
    expect(await scene.executor.resume()).toEqual([]);
  });

  it("are gone on with by the same call as well", async () => {
    const { scene, outcome } = await pending();
    const same = { toolCallId: outcome.toolCallId };
    expect((await scene.executor.call("mcp.echo.echo", { a: 1 }, same)).status).toBe("pending");
    expect(scene.sink.batches).toHaveLength(1);
    await scene.desk.resolve("req_1", { decision: "deny", actor: "user" });
    expect(await scene.executor.call("mcp.echo.echo", { a: 1 }, same)).toMatchObject({ status: "denied" });
    expect(scene.sink.batches).toEqual([["permission.requested"], ["permission.resolved", "tool.failed"]]);
  });

  it("stay at the desk when the session is closed", async () => {
    const { scene } = await pending();
    await scene.executor.close();
    expect(await scene.desk.list("s")).toHaveLength(1);
    expect(scene.sink.batches).toHaveLength(1);
  });

  it("are bounded", async () => {
    const { scene } = await pending();
    for (let call = 0; call < 99; call++) await scene.executor.call("mcp.echo.echo", {}, { onAsk: "return" });
    expect(await scene.executor.call("mcp.echo.echo", {}, { onAsk: "return" })).toMatchObject({
      status: "denied",
      error: { reason: "too_many_asks" },
    });
  });
});

describe("names", () => {
  const readFile = { name: "echo", risk: "read", inputSchema: {}, run: () => "local" } as const;

  it("an ambiguous name is refused and not executed", async () => {
    const scene = await callScene({ localTools: [readFile] });
    expect(await scene.executor.call("echo", {})).toMatchObject({
      status: "failed",
      error: { code: "ERR_TOOL_AMBIGUOUS", reason: "ambiguous" },
    });
    expect(scene.sink.batches).toEqual([["tool.ambiguous_call"]]);
    expect(scene.sink.events[0]!.payload).toEqual({ name: "echo", candidates: ["local.echo", "mcp.echo.echo"] });
  });

  it("an unknown name is told with the full names", async () => {
    const scene = await callScene();
    const outcome = await scene.executor.call("echo", {});
    expect(outcome).toMatchObject({ status: "failed", error: { code: "ERR_TOOL_NOT_FOUND", reason: "not_found" } });
    expect(outcome.error!.message).toContain("mcp.echo.echo");
    expect(scene.sink.batches).toEqual([["tool.not_found"]]);
  });

  it("a long hostile name is cut", async () => {
    const scene = await callScene();
    await scene.executor.call("x\u0000".repeat(100_000), {});
    expect(JSON.stringify(scene.sink.events).length).toBeLessThan(5000);
  });

  it("a server that is idle is told as not connected", async () => {
    const scene = await callScene();
    await scene.manager.disconnectIdle(0);
    expect(await scene.executor.call("mcp.echo.echo", {})).toMatchObject({
      status: "failed",
      error: { reason: "mcp_server_not_connected", message: "MCP server not connected: echo" },
    });
    expect(scene.sink.events.at(-1)!.payload).toMatchObject({ tool: "mcp.echo.echo", outcome: "not_sent" });
  });

  it("a full name at a server that starts for the first time waits for its list", async () => {
    const scene = await callScene();
    scene.connect.onConnect = undefined;
    const added = scene.manager.add({ name: "later", command: "x" });
    await until(() => scene.connect.pending[0]);
    const outcome = scene.executor.call("mcp.later.echo", {});
    await settle();
    scene.connect.pending[0]!.succeed();
    await added;
    (await until(() => scene.connect.last.calls[0])).answer(done(text("hi")));
    expect((await outcome).status).toBe("completed");
  });

  it("a full name at a server that starts and has no such tool is not found", async () => {
    const scene = await callScene();
    scene.connect.onConnect = undefined;
    const added = scene.manager.add({ name: "later", command: "x" });
    await until(() => scene.connect.pending[0]);
    const outcome = scene.executor.call("mcp.later.other", {});
    await settle();
    scene.connect.pending[0]!.succeed();
    await added;
    expect(await outcome).toMatchObject({ error: { code: "ERR_TOOL_NOT_FOUND" } });
  });

  it("a full name at a server whose start fails ends with that", async () => {
    const scene = await callScene();
    scene.connect.onConnect = undefined;
    const added = rejection(scene.manager.add({ name: "later", command: "x" }));
    await until(() => scene.connect.pending[0]);
    const outcome = scene.executor.call("mcp.later.echo", {});
    await settle();
    scene.connect.pending[0]!.fail(new HostError("ERR_START_FAILED", "No"));
    await added;
    expect(await outcome).toMatchObject({ status: "failed", error: { reason: "mcp_server_removed" } });
  });
});

describe("arguments", () => {
  it.each([["none", undefined], ["null", null], ["an empty object", {}], ["an empty text", ""]])(
    "FR-52 %s go out as {}",
    async (_what, args) => {
      const scene = await callScene();
      const { outcome, call } = await sent(scene, args);
      expect(call.args).toEqual({});
      call.answer(done(text("hi")));
      await outcome;
    },
  );

  it("a big integer that a number holds is that number", async () => {
    expect((await sent(await callScene(), { a: 1n, b: [-5n] })).call.args).toEqual({ a: 1, b: [-5] });
  });

  it("FR-52 undefined members are left out and JSON text of a model is read", async () => {
    const scene = await callScene();
    expect((await sent(scene, { a: 1, b: undefined, c: { d: undefined } })).call.args).toEqual({ a: 1, c: {} });
    expect((await sent(scene, '{"a": 1}')).call.args).toEqual({ a: 1 });
  });

  it.each([
    ["a list", []],
    ["a number", 3],
    ["a text", "hello"],
    ["JSON of a list", "[1]"],
    ["a function inside", { a: () => 1 }],
    ["an endless integer", { a: 10n ** 4096n }],
    ["not a number", { a: NaN }],
    ["a map", { a: new Map([["b", 1]]) }],
    ["binary data", { a: new Uint8Array(4) }],
  ])("%s is refused before anything is sent", async (_what, args) => {
    const scene = await callScene();
    expect(await scene.executor.call("mcp.echo.echo", args)).toMatchObject({
      status: "failed",
      error: { code: "ERR_INVALID_ARGUMENTS", reason: "invalid_arguments" },
    });
    expect(scene.sink.batches).toEqual([["tool.failed"]]);
    expect(scene.connect.last.calls).toHaveLength(0);
  });

  it("a cycle and endless depth are refused", async () => {
    const scene = await callScene();
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const deep = JSON.parse(`${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`) as unknown;
    for (const args of [cycle, deep, `${'{"a":'.repeat(5000)}1${"}".repeat(5000)}`]) {
      expect(await scene.executor.call("mcp.echo.echo", args)).toMatchObject({
        error: { reason: "invalid_arguments" },
      });
    }
  });

  it("A-30 prototype keys are left out before anybody sees them, so that all see the same", async () => {
    const scene = await callScene();
    const { call } = await sent(scene, '{"__proto__":{"a":2},"a":1,"b":[{"__proto__":{"c":1}}]}');
    expect(JSON.stringify(call.args)).toBe('{"a":1,"b":[{}]}');
    expect(JSON.stringify(scene.sink.events.find(({ type }) => type === "mcp.call.started")?.payload["args"]))
      .toBe('{"name":"echo","arguments":{"a":1,"b":[{}]}}');
  });

  it.each([
    ["a list of holes", () => ({ list: new Array(1e8) })],
    ["a list of numbers", () => ({ list: new Array(1e6).fill(1) })],
    ["many small lists", () => ({ lists: Array.from({ length: 1000 }, () => new Array(1000).fill(0)) })],
  ])("%s is refused by its length", async (_what, args) => {
    const scene = await callScene();
    const given = args();
    const startedAt = performance.now();
    expect(await scene.executor.call("mcp.echo.echo", given)).toMatchObject({
      status: "failed",
      error: { code: "ERR_TOO_LARGE", reason: "invalid_arguments" },
    });
    expect(performance.now() - startedAt).toBeLessThan(1000);
  });

  it("the gaps of a list are null", async () => {
    const scene = await callScene();
    // deno-lint-ignore no-sparse-arrays
    expect((await sent(scene, { list: [1, , 2] })).call.args).toEqual({ list: [1, null, 2] });
  });

  it("a secret in them is shown nowhere", async () => {
    const scene = await callScene({
      permission: { rules: [{ decision: "allow" }, { risk: "credential", decision: "allow" }] },
    });
    const { outcome, call } = await sent(scene, { key: "hunter2hunter2" });
    expect(call.args).toEqual({ key: "hunter2hunter2" });
    call.answer(
      done({ content: [{ type: "text", text: "got hunter2hunter2" }], structuredContent: { k: "hunter2hunter2" } }),
    );
    expect(JSON.stringify(await outcome)).not.toContain("hunter2");
    expect(JSON.stringify(scene.sink.events)).not.toContain("hunter2");
  });
});

describe("the same call twice", () => {
  it("joins the running call, then gives its outcome", async () => {
    const scene = await callScene();
    const { outcome, call } = await sent(scene, { a: 1, b: 2 }, { toolCallId: "toolu_1" });
    const joined = scene.executor.call("mcp__echo__echo", { b: 2, a: 1 }, { toolCallId: "toolu_1" });
    await settle();
    call.answer(done(text("hi")));
    const first = await outcome;
    expect(await joined).toBe(first);
    expect(await scene.executor.call("mcp__echo__echo", { a: 1, b: 2 }, { toolCallId: "toolu_1" })).toBe(first);
    expect(scene.connect.last.calls).toHaveLength(1);
    expect(scene.sink.batches).toHaveLength(2);
  });

  it("with other arguments is misuse", async () => {
    const scene = await callScene();
    await sent(scene, { a: 1 }, { toolCallId: "toolu_1" });
    expect(await rejection(scene.executor.call("mcp__echo__echo", { a: 2 }, { toolCallId: "toolu_1" }))).toMatchObject({
      code: "ERR_INVALID_ARGUMENTS",
    });
    expect(await rejection(scene.executor.call("mcp__echo__delete_all", { a: 1 }, { toolCallId: "toolu_1" })))
      .toMatchObject({ code: "ERR_INVALID_ARGUMENTS" });
  });

  it("is kept for 24 hours", async () => {
    const scene = await callScene();
    scene.connect.last.onCall = () => done(text("hi"));
    const call = () => scene.executor.call("mcp__echo__echo", {}, { toolCallId: "toolu_1" });
    const first = await call();
    await scene.clock.advance(24 * 3_600_000 - 1);
    expect(await call()).toBe(first);
    await scene.clock.advance(1);
    expect(await call()).not.toBe(first);
  });

  it("of many the last thousand are kept", async () => {
    const scene = await callScene();
    let calls = 0;
    scene.connect.last.onCall = () => {
      calls++;
      return done(text("hi"));
    };
    for (let call = 0; call <= 1000; call++) {
      await scene.executor.call("mcp__echo__echo", {}, { toolCallId: `c${call}` });
    }
    await scene.executor.call("mcp__echo__echo", {}, { toolCallId: "c1" });
    expect(calls).toBe(1001);
    await scene.executor.call("mcp__echo__echo", {}, { toolCallId: "c0" });
    expect(calls).toBe(1002);
  });

  it.each([["", {}], ["a b", {}], ["x".repeat(257), {}]])("an id like %j is misuse", async (toolCallId) => {
    const scene = await callScene();
    expect(await rejection(scene.executor.call("mcp.echo.echo", {}, { toolCallId }))).toMatchObject({
      code: "ERR_INVALID_ARGUMENTS",
    });
  });
});

describe("progress", () => {
  it("all of it reaches the caller, scrubbed; the log gets four a second", async () => {
    const scene = await callScene();
    const seen: Progress[] = [];
    const { outcome, call } = await sent(scene, {}, { onProgress: (progress: Progress) => void seen.push(progress) });
    for (let step = 1; step <= 10; step++) {
      call.options.onProgress!({ progress: step, total: 10, message: "hunter2hunter2" });
      await scene.clock.advance(100);
    }
    call.answer(done(text("hi")));
    await outcome;
    call.options.onProgress!({ progress: 11 });
    await settle();
    expect(seen).toHaveLength(10);
    expect(seen[0]).toEqual({ progress: 1, total: 10, message: "[redacted]" });
    expect(scene.sink.ofType("mcp.call.progress").map((event) => event.payload["progress"])).toEqual([1, 4, 7, 10]);
    expect(scene.sink.types.at(-1)).toBe("tool.completed");
  });

  it("a listener that throws does not end the call", async () => {
    const scene = await callScene();
    const { outcome, call } = await sent(scene, {}, {
      onProgress: () => {
        throw new Error("listener");
      },
    });
    call.options.onProgress!({ progress: 1 });
    call.answer(done(text("hi")));
    expect((await outcome).status).toBe("completed");
    expect(scene.errors).toHaveLength(1);
  });
});

describe("closing", () => {
  it("ends a call in flight as unknown, with its events, and takes no more", async () => {
    const scene = await callScene();
    const { outcome } = await sent(scene);
    await scene.executor.close();
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason: "session_closed" } });
    expect(scene.sink.batches[1]).toEqual(["mcp.call.failed", "tool.failed"]);
    expect(await rejection(scene.executor.call("mcp.echo.echo", {}))).toMatchObject({ code: "ERR_SESSION_CLOSED" });
    expect(scene.manager.find("echo").state).toBe("ready");
  });

  it("while somebody is asked ends the ask as denied and the call as closed", async () => {
    const scene = await callScene({ permission: {}, approve: () => new Promise(() => {}) });
    const outcome = scene.executor.call("mcp.echo.echo", {});
    await until(() => scene.sink.seq > 0);
    await settle();
    await scene.executor.close();
    expect(await outcome).toMatchObject({ status: "denied", error: { reason: "session_closed" } });
    expect(scene.sink.batches).toEqual([["permission.requested"], ["permission.resolved", "tool.failed"]]);
    expect(await scene.desk.list()).toEqual([]);
  });

  it("while its server restarts ends the wait", async () => {
    const scene = await callScene();
    await scene.connect.last.end();
    const outcome = scene.executor.call("mcp.echo.echo", {}, { signal: new AbortController().signal });
    await until(() => scene.sink.seq > 0);
    await settle();
    await scene.executor.close();
    expect(await outcome).toMatchObject({ status: "failed", error: { reason: "session_closed" } });
  });

  it("waits until every call has its closing event", async () => {
    const scene = await callScene();
    await sent(scene);
    await sent(scene);
    await scene.executor.close();
    expect(unbalanced(scene.sink)).toEqual([]);
    expect(scene.sink.ofType("tool.failed")).toHaveLength(2);
  });
});
