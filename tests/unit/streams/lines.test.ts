import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LineSplitter } from "../../../src/streams/lines.ts";
import { heldBytes } from "../../fixtures/held_memory.ts";
import { growthBeyondLinear } from "../cpu_time.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

interface Cut {
  readonly lines: string[];
  readonly sizes: number[];
  readonly tooLong: number[];
}

/** What comes out of a splitter that is fed these chunks. Each is wiped afterwards, as a reader with one buffer does. */
function cut(chunks: Iterable<Uint8Array>, maxBytes = 1 << 20, end = true): Cut {
  const out: Cut = { lines: [], sizes: [], tooLong: [] };
  const splitter = new LineSplitter(maxBytes, {
    onLine: (text, bytes) => {
      out.lines.push(text);
      out.sizes.push(bytes);
    },
    onTooLong: (bytes) => void out.tooLong.push(bytes),
  });
  for (const chunk of chunks) {
    const copy = chunk.slice();
    void splitter.push(copy);
    copy.fill(0x3f);
  }
  if (end) void splitter.end();
  return out;
}

function* pieces(bytes: Uint8Array, size: number): Iterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe("line splitter", () => {
  const rows: [claim: string, text: string, lines: string[]][] = [
    ["LF", "a\nb\n", ["a", "b"]],
    ["CRLF", "a\r\nb\r\n", ["a", "b"]],
    ["both in one text", "a\r\nb\nc\r\n", ["a", "b", "c"]],
    ["blank lines of both kinds", "\n\r\na\n\n\r\n\nb\n", ["a", "b"]],
    ["a last line without its end", "a\nb", ["a", "b"]],
    ["a last line that ends in CR", "a\nb\r", ["a", "b"]],
    ["a lone CR as part of the line", "a\rb\n", ["a\rb"]],
    ["two CR, of which one belongs to the line", "a\r\r\n", ["a\r"]],
    ["characters of two, three and four bytes", "é漢😀\n漢\n", ["é漢😀", "漢"]],
    ["separators that are no line ends", "a\u2028b\u2029c\u0085d\v\f\n", ["a\u2028b\u2029c\u0085d\v\f"]],
    ["NUL", "a\0b\n", ["a\0b"]],
    ["nothing", "", []],
    ["only line ends", "\n\n\r\n", []],
    ["spaces, which are no blank line", "  \n", ["  "]],
  ];
  test.each(rows)("knows %s", (_claim, text, lines) => {
    expect(cut([bytesOf(text)]).lines).toEqual(lines);
  });

  test("drops a byte order mark before a line, whatever comes with it in one chunk", () => {
    const bytes = Uint8Array.of(0xef, 0xbb, 0xbf, ...bytesOf("{}\nplain\n"));
    for (let at = 0; at <= bytes.length; at++) {
      expect(cut([bytes.subarray(0, at), bytes.subarray(at)]).lines).toEqual(["{}", "plain"]);
    }
  });

  test("takes a line of nothing but a byte order mark as blank", () => {
    expect(cut([Uint8Array.of(0xef, 0xbb, 0xbf, 0x0d, 0x0a, 0x61, 0x0a)]).lines).toEqual(["a"]);
  });

  test("gives U+FFFD for what is not UTF-8 and goes on", () => {
    const bytes = Uint8Array.of(0xff, 0x61, 0xc3, 0x28, 0x0a, 0x62, 0x0a);
    expect(cut([bytes]).lines).toEqual(["\uFFFDa\uFFFD(", "b"]);
  });

  test("gives the same lines at every cut (C-STDIO-13)", () => {
    const bytes = bytesOf('first\r\n\r\n{"x":"é漢😀"}\nlone\rcr\r\r\n\n漢字\r\nlast😀');
    const whole = cut([bytes]);
    expect(whole.lines).toEqual(["first", '{"x":"é漢😀"}', "lone\rcr\r", "漢字", "last😀"]);
    for (let one = 0; one <= bytes.length; one++) {
      for (let two = one; two <= bytes.length; two++) {
        const parts = [bytes.subarray(0, one), bytes.subarray(one, two), bytes.subarray(two)];
        expect(cut(parts)).toEqual(whole);
      }
    }
  });

  test("agrees with a split of the whole text on random texts and chunks", () => {
    const alphabet = fc.constantFrom("a", "bc", "\r", "\n", "\r\n", "é", "漢", "😀", "\u2028", "");
    fc.assert(
      fc.property(fc.array(alphabet, { maxLength: 40 }), fc.array(fc.integer({ min: 1, max: 7 })), (parts, steps) => {
        const bytes = bytesOf(parts.join(""));
        const chunks: Uint8Array[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const step = steps.length === 0 ? 3 : steps[turn % steps.length]!;
          chunks.push(bytes.subarray(at, at + step));
          at += step;
        }
        const expected = parts.join("").split("\n").map((line) => line.replace(/\r$/, "")).filter((line) =>
          line !== ""
        );
        const out = cut(chunks);
        expect(out.lines).toEqual(expected);
        expect(out.sizes).toEqual(expected.map((line) => bytesOf(line).length));
      }),
    );
  });
});

