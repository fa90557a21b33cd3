import { describe, expect, test } from "vitest";
import {
  type Client,
  connectClient,
  type Dialer,
  isHostError,
  type SpawnFunction,
  stdioDialer,
} from "../../../src/client/mod.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle, until } from "../../fixtures/settle.ts";

type Message = Readonly<Record<string, unknown>>;
type Era = "2025-11-25" | "2026-07-28";
const META = "io.modelcontextprotocol/";

/** What a plain server of the one or of the other kind answers. */
function answerOf(era: Era, { method, params }: Message): object | undefined {
  const capabilities = { tools: {} };
  switch (method) {
    case "server/discover":
      return era === "2026-07-28"
        ? { result: { supportedVersions: [era], capabilities } }
        : { error: { code: -32601, message: "Method not found" } };
    case "initialize":
      return { result: { protocolVersion: era, capabilities, serverInfo: { name: "s", version: "1" } } };
    case "tools/list":
      return { result: { tools: [{ name: "echo", inputSchema: { type: "object" } }] } };
    case "tools/call":
      return { result: { content: [{ type: "text", text: JSON.stringify((params as Message)["arguments"]) }] } };
  }
  return undefined;
}

/** A transport that somebody else has made: it carries texts, and knows nothing of what is in them. */
function ownDialer(era: Era, texts: string[]): Dialer {
  return {
    kind: "pipe",
    name: "own",
    key: "own",
    dial: (_profile, handlers) => {
      let isOpen = true;
      return Promise.resolve({
        send: ({ text }) => {
          if (!isOpen) return;
          texts.push(text);
          const { id, ...asked } = JSON.parse(text) as Message;
          const answer = answerOf(era, asked);
          if (id === undefined || answer === undefined) return;
          queueMicrotask(() => {
            if ("result" in answer) {
              handlers.onMessage({ kind: "result", id: id as number, result: answer.result }, 1, undefined);
            } else {
              const { error } = answer as { error: { code: number; message: string } };
              handlers.onMessage({ kind: "error", id: id as number, error }, 1, undefined);
            }
          });
        },
        abandon: () => {},
        close: () => {
          if (isOpen) handlers.onClosed({ reason: "closed" }, new Set());
          isOpen = false;
          return Promise.resolve();
        },
      });
    },
  };
}

/** A socket in the place of a process: bytes both ways, cut where it pleases, and nothing on standard error. */
function socket(era: Era, texts: string[]): { readonly spawn: SpawnFunction; hangUp(): void } {
  let hangUp = (): void => {};
  const spawn: SpawnFunction = (_plan, handlers) => {
    let isOpen = true;
    let rest = "";
    hangUp = () => {
      if (!isOpen) return;
      isOpen = false;
      handlers.onEnd();
      handlers.onExit({ code: 0, signal: null });
    };
    const deliver = async (bytes: Uint8Array): Promise<void> => {
      for (let at = 0; at < bytes.length; at += 7) await handlers.onData(bytes.slice(at, at + 7));
    };
    return Promise.resolve({
      pid: 0,
      containment: "none",
      write: (text) => {
        const lines = (rest + text).split("\n");
        rest = lines.pop()!;
        for (const line of lines) {
          texts.push(line);
          const { id, ...asked } = JSON.parse(line) as Message;
          const answer = answerOf(era, asked);
          if (id === undefined || answer === undefined) continue;
          void deliver(new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`));
        }
      },
      closeInput: () => hangUp(),
      kill: () => hangUp(),
      groupAlive: () => false,
      release: () => {},
    });
  };
  return { spawn, hangUp: () => hangUp() };
}

/** Nothing goes out but single messages of JSON-RPC, in the order that the revision wants. */
function expectConversation(era: Era, texts: readonly string[]): void {
  const messages = texts.map((text) => JSON.parse(text) as Message);
  for (const [at, text] of texts.entries()) {
    expect(text).not.toMatch(/[\r\n]/);
    expect(messages[at]).toMatchObject({ jsonrpc: "2.0", method: expect.any(String) as string });
  }
  const methods = messages.map(({ method }) => method);
  if (era === "2025-11-25") {
    expect(methods).toEqual(["server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"]);
    return;
  }
  expect(methods).toEqual(["server/discover", "tools/list", "tools/call"]);
  for (const { params } of messages) {
    expect((params as Message)["_meta"]).toMatchObject({
      [`${META}protocolVersion`]: era,
      [`${META}clientCapabilities`]: {},
    });
  }
}

async function converse(client: Client): Promise<void> {
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["echo"]);
  expect(await client.callTool("echo", { text: "é\n😀" })).toMatchObject({
    kind: "done",
    result: { content: [{ text: '{"text":"é\\n😀"}' }] },
  });
}

describe.each(["2025-11-25", "2026-07-28"] as const)("transport of one's own, to a server of %s", (era) => {
  test("carries the same messages in the same order as any other (C-CUST-01)", async () => {
    const texts: string[] = [];
    const clock = new FakeClock();
    const client = await connectClient({ dialer: ownDialer(era, texts), clock });
    expect(client.facts.protocolVersion).toBe(era);
    await converse(client);
    expectConversation(era, texts);
    await client.close();
    expect([client.isOpen, clock.timers]).toEqual([false, 0]);
  });

  test("of bytes takes the frames of a pipe, and ends as one (C-CUST-01)", async () => {
    const texts: string[] = [];
    const clock = new FakeClock();
    const { spawn, hangUp } = socket(era, texts);
    const dialer = stdioDialer({ command: "tcp://127.0.0.1:7", spawn, clock });
    const client = await connectClient({ dialer, clock });
    await converse(client);
    expectConversation(era, texts);
    const waiting = client.request("never/answered", {});
    await settle();
    hangUp();
    await clock.advance(1000);
    const reply = await waiting;
    expect(reply.kind === "failed" && isHostError(reply.error, "ERR_CONNECTION_LOST")).toBe(true);
    await until(() => !client.isOpen);
    await client.close();
  });
});
