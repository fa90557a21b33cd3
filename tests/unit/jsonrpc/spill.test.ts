import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_PARSE_LIMITS, type ParseLimits } from "../../../src/jsonrpc/bounded_parse.ts";
import { isLargeFrame, SPILL_BYTES, type SpillParse, SpillParser } from "../../../src/jsonrpc/spill.ts";
import type { SpillSink } from "../../../src/jsonrpc/spill_sink.ts";
import { cut, encode, type Kept, KeptSink } from "./kept_sink.ts";

interface Parsed {
  readonly parse: SpillParse;
  readonly sink: KeptSink;
}

function parseBytes(bytes: Uint8Array, lengths: readonly number[] = [], limits: Partial<ParseLimits> = {}): Parsed {
  const sink = new KeptSink();
  const parser = new SpillParser({ sink, limits: { ...DEFAULT_PARSE_LIMITS, ...limits } });
  for (const chunk of cut(bytes, lengths)) {
    if (parser.push(chunk) !== undefined) throw new Error("a sink that never waits asks for no pause");
    chunk.fill(0);
  }
  return { parse: parser.end() as SpillParse, sink };
}

const parseText = (text: string, lengths?: readonly number[], limits?: Partial<ParseLimits>): Parsed =>
  parseBytes(encode(text), lengths, limits);

function reason({ parse }: Parsed): string {
  return parse.ok ? "ok" : parse.reason;
}

/** Puts what was spilled back in its place. */
function restored({ parse }: Parsed): unknown {
  if (!parse.ok) throw new Error(parse.reason);
  let { value } = parse;
  for (const { pointer, writer, bytes } of parse.spills) {
    const text = (writer as Kept).text();
    expect(encode(text).length).toBe(bytes);
    const names = pointer.split("/").slice(1).map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"));
    // deno-lint-ignore no-explicit-any
    let at: any = { "": value };
    for (const name of ["", ...names].slice(0, -1)) at = at[name];
    const last = ["", ...names].at(-1)!;
    expect(text.startsWith(at[last])).toBe(true);
    expect(encode(at[last]).length).toBeGreaterThan(SPILL_BYTES - 4);
    expect(encode(at[last]).length).toBeLessThanOrEqual(SPILL_BYTES);
    at[last] = text;
    value = names.length === 0 ? text : value;
  }
  return value;
}

const wellFormed = (text: string): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(encode(text));

/** Text as it may stand between quotes: any character, escaped in any way. */
const written = fc.array(
  fc.oneof(
    fc.constantFrom("a", "€", "𝄞", "é", "\\n", '\\"', "\\\\", "\\/", "\\u0041", "\\u20AC", "\\ud834\\udd1e", "\\u0000"),
    fc.constantFrom("\\ud834", "\\udd1e", "\\ud834\\ud834\\udd1e", "\\ud834\\n", "\\ud834\\u0041", "\uFEFF"),
    fc.string({ unit: "grapheme", maxLength: 40 }).map((text) => JSON.stringify(text).slice(1, -1)),
  ),
  { maxLength: 30 },
).map((parts) => parts.join(""));

const lengths = fc.array(fc.integer({ min: 1, max: 200_000 }), { minLength: 1, maxLength: 4 });
const tiny = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

