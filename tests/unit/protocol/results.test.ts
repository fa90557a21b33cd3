import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { readCallResult, readDiscover, readInitialize, readToolPage } from "../../../src/protocol/results.ts";

describe("answer to initialize", () => {
  const good = {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "s", version: "1" },
    instructions: "Use me.",
  };

  test("is read, members that nobody knows kept in what they belong to", () => {
    const result = {
      ...good,
      extra: 1,
      capabilities: { tools: {}, odd: { x: 1 } },
      serverInfo: { name: "s", version: "1", title: "S", icons: [] },
    };
    expect(readInitialize(result)).toEqual({
      protocolVersion: "2025-11-25",
      capabilities: result.capabilities,
      serverInfo: result.serverInfo,
      instructions: "Use me.",
    });
  });

  const lenient: [claim: string, change: object, found: object][] = [
    ["no capabilities", { capabilities: undefined }, { capabilities: {} }],
    ["capabilities that are an array", { capabilities: [] }, { capabilities: {} }],
    ["capabilities that are a text", { capabilities: "tools" }, { capabilities: {} }],
    ["no server info", { serverInfo: undefined }, { serverInfo: undefined }],
    ["server info without a version", { serverInfo: { name: "s" } }, { serverInfo: undefined }],
    ["instructions that are no text", { instructions: 5 }, { instructions: undefined }],
    ["null for all of it", { capabilities: null, serverInfo: null, instructions: null }, {
      capabilities: {},
      serverInfo: undefined,
      instructions: undefined,
    }],
  ];
  test.each(lenient)("with %s is taken: nothing rests on it", (_claim, change, found) => {
    expect(readInitialize({ ...good, ...change })).toMatchObject({ protocolVersion: "2025-11-25", ...found });
  });

  test.each([undefined, null, 5, "x", [], {}, { protocolVersion: 20251125 }, { protocolVersion: null }])(
    "%j is none (FR-32)",
    (result) => {
      expect(readInitialize(result)).toBeUndefined();
    },
  );
});

describe("answer to server/discover", () => {
  test("is read, the server's name from its metadata", () => {
    const info = { name: "s", version: "1" };
    expect(
      readDiscover({
        supportedVersions: ["v"],
        capabilities: { tools: {} },
        _meta: { "io.modelcontextprotocol/serverInfo": info },
      }),
    ).toEqual({
      supportedVersions: ["v"],
      capabilities: { tools: {} },
      serverInfo: info,
      instructions: undefined,
    });
    expect(readDiscover({ supportedVersions: ["v"], _meta: 5, capabilities: 5 })).toMatchObject({
      serverInfo: undefined,
      capabilities: {},
    });
  });

  test.each([
    undefined,
    null,
    [],
    {},
    { supportedVersions: [] },
    { supportedVersions: "v" },
    { supportedVersions: [1] },
    { tools: [] },
  ])("%j is none", (result) => {
    expect(readDiscover(result)).toBeUndefined();
  });
});

