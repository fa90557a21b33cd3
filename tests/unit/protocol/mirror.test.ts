import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HeaderMirror } from "../../../src/protocol/mirror.ts";
import type { JsonObject, Tool } from "../../../src/protocol/model.ts";

const toolOf = (properties: JsonObject, more: JsonObject = {}, name = "t"): Tool => ({
  name,
  inputSchema: { type: "object", properties, ...more },
});
const annotated = (header: unknown, type: unknown = "string"): JsonObject => ({ type, "x-mcp-header": header });

/** The headers of a call of `t`, whose tool must have been kept. */
function headers(tool: Tool, args: unknown): Record<string, string> {
  const mirror = new HeaderMirror();
  expect(mirror.sift([tool])).toEqual({ tools: [tool], malformed: [] });
  return mirror.headersOf({ name: "t", arguments: args });
}

describe("annotations of a list", () => {
  const faulty: [claim: string, properties: JsonObject, more?: JsonObject][] = [
    ["an empty name: C-HDR-02", { a: annotated("") }],
    ["a name with a space: C-HDR-03", { a: annotated("My Region") }],
    ["a name with a colon: C-HDR-03", { a: annotated("a:b") }],
    ["a name that is not ASCII: C-HDR-03", { a: annotated("Région") }],
    ["a name with a control character: C-HDR-03", { a: annotated("a\x07") }],
    ["a name that would end the line: C-HDR-03, A-39", { a: annotated("A\r\nX: y") }],
    ["a name with a newline at its end: C-HDR-03", { a: annotated("A\n") }],
    ["a number for a name: C-HDR-03", { a: annotated(5) }],
    ["null for a name: C-HDR-03", { a: annotated(null) }],
    ["a name of 10,000 characters", { a: annotated("x".repeat(10_000)) }],
    ["two equal names: C-HDR-04", { a: annotated("Region"), b: annotated("Region") }],
    ["two names that differ in case: C-HDR-04, A-39", { a: annotated("Region"), b: annotated("REGION") }],
    ["two equal names at two depths: C-HDR-04", {
      a: annotated("R"),
      b: { type: "object", properties: { c: annotated("r") } },
    }],
    ["type number: C-HDR-05", { a: annotated("A", "number") }],
    ["type object: C-HDR-05", { a: annotated("A", "object") }],
    ["type array: C-HDR-05", { a: annotated("A", "array") }],
    ["type null: C-HDR-05", { a: annotated("A", "null") }],
    ["no type: C-HDR-05", { a: { "x-mcp-header": "A" } }],
    ["types of which one is none of the three: C-HDR-05", { a: annotated("A", ["string", "number"]) }],
    ["types that are null alone: C-HDR-05", { a: annotated("A", ["null"]) }],
    ["types without any: C-HDR-05", { a: annotated("A", []) }],
    ["the name of a header that decides over requests: A-39", { a: annotated("Authorization") }],
    ["the same in other letters: A-39", { a: annotated("hOST") }],
    ["an item: C-HDR-06, A-39", { a: { type: "array", items: annotated("A") } }],
    ["a member of an item: C-HDR-06", { a: { items: { properties: { b: annotated("A") } } } }],
    ["a first item: C-HDR-06", { a: { prefixItems: [annotated("A")] } }],
    ["any other property: C-HDR-06", {}, { additionalProperties: annotated("A") }],
    ["a property by pattern: C-HDR-06", {}, { patternProperties: { "^a": annotated("A") } }],
    ["one of several: C-HDR-06", { a: { oneOf: [annotated("A")] } }],
    ["any of several: C-HDR-06", { a: { anyOf: [{ type: "null" }, annotated("A")] } }],
    ["all of several: C-HDR-06", {}, { allOf: [{ properties: { a: annotated("A") } }] }],
    ["a negation: C-HDR-06", { a: { not: annotated("A") } }],
    ["a condition: C-HDR-06", {}, { if: { properties: { a: annotated("A") } } }],
    ["a consequence: C-HDR-06", {}, { then: { properties: { a: annotated("A") } } }],
    ["an alternative: C-HDR-06", {}, { else: { properties: { a: annotated("A") } } }],
    ["a definition: C-HDR-06", { a: { $ref: "#/$defs/a" } }, { $defs: { a: annotated("A") } }],
    ["an older definition: C-HDR-06", {}, { definitions: { a: annotated("A") } }],
    ["a dependent schema: C-HDR-06", {}, { dependentSchemas: { a: { properties: { b: annotated("A") } } } }],
    ["the whole: C-HDR-05", {}, { "x-mcp-header": "A" }],
  ];
  test.each(faulty)("tool is not used whose annotation has %s", (_claim, properties, more = {}) => {
    const fine = toolOf({ a: annotated("A") }, {}, "fine");
    const plain = toolOf({ a: { type: "string" } }, {}, "plain");
    const mirror = new HeaderMirror();
    const { tools, malformed } = mirror.sift([toolOf(properties, more), fine, plain]);
    expect(tools, "C-HDR-07: the other tools stay").toEqual([fine, plain]);
    expect(malformed).toEqual([{ name: "t", why: expect.stringMatching(/^x-mcp-header .{10,300}$/) }]);
    expect(mirror.headersOf({ name: "t", arguments: { a: "x" } })).toEqual({});
    expect(mirror.headersOf({ name: "fine", arguments: { a: "x" } })).toEqual({ "mcp-param-a": "x" });
  });

  const fine: [claim: string, properties: JsonObject, more?: JsonObject][] = [
    ["each of the three types", { a: annotated("A"), b: annotated("B", "integer"), c: annotated("C", "boolean") }],
    ["a type or null", { a: annotated("A", ["string", "null"]) }],
    ["every character of a token", { a: annotated("aZ09!#$%&'*+-.^_`|~") }],
    ["the name of another header", { a: annotated("Method"), b: annotated("Accept") }],
    ["what looks like one and is the name of an argument", { "x-mcp-header": { type: "string" } }],
    ["what looks like one and is data", { a: { type: "object", default: annotated("") } }, {
      examples: [annotated("")],
    }],
    ["an argument beside a reference", { a: { ...annotated("A"), $ref: "#/$defs/x" } }],
    ["schemas that are true and false", { a: true, b: false, c: { not: true } }],
  ];
  test.each(fine)("tool is used with %s: C-HDR-01", (_claim, properties, more = {}) => {
    expect(new HeaderMirror().sift([toolOf(properties, more)])).toMatchObject({
      malformed: [],
      tools: [{ name: "t" }],
    });
  });

  test("reading never throws and never keeps what a wide or deep schema makes of it", () => {
    let deep: JsonObject = annotated("A");
    for (let depth = 0; depth < 10_000; depth++) deep = { type: "object", properties: { a: deep } };
    const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`p${n}`, annotated(`H${n}`)]));
    expect(new HeaderMirror().sift([toolOf({ deep }), toolOf(wide, {}, "wide")]).malformed).toEqual([]);
    fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (schema) => {
      new HeaderMirror().sift([{ name: "t", inputSchema: schema as JsonObject }]);
    }));
  });

  test("a new list takes the place of the one before: C-HDR-13", () => {
    const mirror = new HeaderMirror();
    const call = { name: "t", arguments: { a: "x" } };
    expect([mirror.isEmpty, mirror.headersOf(call)], "no list is known").toEqual([true, {}]);
    mirror.sift([toolOf({ a: annotated("A") })]);
    expect([mirror.isEmpty, mirror.headersOf(call)]).toEqual([false, { "mcp-param-a": "x" }]);
    mirror.sift([toolOf({ a: annotated("B") })]);
    expect(mirror.headersOf(call)).toEqual({ "mcp-param-b": "x" });
    mirror.sift([toolOf({ a: { type: "string" } })]);
    expect([mirror.isEmpty, mirror.headersOf(call)]).toEqual([true, {}]);
  });

  test("of two tools of one name the first is the one that is called", () => {
    const mirror = new HeaderMirror();
    mirror.sift([toolOf({ a: annotated("A") }), toolOf({ a: annotated("B") })]);
    expect(mirror.headersOf({ name: "t", arguments: { a: "x" } })).toEqual({ "mcp-param-a": "x" });
  });
});