describe("value", () => {
  test("parser gives the value of JSON.parse for every text, however it is cut", () => {
    fc.assert(fc.property(fc.json({ maxDepth: 6 }), tiny, (text, cuts) => {
      const parsed = parseText(text, cuts);
      const expected = JSON.parse(text, (_name, value) => {
        if (typeof value === "object" && value !== null) delete value["__proto__"];
        const isExact = !Number.isInteger(value) || Number.isSafeInteger(value) || String(value).includes("e");
        return isExact ? value : BigInt(String(value));
      });
      expect(restored(parsed)).toEqual(expected);
      expect(parsed.sink.opened).toEqual([]);
    }));
  });

  test("parser takes and refuses the texts that JSON.parse takes and refuses", () => {
    const piece = fc.constantFrom(...'[]{}:,"\\ \n\t1-.e0utrenlfas\u0000é'.split(""), '"a"', '"\\u00', "true", "null");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }).map((parts) => parts.join("")), tiny, (text, cuts) => {
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(reason(parseText(text, cuts))).toBe(isJson ? "ok" : "not_json");
      }),
      { numRuns: 2000 },
    );
  });

  test("long strings come out whole, with the beginning left in place", () => {
    fc.assert(
      fc.property(written, fc.integer({ min: 0, max: 4000 }), written, lengths, (before, times, again, cuts) => {
        const long = before + again.repeat(Math.ceil(times * 30 / (again.length + 1)));
        const text =
          `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"${long}"},"${long}"],"x":[]}}`;
        const parsed = parseText(text, cuts);
        const found = restored(parsed) as { result: { content: [{ text: string }, string] } };
        const expected = JSON.parse(text);
        const shown = long.length > SPILL_BYTES / 3 ? wellFormed : (each: string): string => each;
        // Between the two a string may be long in the text and short in itself.
        const same = (one: string, other: string): void =>
          expect(one === other || one === wellFormed(other)).toBe(true);
        same(found.result.content[0].text, expected.result.content[0].text);
        same(found.result.content[1], expected.result.content[1]);
        expect(shown(found.result.content[1])).toBe(shown(found.result.content[0].text));
        expect({ ...found, result: 0 }).toEqual({ ...expected, result: 0 });
      }),
      { numRuns: 80 },
    );
  });

  test("long strings that are cut at every byte come out whole", () => {
    const long = `\\ud834\\udd1e\\ud834x\\n€𝄞${"y".repeat(40)}`.repeat(1300);
    const text = `{"a":"${long}"}`;
    const whole = restored(parseText(text));
    expect(whole).toEqual({ a: wellFormed(JSON.parse(text).a) });
    for (const each of [1, 2, 3, 7, 13, 4097]) expect(restored(parseText(text, [each]))).toEqual(whole);
  });

  test("bytes that are no UTF-8 are read as a text decoder reads them", () => {
    const bad = fc.uint8Array({ min: 0x20, max: 0xff, maxLength: 60 }).map((bytes) =>
      bytes.filter((byte) => byte !== 0x22 && byte !== 0x5c)
    );
    fc.assert(
      fc.property(bad, fc.constantFrom(1, 3000), lengths, (bytes, times, cuts) => {
        const string = Buffer.concat(Array<Uint8Array>(times).fill(bytes));
        const text = Buffer.concat([encode('{"a":"'), string, encode('","b":1}')]);
        expect(restored(parseBytes(text, cuts))).toEqual(JSON.parse(new TextDecoder().decode(text)));
      }),
      { numRuns: 60 },
    );
  });

  test("byte order mark before the text is skipped, one in a long string stays", () => {
    const long = `\uFEFF${"x".repeat(70_000)}`;
    expect(restored(parseText(`\uFEFF{"a":"${long}"}`))).toEqual({ a: long });
  });

  test("head ends with a whole character", () => {
    for (const before of ["", "a", "ab", "abc"]) {
      const long = before + "𝄞".repeat(20_000);
      const { parse } = parseText(JSON.stringify({ a: long }));
      const head = (parse.ok ? parse.value as { a: string } : { a: "" }).a;
      expect(long.startsWith(head)).toBe(true);
      expect(head).not.toMatch(/[\ud800-\udbff]$/);
    }
  });
});

