import { describe, expect, it } from "vitest";
import { createLocalTools, type LocalTool } from "../../../src/catalog/local_tool.ts";

const tool = (changes: Record<string, unknown> = {}): LocalTool => ({
  name: "read_file",
  risk: "read",
  inputSchema: { type: "object" },
  run: () => "text",
  ...changes,
} as LocalTool);

describe("local tools", () => {
  it.each([
    "read_file",
    "a",
    "A-9_",
    "mcp-x",
    "mcp_x",
    "localize",
    "local_x",
    "constructor",
    "__proto__",
    "x".repeat(57),
  ])(
    "takes the name %s",
    (name) => {
      expect([...createLocalTools([tool({ name })]).keys()]).toEqual([name]);
    },
  );

  it.each<[string, Record<string, unknown>, string]>([
    ["an empty name", { name: "" }, "ERR_CONFIG"],
    ["a name with a dot", { name: "fs.read" }, "ERR_CONFIG"],
    ["a full name", { name: "mcp.fs.read_file" }, "ERR_CONFIG"],
    ["a name with é", { name: "é" }, "ERR_CONFIG"],
    ["a name with a newline at its end", { name: "read\n" }, "ERR_CONFIG"],
    ["a name whose exact spelling would pass 64 characters", { name: "x".repeat(58) }, "ERR_CONFIG"],
    ["no name", { name: undefined }, "ERR_CONFIG"],
    ["mcp", { name: "mcp" }, "ERR_NAME_COLLISION"],
    ["local", { name: "local" }, "ERR_NAME_COLLISION"],
    ["an alias of an MCP tool", { name: "mcp__fs__read_file" }, "ERR_NAME_COLLISION"],
    ["an exact spelling of another", { name: "local__read_file" }, "ERR_NAME_COLLISION"],
    ["a risk there is not", { risk: "none" }, "ERR_CONFIG"],
    ["a risk from the prototype", { risk: "constructor" }, "ERR_CONFIG"],
    ["no risk", { risk: undefined }, "ERR_CONFIG"],
    ["nothing to run", { run: undefined }, "ERR_CONFIG"],
    ["no schema", { inputSchema: undefined }, "ERR_CONFIG"],
    ["a schema of a list", { inputSchema: { type: "array" } }, "ERR_CONFIG"],
    ["a schema that cannot be used", { inputSchema: { $ref: "https://elsewhere.test/x.json" } }, "ERR_CONFIG"],
    ["a schema without an end", { inputSchema: { $ref: "#" } }, "ERR_CONFIG"],
    ["a title that is no text", { title: 1 }, "ERR_CONFIG"],
    ["a description that is no text", { description: 1 }, "ERR_CONFIG"],
  ])("refuses %s", (_what, changes, code) => {
    expect(() => createLocalTools([tool(changes)])).toThrowError(expect.objectContaining({ code }));
  });

  it("refuses two tools of one name", () => {
    expect(() => createLocalTools([tool(), tool()])).toThrowError(
      expect.objectContaining({ code: "ERR_NAME_COLLISION" }),
    );
  });

  it("takes a schema without a type, and keeps what it was given of a tool", () => {
    const given = tool({ title: "Read", description: "Reads", inputSchema: {} });
    const kept = createLocalTools([given]).get("read_file")!;
    expect(kept).toEqual({ ...given, run: expect.any(Function), checkArguments: expect.any(Function) });
  });

  it("holds a copy whose risk nobody can change, and runs with the receiver it was given", async () => {
    class Reader {
      name = "read_file";
      risk = "write" as const;
      inputSchema = {};
      text = "from the instance";
      run(): string {
        return this.text;
      }
    }
    const given = new Reader();
    const kept = createLocalTools([given]).get("read_file")!;
    Object.assign(given, { risk: "read", name: "other" });
    expect([kept.name, kept.risk]).toEqual(["read_file", "write"]);
    expect(() => Object.assign(kept, { risk: "read" })).toThrow(TypeError);
    expect(await kept.run({}, { signal: new AbortController().signal, toolCallId: "tc_1" })).toBe("from the instance");
  });
});
