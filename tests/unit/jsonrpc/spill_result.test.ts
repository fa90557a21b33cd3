import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_PARSE_LIMITS, type ParseLimits } from "../../../src/jsonrpc/bounded_parse.ts";
import { type SpillParse, SpillParser } from "../../../src/jsonrpc/spill.ts";
import type { SpillSink } from "../../../src/jsonrpc/spill_sink.ts";
import { cut, encode, type Kept, KeptSink } from "./kept_sink.ts";

/** What of a message may stay in these tests; in earnest it is 8 MiB. */
const STAYS = 500;

interface Parsed {
  readonly parse: SpillParse;
  readonly sink: KeptSink;
}

function parse(text: string, lengths: readonly number[] = [], limits: Partial<ParseLimits> = {}): Parsed {
  const sink = new KeptSink();
  const parser = new SpillParser({ sink, limits: { ...DEFAULT_PARSE_LIMITS, maxLength: STAYS, ...limits } });
  for (const chunk of cut(encode(text), lengths)) {
    void parser.push(chunk);
    chunk.fill(0);
  }
  return { parse: parser.end() as SpillParse, sink };
}

const answer = (result: string): string => `{"jsonrpc":"2.0","id":7,"result":${result}}`;
const reason = ({ parse }: Parsed): string => parse.ok ? "ok" : parse.reason;

/** The value, and of each text that left where it stood and what it is. */
function read({ parse }: Parsed): { readonly value: unknown; readonly left: readonly (readonly unknown[])[] } {
  if (!parse.ok) throw new Error(parse.reason);
  return {
    value: parse.value,
    left: parse.spills.map(({ pointer, isWhole, writer, bytes }) => {
      const { mediaType, ended } = writer as Kept;
      const text = (writer as Kept).text();
      expect([ended, bytes]).toEqual(["open", encode(text).length]);
      return [pointer, isWhole, mediaType, text];
    }),
  };
}

const words = JSON.stringify(Array.from({ length: 200 }, (_, at) => `word ${at}`));
const tiny = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

describe("result of which too much would stay", () => {
  test("leaves its message as a whole, and its plain members stay", () => {
    const result =
      `{"isError":true, "content":${words},"n":1.5,"none":null,"resultType":"complete","_meta":{"a":[1]},"":"é"}`;
    for (const lengths of [[], [1], [7], [100_000]]) {
      const { value, left } = read(parse(answer(result), lengths));
      expect(value).toEqual({
        jsonrpc: "2.0",
        id: 7,
        result: { isError: true, n: 1.5, resultType: "complete", "": "é" },
      });
      expect(left).toEqual([["/result", true, "application/json", result]]);
    }
  });

  test("is found wherever it stands in the message, and may be anything an object may be", () => {
    const any = fc.array(fc.oneof(fc.jsonValue({ maxDepth: 5 }), fc.string({ unit: "grapheme" })), { minLength: 1 });
    fc.assert(fc.property(any, tiny, fc.boolean(), (list, lengths, idFollows) => {
      const result = JSON.stringify({ list, pad: ["x".repeat(STAYS)], end: true });
      const text = idFollows ? `{"result" : ${result},"jsonrpc":"2.0", "id":"7"}` : answer(result);
      const { value, left } = read(parse(text, lengths));
      expect(value).toEqual({ jsonrpc: "2.0", id: idFollows ? "7" : 7, result: { end: true } });
      expect(left).toEqual([["/result", true, "application/json", new TextDecoder().decode(encode(result))]]);
    }));
  });

  test("has one way of writing a character, so that a secret in another is found", () => {
    const rows = [
      ["\\u0073ecre\\u0074", "secret"],
      ["\\/\\u002f", "//"],
      ["\\u0022\\\\\\u005c\\n\\u000A\\u0001\\b", '\\"\\\\\\\\\\n\\n\\u0001\\b'],
      ["\\u20AC\\ud834\\udd1e", "€𝄞"],
      ["\\ud834", "\ufffd"],
      ["\u007f\u2028", "\u007f\u2028"],
    ];
    for (const [written, kept] of rows) {
      for (const lengths of [[], [1], [5]]) {
        const { left } = read(parse(answer(`{"a":["${written}"],"${written}":${words}}`), lengths));
        expect(left[0]![3]).toBe(`{"a":["${kept}"],"${kept}":${words}}`);
      }
    }
  });

  test("names the long strings that had left it before, and shows no part of them", () => {
    const [first, second] = ["first".repeat(20_000), "second".repeat(20_000)];
    const text = answer(JSON.stringify({ a: [first, "\u0041"], b: { c: second }, words: JSON.parse(words), d: first }));
    for (const lengths of [[], [1000], [65_536]]) {
      const { value, left } = read(parse(text, lengths, { maxLength: 2 * 65_536 + STAYS }));
      expect(value).toEqual({ jsonrpc: "2.0", id: 7, result: {} });
      const notes = [first, second].map((each, at) =>
        `[... ${each.length} bytes left out, kept apart as long text ${at + 1} ...]`
      );
      const whole = JSON.stringify({ a: [notes[0], "A"], b: { c: notes[1] }, words: JSON.parse(words), d: first });
      expect(left.map(([pointer, isWhole, type, text]) => [pointer, isWhole, type, text === first || text === second]))
        .toEqual([
          ["/result", true, "application/json", false],
          ["/result", undefined, "text/plain", true],
          ["/result", undefined, "text/plain", true],
        ]);
      expect(left[0]![3] === whole).toBe(true);
    }
  });

  test("leaves apart from a long string that follows it in its message", () => {
    const long = "x".repeat(70_000);
    const result = `{"a":[${`${words},`.repeat(40)}0]}`;
    const { value, left } = read(
      parse(`{"jsonrpc":"2.0","result":${result},"more":"${long}","id":7}`, [1000], { maxLength: 65_536 + STAYS }),
    );
    expect(value).toEqual({ jsonrpc: "2.0", result: {}, more: long.slice(0, 65_536), id: 7 });
    expect(left.map(([pointer, isWhole, , text]) => [pointer, isWhole, text === result || text === long])).toEqual([
      ["/result", true, true],
      ["/more", undefined, true],
    ]);
  });

  test("keeps no long string as a plain member", () => {
    const result = `{"a": "${"x".repeat(4096)}","b" : "${"y".repeat(4097)}","c":${words},"d":"${
      "z".repeat(70_000)
    }","e":1}`;
    for (const lengths of [[], [1], [1000]]) {
      const { value, left } = read(parse(answer(result), lengths));
      expect(value).toEqual({ jsonrpc: "2.0", id: 7, result: { a: "x".repeat(4096), e: 1 } });
      expect(left[0]![3] === result).toBe(true);
    }
  });

  test("fits where no more than the end of its message is beyond the limit", () => {
    const start = `{"jsonrpc":"2.0","result":{"list":["`;
    const text = `${start}${"x".repeat(STAYS - start.length - 3)}"]},"id":7}`;
    const { value, left } = read(parse(text));
    expect([value, left]).toEqual([JSON.parse(text), []]);
  });

  test("holds no more values in memory for it, however many there are", () => {
    const { left } = read(parse(answer(`{"list":${words}}`), [50], { maxNodes: 100 }));
    expect(left[0]![3]).toBe(`{"list":${words}}`);
  });

  test("memory is given back while it goes on", () => {
    const told: number[] = [];
    let now = 0;
    const parser = new SpillParser({ sink: new KeptSink(), onMemory: (delta) => void told.push(now += delta) });
    const text = answer(`{"list":[${Array.from({ length: 400_000 }, () => `"${"x".repeat(40)}"`).join(",")}]}`);
    for (const chunk of cut(encode(text), [65_536])) void parser.push(chunk);
    expect(Math.max(...told)).toBe(8 << 20);
    expect(now).toBeLessThan(100_000);
    void parser.end();
    expect(now).toBe(0);
  });
});

