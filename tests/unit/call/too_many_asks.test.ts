import { describe, expect, it } from "vitest";
import type { HostAsks } from "../../../src/call/host_asks.ts";
import type { Reply } from "../../../src/client/reply.ts";
import type { AskAnswerer } from "../../../src/jsonrpc/peer_asks.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { done, text } from "../../fixtures/fake_client.ts";
import { settle, until } from "../../fixtures/settle.ts";
import { type CallScene, callScene, unbalanced } from "./call_setup.ts";

const sampling = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };
const sample = { role: "assistant", content: { type: "text", text: "x" }, model: "m" };

function paying() {
  const paid = { times: 0 };
  const asks: HostAsks = {
    sample: () => {
      paid.times++;
      return sample;
    },
  };
  return { paid, asks };
}

/** So many asks under keys that are new each time. */
function many(count: number, prefix: string): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at}`, sampling]));
}

const inputs = (inputRequests: JsonObject): Reply => ({
  kind: "input_required",
  inputRequests,
  requestState: undefined,
  bytes: 7,
  resends: 0,
});

const taken = (scene: CallScene, at: number) => until(() => scene.connect.last.calls[at]);
const count = (scene: CallScene, type: string): number => scene.sink.events.filter((each) => each.type === type).length;

function expectAllClosed(scene: CallScene): void {
  expect(unbalanced(scene.sink)).toEqual([]);
  expect(count(scene, "mcp.input.requested")).toBe(count(scene, "mcp.input.resolved"));
  expect(scene.sink.events.at(-1)).toMatchObject({ type: "tool.failed", payload: { reason: "too_many_asks" } });
}

describe("a call whose server asks for more than 64 things", () => {
  it("fails while it is in flight, and nobody is asked any more", async () => {
    const { paid, asks } = paying();
    const scene = await callScene({ asks });
    const outcome = scene.executor.call("mcp.echo.echo", {});
    const { options } = await taken(scene, 0);
    const ask = options.asks as AskAnswerer;
    const { signal } = new AbortController();
    for (let at = 0; at < 64; at++) await ask(sampling.method, sampling.params, signal);
    expect(options.signal?.aborted).toBe(false);
    await expect(ask(sampling.method, sampling.params, signal)).rejects.toMatchObject({ code: "ERR_PROTOCOL" });
    await expect(ask(sampling.method, sampling.params, signal)).rejects.toMatchObject({ code: "ERR_PROTOCOL" });
    expect(options.signal?.aborted).toBe(true);
    expect(await outcome).toMatchObject({
      status: "unknown",
      error: { code: "ERR_PROTOCOL", reason: "too_many_asks", message: expect.stringContaining("more than 64") },
    });
    expect(paid.times).toBe(64);
    expectAllClosed(scene);
  });

  it("fails for asks that cannot be put to anybody, too", async () => {
    const scene = await callScene({ asks: paying().asks });
    const outcome = scene.executor.call("mcp.echo.echo", {});
    const { options } = await taken(scene, 0);
    const ask = options.asks as AskAnswerer;
    const { signal } = new AbortController();
    for (let at = 0; at < 65; at++) await expect(ask("roots/list", {}, signal)).rejects.toThrow();
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason: "too_many_asks" } });
    expectAllClosed(scene);
  });

  it("fails between its rounds", async () => {
    const { paid, asks } = paying();
    const scene = await callScene({ asks });
    const outcome = scene.executor.call("mcp.echo.echo", {});
    (await taken(scene, 0)).answer(inputs(many(32, "a")));
    (await taken(scene, 1)).answer(inputs(many(32, "b")));
    (await taken(scene, 2)).answer(inputs(many(1, "c")));
    expect(await outcome).toMatchObject({ status: "failed", error: { reason: "too_many_asks" } });
    expect(paid.times).toBe(64);
    expectAllClosed(scene);
  });

  it("fails as a task, and its server is told", async () => {
    const { paid, asks } = paying();
    const scene = await callScene({ asks });
    const requests: string[] = [];
    let looks = 0;
    scene.connect.last.onRequest = (method) => {
      requests.push(method);
      return method === "tasks/get"
        ? done({ status: "input_required", inputRequests: many(32, `look${looks++}.`) })
        : done({});
    };
    const outcome = scene.executor.call("mcp.echo.echo", {});
    const task: Reply = { kind: "task", task: { taskId: "t1", pollIntervalMs: 500 }, bytes: 9, resends: 0 };
    (await taken(scene, 0)).answer(task);
    await settle();
    await scene.clock.advance(5000);
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason: "too_many_asks" } });
    expect(paid.times).toBe(64);
    expect(requests).toEqual(["tasks/get", "tasks/update", "tasks/get", "tasks/update", "tasks/get", "tasks/cancel"]);
    expectAllClosed(scene);
  });

  it("leaves the next call as many", async () => {
    const { paid, asks } = paying();
    const scene = await callScene({ asks });
    for (let at = 0; at < 3; at++) {
      const outcome = scene.executor.call("mcp.echo.echo", {});
      (await taken(scene, 2 * at)).answer(inputs(many(32, "a")));
      (await taken(scene, 2 * at + 1)).answer(done(text("hi")));
      expect((await outcome).status).toBe("completed");
    }
    expect(paid.times).toBe(96);
  });
});
