/** The same call through a whole host: name, gate with one allow rule, events in a log in memory, scrubbed output. */
import { createHost } from "../../mod.ts";
import { type Caller, LEGACY_VERSION, MODERN_VERSION, type Target } from "../contestant.ts";
import { runtimeHere } from "../runtime_here.ts";

export async function open({ transport, era, script, url }: Target): Promise<Caller> {
  const host = await createHost({
    runtime: await runtimeHere(),
    servers: [{
      name: "echo",
      transport: transport === "stdio" ? { type: "stdio", command: "node", args: [script] } : { type: "http", url },
      protocol: { pin: era === "modern" ? MODERN_VERSION : LEGACY_VERSION },
      required: true,
    }],
    permission: { rules: [{ tool: "mcp.echo.echo", decision: "allow" }] },
    onError: (error) => console.error(error),
  });
  const session = await host.session({ id: "bench" });
  return {
    async call(message) {
      const outcome = await session.tool("mcp.echo.echo", { message });
      if (outcome.status !== "completed") throw new Error(`Call ended as ${outcome.status}`, { cause: outcome.error });
      return outcome.output;
    },
    close: () => host.close(),
  };
}
