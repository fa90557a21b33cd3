import { describe, expect, it } from "vitest";
import type { CallOptions } from "../../../src/call/call.ts";
import type { HostAsks } from "../../../src/call/host_asks.ts";
import type { Reply } from "../../../src/client/reply.ts";
import { sleep } from "../../../src/kernel/clock.ts";
import { HostError, RemoteError } from "../../../src/kernel/errors.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { done, failed, text, toolNamed } from "../../fixtures/fake_client.ts";
import { settle, until } from "../../fixtures/settle.ts";
import { type CallScene, callScene, unbalanced } from "./call_setup.ts";

const task: Reply = { kind: "task", task: { taskId: "t1", pollIntervalMs: 500 }, bytes: 9, resends: 0 };
const confirm = {
  method: "elicitation/create",
  params: {
    message: "Sure?",
    requestedSchema: { type: "object", properties: { ok: { type: "boolean", default: true } } },
  },
};
const STARTED = ["permission.requested", "permission.resolved", "mcp.call.started", "tool.started"];

/** A call that its server has made a task of; `looks` is what each look at it finds. */
async function pending(looks: (JsonObject | Reply)[], asks?: HostAsks, options?: CallOptions, server: object = {}) {
  const scene = await callScene({ server, ...(asks === undefined ? {} : { asks }) });
  const requests: [string, JsonObject][] = [];
  let at = 0;
  scene.connect.last.onRequest = async (method, params, { timeoutMs, maxTotalMs }) => {
    requests.push([method, params]);
    if (method !== "tasks/get") return done({});
    if (looks.length === 0) {
      await sleep(scene.clock, Math.min(timeoutMs!, maxTotalMs ?? 600_000));
      return failed(new HostError("ERR_TIMEOUT", "Request tasks/get timed out"), true);
    }
    const look = looks[Math.min(at++, looks.length - 1)]!;
    return "kind" in look ? look as Reply : done(look as JsonObject);
  };
  const outcome = scene.executor.call("mcp.echo.echo", {}, options);
  (await until(() => scene.connect.last.calls[0])).answer(task);
  await settle();
  return { scene, requests, outcome };
}

const payload = (scene: CallScene, type: string): unknown =>
  scene.sink.events.find((event) => event.type === type)?.payload;

