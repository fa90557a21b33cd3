import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { changedInteger } from "../../../src/call/changed_integer.ts";
import { growthBeyondLinear } from "../cpu_time.ts";

const BIG = "9007199254740993";

describe("integer that parsing would change", () => {
  test.each([
    [`{"id":${BIG}}`, BIG],
    [`{"id":-${BIG}}`, `-${BIG}`],
    [`[1,2,${BIG}]`, BIG],
    [BIG, BIG],
    [`{"a":"\\\\","b":${BIG}}`, BIG],
    [`{"a":"\\\\\\"${BIG}","b":[{"c":${BIG}}]}`, BIG],
    [`{"n":${"9".repeat(400)}}`, "9".repeat(400)],
  ])("is found in %s (FR-57)", (json, found) => {
    expect(changedInteger(json)).toBe(found);
  });

  test.each([
    `{"id":"${BIG}"}`,
    `{"${BIG}":1}`,
    `{"a":"\\"${BIG}"}`,
    `{"n":9007199254740991,"m":-9007199254740991}`,
    `{"n":0.${BIG},"m":${BIG}.5,"e":${BIG}e3}`,
    `{"n":1e30}`,
    "{}",
  ])("is not found in %s (FR-57)", (json) => {
    expect(changedInteger(json)).toBeUndefined();
  });

  test("is found wherever it stands, and nowhere else (FR-57)", () => {
    const values = fc.jsonValue({ maxDepth: 3 });
    fc.assert(fc.property(values, values, (before, behind) => {
      const [first, last] = [JSON.stringify(before), JSON.stringify(behind)];
      const others = [first, last].map((json) => changedInteger(json));
      fc.pre(others.every((found) => found === undefined));
      expect(changedInteger(`[${first},${BIG},${last}]`)).toBe(BIG);
      expect(changedInteger(JSON.stringify([before, BIG, behind]))).toBeUndefined();
    }));
  });

  test.each([
    ["long strings", (units: number) => `["${"a".repeat(units)}",${BIG}]`],
    ["escapes", (units: number) => `["${'\\"'.repeat(units)}",${BIG}]`],
    ["backslashes", (units: number) => `["${"\\\\".repeat(units)}",${BIG}]`],
    ["short strings", (units: number) => `[${'"",'.repeat(units)}${BIG}]`],
    ["digits", (units: number) => `["${"7".repeat(units)}",${BIG}]`],
  ])("is looked for in linear time in %s", (_claim, make) => {
    const prepare = (units: number): () => void => {
      const json = make(units);
      return () => expect(changedInteger(json)).toBe(BIG);
    };
    expect(growthBeyondLinear(50_000, prepare)).toBeLessThan(4);
  });
});
