import { describe, expect, it } from "vitest";
import { buildCatalog } from "../../../src/catalog/catalog.ts";
import { toolDefinitions, type ToolFormat } from "../../../src/catalog/formats.ts";
import { type ListedTool, listTools } from "../../../src/catalog/listing.ts";
import { createLocalTools } from "../../../src/catalog/local_tool.ts";
import { resolveTool } from "../../../src/catalog/router.ts";
import type { RouterView } from "../../../src/catalog/router_view.ts";
import { server, source } from "./tools.ts";

const schema = { type: "object", properties: { path: { $ref: "#/$defs/path" } }, $defs: { path: { type: "string" } } };

async function session(): Promise<RouterView> {
  const { catalog } = await buildCatalog("fs", [
    {
      name: "read_file",
      title: "Read",
      description: "Reads",
      inputSchema: schema,
      outputSchema: { type: "object" },
      annotations: { readOnlyHint: true },
    },
    { name: "a/b", inputSchema: { type: "object" } },
  ]);
  return {
    sources: [source("global", server("fs", { catalog }))],
    localTools: createLocalTools([
      { name: "read_file", risk: "read", inputSchema: {}, run: () => "" },
      { name: "shell", description: "Runs", risk: "execute", inputSchema: { type: "object" }, run: () => "" },
    ]),
  };
}

describe("tool definitions", () => {
  it("are listed under names that resolve to them, bare only where that is exact", async () => {
    const where = await session();
    const tools = [...listTools(where)];
    expect(tools.map(({ qualified }) => qualified)).toEqual([
      "local.read_file",
      "shell",
      "mcp.fs.read_file",
      "mcp.fs.a/b",
    ]);
    expect(tools.map(({ alias }) => alias)).toEqual([
      "local__read_file",
      "shell",
      "mcp__fs__read_file",
      "mcp__fs__a_b_h1cx0kpbxa0",
    ]);
    for (const tool of tools) {
      for (const name of [tool.qualified, tool.alias]) {
        const found = resolveTool(name, where);
        expect(found.kind, name).toBe(tool.kind);
        if (found.kind === "mcp" && tool.kind === "mcp") expect(found.entry).toBe(tool.entry);
        if (found.kind === "local" && tool.kind === "local") expect(found.tool).toBe(tool.tool);
      }
    }
  });

  it("mcp", async () => {
    expect(toolDefinitions(listTools(await session()), "mcp")).toEqual([
      { name: "local__read_file", inputSchema: { type: "object" } },
      { name: "shell", description: "Runs", inputSchema: { type: "object" } },
      {
        name: "mcp__fs__read_file",
        title: "Read",
        description: "Reads",
        inputSchema: schema,
        outputSchema: { type: "object" },
        annotations: { readOnlyHint: true },
      },
      { name: "mcp__fs__a_b_h1cx0kpbxa0", inputSchema: { type: "object" } },
    ]);
  });

  it("openai", async () => {
    expect(toolDefinitions(listTools(await session()), "openai").slice(1, 3)).toEqual([
      { type: "function", function: { name: "shell", description: "Runs", parameters: { type: "object" } } },
      { type: "function", function: { name: "mcp__fs__read_file", description: "Reads", parameters: schema } },
    ]);
  });

  it("anthropic", async () => {
    expect(toolDefinitions(listTools(await session()), "anthropic").slice(0, 3)).toEqual([
      { name: "local__read_file", input_schema: { type: "object" } },
      { name: "shell", description: "Runs", input_schema: { type: "object" } },
      { name: "mcp__fs__read_file", description: "Reads", input_schema: schema },
    ]);
  });

  it("ai-sdk, as its own schemas", async () => {
    const tools = toolDefinitions(listTools(await session()), "ai-sdk");
    expect(Object.keys(tools)).toEqual(["local__read_file", "shell", "mcp__fs__read_file", "mcp__fs__a_b_h1cx0kpbxa0"]);
    const { description, inputSchema } = tools["mcp__fs__read_file"]!;
    expect([description, inputSchema.jsonSchema]).toEqual(["Reads", schema]);
    expect([Reflect.get(inputSchema, Symbol.for("vercel.ai.schema")), "validate" in inputSchema]).toEqual([true, true]);
  });

  it("carry a description that the caller puts in place of the server's", async () => {
    const describe = (tool: ListedTool): string | undefined =>
      tool.kind === "mcp" ? `[untrusted] ${tool.entry.definition.description ?? ""}` : undefined;
    const tools = toolDefinitions(listTools(await session()), "anthropic", { describe });
    expect(tools.map(({ description }) => description)).toEqual([
      undefined,
      undefined,
      "[untrusted] Reads",
      "[untrusted] ",
    ]);
  });

  it.each(["xml", "constructor", "__proto__"])("refuse the format %s", (format) => {
    expect(() => toolDefinitions([], format as ToolFormat)).toThrowError(
      expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS" }),
    );
  });
});