describe("what spills", () => {
  const at = (bytes: number): string => "x".repeat(bytes);

  test("string of 64 KiB stays, one of a byte more spills", () => {
    expect(parseText(JSON.stringify({ a: at(SPILL_BYTES) })).sink.opened.length).toBe(0);
    expect(parseText(JSON.stringify({ a: at(SPILL_BYTES + 1) })).sink.opened.length).toBe(1);
    expect(parseText(JSON.stringify([at(SPILL_BYTES + 1)])).sink.opened.length).toBe(0);
  });

  test("string that is long only by its escapes stays", () => {
    const text = `{"a":"${"\\u0041".repeat(SPILL_BYTES)}"}`;
    const parsed = parseText(text, [1000]);
    expect(parsed.sink.opened.length).toBe(0);
    expect(restored(parsed)).toEqual({ a: "A".repeat(SPILL_BYTES) });
  });

  const long = at(80_000);
  const rows: [string, string, readonly string[]][] = [
    ["members and items", JSON.stringify({ a: { b: [long, 1, long], "c/d~e": long } }), [
      "/a/b/0",
      "/a/b/2",
      "/a/c~1d~0e",
    ]],
    ["white space around", `{ "a" \n:\t "${long}" , "b" : [ "${long}" ] }`, ["/a", "/b/0"]],
    ["no names", JSON.stringify({ [long]: 1, b: { [long]: [2] } }), []],
    ["no text by itself", JSON.stringify(long), []],
    ["nothing of a batch", JSON.stringify([{ a: long }, long]), []],
    ["an id and a cursor that are members of content", JSON.stringify({ a: { b: { id: long, cursor: long } } }), [
      "/a/b/id",
      "/a/b/cursor",
    ]],
    ["the last of two members of a name", `{"a":"${long}1","b":2,"a":"${long}2"}`, ["/a"]],
    ["no prototype", `{"__proto__":"${long}","a":{"\\u005f_proto__":{"b":"${long}"}}}`, []],
  ];
  test.each(rows)("%s", (_claim, text, pointers) => {
    for (const cuts of [[], [1000], [65_536]]) {
      const parsed = parseText(text, cuts);
      expect(parsed.parse.ok && parsed.parse.spills.map(({ pointer }) => pointer)).toEqual(pointers);
      const kept = new Set(parsed.parse.ok ? parsed.parse.spills.map(({ writer }) => writer) : []);
      for (const writer of parsed.sink.opened) expect(writer.ended).toBe(kept.has(writer) ? "open" : "aborted");
      const expected = JSON.parse(text);
      delete expected["__proto__"];
      if (text.includes("\\u005f")) expected.a = {};
      expect(restored(parsed)).toEqual(expected);
    }
  });

  const never = ['{"id":"LONG"}', '{"method":"LONG"}', '{"\\u0069d" : "LONG"}', '{"result":{"nextCursor":"LONG"}}', [
    '{"params":{"x":["y"],"cursor"\n:"LONG"}}',
  ], '{"id":1,"result":{"requestState":"LONG"}}'].flat();
  test.each(never)("%s is refused", (text) => {
    const parsed = parseText(text.replace("LONG", long));
    expect(reason(parsed)).toBe("too_large");
    expect(parsed.sink.opened).toEqual([]);
  });

  test("only the first 32 of many leave, the others stay whole", () => {
    const list = Array.from({ length: 40 }, (_, at) => `${at} ${long}`);
    const parsed = parseText(JSON.stringify({ list }));
    expect(parsed.sink.opened.length).toBe(32);
    expect(restored(parsed)).toEqual({ list });
  });

  test("text that looks like a mark is a text like any other", () => {
    const parsed = parseText(JSON.stringify({ a: long, b: "0", c: "#12345678901234567890", d: "1-2-3-4:0" }));
    expect(restored(parsed)).toEqual({ a: long, b: "0", c: "#12345678901234567890", d: "1-2-3-4:0" });
  });

  test("without a sink nothing spills and the whole has to fit", () => {
    const parser = new SpillParser({ limits: { ...DEFAULT_PARSE_LIMITS, maxLength: 200_000 } });
    void parser.push(encode(JSON.stringify({ a: long })));
    expect(parser.end()).toEqual({ ok: true, value: { a: long }, spills: [] });
    const other = new SpillParser({ limits: { ...DEFAULT_PARSE_LIMITS, maxLength: 70_000 } });
    void other.push(encode(JSON.stringify({ a: long })));
    expect(other.isRefused).toBe(true);
    expect(other.end()).toEqual({ ok: false, reason: "too_large" });
  });
});

