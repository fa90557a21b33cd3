import { createHost, memoryLog, type ServerConfigInput } from "../../mod.ts";
import { type Clock, systemClock } from "../../src/kernel/clock.ts";
import { countingIds } from "../../src/kernel/ids.ts";
import type { Runtime } from "../../src/kernel/runtime.ts";

/** Time stands still, so that events carry the same numbers everywhere; timers run as they do. */
const stillClock: Clock = {
  now: () => 1764500000000,
  monotonic: () => 0,
  after: (delayMs, run) => systemClock.after(delayMs, run),
};

/** However busy the machine is, the start does not take another way. */
const PATIENT = { startTimeoutMs: 60_000, probeTimeoutMs: 60_000 };

/** The name that the HTTP fixture goes by, whatever its port. */
export const GOLDEN_URL = "http://golden.test/mcp";

/**
 * One governed conversation with one of the fixture servers, as the bytes of its event log: one JSON text a line, the
 * host's stream first. Only clock and ids are injected; the server is real, and so is the connection.
 */
export async function goldenChain(
  runtime: Runtime,
  transport: NonNullable<ServerConfigInput["transport"]>,
): Promise<string> {
  const host = await createHost({
    runtime,
    clock: stillClock,
    ids: countingIds(),
    name: "golden",
    log: memoryLog(),
    servers: [{ name: "fixture", transport, ...PATIENT }],
    localTools: [{
      name: "shout",
      risk: "read",
      inputSchema: { type: "object" },
      run: (args) => Promise.resolve(String(args["text"]).toUpperCase()),
    }],
    permission: {
      rules: [
        { tool: "mcp.fixture.*", decision: "allow" },
        { tool: "mcp.fixture.add", decision: "deny" },
      ],
    },
  });
  try {
    await host.ready();
    const session = await host.session({ id: "s_1" });
    await session.tool("mcp.fixture.echo", { message: "hello" });
    await session.tool("mcp__fixture__echo", { message: "grüße 世界" });
    await session.tool("mcp.fixture.fail", {});
    await session.tool("mcp.fixture.rpc_error", {});
    await session.tool("mcp.fixture.add", { a: 1, b: 2 });
    await session.tool("mcp.fixture.big", { bytes: 20_000 });
    await session.tool("echo", { message: "bare" });
    await session.tool("mcp.fixture.nothing", {});
    await session.tool("shout", { text: "quiet" });
    await session.close();
    const lines: string[] = [];
    for (const stream of ["host:golden", "session:s_1"]) {
      for (const event of await host.readEvents({ stream, after: 0 })) lines.push(JSON.stringify(event));
    }
    return lines.join("\n") + "\n";
  } finally {
    await host.close();
  }
}
