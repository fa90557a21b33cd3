import { describe, expect, it } from "vitest";
import { compileSchema, type SchemaValidator } from "../../../src/catalog/json_schema/compile.ts";

const DRAFT_07 = "http://json-schema.org/draft-07/schema#";

function validatorOf(schema: unknown): SchemaValidator {
  const compiled = compileSchema(schema);
  if (!compiled.usable) throw new Error(compiled.why);
  return compiled.validator;
}

/** Each fault as one text; `[]` for a valid value. */
function faults(schema: unknown, value: unknown): string[] {
  const found = validatorOf(schema).validate(value);
  return found.valid ? [] : found.errors.map(({ instancePath, message }) => `${instancePath} ${message}`.trim());
}

const isValid = (schema: unknown, value: unknown): boolean => validatorOf(schema).validate(value).valid;

function whyNot(schema: unknown): string | undefined {
  const compiled = compileSchema(schema);
  return compiled.usable ? undefined : compiled.why;
}

describe("faults", () => {
  it("fault says where it is, what was found and what was wanted, and quotes no value", () => {
    const schema = {
      type: "object",
      properties: {
        count: { type: "integer", minimum: 1 },
        mode: { enum: ["fast", "slow", { deep: true }] },
        "a/b": { type: ["string", "null"] },
        list: { items: { maxLength: 3 } },
        id: { pattern: "^[a-z]+$" },
      },
      required: ["path"],
      additionalProperties: false,
    };
    const value = {
      count: "hunter2",
      mode: "hunter2",
      "a/b": 7,
      list: ["abc", "hunter2"],
      id: "HUNTER2",
      x: "hunter2",
    };
    expect(faults(schema, value)).toEqual([
      'lacks "path"',
      "/count is a string, wanted an integer",
      '/mode is not what was wanted: "fast", "slow", an object',
      "/a~1b is a number, wanted a string or null",
      "/list/1 is too long, wanted at most 3 characters",
      '/id does not match "^[a-z]+$"',
      "/x is not allowed here",
    ]);
  });

  it("fault of alternatives tells what each wanted", () => {
    const schema = { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] };
    expect(faults(schema, [1])).toEqual([
      "fits none of 2 alternatives: is an array, wanted a string; /0 is a number, wanted a string",
    ]);
    expect(faults({ oneOf: [{ minimum: 1 }, { minimum: 2 }] }, 3)).toEqual(["fits 2 alternatives, wanted one"]);
  });

  it("faults are ten at most, and their texts short, with names that are whole", () => {
    const found = faults({ items: { type: "string" } }, Array.from({ length: 50 }, () => 1));
    expect(found).toHaveLength(10);
    const long = "k".repeat(5000);
    const schema = {
      properties: { [long]: false, a: { const: long }, b: { pattern: `^${long}`.slice(0, 900) } },
      required: [`x${long}`],
    };
    expect(faults(schema, { [long]: 1, a: 1, b: "" })).toEqual([
      'lacks "..."',
      "/... is not allowed here",
      '/a is not what was wanted: "..."',
      '/b does not match "..."',
    ]);
    let nested: object = { type: "string" };
    for (let at = 0; at < 12; at++) {
      nested = { anyOf: [nested, { properties: { ["n".repeat(60)]: nested } }, { type: "null" }] };
    }
    for (const fault of faults(nested, 1)) expect(fault.length).toBeLessThan(1200);
  });
});

