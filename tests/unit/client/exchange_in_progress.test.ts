import { describe, expect, test } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { connectClient } from "../../../src/client/connect.ts";
import { LEGACY_VERSIONS } from "../../../src/protocol/versions.ts";
import type { MemoryConnection } from "../../../src/transport/memory.ts";
import type { TransportEnd } from "../../../src/transport/transport.ts";
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

type Kind = "pipe" | "web";
const KINDS: Kind[] = ["pipe", "web"];
const MODERN = "2026-07-28";
const NEWEST = LEGACY_VERSIONS[0]!;
const outdated = failure(-32022, { supported: [NEWEST], requested: MODERN });
const done = answer({ content: [] });

/** A server that refuses the revision of its first call and speaks an older one from then on; these acts replace its own. */
class Exchanged extends ScriptedServer {
  /** Answers that are held back, in the order in which they were asked for. */
  readonly held: (() => void)[];

  constructor(kind: Kind, acts: Script = {}) {
    let isOld = false;
    const held: (() => void)[] = [];
    super({
      "server/discover": () => isOld ? failure(-32601) : discovered(MODERN),
      "initialize": (connection: MemoryConnection, id: unknown) =>
        void held.push(() => connection.send({ jsonrpc: "2.0", id, ...initialized(NEWEST) })),
      "tools/call": () => {
        if (isOld) return done;
        isOld = true;
        return outdated;
      },
      ...acts,
    }, kind);
    this.held = held;
  }
}

interface Scene {
  readonly client: Client;
  readonly clock: FakeClock;
  readonly server: ScriptedServer & { readonly held: (() => void)[] };
  readonly ends: TransportEnd[];
  readonly renewals: () => number;
}

async function scene(kind: Kind, acts?: Script): Promise<Scene> {
  const server = new Exchanged(kind, acts);
  const clock = new FakeClock();
  const ends: TransportEnd[] = [];
  let renewals = 0;
  const client = await connectClient({
    dialer: server.dialer,
    clock,
    onEnd: (end) => void ends.push(end),
    onRenewed: () => void renewals++,
  });
  expect(client.facts.era).toBe("modern");
  server.heard.length = 0;
  return { client, clock, server, ends, renewals: () => renewals };
}

describe.each(KINDS)("close while a server that was exchanged is found out anew, over a %s", (kind) => {
  test("ends that, and nothing is sent any more", async () => {
    const { client, clock, server, ends, renewals } = await scene(kind);
    const call = client.callTool("pay", {});
    await settle();
    expect(server.heard).toEqual(["tools/call", "server/discover", "initialize"]);
    await client.close();
    expect([client.isOpen, server.open, ends]).toEqual([false, 0, [{ reason: "closed" }]]);
    server.held[0]!();
    await clock.advance(60_000);
    expect(server.heard).toEqual(["tools/call", "server/discover", "initialize"]);
    expect(await call).toMatchObject({ kind: "failed", error: { code: "ERR_CLOSED" } });
    expect([client.isOpen, renewals(), clock.timers]).toEqual([false, 0, 0]);
  });

  test("ends it at whatever moment it comes", async () => {
    let isOver = false;
    for (let turns = 0; !isOver; turns++) {
      const { client, clock, server } = await scene(kind, { initialize: initialized(NEWEST) });
      const call = client.callTool("pay", {});
      void call.then(() => isOver = true);
      for (let turn = 0; turn < turns && !isOver; turn++) await Promise.resolve();
      const wasOver: boolean = isOver;
      const { length } = server.heard;
      const closing = client.close();
      expect(client.isOpen).toBe(false);
      await closing;
      await call;
      await settle();
      isOver = wasOver;
      expect([turns, client.isOpen, server.open, server.heard.length, clock.timers]).toEqual([
        turns,
        false,
        0,
        length,
        0,
      ]);
      expect(turns).toBeLessThan(1000);
    }
  });

  test("leaves nothing that a caller has left to it", async () => {
    const { client, server } = await scene(kind);
    const controller = new AbortController();
    const call = client.callTool("pay", {}, { signal: controller.signal });
    await settle();
    controller.abort();
    expect(await call).toMatchObject({ kind: "failed", error: { code: "ERR_CANCELLED" } });
    server.held[0]!();
    await settle();
    expect([client.facts.era, server.open]).toEqual(["legacy", 1]);
    await client.close();
    expect(server.open).toBe(0);
  });
});

describe("pipe that ends while its server is found out anew", () => {
  test.each(["server/discover", "initialize"])("is not opened again after %s", async (method) => {
    let isOld = false;
    const { client, clock, server, ends } = await scene("pipe", {
      "tools/call": () => {
        isOld = true;
        return outdated;
      },
      "server/discover": () => isOld ? failure(-32601) : discovered(MODERN),
      ...(method === "initialize" ? { initialize: exits(1) } : {
        "server/discover": (connection: MemoryConnection) => isOld ? exits(1)(connection) : discovered(MODERN),
      }),
    });
    const reply = await client.callTool("pay", {});
    expect(reply).toMatchObject({ kind: "failed", refused: true, error: { code: "ERR_START_FAILED" } });
    await clock.advance(60_000);
    expect([server.dials, client.isOpen, ends]).toMatchObject([1, false, [{ reason: "exit", exitCode: 1 }]]);
    await client.close();
  });
});

