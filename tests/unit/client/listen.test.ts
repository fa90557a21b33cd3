import { describe, expect, test } from "vitest";
import { connectClient } from "../../../src/client/connect.ts";
import type { Client, ConnectOptions } from "../../../src/client/client.ts";
import { keepListening, type ListenEnd, type SubscriptionFilter } from "../../../src/client/listen.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import type { MemoryConnection } from "../../../src/transport/memory.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { answer, failure, initialized, type Script, ScriptedServer } from "../protocol/scripted_server.ts";
import { webClient } from "./web_server.ts";

const TOOLS = "notifications/tools/list_changed";
const FILTER: SubscriptionFilter = { toolsListChanged: true };
const under = (id: unknown, more: object = {}): JsonObject => ({
  _meta: { "io.modelcontextprotocol/subscriptionId": id },
  ...more,
});
const acknowledge = (connection: MemoryConnection, id: unknown, notifications: object = FILTER): void =>
  connection.send({
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: under(id, { notifications }),
  });

interface Scene {
  readonly client: Client;
  readonly clock: FakeClock;
  readonly server: ScriptedServer;
  /** What the owner was told. */
  readonly told: string[];
  /** Subscriptions as the server got them. */
  readonly listens: { readonly id: unknown; readonly params: JsonObject; readonly connection: MemoryConnection }[];
  /** Each acknowledgement, and whether it came after a gap. */
  readonly listening: [honoured: SubscriptionFilter, again: boolean][];
  readonly stop: AbortController;
  end: ListenEnd | undefined;
}

async function listening(
  onListen: (connection: MemoryConnection, id: unknown) => object | undefined | void,
  { script = {}, filter = FILTER, ...options }: Partial<ConnectOptions> & {
    script?: Script;
    filter?: SubscriptionFilter;
  } = {},
): Promise<Scene> {
  const clock = new FakeClock();
  const told: string[] = [];
  const listens: Scene["listens"] = [];
  const server = new ScriptedServer({
    "server/discover": answer({ supportedVersions: ["2026-07-28"], capabilities: { tools: { listChanged: true } } }),
    "subscriptions/listen": (connection, id, params) => {
      listens.push({ connection, id, params: params as JsonObject });
      return onListen(connection, id);
    },
    ...script,
  });
  const client = await connectClient({
    dialer: server.dialer,
    clock,
    onNotification: (method) => void told.push(method),
    onWarning: (kind) => void told.push(kind),
    ...options,
  });
  const scene: Scene = {
    client,
    clock,
    server,
    told,
    listens,
    listening: [],
    stop: new AbortController(),
    end: undefined,
  };
  void keepListening(client, filter, {
    clock,
    random: () => 0,
    signal: scene.stop.signal,
    onListening: (honoured, again) => void scene.listening.push([honoured, again]),
  }).then((end) => scene.end = end);
  await settle();
  return scene;
}

