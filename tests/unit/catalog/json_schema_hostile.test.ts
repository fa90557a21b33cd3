import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileSchema } from "../../../src/catalog/json_schema/compile.ts";

/** Generous: what is not bounded here takes minutes or for ever. */
const SOON_MS = 5000;

function whyNot(schema: unknown): string | undefined {
  const compiled = compileSchema(schema);
  return compiled.usable ? undefined : compiled.why;
}

/** The only fault of a value; `undefined` for a valid one. */
function fault(schema: unknown, value: unknown, options = {}): string | undefined {
  const compiled = compileSchema(schema, options);
  if (!compiled.usable) throw new Error(compiled.why);
  const found = compiled.validator.validate(value);
  return found.valid ? undefined : found.errors[0]!.message;
}

const numbered = <T>(count: number, of: (at: number) => T): Record<string, T> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`d${at}`, of(at)]));

const TOO_MUCH = "takes more than 1000000 steps to check";

describe("schemas that never end", () => {
  const next = (at: number): object => ({ $ref: `#/$defs/d${at + 1}` });

  it.each<[string, object, string]>([
    ["comes to itself", { $ref: "#" }, "has a reference that comes back to itself"],
    [
      "comes to itself in a round",
      { $defs: numbered(3, (at) => ({ anyOf: [next((at + 1) % 3 - 1)] })) },
      "back to itself",
    ],
    ["comes to itself by not", { not: { $ref: "#" } }, "back to itself"],
    ["comes to itself by a condition", { if: {}, then: { $ref: "#" } }, "back to itself"],
    ["comes to itself by a dependency", { dependentSchemas: { a: { $ref: "#" } } }, "back to itself"],
    [
      "A-35 stands for 2^30 checks",
      { $defs: { ...numbered(30, (at) => ({ allOf: [next(at), next(at)] })), d30: {} }, $ref: "#/$defs/d0" },
      "checks one value more than 10000 times",
    ],
    ["is a long chain", { $defs: { ...numbered(1500, next), d1500: {} } }, "has more than 100 references in a row"],
  ])("schema that %s is refused", (_, schema, why) => {
    expect(whyNot(schema)).toContain(why);
  });

  it("A-35 schema that is too deep or too large is refused (C-SCHEMA-06)", () => {
    let deep: object = {};
    for (let at = 0; at < 10_000; at++) deep = { not: deep };
    expect(whyNot(deep)).toBe("is nested deeper than 32 levels");
    expect(whyNot({ properties: numbered(2001, () => ({})) })).toBe("has more than 2000 subschemas");
    expect(whyNot({ properties: numbered(1999, () => ({})) })).toBeUndefined();
  });

  it.each([null, 1, "x", [], undefined])("schema that is %j is refused", (schema) => {
    expect(whyNot(schema)).toBe("is neither an object nor a boolean");
  });
});

