import { describe, expect, test } from "vitest";
import { connectClient } from "../../../src/client/connect.ts";
import type { Client, ConnectOptions } from "../../../src/client/client.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import {
  answer,
  discovered,
  exits,
  failure,
  initialized,
  type Script,
  ScriptedServer,
} from "../protocol/scripted_server.ts";

const MODERN = "2026-07-28";

interface Connected {
  readonly client: Client;
  readonly clock: FakeClock;
  readonly server: ScriptedServer;
  /** Parameters of the calls that arrived. */
  readonly calls: JsonObject[];
}

async function connect(
  call: (params: JsonObject) => object | undefined,
  script: Script = {},
  options: Partial<ConnectOptions> = {},
): Promise<Connected> {
  const calls: JsonObject[] = [];
  const clock = new FakeClock();
  const server = new ScriptedServer({
    "server/discover": discovered(MODERN),
    "tools/call": (_connection, _id, params) => {
      calls.push(params as JsonObject);
      return call(params as JsonObject);
    },
    ...script,
  });
  return { client: await connectClient({ dialer: server.dialer, clock, ...options }), clock, server, calls };
}

const content = [{ type: "text", text: "hi" }];
const hi = answer({ content });

describe("facts of a connection", () => {
  test("are what the server said of itself, frozen", async () => {
    const server = new ScriptedServer({ "server/discover": failure(-32601), "initialize": initialized("2025-06-18") });
    const client = await connectClient({ dialer: server.dialer, clock: new FakeClock() });
    expect(client.facts).toEqual({
      era: "legacy",
      protocolVersion: "2025-06-18",
      serverInfo: { name: "s", version: "1" },
      capabilities: { tools: {} },
      instructions: undefined,
    });
    expect(Object.isFrozen(client.facts)).toBe(true);
  });

  test("every request says who asks and what we can do, in the words given (C-META-01, C-META-02)", async () => {
    const { client, calls } = await connect(() => hi, {}, {
      clientInfo: { name: "me", version: "9" },
      capabilities: { sampling: {} },
    });
    await client.callTool("t", {});
    expect(calls[0]!["_meta"]).toMatchObject({
      "io.modelcontextprotocol/clientInfo": { name: "me", version: "9" },
      "io.modelcontextprotocol/clientCapabilities": { sampling: {} },
    });
  });
});

describe("arguments of a call (FR-52)", () => {
  const sent: [claim: string, args: unknown, found: object][] = [
    ["none go out as {}", undefined, {}],
    ["null goes out as {}", null, {}],
    ["{} goes out as it is", {}, {}],
    ["undefined members are left out", { a: undefined, b: { c: undefined, d: 1 } }, { b: { d: 1 } }],
    ["null members stay null", { a: null }, { a: null }],
  ];
  test.each(sent)("%s", async (_claim, args, found) => {
    const { client, calls } = await connect(() => hi);
    expect((await client.callTool("t", args as JsonObject)).kind).toBe("done");
    expect(calls[0]).toMatchObject({ name: "t" });
    expect(calls[0]!["arguments"]).toEqual(found);
  });

  test.each(["{}", "x", 5, true, [1], [], 1n, () => {}])("%s is refused before it is sent", async (args) => {
    const { client, calls } = await connect(() => hi);
    expect(await client.callTool("t", args as unknown as JsonObject)).toMatchObject({
      kind: "failed",
      sent: false,
      refused: false,
      error: { code: "ERR_INVALID_ARGUMENTS" },
    });
    expect(calls).toEqual([]);
  });
});

