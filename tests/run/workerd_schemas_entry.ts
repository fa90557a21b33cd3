import { workerdRuntime } from "../../runtimes/workerd/mod.ts";
import { createHost } from "../../src/host.ts";
import type { Outcome } from "../../src/call/outcome.ts";
import { hostileFetch } from "../fixtures/hostile_fetch.ts";

const TOOLS = [{
  name: "run",
  inputSchema: { type: "object", properties: { n: { type: "integer", minimum: 1 } }, required: ["n"] },
  outputSchema: {
    $defs: { row: { type: "object", properties: { id: { type: "string", pattern: "^[a-z]+$" } }, required: ["id"] } },
    type: "object",
    properties: { rows: { type: "array", items: { $ref: "#/$defs/row" } } },
    unevaluatedProperties: false,
  },
}];

/** What became of making code out of a text. */
function codeFromText(): string {
  try {
    return String(new Function("return 7")());
  } catch (error) {
    return (error as Error).name;
  }
}

/** Answers with what a host found whose server has a tool with both schemas, and with whether code can be made here. */
export default {
  async fetch(): Promise<Response> {
    let calls = 0;
    const fetch = hostileFetch(({ id, method, params }) => {
      if (method !== "tools/call") return undefined;
      calls++;
      const { rows } = params["arguments"] as { rows: unknown };
      const result = { resultType: "complete", content: [], structuredContent: { rows } };
      return Response.json({ jsonrpc: "2.0", id, result });
    }, TOOLS);
    const host = await createHost({
      runtime: { ...workerdRuntime(), fetch },
      servers: [{ name: "s", url: "https://mcp.test/mcp", required: true }],
      permission: { rules: [{ decision: "allow" }] },
    });
    try {
      const session = await host.session();
      const shown = ({ status, error, findings }: Outcome): object => ({
        status,
        reason: error?.reason,
        rules: findings.map(({ rule }) => rule),
      });
      return Response.json({
        codeFromText: codeFromText(),
        tools: session.toolNames(),
        good: shown(await session.tool("mcp.s.run", { n: 1, rows: [{ id: "a" }] })),
        wrongResult: shown(await session.tool("mcp.s.run", { n: 1, rows: [{ id: "A" }] })),
        wrongArguments: shown(await session.tool("mcp.s.run", { n: 0, rows: [] })),
        calls,
      });
    } finally {
      await host.close();
    }
  },
};
