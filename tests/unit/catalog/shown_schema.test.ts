import { describe, expect, it } from "vitest";
import { shownSchema } from "../../../src/catalog/shown_schema.ts";
import { SecretRegistry } from "../../../src/kernel/secrets.ts";
import { createScrubber } from "../../../src/scrub/known_values.ts";

const SECRET = "key-0123456789";
const DIGITS = "1234567890123";

function scrubber() {
  const secrets = new SecretRegistry();
  secrets.add("env.x-api-key", SECRET);
  secrets.add("pin", DIGITS);
  return createScrubber(secrets);
}

describe("a schema as it is shown", () => {
  it("is the very same object where it holds no secret", () => {
    const schema = { type: "object", properties: { a: { pattern: "^x$" } } };
    expect(shownSchema(schema, scrubber())).toBe(schema);
  });

  it("is scrubbed, and without keywords that would become something else by it", () => {
    const schema = {
      type: "object",
      description: `say ${SECRET}`,
      required: ["a", SECRET],
      properties: {
        a: { type: "string", pattern: `^${SECRET}$`, default: SECRET, examples: [SECRET], enum: ["x", SECRET] },
        [SECRET]: { type: "string" },
        // A property may be called like a keyword.
        default: { type: "string", pattern: SECRET },
        n: { type: "number", maximum: Number(DIGITS), const: Number(DIGITS) },
      },
      allOf: [{ $ref: `#/$defs/${SECRET}` }, { title: SECRET }],
      $defs: { [SECRET]: { type: "string" }, b: { anyOf: [{ format: SECRET }] } },
      dependentRequired: { a: [SECRET, "n"] },
      [`x-${SECRET}`]: true,
      "x-note": SECRET,
    };
    const mark = "[redacted:env.x-api-key#1]";
    expect(shownSchema(schema, scrubber())).toEqual({
      type: "object",
      description: `say ${mark}`,
      required: ["a"],
      properties: {
        a: { type: "string", default: mark, examples: [mark], enum: ["x", mark] },
        default: { type: "string" },
        n: { type: "number", const: "[redacted:pin#2]" },
      },
      allOf: [{}, { title: mark }],
      $defs: { b: { anyOf: [{}] } },
      dependentRequired: { a: ["n"] },
    });
  });
});
