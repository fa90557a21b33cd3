import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { boundedParse, DEFAULT_PARSE_LIMITS } from "../../../src/jsonrpc/bounded_parse.ts";
import { parseMessage } from "../../../src/jsonrpc/exact_numbers.ts";
import { hasLongNumber, parseExact } from "../../../src/kernel/exact_json.ts";
import { exactJson } from "../../../src/kernel/exact_json.ts";

/** A JSON value as text, and what it is. */
const integer = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
const value = fc.letrec((tie) => ({
  leaf: fc.oneof(integer, fc.string(), fc.stringMatching(/^\d{14,20}$/), fc.constantFrom(null, true, 0.5, -0.25)),
  node: fc.oneof(
    { depthSize: "small" },
    tie("leaf"),
    fc.array(tie("node"), { maxLength: 4 }),
    fc.dictionary(fc.oneof(fc.string({ maxLength: 5 }), fc.stringMatching(/^\d{16,18}$/)), tie("node"), { maxKeys: 4 }),
  ),
})).node;

const safe = (each: unknown): unknown =>
  typeof each === "bigint" && each >= Number.MIN_SAFE_INTEGER && each <= Number.MAX_SAFE_INTEGER
    ? Number(each)
    : Array.isArray(each)
    ? each.map(safe)
    : typeof each === "object" && each !== null
    ? Object.fromEntries(Object.entries(each).map(([name, member]) => [name, safe(member)]))
    : each;

describe("integers", () => {
  test("come out as they went in, whatever surrounds them", () => {
    fc.assert(fc.property(value, fc.constantFrom(undefined, 1), (given, indent) => {
      const expected = JSON.parse(exactJson({ given: null })!);
      expected.given = safe(given);
      const text = exactJson({ given }, indent)!;
      expect(parseExact(text)).toEqual(expected);
      expect(exactJson(parseExact(text), indent)).toBe(text);
    }));
  });

  const rows: [text: string, value: unknown][] = [
    ["9007199254740991", 9007199254740991],
    ["9007199254740992", 9007199254740992n],
    ["-9007199254740993", -9007199254740993n],
    ["[18446744073709551615]", [18446744073709551615n]],
    ['{"a" : 18446744073709551615\n}', { a: 18446744073709551615n }],
    ["12345678901234567890.0", 12345678901234567000],
    ["1.2345678901234567890", 1.2345678901234568],
    ["12345678901234567890e1", 123456789012345680000],
    ["1e-12345678901234567890", 0],
    ['"12345678901234567890"', "12345678901234567890"],
    ['["\\"12345678901234567890"]', ['"12345678901234567890']],
    ['{"12345678901234567890":12345678901234567890}', { "12345678901234567890": 12345678901234567890n }],
    [`[${"9".repeat(4096)}]`, [BigInt("9".repeat(4096))]],
    [`[${"9".repeat(4097)}]`, [Infinity]],
  ];
  test.each(rows)("%s", (text, value) => {
    expect(parseExact(text)).toEqual(value);
  });

  const wrong = [
    "{12345678901234567890:1}",
    "{12345678901234567890 :1}",
    "[012345678901234567890]",
    "[--12345678901234567890]",
    "[12345678901234567890 12345678901234567890]",
    "[12345678901234567890a]",
    "[+12345678901234567890]",
    '["12345678901234567890]',
    "12345678901234567890.",
  ];
  test.each(wrong)("wrong JSON stays wrong: %s", (text) => {
    expect(() => parseExact(text)).toThrow(SyntaxError);
  });

  test("rows of digits are found wherever they begin", () => {
    for (let before = 0; before < 40; before++) {
      expect(hasLongNumber(`${"x".repeat(before)}${"1".repeat(16)}x`)).toBe(true);
      expect(hasLongNumber(`${"x".repeat(before)}${"1".repeat(15)}x${"1".repeat(15)}`)).toBe(false);
    }
    expect(hasLongNumber("1".repeat(16))).toBe(true);
    expect(hasLongNumber("")).toBe(false);
  });
});