describe("dialects", () => {
  it("schema without a dialect is 2020-12, and draft-07 is read where it is named (C-SCHEMA-01)", () => {
    const tuple = { prefixItems: [{ type: "string" }] };
    expect(isValid(tuple, [1])).toBe(false);
    expect(isValid({ $schema: DRAFT_07, ...tuple }, [1])).toBe(true);
    expect(isValid({ $schema: "http://json-schema.org/draft-07/schema", items: [{ type: "string" }] }, [1])).toBe(
      false,
    );
    expect(isValid({ $schema: "https://json-schema.org/draft/2020-12/schema", ...tuple }, [1])).toBe(false);
  });

  const noteOf = (schema: unknown): unknown => {
    const compiled = compileSchema(schema);
    return compiled.usable ? compiled.dialectNote : compiled.why;
  };

  it.each([
    ["http://json-schema.org/draft-04/schema#", "draft-07"],
    ["http://json-schema.org/draft-06/schema", "draft-07"],
    ["https://json-schema.org/draft/2019-09/schema", "2020-12"],
  ])("FR-49 dialect %s is read as %s, and that is said (C-SCHEMA-02)", (dialect, as) => {
    const schema = { $schema: dialect, properties: { n: { minimum: 1, exclusiveMinimum: true } }, required: ["n"] };
    expect(noteOf(schema)).toBe(`is of the dialect ${JSON.stringify(dialect)}, read as ${as}`);
    expect([isValid(schema, { n: 2 }), isValid(schema, { n: 0 }), isValid(schema, {})]).toEqual([true, false, false]);
  });

  it.each<[string, unknown, string]>([
    ["by another name", { $schema: "draft-07" }, '"draft-07"'],
    ["of somebody's own", { $schema: "https://x.test/meta", type: "array" }, '"https://x.test/meta"'],
    ["that is no text", { $schema: 7 }, "a number"],
    ["inside another", { properties: { a: { $schema: DRAFT_07, type: "string" } } }, JSON.stringify(DRAFT_07)],
  ])(
    "FR-49 dialect %s is named, and holds nobody to rules that nobody knows (C-SCHEMA-02)",
    (_claim, schema, named) => {
      expect(noteOf(schema)).toBe(
        `is of the dialect ${named}, wanted 2020-12 or draft-07 alone: values are not checked`,
      );
      expect(isValid(schema, { a: 1 })).toBe(true);
    },
  );

  it("dialect that nobody knows makes no reference of it good and no bomb harmless", () => {
    const $schema = "https://x.test/meta";
    expect(whyNot({ $schema, $ref: "https://x.test/other" })).toContain("which is not in it");
    expect(whyNot({ $schema, $ref: "#" })).toContain("comes back to itself");
  });

  it("words of draft-07 that servers write without naming it are understood", () => {
    const schema = {
      definitions: { name: { type: "string" } },
      properties: {
        name: { $ref: "#/definitions/name" },
        pair: { items: [{ type: "string" }], additionalItems: false },
      },
      dependencies: { name: ["pair"], pair: { required: ["name"] } },
    };
    expect(faults(schema, { name: 1, pair: ["a", "b"] })).toEqual([
      "/name is a number, wanted a string",
      "/pair/1 is not allowed here",
    ]);
    expect(faults(schema, { name: "a" })).toEqual(['lacks "pair"']);
    expect(faults(schema, { pair: [] })).toEqual(['lacks "name"']);
  });

  it("draft-07 has no keyword beside a reference", () => {
    const schema = { properties: { a: { $ref: "#/definitions/text", maxLength: 1 } }, definitions: { text: {} } };
    expect(isValid(schema, { a: "long" })).toBe(false);
    expect(isValid({ $schema: DRAFT_07, ...schema }, { a: "long" })).toBe(true);
  });

  it("format is an annotation", () => {
    expect(isValid({ format: "email" }, "nobody")).toBe(true);
    expect(isValid({ $schema: DRAFT_07, format: "url" }, "nowhere")).toBe(true);
  });
});

describe("references", () => {
  it("reference leads to definitions, anchors, identifiers and the schema itself", () => {
    const schema = {
      $defs: {
        tree: { properties: { left: { $ref: "#/$defs/tree" }, value: { $ref: "#num" } }, additionalProperties: false },
        number: { $anchor: "num", type: "number" },
        other: { $id: "other.json", type: "string" },
      },
      properties: { tree: { $ref: "#/$defs/tree" }, other: { $ref: "other.json" }, again: { $ref: "#" } },
    };
    expect(faults(schema, { tree: { left: { left: { value: "x" } } }, other: 1, again: { again: { other: 2 } } }))
      .toEqual([
        "/tree/left/left/value is a string, wanted a number",
        "/other is a number, wanted a string",
        "/again/again/other is a number, wanted a string",
      ]);
  });

  it.each([
    "http://127.0.0.1:9/schema.json",
    "file:///etc/passwd",
    "other.json",
    "#/$defs/missing",
    "#nowhere",
    "#/%",
    "http://[",
    "#/required/length",
    "#/__proto__",
  ])(
    "FR-50 A-34 reference to %s makes the schema unusable and fetches nothing (C-SCHEMA-03, C-SCHEMA-05)",
    (target) => {
      expect(whyNot({ properties: { a: { $ref: target } }, required: [] })).toBe(
        `refers to ${JSON.stringify(target)}, which is not in it`,
      );
    },
  );
});

