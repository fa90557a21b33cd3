import { describe, expect, test } from "vitest";
import type { Client } from "../../../src/client/client.ts";
import { connectClient } from "../../../src/client/connect.ts";
import type { Verdict, VerdictCache } from "../../../src/protocol/negotiate.ts";
import { LEGACY_VERSIONS } from "../../../src/protocol/versions.ts";
import type { MemoryConnection } from "../../../src/transport/memory.ts";
import type { TransportEnd } from "../../../src/transport/transport.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { answer, discovered, failure, initialized, type Script, ScriptedServer } from "../protocol/scripted_server.ts";

const MODERN = "2026-07-28";
const NEWEST = LEGACY_VERSIONS[0]!;
const outdated = failure(-32022, { supported: [NEWEST], requested: MODERN });
const done = answer({ content: [] });

interface Connected {
  readonly client: Client;
  readonly server: ScriptedServer;
  readonly ends: TransportEnd[];
  readonly renewals: () => number;
}

/** A client of a modern server, whose connections act by these scripts. */
async function connected(
  scripts: readonly Script[],
  kind: "pipe" | "web",
  verdicts?: VerdictCache,
): Promise<Connected> {
  const server = new ScriptedServer([...scripts], kind);
  const ends: TransportEnd[] = [];
  let renewals = 0;
  const client = await connectClient({
    dialer: server.dialer,
    clock: new FakeClock(),
    onEnd: (end) => void ends.push(end),
    onRenewed: () => void renewals++,
    ...(verdicts === undefined ? {} : { verdicts }),
  });
  expect(client.facts.era).toBe("modern");
  return { client, server, ends, renewals: () => renewals };
}

const BEFORE: Script = { "server/discover": discovered(MODERN), "tools/call": outdated };
const AFTER: Script = { "server/discover": failure(-32601), "initialize": initialized(NEWEST), "tools/call": done };

describe("server that was exchanged for an older one", () => {
  test("is found out again once, and what it refused is sent again (C-VER-02, C-VER-07)", async () => {
    const verdicts = new Map<string, Verdict>();
    const { client, server, ends, renewals } = await connected([BEFORE, AFTER], "web", {
      get: (key) => verdicts.get(key),
      set: (key, verdict) => void verdicts.set(key, verdict),
      delete: (key) => void verdicts.delete(key),
    });
    const calls = [client.callTool("a", {}), client.callTool("b", {})];
    for (const call of calls) expect(await call).toMatchObject({ kind: "done", resends: 1 });
    expect(client.facts).toMatchObject({ era: "legacy", protocolVersion: NEWEST });
    expect(server.heard).toEqual([
      "server/discover",
      "tools/call",
      "tools/call",
      "server/discover",
      "initialize",
      "notifications/initialized",
      "tools/call",
      "tools/call",
    ]);
    expect([renewals(), ends, verdicts.get("memory")?.era]).toEqual([1, [], "legacy"]);
    expect(await client.callTool("c", {})).toMatchObject({ kind: "done", resends: 0 });
    await client.close();
    expect(ends).toEqual([{ reason: "closed" }]);
  });

  test("is found out again on the same pipe", async () => {
    let isOld = false;
    const act = (before: object, after: object) => (): object => isOld ? after : before;
    const { client, server } = await connected([{
      "server/discover": act(discovered(MODERN), failure(-32601)),
      "initialize": initialized(NEWEST),
      "tools/call": (connection: MemoryConnection, id: unknown) => {
        if (isOld) return done;
        isOld = true;
        connection.send({ jsonrpc: "2.0", id, ...outdated });
        return undefined;
      },
    }], "pipe");
    expect(await client.callTool("a", {})).toMatchObject({ kind: "done", resends: 1 });
    expect([client.facts.era, server.dials]).toEqual(["legacy", 1]);
    await client.close();
    expect(server.open).toBe(0);
  });

  test("is followed by a request that hears of it late, too", async () => {
    const late: (() => void)[] = [];
    const { client } = await connected([{
      ...BEFORE,
      "tools/list": (connection: MemoryConnection, id: unknown) => {
        late.push(() => connection.send({ jsonrpc: "2.0", id, ...outdated }));
      },
    }, { ...AFTER, "tools/list": answer({ tools: [] }) }], "web");
    const list = client.request("tools/list", undefined);
    await client.callTool("a", {});
    late[0]!();
    expect(await list).toMatchObject({ kind: "done", resends: 1, result: { tools: [] } });
    await client.close();
  });

  test("leaves alone what is in flight on the connection before", async () => {
    let answerLate!: () => void;
    const slow: Script = {
      ...BEFORE,
      "tools/list": (connection: MemoryConnection, id: unknown) => {
        answerLate = () => connection.send({ jsonrpc: "2.0", id, result: { tools: [] } });
      },
    };
    const { client, server } = await connected([slow, AFTER], "web");
    const list = client.request("tools/list", undefined);
    await client.callTool("a", {});
    expect(client.facts.era).toBe("legacy");
    answerLate();
    expect(await list).toMatchObject({ kind: "done", result: { tools: [] }, resends: 0 });
    const never = client.request("tools/list", undefined);
    await client.close();
    expect(await never).toMatchObject({ kind: "failed" });
    expect(server.open).toBe(0);
  });

  test("that speaks nothing we know fails the request with that, as refused, and the connection stays", async () => {
    const { client, ends, renewals } = await connected([BEFORE, {
      "server/discover": failure(-32022, { supported: ["2099-01-01"] }),
    }], "web");
    expect(await client.callTool("a", {})).toMatchObject({
      kind: "failed",
      sent: true,
      refused: true,
      error: { code: "ERR_VERSION" },
    });
    expect([client.isOpen, client.facts.era, ends, renewals()]).toEqual([true, "modern", [], 0]);
    await client.close();
    expect(ends).toEqual([{ reason: "closed" }]);
  });

  test("that says so again is believed: no third time (C-VER-11)", async () => {
    const { client, server } = await connected([BEFORE], "web");
    expect(await client.callTool("a", {})).toMatchObject({ kind: "failed", resends: 1, error: { code: -32022 } });
    expect(server.heard.filter((method) => method === "tools/call")).toHaveLength(2);
    await client.close();
  });

  test("is not waited for by a caller that has left", async () => {
    const { client } = await connected([BEFORE, {}], "web");
    const controller = new AbortController();
    const call = client.callTool("a", {}, { signal: controller.signal });
    await settle();
    controller.abort();
    expect(await call).toMatchObject({ kind: "failed", error: { code: "ERR_CANCELLED" } });
    await client.close();
  });
});
