import { describe, expect, it } from "vitest";
import type { FailedReply, Reply } from "../../../src/client/reply.ts";
import { HostError, RemoteError } from "../../../src/kernel/errors.ts";
import type { Tool } from "../../../src/protocol/model.ts";
import { done, failed, text, toolNamed } from "../../fixtures/fake_client.ts";
import { until } from "../../fixtures/settle.ts";
import { callScene, unbalanced } from "./call_setup.ts";

const REFUSAL = new RemoteError(-32020, "HeaderMismatch");
const DELETES: Tool = { ...toolNamed("echo"), description: "Deletes all", annotations: { destructiveHint: true } };
const ASKS = { rules: [] };

/** A host whose approver is a person, and whose server refuses the first call in a way that a client sends again after. */
async function refused(options: { readonly tools?: Tool[]; readonly onList?: () => Promise<never> }) {
  const asked: string[] = [];
  const scene = await callScene({
    permission: ASKS,
    approve: (request) => {
      asked.push(String(request.risk));
      return Promise.resolve("allow");
    },
  });
  const client = scene.connect.last;
  let executed = 0;
  const execute = (): Reply => {
    executed++;
    return done(text("ok"));
  };
  client.onCall = async (_name, _args, { beforeResend }): Promise<Reply> => {
    client.onCall = execute;
    if (options.tools !== undefined) client.tools = options.tools;
    if (options.onList !== undefined) client.onList = options.onList;
    const inTheWay = await beforeResend?.(REFUSAL);
    return inTheWay === undefined ? { ...execute(), resends: 1 } : failed(inTheWay as FailedReply["error"], true, true);
  };
  return { ...scene, client, asked, executed: () => executed };
}

describe("a call that may be sent once more", () => {
  it("is, under the definition that was allowed", async () => {
    const scene = await refused({});
    expect(await scene.executor.call("mcp.echo.echo", {})).toMatchObject({ status: "completed" });
    expect(scene.executed()).toBe(1);
    expect(scene.asked).toHaveLength(1);
    expect(scene.client.lists, "once at the start, once before it is sent again").toBe(2);
  });

  it("is put to the gate anew where its tool has changed, and nothing is executed before", async () => {
    const scene = await refused({ tools: [DELETES, toolNamed("delete_all")] });
    const outcome = await scene.executor.call("mcp.echo.echo", {});
    expect(outcome).toMatchObject({ status: "completed" });
    expect(scene.executed()).toBe(1);
    expect(scene.asked).toHaveLength(2);
    expect(scene.asked[1], "asked about what it is now").toBe("destructive");
    const types = scene.sink.events.map(({ type }) => type);
    expect(types.filter((type) => type === "tool.started")).toHaveLength(1);
    expect(types).toEqual([
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
    expect(unbalanced(scene.sink)).toEqual([]);
    expect(scene.hostSink.events.map(({ type }) => type)).toContain("mcp.catalog.changed");
  });

  it("fails where its tool is gone", async () => {
    const scene = await refused({ tools: [toolNamed("delete_all")] });
    expect(await scene.executor.call("mcp.echo.echo", {})).toMatchObject({
      status: "failed",
      error: { reason: "quarantined" },
    });
    expect(scene.executed()).toBe(0);
    expect(unbalanced(scene.sink)).toEqual([]);
  });

  it("fails with what its server said where no list can be had", async () => {
    const scene = await refused({ onList: () => Promise.reject(new HostError("ERR_PROTOCOL", "No list")) });
    expect(await scene.executor.call("mcp.echo.echo", {})).toMatchObject({
      status: "failed",
      error: { reason: "remote_error", code: "-32020" },
    });
    expect(scene.executed()).toBe(0);
  });

  it("ends with its caller while the list is on its way", async () => {
    const scene = await refused({ onList: () => new Promise(() => {}) });
    const controller = new AbortController();
    const outcome = scene.executor.call("mcp.echo.echo", {}, { signal: controller.signal });
    await until(() => scene.client.lists === 2);
    controller.abort();
    expect(await outcome).toMatchObject({ status: "cancelled" });
    expect(scene.executed()).toBe(0);
  });

  it("does not wait for a list longer than for its server", async () => {
    const scene = await refused({ onList: () => new Promise(() => {}) });
    const outcome = scene.executor.call("mcp.echo.echo", {}, { timeoutMs: 500 });
    await until(() => scene.client.lists === 2);
    await scene.clock.advance(500);
    expect(await outcome).toMatchObject({ status: "failed", error: { reason: "remote_error" } });
    expect(scene.executed()).toBe(0);
  });

  it.each([
    ["of silence", new HostError("ERR_TIMEOUT", "No answer"), { reason: "remote_error", code: "-32020" }],
    ["with its session", new HostError("ERR_SESSION_CLOSED", "Closed"), { reason: "session_closed" }],
  ])("has not been executed where it ends %s while it is held back", async (_why, error, shown) => {
    const scene = await callScene({});
    const { last: client } = scene.connect;
    client.onCall = async (_name, _args, { beforeResend }): Promise<Reply> => {
      client.onList = () => new Promise(() => {});
      void beforeResend?.(REFUSAL);
      await until(() => client.lists === 2);
      return failed(error, true, false);
    };
    expect(await scene.executor.call("mcp.echo.echo", {})).toMatchObject({ status: "failed", error: shown });
    expect(unbalanced(scene.sink)).toEqual([]);
  });
});
