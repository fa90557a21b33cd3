import { expect, test } from "vitest";
import { connectClient } from "../../../src/client/connect.ts";
import { memoryDialer, type MemoryServer } from "../../../src/transport/memory.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";

const DISCOVERED = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: "public",
};
const INITIALIZED = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "slow", version: "1" },
};

/** Reads nothing until the handshake has come; then answers both questions in this order. */
function slowServer(order: readonly ("server/discover" | "initialize")[], heard: string[]): MemoryServer {
  const ids = new Map<string, unknown>();
  return (connection) => ({
    onMessage({ id, method }): void {
      heard.push(String(method));
      ids.set(String(method), id);
      if (method !== "initialize") return;
      for (const each of order) {
        connection.send({
          jsonrpc: "2.0",
          id: ids.get(each),
          result: each === "initialize" ? INITIALIZED : DISCOVERED,
        });
      }
    },
  });
}

async function connect(order: readonly ("server/discover" | "initialize")[]) {
  const clock = new FakeClock();
  const heard: string[] = [];
  const warnings: string[] = [];
  const connecting = connectClient({
    dialer: memoryDialer(slowServer(order, heard)),
    clock,
    probeTimeoutMs: 3000,
    onWarning: (kind) => warnings.push(kind),
  });
  await clock.advance(3000);
  return { client: await connecting, heard, warnings };
}

test("a slow server's late answer to the probe decides when it comes before the one to initialize", async () => {
  const { client, heard, warnings } = await connect(["server/discover", "initialize"]);
  expect(client.facts).toMatchObject({ era: "modern", protocolVersion: "2026-07-28" });
  expect(heard).toEqual(["server/discover", "initialize"]);
  expect(warnings).toEqual([]);
});

test("an answer to the probe that comes after the one to initialize is ignored without a warning", async () => {
  const { client, heard, warnings } = await connect(["initialize", "server/discover"]);
  expect(client.facts).toMatchObject({ era: "legacy", protocolVersion: "2025-11-25" });
  expect(heard).toEqual(["server/discover", "initialize", "notifications/initialized"]);
  expect(warnings).toEqual([]);
});
