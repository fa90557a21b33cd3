// The smallest host: one server, one rule, one call.
import { createHost, memoryLog } from "../mod.ts";
import { nodeRuntime } from "../runtimes/node/mod.ts";

const host = await createHost({
  runtime: nodeRuntime(),
  log: memoryLog(),
  servers: [{
    name: "everything",
    transport: { type: "stdio", command: "node_modules/.bin/mcp-server-everything", args: ["stdio"] },
  }],
  permission: { rules: [{ tool: "mcp.everything.echo", decision: "allow" }] },
});
await host.ready();

const session = await host.session({ id: "minimal" });
const outcome = await session.tool("mcp__everything__echo", { message: "hi" });
console.log(outcome.status, outcome.output);

await host.close();