describe("what is refused as before", () => {
  const big = `{"a":${words}}`;
  const rows: [claim: string, text: string, found: string][] = [
    ["parameters of a request", `{"jsonrpc":"2.0","id":7,"method":"x","params":${big}}`, "too_large"],
    ["data of an error", `{"jsonrpc":"2.0","id":7,"error":${big}}`, "too_large"],
    ["a batch", `[${answer(big)}]`, "too_large"],
    ["a list as a result", answer(words), "too_large"],
    ["a text as a result", answer(`"${"x".repeat(600)}"`), "too_large"],
    [
      "a second large member",
      `{"jsonrpc":"2.0","id":7,"result":${big},"more":[${`${words},`.repeat(4)}0]}`,
      "too_large",
    ],
    ["a large member before it", `{"jsonrpc":"2.0","id":7,"more":${words},"result":${big}}`, "too_large"],
    ["plain members without an end", answer(`{"a":${words}${',"b":1'.repeat(12_000)}}`), "too_large"],
    ["a name without an end", answer(`{"a":${words}, "${"x".repeat(5000)}":1}`), "too_large"],
    ["64 levels in it", answer(`{"a":${words},"b":${"[".repeat(63)}`), "too_deep"],
    ["an end of the wrong kind", answer(`{"a":${words},"b":[}]}`), "not_json"],
    ["a line end in a string", answer(`{"a":${words},"b":["\n"]}`), "not_json"],
    ["a wrong escape", answer(`{"a":${words},"b":["\\x"]}`), "not_json"],
    ["a wrong plain member", answer(`{"a":${words},"b":nothing}`), "not_json"],
    ["half of it", `{"jsonrpc":"2.0","id":7,"result":{"a":${words}`, "not_json"],
    ["half of the message", `{"jsonrpc":"2.0","id":7,"result":${big}`, "not_json"],
    ["more behind the message", `${answer(big)}{}`, "not_json"],
  ];
  test.each(rows)("%s", (_claim, text, found) => {
    for (const lengths of [[], [1], [100]]) {
      const parsed = parse(text, lengths);
      expect(reason(parsed)).toBe(found);
      for (const writer of parsed.sink.opened) expect(writer.ended).toBe("aborted");
    }
  });

  test("62 levels in it are none", () => {
    expect(reason(parse(answer(`{"a":${words},"b":${"[".repeat(62)}${"]".repeat(62)}}`)))).toBe("ok");
  });

  test("a result of which a later one takes the place is let go of", () => {
    const parsed = parse(`{"jsonrpc":"2.0","id":7,"result":${big},"result":{}}`);
    expect(read(parsed)).toEqual({ value: { jsonrpc: "2.0", id: 7, result: {} }, left: [] });
    expect(parsed.sink.opened.map(({ ended }) => ended)).toEqual(["aborted"]);
  });

  test.each(["open", "write"])("one whose sink fails to %s", (where) => {
    const error = new Error("no");
    let aborted = 0;
    const fail = (): never => {
      throw error;
    };
    const sink: SpillSink = {
      open: where === "open" ? fail : () => ({ write: fail, close: fail, abort: () => void aborted++ }),
    };
    const parser = new SpillParser({ sink, limits: { ...DEFAULT_PARSE_LIMITS, maxLength: STAYS } });
    void parser.push(encode(answer(`{"a":${JSON.stringify(["x".repeat(60_000), "x".repeat(60_000)])}}`)));
    expect(parser.end()).toEqual({ ok: false, reason: "sink", id: 7, error });
    expect(aborted).toBe(where === "open" ? 0 : 1);
  });
});
