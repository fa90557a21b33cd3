import { describe, expect, it } from "vitest";
import { buildCatalog, type CatalogEntry } from "../../../src/catalog/catalog.ts";
import { passesFilter } from "../../../src/catalog/filter.ts";
import { aliasTail } from "../../../src/catalog/names.ts";
import { catalogOf, definition } from "./tools.ts";

const names = (entries: Iterable<CatalogEntry>): string[] => [...entries].map(({ name }) => name);

describe("catalog", () => {
  it("finds a tool by its own name and by the tail of its alias, and gives both spellings", async () => {
    const catalog = await catalogOf("fs", "read_text", "a/b");
    const entry = catalog.byName("a/b")!;
    expect([entry.server, entry.name, entry.qualified]).toEqual(["fs", "a/b", "mcp.fs.a/b"]);
    expect(entry.alias).toBe(`mcp__fs__${await aliasTail("fs", "a/b")}`);
    expect(catalog.byAliasTail(entry.alias.slice("mcp__fs__".length))).toBe(entry);
    expect(catalog.byAliasTail("read_text")).toBe(catalog.byName("read_text"));
    expect(catalog.byAliasTail("a/b")).toBeUndefined();
    expect(catalog.byAliasTail("a_b")).toBeUndefined();
  });

  it("resolves an alias to one tool only, also where a name ends like a hash suffix", async () => {
    const tail = await aliasTail("fs", "a/b");
    const catalog = await catalogOf("fs", tail, "a/b");
    expect(catalog.byAliasTail(tail)!.name).toBe("a/b");
    expect(catalog.byName(tail)!.alias).not.toBe(`mcp__fs__${tail}`);
  });

  it("keeps the order of the server", async () => {
    expect(names((await catalogOf("fs", "b", "a/x", "a")).entries())).toEqual(["b", "a/x", "a"]);
  });

  it("FR-46 knows no name that nobody listed, whatever objects inherit", async () => {
    const empty = await catalogOf("fs");
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty", ""]) {
      expect([empty.byName(name), empty.byAliasTail(name), await empty.fingerprint(name)]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
    }
  });

  it("FR-46 takes names of prototypes and foreign characters as names like others", async () => {
    const tools = ["__proto__", "constructor", "a.b", "a/b", "a b", "é", "x".repeat(200)];
    const catalog = await catalogOf("fs", ...tools);
    expect(names(catalog.entries())).toEqual(tools);
    const aliases = [...catalog.entries()].map(({ alias }) => alias);
    expect(new Set(aliases).size).toBe(tools.length);
    for (const alias of aliases) expect(alias).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  it("FR-47 keeps the first of two tools of one name and reports the second", async () => {
    const { catalog, rejected } = await buildCatalog("mail", [
      { ...definition("send_email"), description: "first" },
      { ...definition("send_email"), description: "second" },
      definition("list"),
    ]);
    expect(catalog.byName("send_email")!.definition.description).toBe("first");
    expect(rejected).toEqual([{ tool: "send_email", why: "a tool of the same name comes before it" }]);
    expect(catalog.size).toBe(2);
  });

  it("A-69 rejects unusable names one by one and keeps the rest", async () => {
    const tools = [
      "fs.read",
      "mcp.fs.read_file",
      "read_file",
      "read_file",
      "a__b",
      "",
      "x".repeat(10_000),
      "a/b",
      "a\nb",
    ];
    const { catalog, rejected } = await buildCatalog("fs", tools.map(definition));
    expect(names(catalog.entries())).toEqual(["fs.read", "mcp.fs.read_file", "read_file", "a__b", "a/b"]);
    expect(rejected).toEqual([
      { tool: "read_file", why: "a tool of the same name comes before it" },
      { tool: "", why: "the name is empty, wanted 1 to 256 characters" },
      { tool: "x".repeat(128), why: "the name has 10000 characters, wanted at most 256" },
      { tool: "a\ufffdb", why: "the name contains U+000A, wanted printable characters only" },
    ]);
  });

  it.each<[string, unknown, string]>([
    ["null", null, "the definition is not an object"],
    ["a list", [definition("a")], "the definition is not an object"],
    ["a text", "a", "the definition is not an object"],
    ["no name", { inputSchema: { type: "object" } }, "the name is undefined, wanted a string"],
    ["a name that is no text", { name: { toString: "x" }, inputSchema: {} }, "the name is object, wanted a string"],
    ["no schema", { name: "a" }, "inputSchema is not an object"],
    ["a schema that is true", { name: "a", inputSchema: true }, "inputSchema is not an object"],
    ["a schema that is a list", { name: "a", inputSchema: [] }, "inputSchema is not an object"],
    [
      "a schema of a text",
      { name: "a", inputSchema: { type: "string" } },
      `inputSchema does not have the type "object" at its root`,
    ],
    [
      "a schema of an object or nothing",
      { name: "a", inputSchema: { type: ["object", "null"] } },
      `inputSchema does not have the type "object" at its root`,
    ],
    ["a description that is no text", { ...definition("a"), description: 7 }, "description is not a string"],
    ["a title that is no text", { ...definition("a"), title: {} }, "title is not a string"],
    ["annotations that are a text", { ...definition("a"), annotations: "x" }, "annotations is not an object"],
    ["a big integer", { ...definition("a"), x: 1n }, "the definition is not JSON"],
  ])("rejects %s", async (_what, value, why) => {
    const { catalog, rejected } = await buildCatalog("fs", [value, definition("good")]);
    expect(rejected.map((each) => each.why)).toEqual([why]);
    expect(names(catalog.entries())).toEqual(["good"]);
  });

  it("takes members that are null as absent, and keeps those it does not know (C-SCHEMA-07)", async () => {
    const { catalog, rejected } = await buildCatalog("fs", [
      {
        ...definition("a"),
        title: null,
        description: null,
        outputSchema: null,
        annotations: null,
        icons: [{ src: "https://x.test/i.png" }],
        _meta: null,
      },
    ]);
    expect(rejected).toEqual([]);
    expect(catalog.byName("a")!.definition).toEqual({
      ...definition("a"),
      icons: [{ src: "https://x.test/i.png" }],
      _meta: null,
    });
  });

  it("rejects a definition that is nested without end or very deeply", async () => {
    const cycle: Record<string, unknown> = { type: "object" };
    cycle["self"] = cycle;
    const deep = (levels: number): unknown => JSON.parse(`${`{"a":`.repeat(levels)}1${"}".repeat(levels)}`);
    const { rejected, catalog } = await buildCatalog("fs", [
      { name: "cycle", inputSchema: cycle },
      { name: "deep", inputSchema: { type: "object", x: deep(100) } },
      { name: "bottomless", inputSchema: { type: "object", x: deep(10_000) } },
      { name: "steep", inputSchema: { type: "object", x: deep(50) } },
    ], { maxDefinitionBytes: 1024 * 1024 });
    expect(rejected.map(({ tool }) => tool)).toEqual(["cycle", "deep", "bottomless"]);
    expect(names(catalog.entries())).toEqual(["steep"]);
  });

  it.each([
    ["just fits", "a".repeat(200), 0, 0],
    ["is one byte too long", "a".repeat(200), -1, 1],
    ["fits in characters and not in bytes", "é".repeat(200), -1, 1],
    ["fits in bytes", "é".repeat(200), 0, 0],
  ])("counts a definition that %s", async (_what, description, slack, rejections) => {
    const tool = { ...definition("a"), description };
    const maxDefinitionBytes = new TextEncoder().encode(JSON.stringify(tool)).byteLength + slack;
    const { rejected } = await buildCatalog("fs", [tool], { maxDefinitionBytes });
    expect(rejected).toHaveLength(rejections);
  });

  it("A-28 cuts the list at its cap and refuses huge definitions", async () => {
    const huge = { ...definition("huge"), description: "x".repeat(5 * 1024 * 1024) };
    const many = Array.from({ length: 50_000 }, (_, at) => definition(`t${at}`));
    const { catalog, rejected } = await buildCatalog("fs", [huge, ...many]);
    expect(catalog.size).toBe(1000);
    expect(rejected[0]).toEqual({ tool: "huge", why: "the definition has more than 65536 bytes" });
    expect(rejected[1]).toEqual({ tool: "t1000", why: "the server has more than 1000 tools" });
    expect(rejected.at(-1)).toEqual({ tool: "", why: "48001 more definitions are not used" });
    expect(rejected).toHaveLength(1001);
  });

  it("holds a copy that nobody can change", async () => {
    const sent = {
      ...definition("a"),
      description: "before",
      inputSchema: { type: "object", properties: { x: {} as object } },
    };
    const { catalog } = await buildCatalog("fs", [sent]);
    sent.description = "after";
    sent.inputSchema.properties.x = { type: "string" };
    const kept = catalog.byName("a")!.definition;
    expect([kept.description, kept.inputSchema]).toEqual(["before", { type: "object", properties: { x: {} } }]);
    expect(() => Object.assign(kept.inputSchema, { type: "string" })).toThrow(TypeError);
    expect(() => Object.assign((kept.inputSchema["properties"] as { x: object }).x, { y: 1 })).toThrow(TypeError);
  });

  it("A-30 keeps members of prototypes as members and poisons nothing", async () => {
    const sent = JSON.parse(
      `{"name":"a","inputSchema":{"type":"object"},"__proto__":{"polluted":1},"constructor":{"prototype":{"p2":1}}}`,
    );
    const { catalog } = await buildCatalog("fs", [sent]);
    const kept = catalog.byName("a")!.definition;
    expect(Object.hasOwn(kept, "__proto__")).toBe(true);
    expect((kept as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});

describe("fingerprint", () => {
  const base = {
    name: "send",
    title: "Send",
    description: "Sends",
    inputSchema: { type: "object", properties: { to: { type: "string" } } },
    outputSchema: { type: "object" },
    annotations: { readOnlyHint: false },
  };
  const fingerprint = async (tool: Record<string, unknown>): Promise<string | undefined> =>
    (await buildCatalog("mail", [tool])).catalog.fingerprint(String(tool["name"]));

  it("is the same for equal definitions, whatever the order of their members", async () => {
    const turned = Object.fromEntries(Object.entries(base).reverse());
    expect(await fingerprint(turned)).toBe(await fingerprint(base));
    expect(await fingerprint(base)).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  it.each([
    ["description", { ...base, description: "Sends and copies" }],
    ["title", { ...base, title: "Send!" }],
    ["a field in the schema", {
      ...base,
      inputSchema: { type: "object", properties: { to: { type: "string" }, bcc: {} } },
    }],
    ["the output schema", { ...base, outputSchema: { type: "object", additionalProperties: false } }],
    ["an annotation", { ...base, annotations: { readOnlyHint: true } }],
    ["a member that is gone", { ...base, annotations: null }],
  ])("FR-69 changes with %s", async (_what, changed) => {
    expect(await fingerprint(changed)).not.toBe(await fingerprint(base));
  });

  it("does not change with what is no part of the contract", async () => {
    expect(await fingerprint({ ...base, icons: [], _meta: { x: 1 } })).toBe(await fingerprint(base));
  });

  it("is computed once", async () => {
    const { catalog } = await buildCatalog("mail", [base]);
    expect(catalog.fingerprint("send")).toBe(catalog.fingerprint("send"));
  });
});

describe("filter", () => {
  it.each<[readonly string[], readonly string[], string, boolean]>([
    [[], [], "read", true],
    [["read_*"], [], "read_text", true],
    [["read_*"], [], "write_text", false],
    [[], ["delete_*"], "delete_all", false],
    [["*"], ["*"], "read", false],
    [["read"], [], "reader", false],
    [["a.b"], [], "axb", false],
    [["__proto__"], [], "__proto__", true],
  ])("allow %j, deny %j: %s", (allow, deny, tool, passes) => {
    expect(passesFilter({ allow, deny }, [tool])).toBe(passes);
  });
});