describe("numbers", () => {
  test("integers beyond the safe ones are bigint, others are what JSON.parse makes of them", () => {
    const text = `{"a":9007199254740991,"b":9007199254740992,"c":-18446744073709551615,"d":1234567890123456789.5,
      "e":12345678901234567890e2,"f":"12345678901234567890","g":[12345678901234567890 ,1e-12345678901234567890],
      "12345678901234567890":0.12345678901234567890}`;
    for (const cuts of [[], [1], [3], [16]]) {
      expect(restored(parseText(text, cuts))).toEqual({
        ...JSON.parse(text),
        b: 9007199254740992n,
        c: -18446744073709551615n,
        g: [12345678901234567890n, 0],
      });
    }
  });
});

describe("bounds", () => {
  const mib = { maxLength: 1 << 20 };
  const rows: [string, string, string, Partial<ParseLimits>?][] = [
    ["65 levels", "[".repeat(65), "too_deep"],
    ["64 levels", "[".repeat(64) + "]".repeat(64), "ok"],
    ["65 levels of objects in a string", JSON.stringify({ a: '{"a":'.repeat(65) }), "ok"],
    ["eleven values of ten", "[1,2,3,4,5,6,7,8,9,10,11]", "too_many_nodes", { maxNodes: 10 }],
    ["ten values of ten", "[1,2,3,4,5,6,7,8]", "ok", { maxNodes: 10 }],
    ["white space without an end", `{"a":1${" ".repeat(2 << 20)}`, "too_large", mib],
    ["a name without an end", `{"${"a".repeat(2 << 20)}`, "too_large", mib],
    ["short strings without an end", `["${`${"a".repeat(1000)}","`.repeat(2000)}`, "too_large", mib],
    ["long strings without an end", `{"a":[${`"${"a".repeat(70_000)}",`.repeat(20)}`, "too_large", mib],
    ["nothing", "", "not_json"],
    ["half a message", '{"a":', "not_json"],
    ["a long string without an end", `{"a":"${"a".repeat(80_000)}`, "not_json"],
    ["a line end in a long string", `{"a":"${"a".repeat(80_000)}\n"}`, "not_json"],
    ["a wrong escape in a long string", `{"a":"${"a".repeat(80_000)}\\x"}`, "not_json"],
    ["a wrong number in a long string", `{"a":"${"a".repeat(80_000)}\\u12g4"}`, "not_json"],
    ["a surrogate and a wrong number", `{"a":"${"a".repeat(80_000)}\\ud834\\u12g4"}`, "not_json"],
    ["two values", `{"a":"${"a".repeat(80_000)}"}{}`, "not_json"],
    ["a long string and no comma", `{"a":"${"a".repeat(80_000)}""b":1}`, "not_json"],
  ];
  test.each(rows)("%s", (_claim, text, found, limits) => {
    for (const cuts of [[], [1 << 16], [10_007]]) {
      const parsed = parseText(text, cuts, limits);
      expect(reason(parsed)).toBe(found);
      if (found !== "ok") { for (const writer of parsed.sink.opened) expect(writer.ended).toBe("aborted"); }
    }
  });

  test("refusal names the response that it was", () => {
    const named = parseText(`{"jsonrpc":"2.0","id":7,"result":{"a":${"[".repeat(65)}`, [5]);
    expect(named.parse).toEqual({ ok: false, reason: "too_deep", id: 7 });
    const asked = parseText(`{"jsonrpc":"2.0","id":7,"method":"x","params":${"[".repeat(65)}`);
    expect(asked.parse).toEqual({ ok: false, reason: "too_deep" });
    const late = parseText(`{"result":${"[".repeat(65)}`);
    expect(late.parse).toEqual({ ok: false, reason: "too_deep" });
  });

  test("frame of up to 1 MiB is parsed whole", () => {
    expect([isLargeFrame(1 << 20), isLargeFrame((1 << 20) + 1)]).toEqual([false, true]);
  });
});