describe("page of tools", () => {
  const tool = { name: "t", inputSchema: { type: "object" } };

  test("a schema that is true is one that takes everything, and false is none (FR-49)", () => {
    const page = readToolPage({ tools: [{ ...tool, inputSchema: true }, { ...tool, name: "f", inputSchema: false }] });
    expect(page?.tools).toEqual([{ ...tool, inputSchema: {} }]);
    expect(page?.malformed.map(({ name }) => name)).toEqual(["f"]);
  });

  test("keeps every usable entry as it came, and names the others", () => {
    const odd = { ...tool, name: "odd", annotations: { readOnlyHint: "yes" }, icons: [1], "x-y": null };
    const page = readToolPage({
      tools: [
        tool,
        5,
        null,
        {},
        { name: "no schema" },
        { name: "s", inputSchema: "x" },
        { name: 7, inputSchema: {} },
        odd,
      ],
    });
    expect(page?.tools).toEqual([tool, odd]);
    expect(page?.malformed.map(({ name }) => name)).toEqual([
      undefined,
      undefined,
      undefined,
      "no schema",
      "s",
      undefined,
    ]);
    for (const { why } of page?.malformed ?? []) expect(why).toMatch(/^.{5,300}$/);
  });

  test("takes null for an optional member as its absence: some servers write all they know", () => {
    const page = readToolPage({
      tools: [{ ...tool, title: null, description: null, outputSchema: null, annotations: null, _meta: null }],
    });
    expect(page).toMatchObject({ malformed: [], tools: [tool] });
    expect(page?.tools[0]).toEqual({ ...tool, _meta: null });
  });

  test("leaves out an optional member of a wrong type, and an empty list that PHP writes for an empty object", () => {
    const found = readToolPage({ tools: [{ ...tool, title: 5, description: {}, annotations: [], "x-y": [] }] });
    expect(found).toEqual({ malformed: [], tools: [{ ...tool, "x-y": [] }], nextCursor: undefined });
  });

  test("keeps an output schema of a wrong type for whoever says that it cannot be used", () => {
    const found = readToolPage({ tools: [{ ...tool, outputSchema: [] }, { ...tool, name: "f", outputSchema: false }] });
    expect(found?.malformed).toEqual([]);
    expect(found?.tools.map(({ outputSchema }) => outputSchema)).toEqual([[], false]);
  });

  test.each([["a name of 1,000 characters", { name: "n".repeat(1000), inputSchema: 5 }], ["a wall of text", {
    name: "x",
    inputSchema: "s".repeat(10_000),
  }]])(
    "says of %s only a little",
    (_claim, entry) => {
      const { malformed: [found] } = readToolPage({ tools: [entry] })!;
      expect([found!.name!.length <= 4096, found!.why.length <= 300]).toEqual([true, true]);
    },
  );

  const cursors: [cursor: unknown, found: string | undefined][] = [
    ["c", "c"],
    ["", ""],
    [undefined, undefined],
    [null, undefined],
    [5, undefined],
    [{}, undefined],
  ];
  test.each(cursors)("cursor %j is read as %j (C-PAGE-03, C-PAGE-04)", (nextCursor, found) => {
    expect(readToolPage({ tools: [], nextCursor })?.nextCursor).toBe(found);
  });

  test.each([{}, { tools: null }, { tools: {} }, { tools: "x" }])("%j is none", (result) => {
    expect(readToolPage(result as JsonObject)).toBeUndefined();
  });
});

describe("answer to tools/call (A-38)", () => {
  const text = { type: "text", text: "hi" };
  const taken: [claim: string, result: JsonObject][] = [
    ["text", { content: [text] }],
    ["nothing", { content: [] }],
    ["a failure", { content: [text], isError: true }],
    ["a block of an unknown type", { content: [{ type: "hologram", data: 5 }] }],
    ["a block whose members are wrong", { content: [{ type: "image", data: 5 }, { type: "text" }] }],
    ["structured content of any kind (C-TOOL-07)", { content: [], structuredContent: null }],
    ["members that nobody knows", { content: [], extra: 1, resultType: "complete", _meta: { a: 1 } }],
  ];
  test.each(taken)("with %s is taken as it is", (_claim, result) => {
    expect(readCallResult(result)).toBe(result);
  });

  test("with structured content alone gets an empty list", () => {
    const result = { structuredContent: { a: 1 }, _meta: { b: 1 } };
    expect(readCallResult(result)).toEqual({ ...result, content: [] });
    expect(result).not.toHaveProperty("content");
  });

  const refused: [claim: string, result: JsonObject][] = [
    ["nothing at all", {}],
    ["content null", { content: null, structuredContent: {} }],
    ["content that is a text", { content: "hi" }],
    ["content that is an object", { content: text }],
    ["a block that is a text", { content: ["hi"] }],
    ["a block that is null", { content: [null] }],
    ["a block without a type", { content: [{ text: "hi" }] }],
    ["a block whose type is a number", { content: [{ type: 1 }] }],
    ["isError as a text", { content: [], isError: "true" }],
  ];
  test.each(refused)("with %s is none", (_claim, result) => {
    expect(readCallResult(result)).toBeUndefined();
  });
});