describe("a subscription", () => {
  test("says what it wants, and hears what it gets: C-SUB-01, C-SUB-02", async () => {
    const { client, listens, listening: heard } = await listening((connection, id) => {
      acknowledge(connection, id, { toolsListChanged: true, promptsListChanged: true });
    }, { filter: { toolsListChanged: true, resourcesListChanged: true } });
    expect(client.facts.subscribes).toBe(true);
    expect(listens[0]!.params).toMatchObject({ notifications: { toolsListChanged: true, resourcesListChanged: true } });
    expect(heard).toEqual([[{ toolsListChanged: true }, false]]);
  });

  test("lets its notifications through to the owner, and drops all others: C-SUB-03, C-SUB-05", async () => {
    const { told, listens } = await listening(acknowledge);
    const [{ connection, id }] = listens as [Scene["listens"][number]];
    const tell = (method: string, params?: object): void => connection.send({ jsonrpc: "2.0", method, params });
    tell(TOOLS, under(id));
    tell(TOOLS, under(String(id)));
    tell(TOOLS, under(99));
    tell(TOOLS);
    tell("notifications/prompts/list_changed", under(id));
    tell("notifications/message", { level: "error", data: "x" });
    await settle();
    const dropped = "unknown_subscription";
    expect(told).toEqual([TOOLS, dropped, dropped, dropped, dropped, "notifications/message"]);
  });

  test("has no end in time, and does not stand in the way of other answers", async () => {
    const { clock, end, client, server } = await listening(acknowledge, {
      script: { "tools/call": (connection) => void connection.send("x".repeat(9 << 20)) },
    });
    await clock.advance(24 * 60 * 60 * 1000);
    expect([end, server.heard.filter((method) => method === "subscriptions/listen").length, clock.timers]).toEqual([
      undefined,
      1,
      0,
    ]);
    // A frame that is refused unread is the answer to the one request that awaits one.
    const calling = client.callTool("t", {});
    await settle();
    expect(await calling).toMatchObject({ kind: "failed", error: { code: "ERR_FRAME_TOO_LARGE" } });
  });

  const ends: [claim: string, end: (connection: MemoryConnection, id: unknown) => object | undefined | void][] = [
    ["a result", (_connection, id) => answer({ resultType: "complete", ...under(id) })],
    ["a result without a word in it", () => answer({})],
    ["a cancellation", (connection, requestId) => {
      connection.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
    }],
    ["a cancellation and a result", (connection, requestId) => {
      connection.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
      return answer({});
    }],
    ["a fault that may pass", () => failure(-32603)],
  ];
  test.each(ends)(
    "that ends by %s is opened again, and what may have been missed is said: C-SUB-04",
    async (_claim, end) => {
      let rounds = 0;
      const { listens, listening: heard, clock, told } = await listening((connection, id) => {
        acknowledge(connection, id);
        return ++rounds < 3 ? end(connection, id) : undefined;
      });
      expect(listens).toHaveLength(1);
      await clock.advance(499);
      expect(listens).toHaveLength(1);
      await clock.advance(1);
      expect(listens, "half of a second after the first").toHaveLength(2);
      await clock.advance(1000);
      expect(listens, "a second after the second").toHaveLength(3);
      expect(new Set(listens.map(({ id }) => id)).size).toBe(3);
      expect(heard.map(([, again]) => again)).toEqual([false, true, true]);
      expect([clock.timers, told.filter((each) => each !== "duplicate_id")]).toEqual([0, []]);
    },
  );

  test("whose server ends each at once comes back ever more seldom, at most once in a minute", async () => {
    const { listens, clock, stop } = await listening(() => answer({}));
    await clock.advance(60 * 60_000);
    expect(listens.length).toBeGreaterThan(100);
    expect(listens.length).toBeLessThan(130);
    stop.abort();
    await settle();
    expect(clock.timers).toBe(0);
  });

  test("that stood for a while comes back soon", async () => {
    const { listens, clock } = await listening(() => undefined);
    for (let round = 1; round <= 5; round++) {
      await clock.advance(60_000);
      const { connection, id } = listens.at(-1)!;
      connection.send({ jsonrpc: "2.0", id, result: {} });
      await settle();
      await clock.advance(500);
      expect(listens).toHaveLength(round + 1);
    }
  });

  const refusals: [claim: string, code: number][] = [["does not know it", -32601], ["does not like it", -32602], [
    "wants more of us",
    -32021,
  ]];
  test.each(refusals)("is given up where the server %s: C-EXT-02", async (_claim, code) => {
    const scene = await listening(() => failure(code));
    expect(scene.end).toMatchObject({ kind: "refused", error: { code } });
    await scene.clock.advance(60_000);
    expect(scene.listens).toHaveLength(1);
  });

  test("ends with its signal: the server is told, and nothing is left", async () => {
    const scene = await listening(acknowledge);
    scene.stop.abort();
    await settle();
    expect(scene.end).toEqual({ kind: "ended" });
    expect(scene.server.heard.at(-1)).toBe("notifications/cancelled");
    const [{ connection, id }] = scene.listens as [Scene["listens"][number]];
    connection.send({ jsonrpc: "2.0", method: TOOLS, params: under(id) });
    await scene.clock.advance(1000);
    expect([scene.told, scene.clock.timers]).toEqual([["unknown_subscription"], 0]);
  });

  test("ends with its connection", async () => {
    const scene = await listening(acknowledge);
    await scene.client.close();
    await settle();
    expect([scene.end, scene.clock.timers]).toEqual([{ kind: "ended" }, 0]);
  });

  test("is not asked of a server that tells unasked", async () => {
    const scene = await listening(acknowledge, {
      script: { "server/discover": failure(-32601), "initialize": initialized("2025-11-25") },
    });
    expect(scene.client.facts.subscribes).toBeUndefined();
    expect(scene.end).toMatchObject({ kind: "refused", error: { code: "ERR_UNSUPPORTED_HERE" } });
    expect(scene.server.heard).not.toContain("subscriptions/listen");
  });
});

