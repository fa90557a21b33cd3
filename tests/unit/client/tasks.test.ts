import { describe, expect, it } from "vitest";
import { answering, type Asks } from "../../../src/client/asks.ts";
import type { Client, RequestOptions } from "../../../src/client/client.ts";
import type { FailedReply, Reply } from "../../../src/client/reply.ts";
import { awaitTask, taskOf, type TaskOptions, taskParamsFor, type TaskRef } from "../../../src/client/tasks.ts";
import type { AskAnswerer } from "../../../src/jsonrpc/peer_asks.ts";
import { HostError, RemoteError } from "../../../src/kernel/errors.ts";
import type { JsonObject, Tool } from "../../../src/protocol/model.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";

type Look = JsonObject | FailedReply;

const replyOf = (look: Look): Reply =>
  look["kind"] === "failed" ? look as FailedReply : { kind: "done", result: look as JsonObject, bytes: 1, resends: 0 };
const failedWith = (error: FailedReply["error"]): FailedReply => ({
  kind: "failed",
  error,
  sent: true,
  refused: false,
  resends: 0,
});
const extension: TaskRef = { taskId: "t1", hasResultRequest: false, pollMs: 500, ttlMs: undefined };
const core: TaskRef = { ...extension, hasResultRequest: true };
const content = [{ type: "text", text: "hi" }];
const confirm = {
  method: "elicitation/create",
  params: {
    message: "Sure?",
    requestedSchema: { type: "object", properties: { ok: { type: "boolean", default: true } } },
  },
};
const accepts = answering({ form: () => ({ action: "accept" }) });
const accepted = { action: "accept", content: { ok: true } };

/** A task that stands as told, look by look; the last holds on. */
function waiting(task: TaskRef, looks: Look[], options: Partial<TaskOptions> = {}, result?: Reply) {
  const clock = new FakeClock();
  const requests: [method: string, params: JsonObject, options: RequestOptions][] = [];
  let at = 0;
  const client = {
    isOpen: true,
    request(method: string, params: JsonObject, bounds: RequestOptions): Promise<Reply> {
      requests.push([method, params, bounds]);
      if (method === "tasks/get") return Promise.resolve(replyOf(looks[Math.min(at++, looks.length - 1)]!));
      if (method === "tasks/result") return Promise.resolve(result!);
      return Promise.resolve(replyOf({}));
    },
  };
  const ended: { reply: Reply | undefined } = { reply: undefined };
  void awaitTask(client as unknown as Client, task, { clock, ...options }).then((reply) => ended.reply = reply);
  const sent = (): [string, JsonObject][] => requests.map(([method, params]) => [method, params]);
  return { clock, client, requests, sent, ended };
}

describe("rule for making a task of a call", () => {
  const can = { tasks: { requests: { tools: { call: {} } } } };
  it.each<[claim: string, capabilities: JsonObject, execution: object | undefined, params: object | undefined]>([
    ["asks for one where the tool demands it (C-TASK-02)", can, { taskSupport: "required" }, { task: {} }],
    ["asks for none where the tool leaves it open", can, { taskSupport: "optional" }, undefined],
    ["asks for none where the tool forbids it (C-TASK-02)", can, { taskSupport: "forbidden" }, undefined],
    ["asks for none of a tool that says nothing (C-TASK-02)", can, undefined, undefined],
    ["asks for none of a server that has not declared it (C-TASK-01)", {}, { taskSupport: "required" }, undefined],
    ["asks for none of a server that can do it for other requests (C-TASK-01)", { tasks: { requests: {} } }, {
      taskSupport: "required",
    }, undefined],
  ])("%s", (_claim, capabilities, execution, params) => {
    const tool = { name: "t", inputSchema: {}, ...(execution === undefined ? {} : { execution }) } as Tool;
    const facts = { era: "", protocolVersion: "", serverInfo: undefined, instructions: undefined, capabilities };
    expect(taskParamsFor(facts, tool)).toEqual(params);
  });
});