describe("call that its server has made a task of", () => {
  it("ends as any call, once the task has: one more event says that it waits (C-TEXT-02)", async () => {
    const { scene, outcome } = await pending([{ status: "working" }, { status: "completed", result: text("hi") }]);
    expect(scene.sink.batches).toEqual([STARTED, ["mcp.call.completed"]]);
    expect(payload(scene, "mcp.call.completed")).toMatchObject({ task: { taskId: "t1" }, bytes: 9 });
    await scene.clock.advance(1000);
    expect(await outcome).toMatchObject({ status: "completed", output: "hi", durationMs: 1000 });
    expect(scene.sink.batches).toEqual([STARTED, ["mcp.call.completed"], ["tool.completed"]]);
    expect(unbalanced(scene.sink)).toEqual([]);
  });

  it("puts what the task asks to the host's handlers, both ends logged before it is sent (C-TEXT-04)", async () => {
    const looks = [
      { status: "input_required", inputRequests: { a: confirm } },
      { status: "completed", result: text("hi") },
    ];
    const { scene, requests, outcome } = await pending(looks, { form: () => ({ action: "accept" }) });
    await scene.clock.advance(1000);
    expect((await outcome).status).toBe("completed");
    expect(requests.map(([method]) => method)).toEqual(["tasks/get", "tasks/update", "tasks/get"]);
    expect(requests[1]![1]).toEqual({
      taskId: "t1",
      inputResponses: { a: { action: "accept", content: { ok: true } } },
    });
    expect(scene.sink.batches.slice(2)).toEqual([["mcp.input.requested"], ["mcp.input.resolved"], ["tool.completed"]]);
  });

  it("fails with what the task failed with", async () => {
    const { scene, outcome } = await pending([{ status: "failed", error: { code: -32000, message: "no" } }]);
    await scene.clock.advance(500);
    expect(await outcome).toMatchObject({ status: "failed", error: { code: "-32000", reason: "remote_error" } });
    expect(scene.sink.batches.at(-1)).toEqual(["tool.failed"]);
  });

  it.each<[claim: string, status: string, end: (scene: CallScene, controller: AbortController) => unknown]>([
    ["its caller", "cancelled", (_scene, controller) => controller.abort()],
    ["the end of the session", "unknown", (scene) => scene.executor.close()],
  ])(
    "is cancelled at the server with %s, and what became of it is not known (C-CANC-03)",
    async (_claim, status, end) => {
      const controller = new AbortController();
      const { scene, requests, outcome } = await pending([{ status: "working" }], undefined, {
        signal: controller.signal,
      });
      await scene.clock.advance(500);
      void end(scene, controller);
      expect((await outcome).status).toBe(status);
      expect(requests.at(-1)).toEqual(["tasks/cancel", { taskId: "t1" }]);
      expect(scene.sink.events.at(-1)!.payload).toMatchObject({ outcome: "unknown" });
      expect(unbalanced(scene.sink)).toEqual([]);
    },
  );

  it("ends with the maximum of the call though its server never says how it stands", async () => {
    const { scene, requests, outcome } = await pending([], undefined, undefined, { timeoutMs: 1000, maxTotalMs: 3000 });
    await scene.clock.advance(3000);
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason: "timeout" }, durationMs: 3000 });
    expect(requests.map(([method]) => method)).toEqual(["tasks/get", "tasks/cancel"]);
    expect(scene.sink.events.at(-1)!.payload).toMatchObject({ reason: "timeout", outcome: "unknown" });
    expect(unbalanced(scene.sink)).toEqual([]);
  });

  it.each<[claim: string, look: JsonObject | Reply, reason: string]>([
    ["is not known", failed(new RemoteError(-32602, "Task not found"), true), "invalid_result"],
    ["cannot be looked at", failed(new RemoteError(-32603, "internal"), true), "invalid_result"],
    ["stands in no way that is known", { status: "sleeping" }, "invalid_result"],
    ["is another one", { taskId: "t2", status: "completed", result: text("hi") }, "invalid_result"],
    ["is too long to be looked at", failed(new HostError("ERR_TOO_LARGE", "too large"), true), "too_large"],
    ["has a session that is lost", failed(new HostError("ERR_CONNECTION_LOST", "lost"), true), "connection_lost"],
    ["asks for what cannot be answered", { status: "input_required", inputRequests: { a: {} } }, "invalid_result"],
  ])("is unknown when the task %s: the tool may have run", async (_claim, look, reason) => {
    const { scene, outcome } = await pending([look], { form: () => ({ action: "accept" }) });
    await scene.clock.advance(1500);
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason } });
    expect(scene.sink.events.at(-1)!.payload).toMatchObject({ reason, outcome: "unknown" });
    expect(unbalanced(scene.sink)).toEqual([]);
  });

  it("fails when its server has cancelled the task", async () => {
    const { scene, outcome } = await pending([{ status: "cancelled" }]);
    await scene.clock.advance(500);
    expect(await outcome).toMatchObject({ status: "failed", error: { reason: "cancelled_by_server" } });
  });

  it("is unknown when its server is gone", async () => {
    const gone = failed(new HostError("ERR_CONNECTION_LOST", "gone"), true);
    const { scene, outcome } = await pending([gone]);
    await scene.connect.last.end();
    await scene.clock.advance(500);
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason: "mcp_server_restarted" } });
  });

  it("tells its progress under its first token until it has ended, and no longer (C-TASK-08)", async () => {
    const seen: number[] = [];
    const { scene, outcome, call } = await demanding({ onProgress: ({ progress }) => void seen.push(progress) });
    const { onProgress, progressUntil } = call.options;
    await scene.clock.advance(100);
    onProgress!({ progress: 1 });
    await settle();
    expect(progressUntil?.aborted).toBe(false);
    await scene.clock.advance(100);
    expect((await outcome).status).toBe("completed");
    expect(progressUntil?.aborted).toBe(true);
    onProgress!({ progress: 2 });
    expect(seen).toEqual([1]);
    const types = scene.sink.events.map(({ type }) => type);
    expect(types.slice(-3)).toEqual(["mcp.call.completed", "mcp.call.progress", "tool.completed"]);
  });

  it("tells no progress after its caller has given up (C-TASK-08)", async () => {
    const controller = new AbortController();
    const { outcome, call } = await demanding({ signal: controller.signal });
    controller.abort();
    expect((await outcome).status).toBe("cancelled");
    expect(call.options.progressUntil?.aborted).toBe(true);
  });

  it("is asked for only where the tool demands it (C-TASK-02)", async () => {
    const { scene, outcome, call } = await demanding();
    expect(call.params).toEqual({ name: "long", arguments: {}, task: {} });
    await scene.clock.advance(200);
    expect(await outcome).toMatchObject({ status: "completed", output: "long" });
  });

  it("of no task tells no progress after its answer", async () => {
    const scene = await callScene();
    const outcome = scene.executor.call("mcp.echo.echo", {});
    const call = await until(() => scene.connect.last.calls[0]);
    expect(call.options).not.toHaveProperty("progressUntil");
    call.answer(done(text("")));
    await outcome;
  });
});

/** A call of a tool that demands a task, which its server has made and which has ended at the first look. */
async function demanding(options?: CallOptions) {
  const scene = await callScene();
  scene.connect.last.tools = [{ ...toolNamed("long"), execution: { taskSupport: "required" } }];
  Object.assign(scene.connect.last.facts.capabilities, { tasks: { requests: { tools: { call: {} } } } });
  scene.connect.last.notice("notifications/tools/list_changed");
  await scene.clock.advance(2000);
  scene.connect.last.onRequest = (method) =>
    method === "tasks/get" ? done({ status: "completed" }) : done(text("long"));
  const outcome = scene.executor.call("mcp.echo.long", {}, options);
  const call = await until(() => scene.connect.last.calls[0]);
  call.answer(done({ task: { taskId: "t2", status: "working", pollInterval: 200 } }));
  await settle();
  return { scene, outcome, call };
}
