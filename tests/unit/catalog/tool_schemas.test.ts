import { describe, expect, it } from "vitest";
import {
  buildCatalog,
  type BuiltCatalog,
  type CatalogEntry,
  type CatalogOptions,
} from "../../../src/catalog/catalog.ts";
import { toolDefinitions } from "../../../src/catalog/formats.ts";
import { listTools } from "../../../src/catalog/listing.ts";
import { server, source, view } from "./tools.ts";

const DRAFT_04 = "http://json-schema.org/draft-04/schema#";
const DRAFT_07 = "http://json-schema.org/draft-07/schema#";
const BAD_PATTERN = "(a+)+$";

const built = (tools: readonly object[], options?: CatalogOptions): Promise<BuiltCatalog> =>
  buildCatalog("s", tools.map((tool, at) => ({ name: `t${at}`, inputSchema: {}, ...tool })), options);

async function entryOf(tool: object): Promise<CatalogEntry> {
  const { catalog, rejected } = await built([tool]);
  expect(rejected).toEqual([]);
  return catalog.byName("t0")!;
}

describe("input schemas of servers", () => {
  it.each([
    [{}],
    [{ properties: {} }],
    [{ type: "object" }],
    [{ anyOf: [{ required: ["a"] }, { required: ["b"] }] }],
    [{ $ref: "#/$defs/args", $defs: { args: { type: "object" } } }],
    [{ $schema: DRAFT_07, definitions: { a: {} }, properties: { a: { $ref: "#/definitions/a" } } }],
    [{ properties: { n: { minimum: 1, exclusiveMinimum: true } } }],
    [{ $schema: DRAFT_04, properties: { n: { minimum: 1, exclusiveMinimum: true } } }],
    [{ $schema: "https://x.test/meta", properties: { n: { enum: [] } } }],
    [{ "x-unknown": { $ref: 7 }, unknownToo: [{ type: "any" }] }],
    [JSON.parse('{"__proto__":{"type":"string"}}')],
  ])("FR-49 FR-50 tool with the schema %j is used, and its schema handed out as it came", async (inputSchema) => {
    const { catalog, rejected } = await built([{ inputSchema }]);
    expect(rejected).toEqual([]);
    const listed = listTools(view([source("global", server("s", { catalog }))]));
    const [shown] = toolDefinitions(listed, "mcp");
    expect(shown!.inputSchema).toEqual({ ...inputSchema, type: "object" });
    expect(catalog.byName("t0")!.checkArguments({ a: 1, n: 2 })).toEqual({ valid: true });
  });

  it.each([
    [{ $ref: "http://127.0.0.1:9/s.json" }, 'inputSchema refers to "http://127.0.0.1:9/s.json", which is not in it'],
    [{ $ref: "#" }, "inputSchema has a reference that comes back to itself"],
    [
      { properties: Object.fromEntries(Array.from({ length: 2100 }, (_, at) => [at, {}])) },
      "has more than 2000 subschemas",
    ],
  ])("A-34 A-35 tool with an input schema that cannot be used is rejected alone", async (inputSchema, why) => {
    const { catalog, rejected } = await built([{ inputSchema }, {}]);
    expect(rejected).toEqual([{ tool: "t0", why: expect.stringContaining(why) }]);
    expect([...catalog.entries()].map(({ name }) => name)).toEqual(["t1"]);
  });

  it("tools whose schemas together cost too much are rejected from there on", async () => {
    const inputSchema = { properties: { a: {}, b: {}, c: { pattern: "^abcdef$" } } };
    const { catalog, rejected } = await built(Array.from({ length: 5 }, () => ({ inputSchema })), {
      maxSchemaEffort: 25,
    });
    expect(catalog.size).toBe(3);
    const why = "the schemas of the tools before it take up what a server may have of them";
    expect(rejected).toEqual([{ tool: "t3", why }, { tool: "t4", why }]);
  });
});

describe("concerns", () => {
  it("output schema that cannot be used is a concern, and its tool is used", async () => {
    const { catalog, rejected, concerns } = await built([{ outputSchema: { $ref: "other.json" } }]);
    expect(rejected).toEqual([]);
    expect(concerns).toEqual([{
      tool: "t0",
      rule: "output_schema_unusable",
      count: 1,
      detail: 'outputSchema refers to "other.json", which is not in it',
    }]);
    expect(catalog.byName("t0")!.checkStructured({})).toBeUndefined();
  });

  it.each([false, true, [], "x", 5])(
    "output schema that is %j is a concern, and its tool is used without it",
    async (outputSchema) => {
      const { catalog, rejected, concerns } = await built([{ outputSchema }]);
      expect(rejected).toEqual([]);
      const detail = "outputSchema is not an object";
      expect(concerns).toEqual([{ tool: "t0", rule: "output_schema_unusable", count: 1, detail }]);
      expect("outputSchema" in catalog.byName("t0")!.definition).toBe(false);
      expect(catalog.byName("t0")!.checkStructured({})).toBeUndefined();
    },
  );

  it("FR-49 dialects that are not understood are one concern of the tool, which is used", async () => {
    const { rejected, concerns } = await built([{
      inputSchema: { $schema: DRAFT_04 },
      outputSchema: { $schema: "x" },
    }]);
    expect(rejected).toEqual([]);
    expect(concerns).toEqual([{
      tool: "t0",
      rule: "schema_dialect_unknown",
      count: 2,
      detail: `inputSchema is of the dialect "${DRAFT_04}", read as draft-07; ` +
        'outputSchema is of the dialect "x", wanted 2020-12 or draft-07 alone: values are not checked',
    }]);
  });

  it("what is not checked of both schemas is one concern of the tool", async () => {
    const { concerns } = await built([
      { inputSchema: { properties: { a: { pattern: BAD_PATTERN } } }, outputSchema: { type: "thing" } },
      {},
    ]);
    expect(concerns).toEqual([{
      tool: "t0",
      rule: "schema_partly_checked",
      count: 2,
      detail: "inputSchema/properties/a/pattern, outputSchema/type",
    }]);
  });
});

describe("checks of one tool", () => {
  it("arguments and structured content are held against their own schemas", async () => {
    const entry = await entryOf({
      inputSchema: { properties: { a: { type: "string" } }, required: ["a"] },
      outputSchema: { type: "array", items: { type: "number" } },
    });
    expect(entry.checkArguments({ a: "x" })).toEqual({ valid: true });
    expect(entry.checkArguments({}).valid).toBe(false);
    expect(entry.checkStructured([1])).toEqual({ valid: true });
    expect(entry.checkStructured(undefined)?.valid).toBe(false);
    expect((await entryOf({})).checkStructured("anything")).toBeUndefined();
  });

  it("many tools are checked right, whichever validators are kept", async () => {
    const tools = Array.from({ length: 60 }, (_, at) => ({
      inputSchema: {
        properties: Object.fromEntries(Array.from({ length: 1500 }, (_, key) => [`k${key}`, { const: at }])),
      },
    }));
    const { catalog, rejected } = await built(tools);
    expect(rejected).toEqual([]);
    for (let round = 0; round < 2; round++) {
      for (let at = 0; at < tools.length; at += 7) {
        const entry = catalog.byName(`t${at}`)!;
        expect([entry.checkArguments({ k7: at }).valid, entry.checkArguments({ k7: at + 1 }).valid]).toEqual([
          true,
          false,
        ]);
      }
    }
  });
});