describe("reply to a call", () => {
  const rows: [claim: string, reply: object, found: object][] = [
    ["a result", hi, { kind: "done", result: { content }, resends: 0 }],
    ["a failure of the tool, which is a result", answer({ content, isError: true }), {
      kind: "done",
      result: { isError: true },
    }],
    ["structured content alone", answer({ structuredContent: 5 }), {
      kind: "done",
      result: { content: [], structuredContent: 5 },
    }],
    ["an error", failure(-32602, { x: 1 }), {
      kind: "failed",
      sent: true,
      refused: false,
      error: { code: -32602, data: { x: 1 } },
    }],
    ["no list of content (A-38)", answer({ content: "hi" }), {
      kind: "failed",
      sent: true,
      refused: false,
      error: { code: "ERR_PROTOCOL" },
    }],
    ["no object", { result: [] }, { kind: "failed", sent: true, error: { code: "ERR_PROTOCOL" } }],
    ["a request for input", answer({ resultType: "input_required", inputRequests: { a: {} } }), {
      kind: "input_required",
      inputRequests: { a: {} },
      requestState: undefined,
    }],
    ["a task that nobody asked for", answer({ resultType: "task", taskId: "t" }), {
      kind: "failed",
      sent: true,
      error: { code: "ERR_PROTOCOL" },
    }],
    ["a result type that nobody knows", answer({ resultType: "later" }), {
      kind: "failed",
      sent: true,
      error: { code: "ERR_PROTOCOL" },
    }],
  ];
  test.each(rows)("is %s", async (_claim, reply, found) => {
    const { client } = await connect(() => reply);
    expect(await client.callTool("t", {})).toMatchObject(found);
  });

  test("never rejects: not when the connection ends, nor when it has ended", async () => {
    const { client } = await connect(() => undefined, { "tools/call": exits(3) as never });
    expect(await client.callTool("t", {})).toMatchObject({
      kind: "failed",
      sent: true,
      error: { code: "ERR_CONNECTION_LOST" },
    });
    expect(client.isOpen).toBe(false);
    expect(await client.callTool("t", {})).toMatchObject({
      kind: "failed",
      sent: false,
      error: { code: "ERR_CONNECTION_LOST" },
    });
    expect(() => client.notify("notifications/x")).not.toThrow();
  });

  test("to a request of any other method is read without a shape", async () => {
    const { client } = await connect(() => undefined, { "x/y": answer({ anything: 1 }) });
    expect(await client.request("x/y", undefined)).toMatchObject({ kind: "done", result: { anything: 1 } });
  });
});

describe("time of a call", () => {
  test("is a minute of silence, or ten in all, when nothing is said (C-LIFE-07)", async () => {
    const { client, clock } = await connect(() => undefined);
    const replies: unknown[] = [];
    void client.callTool("t", {}).then((reply) => replies.push(reply));
    await clock.advance(59_999);
    expect(replies).toEqual([]);
    await clock.advance(251);
    expect(replies).toMatchObject([{
      kind: "failed",
      sent: true,
      error: { code: "ERR_TIMEOUT", facts: { timeoutMs: 60_000 } },
    }]);
  });

  test("is started again by progress, which reaches the caller", async () => {
    const { client, clock } = await connect(() => undefined, {
      "tools/call": (connection, id, params) => {
        const { progressToken } = (params as { _meta: { progressToken: number } })._meta;
        let progress = 0;
        const report = (): void => {
          if (++progress > 3) return connection.send({ jsonrpc: "2.0", id, ...hi });
          connection.send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress } });
          clock.after(800, report);
        };
        report();
      },
    });
    const seen: number[] = [];
    let reply: unknown;
    void client.callTool("t", {}, { timeoutMs: 1000, onProgress: ({ progress }) => seen.push(progress) }).then((
      found,
    ) => reply = found);
    await clock.advance(2400);
    expect(reply).toMatchObject({ kind: "done" });
    expect(seen).toEqual([1, 2, 3]);
  });
});

describe("owner of a client", () => {
  test("is told of notifications, warnings and the end, in that order of life", async () => {
    const told: unknown[] = [];
    const { client } = await connect(() => hi, {
      "tools/call": (connection) => {
        connection.send({ jsonrpc: "2.0", method: "notifications/message" });
        connection.send("noise");
        return hi;
      },
    }, {
      onNotification: (method) => void told.push(method),
      onWarning: (kind) => void told.push(kind),
      onEnd: (end) => void told.push(end.reason),
    });
    await client.callTool("t", {});
    await client.close();
    await client.close();
    expect(told).toEqual(["notifications/message", "noise", "closed"]);
  });

  test("can do without any of them", async () => {
    const { client } = await connect(() => hi);
    await client.callTool("t", {});
    await client.close();
    expect(client.isOpen).toBe(false);
  });

  test("leaves nothing by disposal", async () => {
    const { client, server, clock } = await connect(() => hi);
    await client[Symbol.asyncDispose]();
    await clock.advance(1000);
    await settle();
    expect([server.open, clock.timers]).toEqual([0, 0]);
  });
});
