import { describe, expect, test } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { connectClient } from "../../../src/client/connect.ts";
import type { Reply } from "../../../src/client/reply.ts";
import type { TransportHandlers } from "../../../src/jsonrpc/link.ts";
import type { LargeFrames } from "../../../src/transport/frames.ts";
import { httpDialer } from "../../../src/transport/http.ts";
import { largeFrames } from "../../../src/transport/large_frames.ts";
import { PipeReader } from "../../../src/transport/pipe_reader.ts";
import type { Dialer } from "../../../src/transport/transport.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { json, scriptedFetch } from "../transport/scripted_fetch.ts";
import { pushedStream } from "../transport/pushed_stream.ts";

interface Wire {
  /** Sends the next of the answers to calls. */
  send(text: string): void;
}

const DISCOVERED = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
const PART = "x".repeat(64 << 10);

/** A pipe whose other end is in the hands of the test. */
function pipeDialer(frames: LargeFrames | undefined): { readonly dialer: Dialer; readonly wire: Wire } {
  let reader!: PipeReader;
  const send = (text: string): void => void reader.push(new TextEncoder().encode(text));
  const dialer: Dialer = {
    kind: "pipe",
    name: "stdio",
    key: "pipe",
    dial(profile, handlers: TransportHandlers) {
      reader = new PipeReader(profile, handlers, (end) => handlers.onClosed(end, new Set()), undefined, frames);
      return Promise.resolve({
        send({ method, id }) {
          if (method === "server/discover") send(`${JSON.stringify({ jsonrpc: "2.0", id, result: DISCOVERED })}\n`);
        },
        abandon() {},
        close: () => Promise.resolve(),
      });
    },
  };
  return { dialer, wire: { send } };
}

/** A server whose answers to calls are in the hands of the test, in one form or the other. */
function webDialer(form: string, clock: FakeClock, frames: LargeFrames | undefined): ReturnType<typeof pipeDialer> {
  let stream: ReturnType<typeof pushedStream>;
  const { fetch } = scriptedFetch(({ body, signal }) => {
    const { id, method } = JSON.parse(body) as { id: number; method: string };
    if (method === "server/discover") return json({ jsonrpc: "2.0", id, result: DISCOVERED });
    if (id === undefined) return new Response(null, { status: 202 });
    stream = pushedStream(signal);
    return new Response(stream.response.body, { headers: { "content-type": form } });
  });
  const dialer = httpDialer({ url: "https://mcp.test/mcp", fetch, clock, frames });
  const send = (text: string): void => {
    stream.push(text.replaceAll("\n", "\n\n"));
    if (text.endsWith("\n")) stream.end();
  };
  return { dialer, wire: { send } };
}

const WIRES: readonly [name: string, form: string | undefined, start: string][] = [
  ["a pipe", undefined, ""],
  ["a JSON body", "application/json", ""],
  ["an event", "text/event-stream", "data: "],
];
const cases = WIRES.flatMap(([name, form, start]) =>
  [false, true].map((isSplit) => [name, isSplit ? "parsed as it comes" : "held whole", form, start, isSplit] as const)
);

describe.each(cases)("long answer over %s, %s", (_name, _how, form, start, isSplit) => {
  const asked = async (
    maxTotalMs: number,
  ): Promise<{ wire: Wire; clock: FakeClock; client: Client; state: { reply?: Reply } }> => {
    const clock = new FakeClock();
    const sink = { open: () => ({ write() {}, close: () => Promise.reject(new Error("no")), abort() {} }) };
    const frames = isSplit ? largeFrames({ sink }) : undefined;
    const { dialer, wire } = form === undefined ? pipeDialer(frames) : webDialer(form, clock, frames);
    const client = await connectClient({ dialer, clock });
    const state: { reply?: Reply } = {};
    void client.callTool("t", {}, { timeoutMs: 60_000, maxTotalMs }).then((reply) => state.reply = reply);
    await clock.advance(0);
    wire.send(`${start}{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"`);
    return { wire, clock, client, state };
  };

  test("is waited for while it arrives, however long that takes", async () => {
    const { wire, clock, state } = await asked(2_000_000);
    for (let part = 0; part < 20; part++) {
      await clock.advance(50_000);
      expect(state.reply).toBe(undefined);
      wire.send(PART);
    }
    await clock.advance(50_000);
    wire.send('"}]}}\n');
    await clock.advance(0);
    expect(state.reply?.kind).toBe("done");
  });

  test("is given up when its maximum is over, though it arrives", async () => {
    const { wire, clock, state } = await asked(600_000);
    for (let part = 0; part < 12; part++) {
      expect(state.reply).toBe(undefined);
      wire.send(PART);
      await clock.advance(50_000);
    }
    expect(state.reply).toMatchObject({ kind: "failed", error: { code: "ERR_TIMEOUT", facts: { total: true } } });
  });

  test("that drips is given up like one that is silent", async () => {
    const { wire, clock, state } = await asked(600_000);
    for (let second = 0; second < 60; second++) {
      expect(state.reply).toBe(undefined);
      wire.send("x".repeat(1000));
      await clock.advance(1000);
    }
    expect(state.reply).toMatchObject({ kind: "failed", error: { code: "ERR_TIMEOUT", facts: { total: false } } });
  });

  test("that breaks off is given up when it has been silent for its time", async () => {
    const { wire, clock, state } = await asked(600_000);
    await clock.advance(50_000);
    wire.send(PART + PART);
    await clock.advance(59_000);
    expect(state.reply).toBe(undefined);
    await clock.advance(1000);
    expect(state.reply).toMatchObject({ kind: "failed", error: { code: "ERR_TIMEOUT", facts: { total: false } } });
  });
});

test("long answer on a pipe keeps those waiting that cannot be heard behind it", async () => {
  const clock = new FakeClock();
  const { dialer, wire } = pipeDialer(undefined);
  const client = await connectClient({ dialer, clock });
  const replies: string[] = [];
  for (let call = 0; call < 2; call++) void client.callTool("t", {}).then(({ kind }) => replies.push(kind));
  wire.send('{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"');
  await clock.advance(50_000);
  wire.send(PART + PART);
  await clock.advance(50_000);
  wire.send(`"}]}}\n{"jsonrpc":"2.0","id":3,"result":{"content":[]}}\n`);
  await clock.advance(0);
  expect(replies).toEqual(["done", "done"]);
});

test("comments of any length are no sign that a call goes on", async () => {
  const clock = new FakeClock();
  const { dialer, wire } = webDialer("text/event-stream", clock, undefined);
  const client = await connectClient({ dialer, clock });
  let reply: Reply | undefined;
  void client.callTool("t", {}).then((given) => reply = given);
  await clock.advance(0);
  for (let second = 0; second < 60; second++) {
    expect(reply).toBe(undefined);
    wire.send(`: ${PART}\n:`);
    await clock.advance(1000);
  }
  expect(reply).toMatchObject({ kind: "failed", error: { code: "ERR_TIMEOUT", facts: { total: false } } });
});

test("many short messages are no sign that a call goes on", async () => {
  const clock = new FakeClock();
  const { dialer, wire } = pipeDialer(undefined);
  const client = await connectClient({ dialer, clock });
  let reply: Reply | undefined;
  void client.callTool("t", {}).then((given) => reply = given);
  const params = { level: "error", data: "x".repeat(60_000) };
  for (let second = 0; second < 60; second++) {
    expect(reply).toBe(undefined);
    wire.send(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params })}\n`);
    await clock.advance(1000);
  }
  expect(reply).toMatchObject({ kind: "failed", error: { code: "ERR_TIMEOUT", facts: { total: false } } });
});
