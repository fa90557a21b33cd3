import { describe, expect, it } from "vitest";
import type { HostEvent } from "../../../src/events/event.ts";
import { createHost } from "../../../src/host.ts";
import type { Host } from "../../../src/host_owner.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { fakeRuntime } from "../../fixtures/fake_runtime.ts";
import { settle } from "../../fixtures/settle.ts";
import { type Fetched, json, scriptedFetch } from "../transport/scripted_fetch.ts";

const TOOLS = "notifications/tools/list_changed";
const tool = (name: string, more: JsonObject = {}): JsonObject => ({ name, inputSchema: { type: "object" }, ...more });

interface Scene {
  readonly host: Host;
  readonly clock: FakeClock;
  readonly requests: { readonly method: string; readonly signal: AbortSignal }[];
  tools: JsonObject[];
  /** What a list is answered with, after a while where it is a promise. */
  onList: (() => void | Promise<void>) | undefined;
  /** Tells something under the subscription that is open. */
  tell(method: string, params?: JsonObject): void;
  /** Ends its stream. */
  hangUp(): void;
  count(method: string): number;
  events(type: string): Promise<HostEvent[]>;
}

/** A host of one server of 2026-07-28 that tells of changes to whoever subscribes. */
async function hosted(
  { tools = [tool("a")], honours = { toolsListChanged: true }, listChanged = true, refuses = false }: {
    readonly tools?: JsonObject[];
    readonly honours?: JsonObject;
    readonly listChanged?: boolean;
    readonly refuses?: boolean;
  } = {},
): Promise<Scene> {
  const clock = new FakeClock();
  const requests: Scene["requests"] = [];
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  let subscription: unknown;
  const tell = (method: string, params: JsonObject = {}): void => {
    const _meta = { "io.modelcontextprotocol/subscriptionId": subscription };
    const text = JSON.stringify({ jsonrpc: "2.0", method, params: { _meta, ...params } });
    stream?.enqueue(new TextEncoder().encode(`data: ${text}\n\n`));
  };
  const { fetch } = scriptedFetch(async ({ body, signal }: Fetched) => {
    const { id, method, params } = JSON.parse(body) as { id: number; method: string; params: JsonObject };
    requests.push({ method, signal });
    const reply = (result: JsonObject): Response =>
      json({ jsonrpc: "2.0", id, result: { resultType: "complete", ttlMs: 60_000, cacheScope: "public", ...result } });
    if (method === "server/discover") {
      return reply({ supportedVersions: ["2026-07-28"], capabilities: { tools: { listChanged } } });
    }
    if (method === "tools/list") {
      const found = scene.tools;
      await scene.onList?.();
      return reply({ tools: found });
    }
    if (method === "tools/call") {
      return reply({ content: [{ type: "text", text: JSON.stringify(params["arguments"]) }] });
    }
    if (method !== "subscriptions/listen" || refuses) {
      return json({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }, { status: 404 });
    }
    subscription = id;
    const opened = new ReadableStream<Uint8Array>({ start: (controller) => void (stream = controller) });
    tell("notifications/subscriptions/acknowledged", { notifications: honours });
    return new Response(opened, { headers: { "content-type": "text/event-stream" } });
  });
  const scene: Scene = {
    host: undefined as unknown as Host,
    clock,
    requests,
    tools,
    onList: undefined,
    tell,
    hangUp: () => stream?.close(),
    count: (method) => requests.filter((each) => each.method === method).length,
    events: async (type) => (await scene.host.readEvents()).filter((event) => event.type === type),
  };
  const host = await createHost({
    runtime: { ...fakeRuntime({}), fetch },
    clock,
    servers: [{ name: "s", url: "https://mcp.test/mcp" }],
    permission: { rules: [{ decision: "allow" }] },
  });
  await host.ready();
  return Object.assign(scene, { host });
}

describe("tools of a server over HTTP", () => {
  it("are refused one by one for annotations that no call could obey, and called with the headers of the others: C-HDR-07", async () => {
    const annotated = (name: string, header: string): JsonObject =>
      tool(name, { inputSchema: { type: "object", properties: { a: { type: "string", "x-mcp-header": header } } } });
    const { host, events } = await hosted({ tools: [annotated("bad", "a b"), annotated("good", "A"), tool("plain")] });
    const session = await host.session();
    expect(session.toolNames()).toEqual(["mcp__s__good", "mcp__s__plain"]);
    expect((await events("mcp.tool.rejected")).map(({ payload }) => payload)).toEqual([
      { server: "s", tool: "bad", why: expect.stringMatching(/^x-mcp-header "a b"/) },
    ]);
    expect((await session.tool("mcp__s__good", { a: "x" })).status).toBe("completed");
    await host.close();
  });
});