describe("what is not checked", () => {
  const flagsOf = (schema: unknown): unknown => {
    const compiled = compileSchema(schema);
    return compiled.usable ? compiled.flags : compiled.why;
  };

  it("pattern that is not known to be linear is not run, and flagged by its place", () => {
    const schema = { properties: { "a/b": { type: "string", pattern: "(a+)+$" } } };
    expect(flagsOf(schema)).toEqual([{ kind: "pattern_not_run", where: "/properties/a~1b/pattern" }]);
    expect(isValid(schema, { "a/b": "xyz" })).toBe(true);
    expect(isValid(schema, { "a/b": 1 })).toBe(false);
  });

  it("keyword with a value that the dialect does not know is ignored, and flagged", () => {
    const schema = {
      properties: { a: { type: "any", required: true, exclusiveMinimum: true, minimum: 3 }, b: "text", c: null },
      anyOf: {},
      enum: "x",
    };
    expect(flagsOf(schema)).toEqual([
      "/enum",
      "/properties/b",
      "/properties/c",
      "/anyOf",
      "/properties/a/type",
      "/properties/a/exclusiveMinimum",
      "/properties/a/required",
    ].map((where) => ({ kind: "keyword_ignored", where })));
    expect(isValid(schema, { a: 3, b: 1, c: 1 })).toBe(true);
    expect(isValid(schema, { a: 2 })).toBe(false);
  });

  const unclear = { pattern: "(a+)+$" };
  it.each([
    ["not", { not: unclear }, "x"],
    ["oneOf", { oneOf: [unclear, unclear, { type: "string" }] }, "x"],
    ["if", { if: unclear, then: false }, "x"],
    ["maxContains", { contains: unclear, maxContains: 0, minContains: 0 }, ["x"]],
    ["additionalProperties", { patternProperties: { "(a+)+$": {} }, additionalProperties: false }, { x: 1 }],
    ["unevaluatedProperties", { patternProperties: { "(a+)+$": {} }, unevaluatedProperties: false }, { x: 1 }],
    ["not, by a reference", { not: { allOf: [{ $ref: "#/$defs/a" }] }, $defs: { a: { items: unclear } } }, ["x"]],
    ["malformed keyword", { not: { type: "any" } }, "x"],
  ])("what is not checked never refuses a value by %s", (_, schema, value) => {
    expect(isValid(schema, value)).toBe(true);
  });

  it("flags are twenty at most, and short", () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${at}`.repeat(300), { type: "any" }]));
    const flags = flagsOf({ properties: many }) as { where: string }[];
    expect(flags).toHaveLength(20);
    for (const { where } of flags) expect(where.length).toBeLessThanOrEqual(200);
  });
});

describe("values", () => {
  it("A-30 members with names that objects inherit are members like others", () => {
    const schema = {
      properties: { constructor: { type: "number" } },
      required: ["toString"],
      additionalProperties: false,
    };
    expect(faults(schema, {})).toEqual(['lacks "toString"']);
    const value = JSON.parse('{"toString":1,"__proto__":2,"constructor":"x"}');
    expect(faults(schema, value)).toEqual([
      "/toString is not allowed here",
      "/__proto__ is not allowed here",
      "/constructor is a string, wanted a number",
    ]);
    expect(isValid(JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), value)).toBe(false);
    expect(isValid({ $ref: "#/$defs/a", $defs: { a: { type: "object" } } }, value)).toBe(true);
  });

  it("name with half a character is a name", () => {
    expect(faults({ additionalProperties: { type: "string" } }, { "\ud800": 1 })).toEqual([
      "/\ud800 is a number, wanted a string",
    ]);
  });

  it("length counts characters, not units", () => {
    expect(isValid({ minLength: 2 }, "💩")).toBe(false);
    expect(isValid({ maxLength: 1 }, "💩")).toBe(true);
    expect(isValid({ minLength: 2, maxLength: 2 }, "💩a")).toBe(true);
  });

  it.each([[0.0075, 0.0001, true], [0.00751, 0.0001, false], [1e308, 1e-308, true], [-4.5, 1.5, true], [7, 3, false]])(
    "%d is judged by its decimal digits against multiples of %d",
    (value, divisor, wanted) => {
      expect(isValid({ multipleOf: divisor }, value)).toBe(wanted);
    },
  );

  it("equal values are equal whatever the order of their members, and unlike ones never are", () => {
    expect(isValid({ uniqueItems: true }, [{ a: 1, b: 2 }, { b: 2, a: 1 }])).toBe(false);
    expect(isValid({ uniqueItems: true }, [1, "1", true, "true", null, "null", [1], "[1]", "\0[1]", {}, "{}"])).toBe(
      true,
    );
    expect(isValid({ const: { a: [1, { b: null }] } }, { a: [1, { b: null }] })).toBe(true);
    expect(isValid({ enum: [0] }, false)).toBe(false);
    expect(isValid({ const: null }, null)).toBe(true);
  });

  it("big integers are numbers", () => {
    const big = 2n ** 60n;
    expect(faults({ type: "integer", minimum: 1, multipleOf: 4 }, big)).toEqual([]);
    expect(faults({ type: "string" }, big)).toEqual(["is a number, wanted a string"]);
    expect(faults({ maximum: 7 }, big)).toEqual(["is too large, wanted at most 7"]);
    expect(faults({ uniqueItems: true }, [{ id: big }, { id: big + 1n }])).toEqual([]);
    expect(faults({ uniqueItems: true }, [{ id: big }, { id: big }])).toEqual(["has an item twice"]);
  });

  it("schema is left as it was, also when nobody may change it", () => {
    const schema = Object.freeze({ $id: "x.json", properties: Object.freeze({ a: Object.freeze({ $ref: "#" }) }) });
    const text = JSON.stringify(schema);
    expect(isValid(schema, { a: { a: {} } })).toBe(true);
    expect(JSON.stringify(schema)).toBe(text);
  });
});
