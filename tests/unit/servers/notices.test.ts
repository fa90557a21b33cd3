import { describe, expect, it } from "vitest";
import { settle } from "../../fixtures/settle.ts";
import { toolNamed } from "../../fixtures/fake_client.ts";
import { type Scene, scene } from "./supervisor_setup.ts";

async function ready(config = {}): Promise<Scene> {
  const all = scene(config);
  all.connect.onConnect = (dialling) => dialling.succeed();
  all.server.supervise();
  await settle();
  return all;
}

describe("list_changed", () => {
  it("FR-51 fifty notices in one burst make one list and one event with the difference", async () => {
    const { connect, sink, clock, server } = await ready();
    connect.last.tools = [toolNamed("add"), { ...toolNamed("echo"), description: "Another" }];
    for (let notice = 0; notice < 50; notice++) connect.last.notice("notifications/tools/list_changed");
    await clock.advance(5000);
    expect(connect.last.lists).toBe(2);
    expect(sink.ofType("mcp.catalog.changed").map((event) => event.payload)).toEqual([{
      server: "echo",
      added: ["add"],
      removed: [],
      changed: ["echo"],
    }]);
    expect(server.status().toolCount).toBe(2);
  });

  it("says nothing when nothing has changed", async () => {
    const { connect, sink, clock } = await ready();
    connect.last.notice("notifications/tools/list_changed");
    await clock.advance(5000);
    expect(connect.last.lists).toBe(2);
    expect(sink.ofType("mcp.catalog.changed")).toHaveLength(0);
  });

  it("a notice that comes during a list is answered by one more", async () => {
    const { connect, clock } = await ready();
    let answer!: () => void;
    connect.last.onList = () =>
      new Promise((resolve) => answer = () => resolve({ tools: [toolNamed("echo")], malformed: [] }));
    connect.last.notice("notifications/tools/list_changed");
    await clock.advance(100);
    for (let notice = 0; notice < 9; notice++) connect.last.notice("notifications/tools/list_changed");
    answer();
    connect.last.onList = undefined;
    await clock.advance(10_000);
    expect(connect.last.lists).toBe(3);
  });

  it("a server that answers each list with another notice is asked ever more seldom", async () => {
    const { connect, clock } = await ready();
    const client = connect.last;
    client.onList = () => {
      client.notice("notifications/tools/list_changed");
      return Promise.resolve({ tools: client.tools, malformed: [] });
    };
    client.notice("notifications/tools/list_changed");
    await clock.advance(10 * 60_000);
    expect(client.lists).toBeLessThan(20);
  });

  it("a notice that comes before the server is ready is not lost", async () => {
    const { server, connect, clock } = scene();
    server.supervise();
    await settle();
    connect.onConnect = undefined;
    const client = connect.pending[0]!.succeed();
    client.notice("notifications/tools/list_changed");
    await clock.advance(5000);
    expect(client.lists).toBe(2);
  });

  it("a list that fails keeps the tools and is a warning", async () => {
    const { connect, sink, clock, server } = await ready();
    connect.last.onList = () => Promise.reject(new Error("no"));
    connect.last.notice("notifications/tools/list_changed");
    await clock.advance(5000);
    expect(server.status().toolCount).toBe(1);
    expect(sink.events.at(-1)).toMatchObject({
      type: "mcp.server.warning",
      payload: { kind: "list_failed", count: 1 },
    });
  });

  it("the list of a connection that has ended meanwhile is dropped", async () => {
    const { connect, sink, clock, server } = await ready();
    const first = connect.last;
    let answer!: () => void;
    first.onList = () =>
      new Promise((resolve) => answer = () => resolve({ tools: [toolNamed("other")], malformed: [] }));
    first.notice("notifications/tools/list_changed");
    await clock.advance(100);
    await server.restart();
    answer();
    await settle();
    expect(sink.ofType("mcp.catalog.changed")).toHaveLength(0);
    expect(server.catalog!.byName("echo")).toBeDefined();
  });

  it("tools that differ after a restart are told with the ready event", async () => {
    const { connect, sink, server } = await ready();
    connect.tools = ["add"];
    await server.restart();
    expect(sink.batches.at(-1)).toEqual(["mcp.server.ready", "mcp.catalog.changed"]);
    expect(sink.events.at(-1)!.payload).toEqual({ server: "echo", added: ["add"], removed: ["echo"], changed: [] });
  });
});

describe("a server's own words", () => {
  it("log messages are kept from warning on, ten a second, and the rest is counted", async () => {
    const { connect, sink, clock } = await ready();
    connect.last.notice("notifications/message", { level: "info", data: "quiet" });
    for (let message = 0; message < 25; message++) {
      connect.last.notice("notifications/message", {
        level: "error",
        logger: "db",
        data: `m${message} hunter2hunter2`,
      });
    }
    await clock.advance(1000);
    connect.last.notice("notifications/message", { level: "warning", data: { deep: true } });
    await settle();
    const logs = sink.ofType("mcp.log").map((event) => event.payload);
    expect(logs).toHaveLength(11);
    expect(logs[0]).toEqual({ server: "echo", level: "error", logger: "db", data: "m0 [redacted]" });
    expect(logs[10]).toEqual({ server: "echo", level: "warning", data: { deep: true }, dropped: 15 });
  });

  it("a long log message is cut", async () => {
    const { connect, sink } = await ready();
    connect.last.notice("notifications/message", { level: "error", data: ["x".repeat(100_000)] });
    await settle();
    expect(JSON.stringify(sink.ofType("mcp.log")[0]!.payload).length).toBeLessThan(5000);
  });

  it("a log message of another shape does no harm", async () => {
    const { connect, sink } = await ready();
    for (const params of [undefined, null, 3, [], { level: 4 }, { level: "error" }]) {
      connect.last.notice("notifications/message", params);
    }
    await settle();
    expect(sink.ofType("mcp.log").map((event) => event.payload)).toEqual([{
      server: "echo",
      level: "error",
      data: null,
    }]);
  });

  it("of each kind of warning the first is told, then each power of ten", async () => {
    const { connect, sink } = await ready();
    for (let line = 0; line < 250; line++) connect.last.warn("noise", "banner");
    connect.last.warn("flood");
    await settle();
    expect(sink.ofType("mcp.server.warning").map(({ payload }) => [payload["kind"], payload["count"]])).toEqual([
      ["noise", 1],
      ["noise", 10],
      ["noise", 100],
      ["flood", 1],
    ]);
  });

  it("what it says of itself is cut before it enters an event", async () => {
    const all = scene();
    all.connect.onConnect = (dialling) => {
      const client = dialling.succeed();
      Object.assign(client.facts, {
        serverInfo: { name: "n".repeat(100_000), version: "1" },
        capabilities: { tools: {}, x: "y".repeat(100_000) },
      });
    };
    all.server.supervise();
    await settle();
    expect(JSON.stringify(all.sink.events[1]).length).toBeLessThan(2000);
  });
});