describe("a flood of changes", () => {
  test("does not drown the last one", async () => {
    const { told, listens, clock } = await listening(acknowledge);
    const [{ connection, id }] = listens as [Scene["listens"][number]];
    for (let n = 0; n < 250; n++) connection.send({ jsonrpc: "2.0", method: TOOLS, params: under(id) });
    await settle();
    const before = told.filter((each) => each === TOOLS).length;
    await clock.advance(1000);
    expect(before).toBeLessThan(250);
    expect(told.filter((each) => each === TOOLS)).toHaveLength(before + 1);
    expect(told).not.toContain("unknown_subscription");
  });
});

describe("a subscription over HTTP", () => {
  const stream = (): { response: Response; send(message: object): void; close(): void; broken(): void } => {
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({ start: (given) => void (controller = given) });
    return {
      response: new Response(body, { headers: { "content-type": "text/event-stream" } }),
      send: (message) => controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(message)}\n\n`)),
      close: () => controller.close(),
      broken: () => controller.error(new Error("reset")),
    };
  };

  test("has a stream of its own, comes back when that ends or breaks, and closing it is all that its end takes: C-SUB-04, C-HTTP-11", async () => {
    const streams = [stream(), stream(), stream()];
    const told: string[] = [];
    const again: boolean[] = [];
    let opened = 0;
    const { client, clock, heard } = await webClient({ "subscriptions/listen": () => streams[opened++]!.response }, {
      onNotification: (method) => void told.push(method),
    });
    const stop = new AbortController();
    const listening = keepListening(client, FILTER, {
      clock,
      random: () => 1,
      signal: stop.signal,
      onListening: (_honoured, each) => void again.push(each),
    });
    const acknowledged = async (at: number): Promise<number> => {
      await settle();
      const { id } = heard.at(-1)!;
      streams[at]!.send({
        jsonrpc: "2.0",
        method: "notifications/subscriptions/acknowledged",
        params: under(id, { notifications: FILTER }),
      });
      await settle();
      return id;
    };
    const id = await acknowledged(0);
    streams[0]!.send({ jsonrpc: "2.0", method: TOOLS, params: under(id) });
    await settle();
    expect([told, again]).toEqual([[TOOLS], [false]]);
    streams[0]!.close();
    await settle();
    await clock.advance(1000);
    await acknowledged(1);
    streams[1]!.broken();
    await settle();
    await clock.advance(2000);
    await acknowledged(2);
    expect([opened, again]).toEqual([3, [false, true, true]]);
    const { signal } = heard.at(-1)!;
    expect(signal.aborted).toBe(false);
    stop.abort();
    expect(await listening).toEqual({ kind: "ended" });
    expect(signal.aborted).toBe(true);
    expect(new Set(heard.map(({ method }) => method))).toEqual(new Set(["subscriptions/listen"]));
    await client.close();
    expect(clock.timers).toBe(0);
  });

  test("that cannot be had for a while is no reason to give the server up", async () => {
    let isDown = true;
    const { client, clock, heard } = await webClient({
      "subscriptions/listen": () => isDown ? Promise.reject(new TypeError("fetch failed")) : stream().response,
      "tools/call": () => ({ result: { content: [] } }),
    });
    const stop = new AbortController();
    void keepListening(client, FILTER, { clock, random: () => 1, signal: stop.signal });
    await clock.advance(10 * 60_000);
    expect(heard.length).toBeGreaterThan(10);
    expect(client.isOpen).toBe(true);
    isDown = false;
    expect((await client.callTool("t", {})).kind).toBe("done");
    stop.abort();
    await client.close();
  });
});