describe("task in a reply", () => {
  const done = (result: JsonObject): Reply => ({ kind: "done", result, bytes: 1, resends: 0 });
  it("is found in both shapes (C-TEXT-01)", () => {
    expect(taskOf(done({ task: { taskId: "a", ttl: 9000, pollInterval: 250 } }), true)).toEqual({
      taskId: "a",
      hasResultRequest: true,
      pollMs: 250,
      ttlMs: 9000,
    });
    const task = { taskId: "b", ttlMs: null };
    expect(taskOf({ kind: "task", task, bytes: 1, resends: 0 }, false)).toEqual({
      taskId: "b",
      hasResultRequest: false,
      pollMs: 1000,
      ttlMs: undefined,
    });
  });
  it("is none in a result that only looks like one", () => {
    expect(taskOf(done({ content, task: { taskId: "a" } }), false)).toBeUndefined();
    expect(taskOf(done({ content }), true)).toBeUndefined();
    expect(taskOf(done({ task: { taskId: 7 } }), true)).toBeUndefined();
  });
});

describe("wait for a task of the extension", () => {
  it("looks as often as the server wants and gives the result that stands in it (C-TEXT-02)", async () => {
    const { clock, sent, ended } = waiting(extension, [
      { status: "working", pollIntervalMs: 2000 },
      { status: "completed", result: { content, isError: true } },
    ]);
    await clock.advance(499);
    expect(sent()).toEqual([]);
    await clock.advance(1);
    expect(sent()).toEqual([["tasks/get", { taskId: "t1" }]]);
    await clock.advance(1999);
    expect(sent()).toHaveLength(1);
    await clock.advance(1);
    expect(ended.reply).toMatchObject({ kind: "done", result: { content, isError: true } });
    expect(clock.timers).toBe(0);
  });

  it("gives integers that no double holds as they are", async () => {
    const result = { content, structuredContent: { n: 2n ** 53n + 1n } };
    const { clock, ended } = waiting(extension, [{ status: "completed", result }]);
    await clock.advance(500);
    expect(ended.reply).toMatchObject({ kind: "done", result, bytes: 1 });
  });

  it.each<[pollIntervalMs: unknown, nextMs: number]>([[0, 100], [1e12, 60_000], ["soon", 500], [-5, 100], [null, 500]])(
    "of a poll interval of %j looks again after %d ms",
    async (pollIntervalMs, nextMs) => {
      const { clock, sent } = waiting(extension, [{ status: "working", pollIntervalMs }]);
      await clock.advance(500 + nextMs - 1);
      expect(sent()).toHaveLength(1);
      await clock.advance(1);
      expect(sent()).toHaveLength(2);
    },
  );

  it("gives its error as if the call had been answered with it", async () => {
    const { clock, ended } = waiting(extension, [{
      status: "failed",
      error: { code: -32000, message: "no", data: 1 },
    }]);
    await clock.advance(500);
    expect(ended.reply).toMatchObject({ kind: "failed", error: { code: -32000, message: "no", data: 1 } });
  });

  it("answers each ask once, however often it is shown (C-TEXT-03, C-TEXT-05)", async () => {
    const other = { ...confirm };
    const { clock, sent, ended } = waiting(extension, [
      { status: "input_required", inputRequests: { a: confirm } },
      { status: "input_required", inputRequests: { a: confirm, b: other } },
      { status: "input_required", inputRequests: { a: confirm, b: other } },
      { status: "completed", result: { content } },
    ], { asks: accepts });
    await clock.advance(2000);
    expect(sent().filter(([method]) => method === "tasks/update")).toEqual([
      ["tasks/update", { taskId: "t1", inputResponses: { a: accepted } }],
      ["tasks/update", { taskId: "t1", inputResponses: { b: accepted } }],
    ]);
    expect(ended.reply).toMatchObject({ kind: "done" });
  });

  it("gives the task up when what it asks cannot be answered (C-TEXT-04)", async () => {
    const { clock, sent, ended } = waiting(extension, [{ status: "input_required", inputRequests: { a: confirm } }]);
    await clock.advance(500);
    expect(ended.reply).toMatchObject({ kind: "failed", error: { code: "ERR_PROTOCOL" } });
    expect(sent().at(-1)).toEqual(["tasks/cancel", { taskId: "t1" }]);
  });

  it("does not count the time of a person", async () => {
    let answer: (value: { action: "accept" }) => void = () => {};
    const asks: Asks = answering({ form: () => new Promise((resolve) => answer = resolve) });
    const { clock, ended } = waiting(extension, [
      { status: "input_required", inputRequests: { a: confirm } },
      { status: "completed", result: { content } },
    ], { asks, maxTotalMs: 1500 });
    await clock.advance(60_000);
    expect(ended.reply).toBeUndefined();
    answer({ action: "accept" });
    await clock.advance(500);
    expect(ended.reply).toMatchObject({ kind: "done" });
  });
});

