import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type BoundedParse,
  boundedParse,
  DEFAULT_PARSE_LIMITS,
  type ParseLimits,
} from "../../../src/jsonrpc/bounded_parse.ts";
import { leastCpuMs } from "../cpu_time.ts";

const parse = (text: string, limits: Partial<ParseLimits> = {}): BoundedParse =>
  boundedParse(text, { ...DEFAULT_PARSE_LIMITS, ...limits });
const reason = (text: string, limits: Partial<ParseLimits> = {}): string => {
  const parsed = parse(text, limits);
  return parsed.ok ? "ok" : parsed.reason;
};

/** The same value as a short text and as one that is longer than what is parsed before it is counted. */
const short = (json: string): string => json;
const long = (json: string): string => `${" ".repeat(70_000)}${json}`;
const lengths: [string, (json: string) => string][] = [["short", short], ["long", long]];

const arrays = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
const objects = (depth: number): string => '{"a":'.repeat(depth) + "0" + "}".repeat(depth);

describe.each(lengths)("bounds of a %s text", (_kind, text) => {
  const rows: [claim: string, json: string, found: string, limits?: Partial<ParseLimits>][] = [
    ["64 levels of arrays", arrays(64), "ok"],
    ["65 levels of arrays (A-29)", arrays(65), "too_deep"],
    ["64 levels of objects", objects(64), "ok"],
    ["65 levels of objects", objects(65), "too_deep"],
    ["65 levels beside shallow ones", `[1,{"a":[]},"x",${arrays(64)}]`, "too_deep"],
    ["many shallow siblings", `[${"[],".repeat(1000)}0]`, "ok"],
    ["65 levels inside __proto__ (A-30)", `{"__proto__":${arrays(64)}}`, "too_deep"],
    ["brackets in strings", JSON.stringify({ a: "[".repeat(500) + "]{" }), "ok"],
    ["brackets in keys", JSON.stringify({ ["{[".repeat(500)]: 1 }), "ok"],
    [
      "brackets after escaped quotes",
      JSON.stringify(['"' + "[".repeat(500), '\\"'.repeat(100) + "[".repeat(500), "\\"]),
      "ok",
    ],
    ["a string that ends in backslashes, then depth", `["${"\\\\".repeat(101)}",${arrays(64)}]`, "too_deep"],
    ["ten values of ten", "[1,2,3,4,5,6,7,8]", "ok", { maxNodes: 10 }],
    ["eleven values of ten", "[1,2,3,4,5,6,7,8,9,10,11]", "too_many_nodes", { maxNodes: 10 }],
    ["eleven empty arrays of ten", "[[],[],[],[],[],[],[],[],[],[]]", "too_many_nodes", { maxNodes: 10 }],
    [
      "eleven members of ten",
      JSON.stringify(Object.fromEntries(Array.from({ length: 11 }, (_, at) => [at, at]))),
      "too_many_nodes",
      { maxNodes: 10 },
    ],
    ["commas in strings", JSON.stringify([",".repeat(50)]), "ok", { maxNodes: 10 }],
    ["half a message", '{"jsonrpc":', "not_json"],
    ["a string without an end", '["[[[[', "not_json"],
    ["a closing bracket too many", "]".repeat(200) + arrays(200), "not_json"],
    ["a trailing comma", "[1,]", "not_json"],
    ["two values", "{}{}", "not_json"],
    ["a comment", "/* */{}", "not_json"],
    ["NaN", "[NaN]", "not_json"],
    ["a newline in a string", '"a\nb"', "not_json"],
    ["plain text", "npm notice a newer version", "not_json"],
    ["a number", "42", "ok"],
  ];
  test.each(rows)("%s", (_claim, json, found, limits) => {
    expect(reason(text(json), limits)).toBe(found);
  });

  const polluting = [
    '{"__proto__":{"polluted":1},"a":1}',
    '{"\\u005f_proto__":{"polluted":1},"a":1}',
    '{"\\u005F\\u005f\\u0070roto\\u005f_":{"polluted":1},"a":1}',
    '{"a":1,"__proto__":null}',
    '{"__proto__":1,"a":1,"__proto__":[]}',
  ];
  test.each(polluting)("prototype key is taken out of %s (A-30)", (json) => {
    for (const wrapped of [json, `[${json}]`, `{"x":{"y":[0,${json}]}}`]) {
      const parsed = parse(text(wrapped));
      expect(parsed.ok).toBe(true);
      const value = parsed.ok ? JSON.parse(JSON.stringify(parsed.value)) : undefined;
      expect(JSON.stringify(value)).toBe(wrapped.replace(json, '{"a":1}'));
      const inner = Array.isArray(value) ? value[0] : (value.x?.y[1] ?? value);
      expect(Object.assign({}, inner).polluted).toBeUndefined();
      expect(Object.getPrototypeOf(Object.assign({}, inner))).toBe(Object.prototype);
    }
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test("prototype key as a value, and its look-alikes, are kept", () => {
    const json = '{"a":"__proto__","proto":1,"__proto":2,"constructor":{"prototype":{"p2":1}}}';
    expect(parse(text(json))).toEqual({ ok: true, value: JSON.parse(json) });
  });
});

describe("length of a text", () => {
  test("is taken at the limit and refused beyond it, unread", () => {
    expect(reason(`"${"a".repeat(98)}"`, { maxLength: 100 })).toBe("ok");
    expect(reason(`"${"a".repeat(99)}"`, { maxLength: 100 })).toBe("too_large");
    expect(reason("not json at all".repeat(10), { maxLength: 100 })).toBe("too_large");
  });

  test("is 8 MiB by default", () => {
    expect(DEFAULT_PARSE_LIMITS).toEqual({ maxLength: 8_388_608, maxDepth: 64, maxNodes: 1_000_000 });
    expect(reason(`"${"a".repeat((8 << 20) - 2)}"`)).toBe("ok");
    expect(reason(`"${"a".repeat((8 << 20) - 1)}"`)).toBe("too_large");
  });
});

describe("bomb", () => {
  const MIB = 1 << 20;
  const bombs: [claim: string, text: string, found: string][] = [
    ["of opening brackets", "[".repeat(8 * MIB), "too_deep"],
    ["of opening braces", '{"":'.repeat(2 * MIB), "too_deep"],
    ["of complete arrays", arrays(4 * MIB), "too_deep"],
    ["of empty arrays", `[${"[],".repeat(2 * MIB)}[]]`, "too_many_nodes"],
    ["of zeros", `[${"0,".repeat(3 * MIB)}0]`, "too_many_nodes"],
    ["of escaped quotes without an end", `["${'\\"'.repeat(4 * MIB - 2)}`, "not_json"],
    ["of backslashes without an end", `["${"\\".repeat(8 * MIB - 3)}"`, "not_json"],
    ["of short strings", `[${'"",'.repeat(2 * MIB)}""]`, "too_many_nodes"],
  ];
  test.each(bombs)("%s is refused within 100 ms, unparsed", (_claim, text, found) => {
    // 2 to 20 ms where nobody else computes. On a processor that is shared the first rounds take a few times as long, the
    // least of many not twice.
    expect(leastCpuMs(10, () => expect(reason(text)).toBe(found))).toBeLessThan(100);
  });
});

describe("agreement", () => {
  test("what is taken is what JSON.parse gives, for any JSON", () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 8 }), fc.boolean(), (value, padded) => {
      const json = JSON.stringify(value);
      const text = padded ? long(json) : json;
      expect(parse(text)).toEqual({ ok: true, value: JSON.parse(json) });
    }));
  });

  test("what JSON.parse refuses is refused, for any text", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("{", "}", "[", "]", '"', "\\", ",", ":", "0", "a", "-", " ") }),
        (text) => {
          let valid = true;
          try {
            JSON.parse(text);
          } catch {
            valid = false;
          }
          expect(parse(text).ok).toBe(valid);
          expect(parse(long(text)).ok).toBe(valid);
        },
      ),
      { numRuns: 500 },
    );
  });
});