describe.each(KINDS)("what is asked while a server is found out anew, over a %s", (kind) => {
  test("waits until the handshake is over (C-LIFE-01, C-LIFE-04)", async () => {
    const { client, server } = await scene(kind, { "tools/list": answer({ tools: [] }) });
    const call = client.callTool("a", {});
    await settle();
    const others = [client.callTool("b", {}), client.request("tools/list", undefined)];
    client.notify("notifications/roots/list_changed");
    await settle();
    expect(server.heard).toEqual(["tools/call", "server/discover", "initialize"]);
    server.held[0]!();
    expect(await call).toMatchObject({ kind: "done", resends: 1 });
    for (const other of others) expect(await other).toMatchObject({ kind: "done", resends: 0 });
    expect(server.heard.slice(3).sort()).toEqual([
      "notifications/initialized",
      "notifications/roots/list_changed",
      "tools/call",
      "tools/call",
      "tools/list",
    ]);
    expect(server.heard[3]).toBe("notifications/initialized");
    await client.close();
  });

  test("waits as long as its time and its caller let it", async () => {
    const { client, clock, server } = await scene(kind);
    const call = client.callTool("a", {});
    await settle();
    const controller = new AbortController();
    const waiting = [
      client.callTool("total", {}, { maxTotalMs: 1000 }),
      client.callTool("silent", {}, { timeoutMs: 1000 }),
      client.callTool("left", {}, { signal: controller.signal }),
    ];
    const standing = client.request("x", undefined, { timeoutMs: Infinity, maxTotalMs: Infinity });
    controller.abort();
    await clock.advance(1000);
    for (const [index, code] of ["ERR_TIMEOUT", "ERR_TIMEOUT", "ERR_CANCELLED"].entries()) {
      expect(await waiting[index]).toMatchObject({ kind: "failed", sent: false, error: { code } });
    }
    server.held[0]!();
    expect(await call).toMatchObject({ kind: "done" });
    await settle();
    expect(server.heard.filter((method) => method === "tools/call")).toHaveLength(2);
    expect(server.heard).toContain("x");
    await client.close();
    expect(await standing).toMatchObject({ kind: "failed" });
    expect(clock.timers).toBe(0);
  });
});

describe.each(KINDS)("call that a server refuses because it was exchanged, over a %s", (kind) => {
  test.each([["maxTotalMs", { timeoutMs: 500, maxTotalMs: 400 }], ["timeoutMs", { timeoutMs: 400 }]])(
    "ends by its own time: %s (C-LIFE-08)",
    async (_claim, options) => {
      const { client, clock } = await scene(kind);
      const call = client.callTool("a", {}, options);
      await clock.advance(400);
      expect(await call).toMatchObject({ kind: "failed", sent: true, refused: true, error: { code: "ERR_TIMEOUT" } });
      await client.close();
      expect(clock.timers).toBe(0);
    },
  );

  test("is sent once more with what is left of its time", async () => {
    let calls = 0;
    let isOld = false;
    const { client, clock, server } = await scene(kind, {
      "server/discover": () => isOld ? failure(-32601) : discovered(MODERN),
      "tools/call": () => {
        isOld = true;
        return calls++ === 0 ? outdated : undefined;
      },
    });
    const call = client.callTool("a", {}, { maxTotalMs: 1000 });
    await clock.advance(700);
    server.held[0]!();
    await clock.advance(300);
    expect(calls).toBe(2);
    expect(await call).toMatchObject({ kind: "failed", resends: 1, error: { code: "ERR_TIMEOUT" } });
    await client.close();
  });
});

describe("connection to a server that was exchanged", () => {
  test("is let go of at once where nothing is in flight on it", async () => {
    const { client, server } = await scene("web", { initialize: initialized(NEWEST) });
    await client.callTool("a", {});
    expect([server.dials, server.open]).toEqual([3, 1]);
    await client.close();
  });

  test("is let go of when its last request has settled", async () => {
    const late: (() => void)[] = [];
    const { client, server, ends } = await scene("web", {
      "initialize": initialized(NEWEST),
      "tools/list": (connection: MemoryConnection, id: unknown) =>
        void late.push(() => connection.send({ jsonrpc: "2.0", id, result: { tools: [] } })),
    });
    const lists = [client.request("tools/list", undefined), client.request("tools/list", undefined)];
    await client.callTool("a", {});
    expect(server.open).toBe(2);
    late[0]!();
    await lists[0];
    expect(server.open).toBe(2);
    late[1]!();
    await lists[1];
    expect([server.open, client.isOpen, ends]).toEqual([1, true, []]);
    await client.close();
  });
});
