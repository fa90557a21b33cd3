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
    expect((await session.tool("mcp__echo__good", { b: "x" })).output).toBe('{"b":"x"}');
    const unknown = await session.tool(`mcp.echo.leak_${SECRET}`);
    expect(unknown.error).toMatchObject({ code: "ERR_TOOL_NOT_FOUND" });
    const rejected = (await host.readEvents()).filter(({ type }) => type === "mcp.tool.rejected");
    expect(rejected.map(({ payload }) => payload["why"])).toEqual(["its name holds a secret of this host"]);
    expect(JSON.stringify([unknown, await host.readEvents()])).not.toContain(SECRET);
    await host.close();
  });

  it("keep from the wire to the format of MCP whatever a server says of them: icons, annotations, unknown members", async () => {
    const rich = {
      name: "rich",
      title: "Rich",
      description: "Has it all",
      icons: [{ src: "https://icons.test/a.png", mimeType: "image/png", sizes: ["48x48", "any"], theme: "dark", x: 1 }],
      inputSchema: {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: { a: { $ref: "#/$defs/a", "x-mcp-header": "A" } },
        $defs: { a: { $anchor: "a", type: "string" } },
        "x-unknown": [{ b: null }],
      },
      outputSchema: { type: "object", unevaluatedProperties: false },
      annotations: { title: "Hint", readOnlyHint: false, futureHint: { deep: [1, null, true] } },
      execution: { taskSupport: "optional" },
      _meta: { "com.example/ui": { resourceUri: "ui://x" }, plain: 0 },
      futureMember: { deep: [{ a: null }] },
      zero: 0,
      empty: null,
    };
    const host = await createHost({
      runtime: echoing([rich, { ...rich, name: "secret", icons: [{ src: `https://icons.test/${SECRET}` }] }]),
      servers: [{ name: "echo", command: "echo", env: { API_KEY: SECRET } }],
    });
    await host.ready();
    const session = await host.session();
    const [shown, secret] = session.toolDefinitions({ format: "mcp" });
    expect(shown).toEqual({ ...rich, name: "mcp__echo__rich" });
    expect(JSON.stringify(secret)).not.toContain(SECRET);
    expect(secret).toEqual({ ...rich, name: "mcp__echo__secret", icons: [expect.anything()] });
    for (const format of ["openai", "anthropic", "ai-sdk"] as const) {
      expect(JSON.stringify(session.toolDefinitions({ format }))).not.toMatch(/icons|_meta|futureMember/);
    }
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