describe("values that cost too much", () => {
  const wide = numbered(50_000, (at) => at);
  const nested = Array.from({ length: 64 }).reduce<object>((inner) => ({ a: inner }), {});
  const twice = { $defs: { n: { properties: { a: { allOf: [{ $ref: "#/$defs/n" }, { $ref: "#/$defs/n" }] } } } } };

  it.each<[string, object, unknown]>([
    ["many schemas for a large object", { allOf: Array.from({ length: 1900 }, () => ({ minProperties: 1 })) }, wide],
    ["work that doubles with each level", { ...twice, $ref: "#/$defs/n" }, nested],
    ["many schemas for many items", {
      items: { allOf: Array.from({ length: 100 }, () => ({ type: "number" })) },
    }, Object.keys(wide).map(Number)],
    ["large constants for many items", {
      items: { enum: [Array.from({ length: 100 }, (_, at) => at)] },
    }, Array.from({ length: 50_000 }, () => Array.from({ length: 100 }, (_, at) => at))],
    ["expensive patterns for a long text", {
      allOf: Array.from({ length: 50 }, (_, at) => ({ pattern: `[a-z]{30}${at}` })),
    }, "a".repeat(1 << 20)],
    [
      "lists of names",
      { allOf: Array.from({ length: 1000 }, () => ({ required: Object.keys(wide).slice(0, 3000) })) },
      wide,
    ],
  ])("value is not valid that needs %s", (_, schema, value) => {
    expect(fault(schema, value)).toBe(TOO_MUCH);
  }, SOON_MS);

  it("large honest values are checked to the end", () => {
    const rows = Array.from({ length: 100_000 }, (_, x) => ({ x, y: "row" }));
    const row = { type: "object", properties: { x: { type: "integer" }, y: { type: "string" } }, required: ["x"] };
    expect(fault({ properties: { rows: { items: row } } }, { rows })).toBeUndefined();
    expect(fault({ uniqueItems: true }, rows.map(({ x }) => `item ${x}`))).toBeUndefined();
    expect(fault({ pattern: "^[a-z]+(-[a-z]+)*$" }, "abc-".repeat(100_000) + "d")).toBeUndefined();
  }, SOON_MS);

  it("steps are counted against the limit that was given (C-SCHEMA-06)", () => {
    const schema = { items: { type: "integer" } };
    expect(fault(schema, [1, 2, 3], { maxSteps: 10 })).toBeUndefined();
    expect(fault(schema, Array.from({ length: 20 }, () => 1), { maxSteps: 10 })).toBe(
      "takes more than 10 steps to check",
    );
  });

  it("faults that were found before the steps ran out are told", () => {
    const items = { anyOf: Array.from({ length: 40 }, () => ({ type: "number" })) };
    const schema = { properties: { a: { type: "string" }, list: { items } } };
    const value = { a: 1, list: Array.from({ length: 30_000 }, () => "x") };
    expect(fault(schema, value)).toBe("is a number, wanted a string");
  });

  it("deep recursion ends before the stack does", () => {
    let value: unknown = [];
    for (let at = 0; at < 5000; at++) value = [value];
    expect(fault({ items: { $ref: "#" } }, value)).toBe(TOO_MUCH);
    expect(fault({ const: value }, [])).toBe("is not what was wanted: an array");
    // Found to be equal, or too deep to be compared: that depends on the room that a runtime has.
    expect(fault({ uniqueItems: true }, [value, value])).toBeDefined();
  });
});

describe("any schema", () => {
  const keywords = [
    "$ref",
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$defs",
    "type",
    "enum",
    "const",
    "properties",
    "items",
    "required",
    "pattern",
    "patternProperties",
    "additionalProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "prefixItems",
    "unevaluatedItems",
    "unevaluatedProperties",
    "dependencies",
    "minLength",
    "multipleOf",
    "uniqueItems",
    "propertyNames",
    "dependentSchemas",
    "dependentRequired",
    "maxProperties",
  ];
  const { schema } = fc.letrec((tie) => ({
    leaf: fc.oneof(
      fc.boolean(),
      fc.integer(),
      fc.constantFrom("#", "#/$defs/a", "#a", "a", "object", "^a+$", "%", "("),
    ),
    value: fc.oneof({ maxDepth: 4 }, tie("leaf"), fc.array(tie("value"), { maxLength: 3 }), tie("schema")),
    schema: fc.dictionary(fc.constantFrom(...keywords, "a", "__proto__"), tie("value"), { maxKeys: 5 }),
  }));

  it("whatever a schema holds, it compiles or is refused, and whatever a value is, there is a verdict", () => {
    fc.assert(
      fc.property(schema, fc.jsonValue(), (written, value) => {
        const compiled = compileSchema(written);
        if (!compiled.usable) return compiled.why.length > 0;
        const first = compiled.validator.validate(value);
        return first.valid === compiled.validator.validate(structuredClone(value)).valid;
      }),
      { numRuns: 2000 },
    );
  });
});
