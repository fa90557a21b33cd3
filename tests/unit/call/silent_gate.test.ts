import { describe, expect, it } from "vitest";
import type { Gate, GateVerdict } from "../../../src/permission/request.ts";
import { done, text } from "../../fixtures/fake_client.ts";
import { settle, until } from "../../fixtures/settle.ts";
import { callScene } from "./call_setup.ts";

const never = (): Promise<never> => new Promise(() => {});
const requested = {
  type: "permission.requested",
  payload: { requestId: "req_x", tool: "mcp.echo.echo", args: {}, sourcedFrom: "default", by: "caller" },
} as const;

/** A gate of a user's, of which a test gives the parts that matter. */
function gateOf(decide: () => unknown, rest: Partial<Gate> = {}): Gate {
  return { decide: decide as Gate["decide"], endSession: () => {}, close: () => {}, ...rest };
}

function askThat(wait: () => unknown): Gate {
  const verdict = { kind: "ask", requestId: "req_x", risk: "network", events: [requested], returnPending: false, wait };
  return gateOf(() => Promise.resolve(verdict as GateVerdict));
}

describe("a gate that never answers", () => {
  it.each([
    ["about a call", gateOf(never), []],
    ["to an ask", askThat(never), ["permission.requested", "permission.resolved"]],
  ])("%s does not keep its session from closing", async (_what, gate, before) => {
    const { executor, clock, sink } = await callScene({ gate });
    const outcome = executor.call("mcp.echo.echo", {});
    const closed = executor.close();
    await clock.advance(1000);
    await closed;
    expect(await outcome).toMatchObject({ status: "denied", error: { code: "ERR_DENIED", reason: "session_closed" } });
    expect(sink.types).toEqual([...before, "tool.failed"]);
    expect(sink.events.at(-1)!.payload).toMatchObject({ reason: "session_closed", outcome: "not_sent" });
    expect(clock.timers).toBe(0);
  });

  it.each([["about a call", gateOf(never)], ["to an ask", askThat(never)]])(
    "%s does not keep a caller that gives up",
    async (_what, gate) => {
      const { executor, clock, sink, connect } = await callScene({ gate });
      const caller = new AbortController();
      const outcome = executor.call("mcp.echo.echo", {}, { signal: caller.signal });
      await clock.advance(10);
      caller.abort();
      await clock.advance(1000);
      expect((await outcome).status).toBe("cancelled");
      expect(sink.types.at(-1)).toBe("tool.cancelled");
      expect(connect.last.taken).toEqual([]);
      await executor.close();
      expect(clock.timers).toBe(0);
    },
  );

  it("and one that fails when the session ends, at once or later, keeps nothing open", async () => {
    const later = gateOf(never, { endSession: (() => Promise.reject(new Error("late"))) as () => void });
    const { executor, errors } = await callScene({ gate: later });
    await executor.close();
    await until(() => errors.length === 1);
  });
});

describe("a gate that answers nonsense", () => {
  it.each<[string, Gate]>([
    ["nothing", gateOf(() => Promise.resolve(undefined))],
    ["another kind", gateOf(() => ({ kind: "maybe", events: [] }))],
    ["no decision", gateOf(() => ({ kind: "decided", requestId: "r", risk: "read", events: [], outcome: {} }))],
    ["a failure while it is asked", gateOf(() => Promise.reject(new Error("down")))],
    ["a decision that is none", askThat(() => Promise.resolve({ events: [], outcome: { decision: "perhaps" } }))],
    ["a failure while it is waited for", askThat(() => Promise.reject(new Error("down")))],
  ])("%s lets nothing pass and ends the call", async (_what, gate) => {
    const { executor, sink, connect, errors } = await callScene({ gate });
    expect(await executor.call("mcp.echo.echo", {})).toMatchObject({
      status: "denied",
      error: { code: "ERR_DENIED", reason: "permission_denied" },
    });
    expect(sink.types.at(-1)).toBe("tool.failed");
    expect(sink.ofType("permission.resolved")).toHaveLength(sink.ofType("permission.requested").length);
    expect(connect.last.taken).toEqual([]);
    expect(errors).toHaveLength(1);
  });
});

describe("an artifact store that never answers", () => {
  it("does not keep a session from closing, nor lose the result", async () => {
    const { executor, connect, artifacts, errors } = await callScene();
    artifacts.create = never;
    connect.last.onCall = () => done(text("x".repeat(10_000)));
    const outcome = executor.call("mcp.echo.echo", {});
    await until(() => connect.last.taken.length === 1);
    await executor.close();
    expect(await outcome).toMatchObject({ status: "completed", output: "x".repeat(10_000) });
    expect(errors).toHaveLength(1);
  });
});

