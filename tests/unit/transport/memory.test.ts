import { describe, expect, test } from "vitest";
import { type MemoryConnection, memoryDialer } from "../../../src/transport/memory.ts";
import { settle } from "../../fixtures/settle.ts";
import { listener, profile } from "./scripted_fetch.ts";

describe("memory transport", () => {
  test("shares nothing with the server", async () => {
    const result = { list: [1] };
    const got: Record<string, unknown>[] = [];
    const { handlers, told } = listener();
    const dialer = memoryDialer((connection) => ({
      onMessage(message) {
        got.push(message);
        connection.send({ jsonrpc: "2.0", id: 1, result });
        result.list.push(2);
      },
    }));
    const transport = await dialer.dial(profile(), handlers);
    void transport.send({ text: '{"id":1,"__proto__":{"polluted":1}}', method: "m", id: 1 });
    await settle();
    expect(told).toMatchObject([{ on: "message", message: { result: { list: [1] } } }]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test("bounds what a server may send, like a pipe (A-20, A-29, A-30)", async () => {
    const { handlers, told } = listener();
    let server!: MemoryConnection;
    const dialer = memoryDialer((connection) => {
      server = connection;
      return { onMessage() {} };
    });
    await dialer.dial(profile(), handlers);
    server.send([{ jsonrpc: "2.0", id: 1, result: {} }]);
    server.send({ jsonrpc: "2.0", id: 1, result: JSON.parse("[".repeat(80) + "]".repeat(80)) });
    server.send({ jsonrpc: "2.0", id: 1, result: JSON.parse('{"__proto__":{"polluted":1},"a":1}') });
    server.send(undefined);
    server.send("x");
    await settle();
    expect(told).toMatchObject([
      { on: "malformed", reason: "batch" },
      { on: "malformed", reason: "too_deep" },
      { on: "message", message: { result: { a: 1 } } },
      { on: "warning", kind: "noise" },
      { on: "warning", kind: "noise" },
    ]);
    const third = told[2];
    expect(third?.on === "message" && third.message.kind === "result" && Object.keys(third.message.result as object))
      .toEqual(["a"]);
  });

  test("ends as in a crash when the server throws, and nothing else is touched", async () => {
    const { handlers, told } = listener();
    const cause = new TypeError("secret text");
    const dialer = memoryDialer(() => ({
      onMessage() {
        throw cause;
      },
    }));
    const transport = await dialer.dial(profile(), handlers);
    void transport.send({ text: "{}", method: "m", id: 1 });
    await settle();
    expect(told).toMatchObject([{
      on: "closed",
      end: { reason: "exit", error: { code: "ERR_CONNECTION_LOST", cause } },
    }]);
    expect(told[0]?.on === "closed" && told[0].end.error?.message).not.toContain("secret");
  });

  test("rejects the dial when the server cannot be made", async () => {
    const dialer = memoryDialer(() => {
      throw new Error("no");
    });
    await expect(dialer.dial(profile(), listener().handlers)).rejects.toThrow("no");
  });

  test("tells an end of the server's own as it was given", async () => {
    const { handlers, told } = listener();
    let server!: MemoryConnection;
    await memoryDialer((connection) => {
      server = connection;
      return { onMessage() {} };
    }).dial(profile(), handlers);
    server.end({ exitCode: 4, stderrTail: "why" });
    server.end();
    await settle();
    server.send({});
    expect(told).toEqual([{ on: "closed", end: { reason: "exit", exitCode: 4, stderrTail: "why" }, unsent: [] }]);
  });
});
