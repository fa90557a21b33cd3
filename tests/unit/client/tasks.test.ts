import { describe, expect, it } from "vitest";
import { answering, type Asks } from "../../../src/client/asks.ts";
import type { Client, RequestOptions } from "../../../src/client/client.ts";
import type { FailedReply, Reply } from "../../../src/client/reply.ts";
import { awaitTask, taskOf, type TaskOptions, taskParamsFor, type TaskRef } from "../../../src/client/tasks.ts";
import type { AskAnswerer } from "../../../src/jsonrpc/peer_asks.ts";
import { sleep } from "../../../src/kernel/clock.ts";
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
/** The end of a wait for a task whose own end is not known. */
const notFollowed = (error: object) => ({
  kind: "failed",
  sent: true,
  refused: false,
  error: { code: "ERR_PROTOCOL", facts: { task: "open" }, ...error },
});
const confirm = {
  method: "elicitation/create",
  params: {
    message: "Sure?",
    requestedSchema: { type: "object", properties: { ok: { type: "boolean", default: true } } },
  },
};
const accepts = answering({ form: () => ({ action: "accept" }) });
const accepted = { action: "accept", content: { ok: true } };

/** A look that the server never answers. */
const silence: Look = { kind: "silence" };

/** A task that stands as told, look by look; the last holds on. So do the replies to requests for its result. */
function waiting(task: TaskRef, looks: Look[], options: Partial<TaskOptions> = {}, ...results: Reply[]) {
  const clock = new FakeClock();
  const requests: [method: string, params: JsonObject, options: RequestOptions][] = [];
  const next = <T>(list: T[]): T => list.length > 1 ? list.shift()! : list[0]!;
  const client = {
    isOpen: true,
    update: replyOf({}),
    async request(method: string, params: JsonObject, bounds: RequestOptions): Promise<Reply> {
      requests.push([method, params, bounds]);
      if (method === "tasks/result") return next(results);
      if (method !== "tasks/get") return client.update;
      const look = next(looks);
      if (look !== silence) return replyOf(look);
      await sleep(clock, Math.min(bounds.timeoutMs ?? 60_000, bounds.maxTotalMs ?? 600_000));
      return failedWith(new HostError("ERR_TIMEOUT", "Request tasks/get timed out"));
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
    expect(ended.reply).toMatchObject(notFollowed({}));
    expect(sent().at(-1)).toEqual(["tasks/cancel", { taskId: "t1" }]);
  });

  it("gives the task up when the server refuses the answers", async () => {
    const looks = [{ status: "input_required", inputRequests: { a: confirm } }];
    const { clock, client, sent, ended } = waiting(extension, looks, { asks: accepts });
    client.update = failedWith(new RemoteError(-32603, "internal"));
    await clock.advance(500);
    expect(ended.reply).toMatchObject(notFollowed({ cause: { code: -32603 } }));
    expect(sent().at(-1)).toEqual(["tasks/cancel", { taskId: "t1" }]);
  });

  it("gives the task up when it asks for more than 64 things, though each time under another key", async () => {
    let asked = 0;
    const asks: Asks = answering({ form: () => (asked++, { action: "accept" }) });
    const looks = Array.from(
      { length: 100 },
      (_, n) => ({ status: "input_required", inputRequests: { [n]: confirm } }),
    );
    const { clock, sent, ended } = waiting(extension, looks, { asks });
    await clock.advance(100 * 500);
    expect(asked).toBe(64);
    expect(ended.reply).toMatchObject(notFollowed({ message: expect.stringContaining("more than 64") }));
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

  it("answers no more than 64 asks on the stream of the result", async () => {
    const { clock, requests } = waiting(core, [{ status: "input_required" }], { asks: accepts }, result);
    await clock.advance(500);
    const ask = requests.at(-1)![2].asks as AskAnswerer;
    const { signal } = new AbortController();
    for (let n = 0; n < 64; n++) await ask(confirm.method, confirm.params, signal);
    await expect(async () => await ask(confirm.method, confirm.params, signal)).rejects.toMatchObject({
      message: expect.stringContaining("more than 64"),
    });
  });

  it("takes an error for that of the call only once the task has failed", async () => {
    const error = failedWith(new RemoteError(-32602, "of the tool"));
    const looks = [{ status: "input_required" }, { status: "failed" }];
    const { clock, sent, ended } = waiting(core, looks, { asks: accepts }, error);
    await clock.advance(1000);
    expect(ended.reply).toEqual(error);
    expect(sent().map(([method]) => method)).toEqual(["tasks/get", "tasks/result", "tasks/get", "tasks/result"]);
  });

  it("fetches a result again that was refused, three times at most", async () => {
    const refusal = failedWith(new RemoteError(-32603, "busy"));
    const helped = waiting(core, [{ status: "completed" }], {}, refusal, refusal, result);
    await helped.clock.advance(1500);
    expect(helped.ended.reply).toEqual(result);
    const refused = waiting(core, [{ status: "completed" }], {}, refusal);
    await refused.clock.advance(1499);
    expect(refused.ended.reply).toBeUndefined();
    await refused.clock.advance(1);
    expect(refused.ended.reply).toMatchObject(notFollowed({ cause: refusal.error }));
  });

  it("is not told how the task has ended by a request for the result that the server cancels", async () => {
    const cancelled = new HostError("ERR_CANCELLED", "Request was cancelled by the server", {
      facts: { by: "server" },
    });
    const { clock, ended } = waiting(core, [{ status: "completed" }], {}, failedWith(cancelled));
    await clock.advance(500);
    expect(ended.reply).toMatchObject(notFollowed({ cause: cancelled }));
  });

  it("does not count the time of a person who is asked on the stream of the result", async () => {
    let accept = (): void => {};
    const form = () => new Promise<{ action: "accept" }>((resolve) => accept = () => resolve({ action: "accept" }));
    const looks = [{ status: "input_required" }, { status: "failed" }];
    const error = failedWith(new RemoteError(-32000, "no"));
    const { clock, requests, client, ended } = waiting(core, looks, { asks: answering({ form }), maxTotalMs: 1500 });
    const { request } = client;
    client.request = async (method, params, bounds) => {
      if (method !== "tasks/result") return await request(method, params, bounds);
      requests.push([method, params, bounds]);
      const answer = bounds.asks as AskAnswerer;
      const ask = () => answer(confirm.method, confirm.params, new AbortController().signal);
      if (requests.length === 2) await ask();
      return error;
    };
    await clock.advance(60_000);
    expect(ended.reply).toBeUndefined();
    accept();
    await clock.advance(500);
    expect(ended.reply).toEqual(error);
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

  it("comes in time though no look is answered, and is told", async () => {
    const { clock, requests, ended } = waiting(task, [silence], { maxTotalMs: 3000, timeoutMs: 30_000 });
    await clock.advance(2999);
    expect(ended.reply).toBeUndefined();
    await clock.advance(1);
    expect(ended.reply).toMatchObject({ sent: true, refused: false, error: { code: "ERR_TIMEOUT" } });
    expect(requests.map(([method]) => method)).toEqual(["tasks/get", "tasks/cancel"]);
    expect(requests[0]![2]).toMatchObject({ timeoutMs: 2500, maxTotalMs: 2500 });
    expect(clock.timers).toBe(0);
  });

  it("comes in time though looks fail and the next is far off", async () => {
    const lost = failedWith(new HostError("ERR_CONNECTION_LOST", "lost"));
    const { clock, ended } = waiting({ ...task, pollMs: 60_000 }, [lost], { maxTotalMs: 3000 });
    await clock.advance(3000);
    expect(ended.reply).toMatchObject({ error: { code: "ERR_TIMEOUT" } });
    expect(clock.timers).toBe(0);
  });

  it("bounds a look by the patience for one", async () => {
    const { clock, requests } = waiting(task, [silence, { status: "working" }], { timeoutMs: 700 });
    await clock.advance(1700);
    expect(requests.map(([, , { timeoutMs }]) => timeoutMs)).toEqual([700, 700]);
  });

  it("is preceded by a last look where the server wants fewer than fit in", async () => {
    const { clock, sent, ended } = waiting({ ...task, pollMs: 60_000 }, [{ status: "working" }], {
      maxTotalMs: 30_000,
    });
    await clock.advance(28_999);
    expect(sent()).toEqual([]);
    await clock.advance(1001);
    expect(sent().map(([method]) => method)).toEqual(["tasks/get", "tasks/cancel"]);
    expect(ended.reply).toMatchObject({ error: { code: "ERR_TIMEOUT" } });
  });

  it.each<[claim: string, look: Look, cause: object]>([
    ["a status that is none", { status: "sleeping" }, { code: "ERR_PROTOCOL" }],
    ["no status", {}, { code: "ERR_PROTOCOL" }],
    ["the state of another task", { taskId: "t2", status: "completed", result: { content } }, { code: "ERR_PROTOCOL" }],
    ["an error that may pass", failedWith(new RemoteError(-32603, "internal")), { code: -32603, message: "internal" }],
    [
      "a look that the server cancels",
      failedWith(new HostError("ERR_CANCELLED", "Request was cancelled by the server", { facts: { by: "server" } })),
      { code: "ERR_CANCELLED" },
    ],
    ["an answer of no use", failedWith(new HostError("ERR_PROTOCOL", "no object")), { message: "no object" }],
  ])("comes after %s, three times in a row, and says that its own end is not known", async (_claim, look, cause) => {
    const { clock, sent, ended } = waiting(task, [look, look, { status: "working" }, look]);
    await clock.advance(2999);
    expect(ended.reply).toBeUndefined();
    await clock.advance(1);
    expect(ended.reply).toMatchObject(notFollowed({ cause }));
    expect(sent().at(-1)).toEqual(["tasks/cancel", { taskId: "t1" }]);
    expect(clock.timers).toBe(0);
  });

  it.each([-32602, -32002, -32601])("comes at once where the server does not know it: error %d", async (code) => {
    const { clock, sent, ended } = waiting(task, [failedWith(new RemoteError(code, "Task not found"))]);
    await clock.advance(500);
    expect(ended.reply).toMatchObject(notFollowed({ cause: { code, message: "Task not found" } }));
    expect(sent()).toHaveLength(1);
  });

  it("comes with what three looks in a row have failed with", async () => {
    const lost = failedWith(new HostError("ERR_CONNECTION_LOST", "lost"));
    const { clock, ended } = waiting(task, [lost]);
    await clock.advance(1500);
    expect(ended.reply).toMatchObject(notFollowed({ code: "ERR_CONNECTION_LOST", cause: lost.error }));
  });

  it("comes at once with the end of the connection", async () => {
    const lost = failedWith(new HostError("ERR_CONNECTION_LOST", "lost"));
    const { clock, client, sent, ended } = waiting(task, [lost]);
    client.isOpen = false;
    await clock.advance(500);
    expect(ended.reply).toMatchObject(notFollowed({ code: "ERR_CONNECTION_LOST" }));
    expect(sent()).toHaveLength(1);
  });
});