describe("message", () => {
  const big = "18446744073709551615";

  test("keeps integers exact in the result of a call, and only there", () => {
    expect(parseMessage(`{"id":1,"result":{"structuredContent":{"a":[${big}]}}}`)).toEqual({
      id: 1,
      result: { structuredContent: { a: [18446744073709551615n] } },
    });
    expect(parseMessage(`{"id":1,"result":{"tools":[{"inputSchema":{"maximum":${big}}}]}}`)).toEqual({
      id: 1,
      result: { tools: [{ inputSchema: { maximum: 18446744073709551615 } }] },
    });
    expect(parseMessage(`{"method":"x","params":{"progress":${big}}}`)).toEqual({
      method: "x",
      params: { progress: 18446744073709551615 },
    });
    expect(parseMessage(`[{"id":${big}}]`)).toEqual([{ id: 18446744073709551615 }]);
    expect(parseMessage("1")).toBe(1);
  });

  const exact = 18446744073709551615n;
  const plain = 18446744073709551615;

  test("keeps them in the result that stands in a task", () => {
    const result = `{"content":[${big}],"structuredContent":{"n":${big}},"isError":${big}}`;
    expect(parseMessage(`{"id":1,"result":{"taskId":"x","ttlMs":${big},"result":${result}}}`)).toEqual({
      id: 1,
      result: {
        taskId: "x",
        ttlMs: plain,
        result: { content: [exact], structuredContent: { n: exact }, isError: plain },
      },
    });
  });

  test("keeps them in each message of a batch", () => {
    const result = (id: number): string => `{"id":${id},"result":{"structuredContent":{"n":${big}},"cursor":${big}}}`;
    const of = (id: number): unknown => ({ id, result: { structuredContent: { n: exact }, cursor: plain } });
    expect(parseMessage(`[${result(1)},${result(2)},{"params":{"content":[${big}]}}]`)).toEqual([
      of(1),
      of(2),
      { params: { content: [plain] } },
    ]);
  });

  test.each(["tools", "inputRequests", "task", "ttlMs", "error", "constructor", "result"])(
    "keeps none in %s, whatever stands beside it",
    (name) => {
      expect(parseMessage(`{"id":1,"result":{"content":[],"structuredContent":{},"${name}":{"n":${big}}}}`)).toEqual({
        id: 1,
        result: { content: [], structuredContent: {}, [name]: { n: plain } },
      });
    },
  );

  test("is bounded like any other", () => {
    const parse = (text: string): unknown => boundedParse(text, DEFAULT_PARSE_LIMITS, parseMessage);
    const call = (inner: string): string => `{"result":{"content":[],"structuredContent":${inner}}}`;
    expect(parse(call(`{"__proto__":${big},"b":${big}}`))).toEqual({
      ok: true,
      value: { result: { content: [], structuredContent: { b: 18446744073709551615n } } },
    });
    expect(parse(call("[".repeat(63) + big + "]".repeat(63)))).toMatchObject({ ok: false, reason: "too_deep" });
    expect(parse(`[${big}`)).toEqual({ ok: false, reason: "not_json" });
  });

  test("may be full of long integers", () => {
    const text = `{"result":{"structuredContent":[${Array(40_000).fill(big).join(",")}]}}`;
    const value = parseMessage(text) as { result: { structuredContent: bigint[] } };
    expect(value.result.structuredContent).toHaveLength(40_000);
    expect(new Set(value.result.structuredContent)).toEqual(new Set([18446744073709551615n]));
  });
});

test("JSON of values without bigint is that of JSON.stringify", () => {
  expect(exactJson({ a: [1, "x"], b: undefined }, 2)).toBe(JSON.stringify({ a: [1, "x"] }, undefined, 2));
  expect(exactJson(undefined)).toBe(undefined);
  expect(exactJson([1n, "1"])).toBe('[1,"1"]');
  const cycle: unknown[] = [];
  cycle.push(cycle);
  expect(() => exactJson(cycle)).toThrow(TypeError);
});