describe("longest line (FR-03)", () => {
  const LIMIT = 5000;
  const chunkings: [string, (line: Uint8Array) => Iterable<Uint8Array>][] = [
    ["in a single write", (line) => [line]],
    ["in 1 KiB pieces", (line) => pieces(line, 1024)],
    ["byte by byte", (line) => pieces(line, 1)],
    ["with its end in the next chunk", (line) => [line.subarray(0, -1), Uint8Array.of(0x0a, ...bytesOf("next\n"))]],
    ["after another in one chunk", (line) => [Uint8Array.of(...bytesOf("before\n"), ...line)]],
    ["with CR in one chunk and LF in the next", (line) => [
      Uint8Array.of(...line.subarray(0, -1), 0x0d),
      Uint8Array.of(0x0a),
    ]],
    ["without an end", (line) => [line.subarray(0, -1)]],
  ];
  const fills: [string, (bytes: number) => string][] = [
    ["plain", (bytes) => "a".repeat(bytes)],
    ["of two-byte characters", (bytes) => "é".repeat(bytes >> 1) + "a".repeat(bytes % 2)],
  ];
  for (const [how, chunk] of chunkings) {
    for (const [kind, fill] of fills) {
      test.each([LIMIT - 1, LIMIT])(`takes %i bytes, ${kind}, ${how}`, (bytes) => {
        const out = cut(chunk(bytesOf(`${fill(bytes)}\n`)), LIMIT);
        expect(out.tooLong).toEqual([]);
        expect(out.lines).toContain(fill(bytes));
      });
      test(`refuses one byte more, ${kind}, ${how}`, () => {
        const out = cut(chunk(bytesOf(`${fill(LIMIT + 1)}\n`)), LIMIT);
        expect(out.tooLong).toHaveLength(1);
        expect(out.tooLong[0]).toBeGreaterThan(LIMIT);
        expect(out.lines).not.toContain(fill(LIMIT + 1));
        expect(out.lines).not.toContain("next");
      });
    }
  }

  test("lines before one that never ends are delivered, those after it are not (FR-04)", () => {
    const out = cut([
      bytesOf("one\ntwo\nthr"),
      ...pieces(new Uint8Array(LIMIT * 3).fill(0x61), 777),
      bytesOf("\nlast\n"),
    ], LIMIT);
    expect(out.lines).toEqual(["one", "two"]);
    expect(out.tooLong).toHaveLength(1);
  });

  test("lines before one that is too long are delivered when all came in one chunk", () => {
    const out = cut([bytesOf(`one\ntwo\n${"x".repeat(LIMIT + 1)}\nthree\n`)], LIMIT);
    expect(out).toMatchObject({ lines: ["one", "two"], tooLong: [LIMIT + 1] });
  });

  test("nothing is held beyond the longest line, however it drips in", () => {
    let told = 0;
    const splitter = new LineSplitter(1 << 20, { onLine: () => {}, onTooLong: () => told++ });
    const drop = new Uint8Array(64 << 10).fill(0x61);
    const before = heldBytes();
    for (let count = 0; count < 1024; count++) void splitter.push(drop);
    expect(heldBytes() - before).toBeLessThan(8 << 20);
    void splitter.end();
    expect(told).toBe(1);
  });

  test("a long line in single bytes costs linear time", () => {
    const growth = growthBeyondLinear(100_000, (bytes) => {
      const line = new Uint8Array(bytes).fill(0x61);
      return () => void cut(pieces(line, 1), 8 << 20);
    });
    expect(growth).toBeLessThan(5);
  });
});

describe("pause", () => {
  test("is over when every handler of the chunk is done", async () => {
    const release: (() => void)[] = [];
    const splitter = new LineSplitter(100, {
      onLine: (text) => text === "free" ? undefined : new Promise<void>((resolve) => release.push(resolve)),
      onTooLong: () => {},
    });
    expect(splitter.push(bytesOf("free\n"))).toBeUndefined();
    let over = false;
    const pause = Promise.resolve(splitter.push(bytesOf("a\nb\nfree\nc\n"))).then(() => void (over = true));
    expect(release).toHaveLength(3);
    release[0]!();
    release[2]!();
    await Promise.resolve();
    expect(over).toBe(false);
    release[1]!();
    await pause;
  });
});