describe("sink", () => {
  const long = JSON.stringify({ a: "x".repeat(300_000), b: "y".repeat(300_000) });

  /** A sink that waits or fails when it is told to. */
  function slowSink(): { sink: SpillSink; settle: (error?: Error) => void; aborted: number[]; writes: number } {
    const waiting: ((error?: Error) => void)[] = [];
    const state = {
      aborted: [] as number[],
      writes: 0,
      settle: (error?: Error) => waiting.splice(0).forEach((settle) => settle(error)),
      sink: {
        open() {
          const number = ++opened;
          return {
            write() {
              state.writes++;
              return new Promise<void>((resolve, reject) => {
                waiting.push((error) => error === undefined ? resolve() : reject(error));
              });
            },
            close: () => Promise.reject(new Error("not asked for")),
            abort: () => void state.aborted.push(number),
          };
        },
      },
    };
    let opened = 0;
    return state;
  }

  test("parser asks for a pause until the sink has taken what it was given", async () => {
    const slow = slowSink();
    const parser = new SpillParser({ sink: slow.sink });
    let isOver = false;
    const pushed = Promise.resolve(parser.push(encode(long).subarray(0, 70_000))).then(() => isOver = true);
    await Promise.resolve();
    expect(isOver).toBe(false);
    expect(slow.writes).toBeGreaterThan(0);
    slow.settle();
    await pushed;
    expect(parser.isRefused).toBe(false);
    parser.abort();
    expect(slow.aborted).toEqual([1]);
  });

  test("sink that fails later fails the frame, and everything open is aborted", async () => {
    const slow = slowSink();
    const parser = new SpillParser({ sink: slow.sink });
    const pushed = parser.push(encode(long).subarray(0, 70_000));
    const error = new Error("full");
    slow.settle(error);
    await pushed;
    expect(parser.isRefused).toBe(true);
    expect(parser.push(encode(long))).toBe(undefined);
    expect(parser.end()).toEqual({ ok: false, reason: "sink", error });
    expect(slow.aborted).toEqual([1]);
  });

  test.each(["open", "write"])("sink whose %s throws fails the frame", (where) => {
    const error = new Error("no");
    let aborted = 0;
    const fail = (): never => {
      throw error;
    };
    const writer = { write: fail, close: fail, abort: () => void aborted++ };
    const parser = new SpillParser({ sink: { open: where === "open" ? fail : () => writer } });
    void parser.push(encode(long));
    expect(parser.end()).toEqual({ ok: false, reason: "sink", error });
    expect(aborted).toBe(where === "open" ? 0 : 1);
  });

  test("abort after the end leaves what was handed over alone", () => {
    const sink = new KeptSink();
    const parser = new SpillParser({ sink });
    void parser.push(encode(long));
    expect((parser.end() as SpillParse).ok).toBe(true);
    parser.abort();
    expect(sink.opened.map(({ ended }) => ended)).toEqual(["open", "open"]);
  });

  test("memory is told as it grows, and given back at the end", () => {
    let now = 0;
    let most = 0;
    const onMemory = (delta: number): void => {
      now += delta;
      most = Math.max(most, now);
    };
    const parser = new SpillParser({ sink: new KeptSink(), onMemory });
    for (const chunk of cut(encode(JSON.stringify({ a: "x".repeat(8 << 20) })), [65_536])) void parser.push(chunk);
    expect(most).toBeLessThan(400_000);
    expect(most).toBeGreaterThan(65_536);
    void parser.end();
    expect(now).toBe(0);
  });

  test("memory that is refused fails the frame", async () => {
    const error = new Error("no more");
    const parser = new SpillParser({ onMemory: (delta) => delta > 0 ? Promise.reject(error) : undefined });
    await parser.push(encode("[1,"));
    expect(parser.end()).toEqual({ ok: false, reason: "too_large", error });
  });
});
