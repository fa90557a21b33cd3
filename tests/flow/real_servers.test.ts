import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { afterAll, describe, expect, test } from "vitest";
import { createHost, type Host, memoryLog, type ServerConfigInput } from "../../mod.ts";
import { markedProcesses } from "../fixtures/marked_processes.ts";
import { runtimeHere } from "../run/adapter.ts";
import { otherServers, type RealServer, scratch, serversDirectory, startServers } from "./real_servers.ts";

const runtime = await runtimeHere();
const marker = `PORTCULLIS_FLOW_${process.pid}`;
const installed = existsSync(join(serversDirectory, "node_modules"));
if (!installed && process.env["PORTCULLIS_SERVERS"] === "required") {
  throw new Error("servers of the flow tests are not installed: run npm ci in tests/servers");
}
if (!installed) console.log("skipped: the further servers are not installed; run npm ci in tests/servers");
const servers = installed && runtime.name === "node" ? [...startServers, ...otherServers] : startServers;

/** Kits of several megabytes, many of them at once on a busy machine, take their time to load. */
const START_MS = 120_000;

const configOf = (server: RealServer): ServerConfigInput => ({
  name: server.name,
  transport: { type: "stdio", command: server.command, args: [...server.args], env: { ...server.env, [marker]: "1" } },
  startTimeoutMs: START_MS,
});

const hosts: Host[] = [];
afterAll(async () => {
  await Promise.all(hosts.map((host) => host.close()));
  rmSync(scratch, { recursive: true, force: true });
});

async function openHost(list: readonly RealServer[]): Promise<Host> {
  const host = await createHost({
    runtime,
    log: memoryLog(),
    servers: list.map(configOf),
    permission: { rules: [{ tool: "mcp.*", decision: "allow" }] },
    // Tools that call themselves destructive are asked about whatever a rule says.
    approve: () => Promise.resolve("allow"),
  });
  hosts.push(host);
  return host;
}

describe(`real servers on ${runtime.name} ${runtime.version}`, () => {
  for (const server of servers) {
    test(`${server.name} (${server.made}) is reached, lists and answers, and leaves nothing behind (C-STDIO-12)`, {
      timeout: START_MS + 60_000,
    }, async () => {
      const host = await openHost([server]);
      await host.ready({ timeoutMs: START_MS });
      const session = await host.session();
      const [status] = session.mcpStatus();
      const version =
        (JSON.parse(readFileSync(join(server.package, "package.json"), "utf8")) as { version: string }).version;
      console.log(`spoken to: ${server.name} ${version}, ${server.made}, protocol ${status?.version}`);
      expect(status).toMatchObject({
        state: "ready",
        connected: true,
        version: server.protocolVersion,
        toolCount: server.tools,
      });
      expect(session.toolNames({ spelling: "qualified" })).toHaveLength(server.tools);

      const { status: expected = "completed" } = server.call;
      const outcome = await session.tool(`mcp.${server.name}.${server.call.tool}`, server.call.args);
      expect(outcome).toMatchObject({ status: expected });
      expect(outcome.output).toMatch(server.call.text);
      const types = (await host.readEvents({ stream: `session:${session.id}`, after: 0 })).map((event) => event.type);
      expect(types).toEqual([
        "session.opened",
        "permission.requested",
        "permission.resolved",
        "mcp.call.started",
        "tool.started",
        `mcp.call.${expected}`,
        `tool.${expected}`,
      ]);
      await host.close();
      expect(markedProcesses(marker)).toEqual([]);
    });
  }

  test("all of them together share one host, and each answers", { timeout: START_MS + 60_000 }, async () => {
    const host = await openHost(servers);
    await host.ready({ timeoutMs: START_MS });
    const session = await host.session();
    const outcomes = await Promise.all(
      servers.map((server) => session.tool(`mcp.${server.name}.${server.call.tool}`, server.call.args)),
    );
    expect(outcomes.map((outcome) => outcome.status)).toEqual(servers.map(({ call }) => call.status ?? "completed"));
    await host.close();
    expect(markedProcesses(marker)).toEqual([]);
  });
});