it("an artifact store that never answers keeps a call no longer than its own time", async () => {
  const { executor, connect, artifacts, errors, clock } = await callScene();
  artifacts.create = never;
  connect.last.onCall = () => done(text("x".repeat(10_000)));
  const outcome = executor.call("mcp.echo.echo", {}, { timeoutMs: 3000 });
  await until(() => connect.last.taken.length === 1);
  await settle();
  await clock.advance(3000);
  expect(await outcome).toMatchObject({ status: "completed", output: "x".repeat(10_000) });
  expect(errors).toMatchObject([{ code: "ERR_TIMEOUT" }]);
  await executor.close();
});

describe("a log that never answers", () => {
  it("keeps a call no longer than its time, and nothing is sent", async () => {
    const { executor, connect, sink, clock } = await callScene();
    sink.beforeAppend = never;
    const outcome = executor.call("mcp.echo.echo", {}, { timeoutMs: 3000 });
    await settle();
    await clock.advance(3000);
    expect(await outcome).toMatchObject({ status: "failed", error: { reason: "not_logged" } });
    expect(connect.last.taken).toHaveLength(0);
  });

  it("leaves unknown what was sent, and does not keep a session from closing", async () => {
    const { executor, connect, sink, clock } = await callScene();
    connect.last.onCall = () => {
      sink.beforeAppend = never;
      return done(text("hi"));
    };
    const outcome = executor.call("mcp.echo.echo", {});
    await until(() => connect.last.taken.length === 1);
    await settle();
    const closing = executor.close();
    await settle();
    await clock.advance(5000);
    expect(await outcome).toMatchObject({ status: "unknown", error: { reason: "not_logged" } });
    await closing;
  });
});

describe("the outcome of a denied call", () => {
  it.each<[string, Parameters<typeof callScene>[0], string, string]>([
    [
      "that nobody could be asked about",
      { permission: {} },
      "echo",
      `hand "approve" to the host or put {"tool":"mcp.echo.echo","risk":"network","decision":"allow"} into permission.rules`,
    ],
    ["that no rule can allow", { permission: {} }, "delete_all", `; to allow it, hand "approve" to the host`],
    [
      "that a rule denies",
      { permission: { rules: [{ decision: "deny", name: "no echo" }] } },
      "echo",
      `change rule "no echo" in permission.rules`,
    ],
  ])("%s says how to allow it, and the log does not", async (_what, options, tool, way) => {
    const { executor, sink } = await callScene(options);
    const outcome = await executor.call(`mcp.echo.${tool}`, {});
    expect(outcome.status).toBe("denied");
    expect(outcome.error!.message.endsWith(way)).toBe(true);
    expect(JSON.stringify(sink.events)).not.toContain("to allow it");
  });

  it("of a call with a credential names the rule that lets it pass", async () => {
    const { executor } = await callScene();
    const outcome = await executor.call("mcp.echo.echo", { key: "hunter2hunter2" });
    expect(outcome.error!.message).toContain(`"risk":"credential","decision":"allow"} into permission.rules`);
  });
});

describe("a gate whose decision could not be logged", () => {
  const resolved = {
    type: "permission.resolved",
    payload: { requestId: "req_x", decision: "allow", actor: "policy", sourcedFrom: "rule" },
  };
  const decided = (events: unknown, outcome: object = { decision: "allow", sourcedFrom: "rule" }) => ({
    kind: "decided",
    requestId: "req_x",
    risk: "network",
    events,
    outcome,
  });
  it.each<[string, unknown]>([
    ["brings no events", decided([])],
    ["brings only the request", decided([requested])],
    ["brings only the decision", decided([resolved])],
    ["brings a hole", decided([requested, null, resolved])],
    ["brings an event without a type", decided([requested, resolved, { type: 7, payload: {} }])],
    ["brings an event without a payload", decided([requested, resolved, { type: "mcp.log" }])],
    ["denies for a reason that is no text", decided([requested, resolved], { decision: "deny", reason: {} })],
  ])("allows nothing: one that %s", async (_what, verdict) => {
    for (const turnId of [undefined, "turn_1"]) {
      const { executor, errors, connect } = await callScene({ gate: gateOf(() => verdict) });
      const options = turnId === undefined ? {} : { turnId };
      expect(await executor.call("mcp.echo.echo", {}, options)).toMatchObject({ status: "denied" });
      expect(errors).toMatchObject([{ code: "ERR_DENIED" }]);
      expect(connect.last.taken).toEqual([]);
      await executor.close();
    }
  });

  it("allows nothing with an ask that ends without its decision", async () => {
    const ask = askThat(() => Promise.resolve({ events: [], outcome: { decision: "allow", sourcedFrom: "rule" } }));
    const { executor, connect } = await callScene({ gate: ask });
    expect(await executor.call("mcp.echo.echo", {})).toMatchObject({ status: "denied" });
    expect(connect.last.taken).toEqual([]);
  });
});
