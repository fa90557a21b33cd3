import { expect, test } from "vitest";
import { createHost, type Session, type TurnPort } from "../../../mod.ts";
import { countingIds } from "../../../src/kernel/ids.ts";
import type { Runtime } from "../../../src/kernel/runtime.ts";

const runtime: Runtime = {
  name: "none",
  version: "0",
  fetch: () => Promise.reject(new TypeError("no network here")),
  contentLengthIsDecoded: false,
  environment: () => ({}),
};

async function withSession(use: (session: Session) => Promise<void>): Promise<void> {
  const host = await createHost({
    runtime,
    ids: countingIds(),
    localTools: [{ name: "get_issue", risk: "read", inputSchema: { type: "object" }, run: () => "In Progress" }],
  });
  const session = await host.session({ id: "s_1" });
  try {
    await use(session);
  } finally {
    await host.close();
  }
}

/** A turn as short as one can be: the model asks for one tool and then answers. */
async function scriptedTurn(port: TurnPort): Promise<string> {
  await port.record([
    { type: "user.message", payload: { role: "user", content: "What is the state of PROJ-123" } },
    { type: "context.built", payload: { tools: { count: 1 } } },
    { type: "model.delta", payload: { text: "Looking" } },
    {
      type: "model.tool_call_requested",
      payload: { tool: "get_issue", args: { key: "PROJ-123" }, toolCallId: "tc_1" },
    },
  ]);
  const outcome = await port.tool("get_issue", { key: "PROJ-123" }, { toolCallId: "tc_1" });
  await port.record([
    { type: "model.delta", payload: { text: outcome.output } },
    { type: "turn.completed", payload: { stopReason: "final" } },
  ]);
  return outcome.output;
}

test("turn writes its own events around those of its calls, all under one turn id", async () => {
  await withSession(async (session) => {
    expect(await scriptedTurn(session.turn({ turnId: "t_1" }))).toBe("In Progress");
    const events = [];
    for await (const event of session.events({ after: 1 })) {
      events.push(event);
      if (event.type === "turn.completed") break;
    }
    expect(events.map(({ type }) => type)).toEqual([
      "user.message",
      "context.built",
      "model.delta",
      "model.tool_call_requested",
      "permission.requested",
      "permission.resolved",
      "tool.started",
      "tool.completed",
      "model.delta",
      "turn.completed",
    ]);
    expect(events.map(({ turnId }) => turnId)).toEqual(events.map(() => "t_1"));
    expect(events[4]?.payload).toMatchObject({ by: "model" });
  });
});

test("turn may not write events of others", async () => {
  await withSession(async (session) => {
    const port = session.turn();
    const forged = { type: "permission.resolved", payload: { decision: "allow" } } as unknown as Parameters<
      TurnPort["record"]
    >[0][number];
    await expect(port.record([forged])).rejects.toMatchObject({ code: "ERR_INVALID_ARGUMENTS" });
  });
});

test("turn of a closed session records nothing", async () => {
  await withSession(async (session) => {
    const port = session.turn();
    await session.close();
    await expect(port.record([{ type: "user.message", payload: {} }])).rejects.toMatchObject({
      code: "ERR_SESSION_CLOSED",
    });
    expect(() => session.turn()).toThrow(expect.objectContaining({ code: "ERR_SESSION_CLOSED" }));
  });
});

test("gateway calls pass the same gate and are marked as such", async () => {
  await withSession(async (session) => {
    await session.tool("get_issue", {}, { by: "gateway" });
    for await (const event of session.events()) {
      if (event.type !== "permission.requested") continue;
      expect(event.payload).toMatchObject({ by: "gateway" });
      break;
    }
  });
});
