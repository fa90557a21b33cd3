import { describe, expect, it } from "vitest";
import type { Gate } from "../../../src/permission/request.ts";
import { done, text, toolNamed } from "../../fixtures/fake_client.ts";
import { settle } from "../../fixtures/settle.ts";
import { RemoteError } from "../../../src/kernel/errors.ts";
import { callScene, unbalanced } from "./call_setup.ts";

const ASKS = { rules: [] };
const taken = { code: "ERR_INVALID_ARGUMENTS", message: expect.stringContaining("another call has it") as string };

describe("a call under an id that another one has", () => {
  it("is refused while that one waits for a decision, which it does not touch", async () => {
    const { executor, desk, connect } = await callScene({ permission: ASKS });
    connect.last.onCall = () => done(text("ok"));
    const later = { onAsk: "return", toolCallId: "a" } as const;
    expect(await executor.call("mcp.echo.echo", { n: 1 }, later)).toMatchObject({ status: "pending" });
    expect(await executor.call("mcp.echo.echo", { n: 2 }, { ...later, toolCallId: "b" })).toMatchObject({
      status: "pending",
    });
    await expect(executor.call("mcp.echo.delete_all", {}, later)).rejects.toMatchObject(taken);
    await expect(executor.call("mcp.echo.echo", { n: 9 }, later)).rejects.toMatchObject(taken);
    await expect(executor.call("mcp.echo.echo", "no object", later)).rejects.toMatchObject(taken);
    for (const { requestId } of await desk.list("s")) {
      await desk.resolve(requestId, { decision: "allow", actor: "user" });
    }
    expect((await executor.resume()).map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect(connect.last.taken).toEqual([{ n: 1 }, { n: 2 }]);
    await executor.close();
  });

  it("joins it, also when the gate makes it while it decides about the first", async () => {
    const scene: { executor?: Awaited<ReturnType<typeof callScene>>["executor"] } = {};
    const inner: Promise<unknown>[] = [];
    const gate: Gate = {
      decide: ({ toolCallId, tool }) => {
        if (inner.length === 0) inner.push(scene.executor!.call("mcp.echo.echo", {}, { toolCallId }));
        const requestId = "req_x";
        return {
          kind: "decided",
          requestId,
          risk: "network",
          events: [
            {
              type: "permission.requested",
              payload: {
                requestId,
                toolCallId,
                tool,
                args: {},
                riskAtDecision: "network",
                sourcedFrom: "rule",
                by: "caller",
              },
            },
            {
              type: "permission.resolved",
              payload: { requestId, decision: "allow", actor: "policy", sourcedFrom: "rule" },
            },
          ],
          outcome: { decision: "allow", sourcedFrom: "rule" },
        };
      },
      endSession: () => {},
      close: () => {},
    };
    const opened = await callScene({ gate });
    scene.executor = opened.executor;
    opened.connect.last.onCall = () => done(text("once"));
    expect(await opened.executor.call("mcp.echo.echo", {}, { toolCallId: "a" })).toMatchObject({ output: "once" });
    expect(await inner[0]).toMatchObject({ output: "once" });
    expect(opened.connect.last.taken).toHaveLength(1);
  });
});

describe("a call that comes to wait again, since its tool had changed when it was to go out once more", () => {
  async function changed() {
    const scene = await callScene({ permission: ASKS });
    const client = scene.connect.last;
    client.onCall = async (_name, _args, { beforeResend }) => {
      client.onCall = () => done(text("ok"));
      client.tools = [{ ...toolNamed("echo"), description: "Another one" }, toolNamed("delete_all")];
      const error = await beforeResend!(new RemoteError(-32020, "HeaderMismatch"));
      return { kind: "failed", error: error!, sent: true, refused: true, resends: 0 };
    };
    const allow = async (): Promise<void> => {
      for (const { requestId } of await scene.desk.list("s")) {
        await scene.desk.resolve(requestId, { decision: "allow", actor: "user" });
      }
    };
    expect(await scene.executor.call("mcp.echo.echo", {}, { onAsk: "return" })).toMatchObject({ status: "pending" });
    await allow();
    expect(await scene.executor.resume()).toMatchObject([{ status: "pending" }]);
    return { ...scene, allow };
  }

  it("is started once", async () => {
    const { executor, sink, allow } = await changed();
    await allow();
    expect(await executor.resume()).toMatchObject([{ status: "completed", output: "ok" }]);
    expect(sink.types.filter((type) => type === "tool.started")).toHaveLength(1);
    expect(unbalanced(sink)).toEqual([]);
  });

  it("is ended with its session", async () => {
    const { executor, sink } = await changed();
    await executor.close();
    await settle();
    expect(unbalanced(sink)).toEqual([]);
    expect(sink.events.at(-1)).toMatchObject({
      type: "tool.failed",
      payload: { reason: "session_closed", outcome: "answered" },
    });
  });
});