describe("wait for a task of 2025-11-25", () => {
  const result: Reply = { kind: "done", result: { content }, bytes: 1, resends: 0 };

  it("fetches the result once the task has ended, and looks until then (C-TASK-03, C-TASK-05)", async () => {
    const looks = [{ status: "working", pollInterval: 300 }, { status: "completed" }];
    const { clock, sent, ended } = waiting(core, looks, {}, result);
    await clock.advance(800);
    expect(sent().map(([method]) => method)).toEqual(["tasks/get", "tasks/get", "tasks/result"]);
    expect(ended.reply).toEqual(result);
  });

  it("asks for the result early where the server wants to ask, and answers on its stream (C-TASK-04)", async () => {
    const { clock, requests } = waiting(core, [{ status: "input_required" }], { asks: accepts }, result);
    await clock.advance(500);
    const [method, params, options] = requests.at(-1)!;
    expect([method, params]).toEqual(["tasks/result", { taskId: "t1" }]);
    const _meta = { "io.modelcontextprotocol/related-task": { taskId: "t1" } };
    const answer = (options.asks as AskAnswerer)(
      confirm.method,
      { ...confirm.params, _meta },
      new AbortController().signal,
    );
    // What belongs to a task says so (C-TASK-06).
    expect(await answer).toEqual({ ...accepted, _meta });
  });

  it("gives a failed task as the call would have been answered", async () => {
    const reply = failedWith(new RemoteError(-32603, "boom"));
    const { clock, ended } = waiting(core, [{ status: "failed" }], {}, reply);
    await clock.advance(500);
    expect(ended.reply).toEqual(reply);
  });
});

describe.each([["of the extension", extension], ["of 2025-11-25", core]])("end of waiting for a task %s", (_, task) => {
  it("by the caller is told to the server by tasks/cancel (C-CANC-03, C-TEXT-06)", async () => {
    const controller = new AbortController();
    const { clock, sent, ended } = waiting(task, [{ status: "working" }], { signal: controller.signal });
    await clock.advance(500);
    controller.abort();
    await settle();
    expect(ended.reply).toMatchObject({ kind: "failed", sent: true, error: { code: "ERR_CANCELLED" } });
    expect(sent().at(-1)).toEqual(["tasks/cancel", { taskId: "t1" }]);
    expect(clock.timers).toBe(0);
  });

  it.each([["its maximum", {}, 3000], ["the life of the task", { ttlMs: 2000 }, 2000]])(
    "by %s is told, too",
    async (_claim, more, afterMs) => {
      const { clock, sent, ended } = waiting({ ...task, ...more }, [{ status: "working" }], { maxTotalMs: 3000 });
      await clock.advance(afterMs - 1);
      expect(ended.reply).toBeUndefined();
      await clock.advance(1);
      expect(ended.reply).toMatchObject({ kind: "failed", error: { code: "ERR_TIMEOUT" } });
      expect(sent().at(-1)![0]).toBe("tasks/cancel");
    },
  );

  it("by the server is its cancellation", async () => {
    const { clock, ended } = waiting(task, [{ status: "cancelled" }]);
    await clock.advance(500);
    expect(ended.reply).toMatchObject({ error: { code: "ERR_CANCELLED", facts: { by: "server" } } });
  });

  it.each([[{ status: "sleeping" }], [{}]])("by a status that is none: %j", async (look) => {
    const { clock, ended } = waiting(task, [look]);
    await clock.advance(500);
    expect(ended.reply).toMatchObject({ kind: "failed", error: { code: "ERR_PROTOCOL" } });
  });

  it("comes after three looks that fail in a row, or one that the server refuses", async () => {
    const lost = failedWith(new HostError("ERR_CONNECTION_LOST", "lost"));
    const first = waiting(task, [lost, lost, { status: "working" }, lost]);
    await first.clock.advance(1500);
    expect(first.ended.reply).toBeUndefined();
    await first.clock.advance(1500);
    expect(first.ended.reply).toMatchObject({ kind: "failed", error: { code: "ERR_CONNECTION_LOST" } });
    const second = waiting(task, [failedWith(new RemoteError(-32602, "unknown task"))]);
    await second.clock.advance(500);
    expect(second.ended.reply).toMatchObject({ kind: "failed", error: { code: -32602 } });
  });
});