describe("headers of a call", () => {
  const vectors: [value: unknown, header: string | undefined][] = [
    ["us-west1", "us-west1"],
    ["us west 1", "us west 1"],
    ["", ""],
    [" padded ", "=?base64?IHBhZGRlZCA=?="],
    [" us-west1", "=?base64?IHVzLXdlc3Qx?="],
    ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
    ["日本語", "=?base64?5pel5pys6Kqe?="],
    ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
    ["a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="],
    ["\tindented", "=?base64?CWluZGVudGVk?="],
    ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
    [42, "42"],
    [42.0, "42"],
    [-0, "0"],
    [-7, "-7"],
    [1.5, "1.5"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    [-Number.MAX_SAFE_INTEGER, "-9007199254740991"],
    [true, "true"],
    [false, "false"],
    [null, undefined],
    [undefined, undefined],
    [NaN, undefined],
    [Infinity, undefined],
    [{}, undefined],
    [["x"], undefined],
    [new Date(0), "1970-01-01T00:00:00.000Z"],
  ];
  test.each(vectors)("repeat %j as %j: C-HDR-08, C-HDR-09, C-HDR-10, C-HDR-11", (value, header) => {
    expect(headers(toolOf({ a: annotated("A") }), { a: value })).toEqual(
      header === undefined ? {} : { "mcp-param-a": header },
    );
  });

  test.each([2 ** 53, -(2 ** 53), 1e21, 2n ** 53n])("refuse %s, which is not exact: C-HDR-12", (value) => {
    expect(() => headers(toolOf({ a: annotated("A", "integer") }), { a: value })).toThrow(
      expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS", message: expect.not.stringContaining(String(value)) }),
    );
  });

  test("repeat nested arguments from their exact path: C-HDR-14", () => {
    const tool = toolOf({
      a: { type: "object", properties: { b: { type: "object", properties: { c: annotated("Deep", "integer") } } } },
      c: { type: "integer" },
    });
    expect(headers(tool, { a: { b: { c: 5 } }, c: 6 })).toEqual({ "mcp-param-deep": "5" });
    for (const args of [{ c: 6 }, { a: 5 }, { a: { b: [{ c: 5 }] } }, { a: { b: null } }, { "a.b.c": 5 }]) {
      expect(headers(tool, args)).toEqual({});
    }
    expect(headers(tool, { toJSON: () => ({ a: { toJSON: () => ({ b: { c: 7 } }) } }) })).toEqual({
      "mcp-param-deep": "7",
    });
  });

  test("take nothing that the arguments do not hold themselves", () => {
    const tool = toolOf({ constructor: annotated("A"), toString: annotated("B") });
    expect(headers(tool, {})).toEqual({});
    expect(headers(toolOf(JSON.parse('{"__proto__":{"type":"string","x-mcp-header":"P"}}')), {})).toEqual({});
  });

  test.each([undefined, null, 5, {}, { name: 5 }, { name: "t" }, { name: "t", arguments: 5 }])(
    "of parameters %j are none",
    (params) => {
      const mirror = new HeaderMirror();
      mirror.sift([toolOf({ a: annotated("A") })]);
      expect(mirror.headersOf(params)).toEqual({});
    },
  );

  test("are legal whatever the argument is", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (value) => {
      for (const header of Object.values(headers(toolOf({ a: annotated("A") }), { a: value }))) {
        expect(new Headers({ x: header }).get("x")).toBe(header);
      }
    }));
  });
});
