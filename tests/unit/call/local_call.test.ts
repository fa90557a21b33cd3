import { describe, expect, it } from "vitest";
import type { LocalTool } from "../../../src/catalog/local_tool.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import type { Progress } from "../../../src/protocol/model.ts";
import { settle } from "../../fixtures/settle.ts";
import { callScene, unbalanced } from "./call_setup.ts";

const tool = (run: LocalTool["run"]): LocalTool => ({ name: "work", risk: "read", inputSchema: {}, run });

describe("a local tool", () => {
  it("passes the gate with its own risk, and has the events of a tool", async () => {
    const scene = await callScene({ permission: {}, localTools: [tool(({ a }) => `got ${String(a)}`)] });
    expect(await scene.executor.call("work", { a: 1 })).toMatchObject({ status: "completed", output: "got 1" });
    expect(scene.sink.batches).toEqual([["permission.requested", "permission.resolved", "tool.started"], [
      "tool.completed",
    ]]);
    expect(scene.sink.events[0]!.payload).toMatchObject({ tool: "work", riskAtDecision: "read" });
  });

  it("is not run, and nobody is asked, for arguments that do not fit its schema", async () => {
    let runs = 0;
    const inputSchema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
    const scene = await callScene({
      permission: {},
      localTools: [{ ...tool(() => `${++runs}`), risk: "write", inputSchema }],
    });
    for (const args of [{}, { path: 5 }]) {
      const outcome = await scene.executor.call("work", args);
      expect(outcome).toMatchObject({ status: "failed", error: { reason: "invalid_arguments" } });
    }
    expect([runs, scene.sink.types]).toEqual([0, ["tool.failed", "tool.failed"]]);
  });

  it.each<[string, (controller: AbortController) => void, string[]]>([
    ["was given up before", (controller) => controller.abort(), [
      "permission.requested",
      "permission.resolved",
      "tool.cancelled",
    ]],
    ["is given up at once", (controller) => queueMicrotask(() => controller.abort()), [
      "permission.requested",
      "permission.resolved",
      "tool.started",
      "tool.cancelled",
    ]],
  ])("does not begin where its call %s", async (_when, abort, types) => {
    let runs = 0;
    const scene = await callScene({ permission: {}, localTools: [tool(() => `${++runs}`)] });
    const controller = new AbortController();
    abort(controller);
    expect(await scene.executor.call("work", {}, { signal: controller.signal })).toMatchObject({ status: "cancelled" });
    await settle();
    expect([runs, scene.sink.types]).toEqual([0, types]);
    expect(unbalanced(scene.sink)).toEqual([]);
  });

  it("that writes is asked about", async () => {
    const scene = await callScene({ permission: {}, localTools: [{ ...tool(() => "x"), risk: "write" }] });
    expect(await scene.executor.call("local.work", {})).toMatchObject({
      status: "denied",
      error: { reason: "no_approver" },
    });
  });

  it("may answer what a server could answer", async () => {
    const scene = await callScene({
      localTools: [tool(() => ({ content: [{ type: "text", text: "bad" }], isError: true, structuredContent: [1] }))],
    });
    expect(await scene.executor.call("work", {})).toMatchObject({
      status: "completed",
      isError: true,
      output: "bad",
      structuredContent: [1],
    });
  });

  it.each([
    ["3", 3],
    ["undefined", undefined],
    ["null", null],
    ["a list", ["text"]],
    ["an object", { text: "x" }],
  ])("that answers %s is told what a tool answers", async (found, result) => {
    const scene = await callScene({ localTools: [tool(() => result as never)] });
    expect(await scene.executor.call("work", {})).toMatchObject({
      status: "failed",
      error: {
        reason: "invalid_result",
        message: `Local tool work failed: found ${found}, wanted a string or an object with content, a list of blocks`,
      },
    });
  });

  it("that throws has failed; its words reach the caller, scrubbed, and not the log", async () => {
    const scene = await callScene({
      localTools: [tool(() => {
        throw new Error("no file hunter2hunter2");
      })],
    });
    expect(await scene.executor.call("work", {})).toMatchObject({
      status: "failed",
      error: { code: "Error", reason: "invalid_result", message: "Local tool work failed: no file [redacted]" },
    });
    expect(scene.sink.events.at(-1)).toMatchObject({
      type: "tool.failed",
      payload: { outcome: "answered", error: { message: "Local tool work failed" } },
    });
  });

  it("that answers nonsense has failed", async () => {
    const scene = await callScene({ localTools: [tool(() => 3 as never)] });
    expect(await scene.executor.call("work", {})).toMatchObject({
      status: "failed",
      error: { reason: "invalid_result" },
    });
    expect(unbalanced(scene.sink)).toEqual([]);
  });

  it("that is silent for too long is told to stop, and its outcome is unknown", async () => {
    let signal: AbortSignal | undefined;
    const scene = await callScene({
      localTools: [tool((_args, context) => new Promise(() => signal = context.signal))],
    });
    const outcome = scene.executor.call("work", {}, { timeoutMs: 1000 });
    await scene.clock.advance(1000);
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason: "timeout" } });
    expect(signal!.aborted).toBe(true);
    expect(scene.clock.timers).toBe(0);
  });

  it("buys time with its own progress, up to a hard end", async () => {
    const seen: Progress[] = [];
    const scene = await callScene({
      localTools: [tool((_args, { onProgress }) =>
        new Promise(() => {
          const tick = (progress: number): void => {
            onProgress!({ progress, message: "hunter2hunter2" });
            scene.clock.after(900, () => tick(progress + 1));
          };
          tick(1);
        })
      )],
    });
    const outcome = scene.executor.call("work", {}, {
      timeoutMs: 1000,
      onProgress: (progress) => void seen.push(progress),
    });
    let ended = false;
    void outcome.then(() => ended = true);
    await scene.clock.advance(60_000);
    expect(ended).toBe(false);
    expect(seen[0]).toEqual({ progress: 1, message: "[redacted]" });
    await scene.clock.advance(540_000);
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason: "timeout" } });
  });

  it("whose caller gives up is told to stop", async () => {
    let signal: AbortSignal | undefined;
    const controller = new AbortController();
    const scene = await callScene({
      localTools: [tool((_args, context) => new Promise(() => signal = context.signal))],
    });
    const outcome = scene.executor.call("work", {}, { signal: controller.signal });
    await settle();
    controller.abort();
    expect(await outcome).toMatchObject({ status: "cancelled" });
    expect(signal!.aborted).toBe(true);
    expect(scene.sink.types.at(-1)).toBe("tool.cancelled");
  });

  it("whose session closes is told to stop", async () => {
    const scene = await callScene({ localTools: [tool(() => new Promise(() => {}))] });
    const outcome = scene.executor.call("work", {});
    await settle();
    await scene.executor.close();
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason: "session_closed" } });
    expect(unbalanced(scene.sink)).toEqual([]);
    expect(scene.clock.timers).toBe(0);
  });

  it("does not run when it cannot be logged", async () => {
    let runs = 0;
    const scene = await callScene({ localTools: [tool(() => `${runs++}`)] });
    scene.sink.beforeAppend = () => Promise.reject(new HostError("ERR_LOG_POISONED", "Poisoned"));
    expect(await scene.executor.call("work", {})).toMatchObject({ status: "failed", error: { reason: "not_logged" } });
    expect(runs).toBe(0);
  });
});
