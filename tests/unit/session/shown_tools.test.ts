import { describe, expect, it } from "vitest";
import { createHost } from "../../../src/host.ts";
import { buildCatalog } from "../../../src/catalog/catalog.ts";
import { fakeRuntime } from "../../fixtures/fake_runtime.ts";

const SECRET = "key-0123456789";
const definition = {
  name: "good",
  title: `T ${SECRET}`,
  description: `D ${SECRET}`,
  inputSchema: { type: "object", properties: { a: { type: "string", pattern: SECRET, description: SECRET } } },
  outputSchema: { type: "object", title: SECRET },
  annotations: { title: SECRET },
};

/** A server that says of its tools what the test gives it. */
function echoing(tools: readonly object[]) {
  const runtime = fakeRuntime({ echo: { tools: [], call: (_name, args) => JSON.stringify(args) } });
  const spawn: NonNullable<typeof runtime.spawn> = async (plan, handlers) => {
    const child = await runtime.spawn!(plan, handlers);
    const write = child.write.bind(child);
    child.write = (text) => {
      const { id, method } = JSON.parse(text) as { id?: number; method?: string };
      if (method !== "tools/list") return write(text);
      const answer = JSON.stringify({ jsonrpc: "2.0", id, result: { tools } });
      handlers.onData(new TextEncoder().encode(`${answer}\n`));
    };
    return child;
  };
  return { ...runtime, spawn };
}

describe("the tools that a session shows", () => {
  it("hold no secret of the host, and are called by the same names", async () => {
    const host = await createHost({
      runtime: echoing([definition, { name: `leak_${SECRET}`, inputSchema: { type: "object" } }]),
      servers: [{ name: "echo", command: "echo", env: { API_KEY: SECRET } }],
      permission: { rules: [{ decision: "allow" }] },
    });
    await host.ready();
    const session = await host.session();
    expect(session.toolNames()).toEqual(["mcp__echo__good"]);
    for (const format of ["mcp", "openai", "anthropic", "ai-sdk"] as const) {
      const shown = JSON.stringify(session.toolDefinitions({ format }));
      expect(shown).not.toContain(SECRET);
      expect(shown).toContain("D [redacted:env.API_KEY#1]");
    }
    expect((await session.tool("mcp__echo__good", { a: "x" })).output).toBe('{"a":"x"}');
    const unknown = await session.tool(`mcp.echo.leak_${SECRET}`);
    expect(unknown.error).toMatchObject({ code: "ERR_TOOL_NOT_FOUND" });
    const rejected = (await host.readEvents()).filter(({ type }) => type === "mcp.tool.rejected");
    expect(rejected.map(({ payload }) => payload["why"])).toEqual(["its name holds a secret of this host"]);
    expect(JSON.stringify([unknown, await host.readEvents()])).not.toContain(SECRET);
    await host.close();
  });

  it("leave out a tool in whose name a secret turns up later, and its fingerprint stays on what the server sent", async () => {
    const host = await createHost({
      runtime: echoing([definition, { name: `leak_${SECRET}`, inputSchema: { type: "object" } }]),
      servers: [{ name: "echo", command: "echo" }],
    });
    await host.ready();
    const session = await host.session();
    expect(session.toolNames()).toHaveLength(2);
    await session.addMcp({ name: "more", command: "echo", env: { API_KEY: SECRET }, enabled: false });
    expect(session.toolNames()).toEqual(["mcp__echo__good"]);
    const { catalog } = await buildCatalog("echo", [definition]);
    expect(catalog.byName("good")!.definition["title"]).toBe(`T ${SECRET}`);
    await host.close();
  });

  it("are refused in an unknown format, which is named", async () => {
    const host = await createHost({ runtime: echoing([]) });
    const session = await host.session();
    expect(() => session.toolDefinitions({ format: "gemini" as never })).toThrow(
      'Cannot define tools in format "gemini", wanted one of mcp, openai, anthropic, ai-sdk',
    );
    await host.close();
  });
});