describe("changes of a server that tells of them to subscribers", () => {
  it("are followed from the first list on, and end with the host", async () => {
    const scene = await hosted();
    expect(scene.count("subscriptions/listen")).toBe(1);
    scene.tools = [tool("a"), tool("b")];
    for (let n = 0; n < 50; n++) scene.tell(TOOLS);
    await settle();
    await scene.clock.advance(5000);
    expect(scene.count("tools/list"), "FR-51: one list a burst").toBe(2);
    expect((await scene.events("mcp.catalog.changed")).map(({ payload }) => payload)).toEqual([
      { server: "s", added: ["b"], removed: [], changed: [] },
    ]);
    expect(await scene.events("mcp.server.warning")).toEqual([]);
    const listen = scene.requests.find(({ method }) => method === "subscriptions/listen")!;
    expect(listen.signal.aborted).toBe(false);
    await scene.host.close();
    expect(listen.signal.aborted).toBe(true);
    await scene.clock.advance(60_000);
    expect([scene.count("subscriptions/listen"), scene.clock.timers]).toEqual([1, 0]);
  });

  it("are looked for after the stream was away: C-SUB-04", async () => {
    const scene = await hosted();
    scene.hangUp();
    scene.tools = [tool("b")];
    await settle();
    await scene.clock.advance(5000);
    expect([scene.count("subscriptions/listen"), scene.count("tools/list")]).toEqual([2, 2]);
    expect(scene.host.globalMcpStatus()[0]).toMatchObject({ state: "ready", toolCount: 1 });
    expect(await scene.events("mcp.catalog.changed")).toHaveLength(1);
    await scene.host.close();
    expect(scene.clock.timers).toBe(0);
  });

  it("that come while a list is under way are not lost", async () => {
    const scene = await hosted();
    let answer!: () => void;
    scene.onList = () => new Promise((resolve) => answer = resolve);
    scene.tell(TOOLS);
    await scene.clock.advance(2000);
    expect(scene.count("tools/list")).toBe(2);
    scene.tools = [tool("late")];
    scene.tell(TOOLS);
    await settle();
    scene.onList = undefined;
    answer();
    await scene.clock.advance(10_000);
    expect(scene.count("tools/list")).toBe(3);
    const session = await scene.host.session();
    expect(session.toolNames()).toEqual(["mcp__s__late"]);
    await scene.host.close();
  });

  it.each([["nothing changes", false], ["each list is another one", true]])(
    "do not keep the host busy where each list is answered with another notice and %s",
    async (_claim, isOther) => {
      const scene = await hosted();
      let round = 0;
      scene.onList = () => {
        if (isOther) scene.tools = [tool(`t${round++}`)];
        scene.tell(TOOLS);
      };
      scene.tell(TOOLS);
      await scene.clock.advance(10 * 60_000);
      expect(scene.count("tools/list")).toBeGreaterThan(5);
      expect(scene.count("tools/list")).toBeLessThan(isOther ? 70 : 20);
      await scene.host.close();
    },
  );

  it("are not waited for where the server has agreed to other things, or has no subscriptions: C-SUB-02", async () => {
    for (const options of [{ honours: {} }, { refuses: true }]) {
      const { host, events, clock, count } = await hosted(options);
      await clock.advance(10_000);
      expect((await events("mcp.server.warning")).map(({ payload }) => payload)).toEqual([
        expect.objectContaining({ server: "s", kind: "not_subscribed", count: 1 }),
      ]);
      expect([host.globalMcpStatus()[0]!.state, count("subscriptions/listen")]).toEqual(["ready", 1]);
      await host.close();
    }
  });

  it("are not asked for where the server has none to tell", async () => {
    const { host, count } = await hosted({ listChanged: false });
    expect(count("subscriptions/listen")).toBe(0);
    await host.close();
  });

  it("told under no subscription are dropped, and reported once and seldom again: C-SUB-05", async () => {
    const scene = await hosted();
    for (let n = 0; n < 9; n++) scene.tell(TOOLS, { _meta: { "io.modelcontextprotocol/subscriptionId": 999 } });
    await settle();
    await scene.clock.advance(5000);
    expect(scene.count("tools/list")).toBe(1);
    expect((await scene.events("mcp.server.warning")).map(({ payload }) => payload["kind"])).toEqual([
      "unknown_subscription",
    ]);
    await scene.host.close();
  });
});
