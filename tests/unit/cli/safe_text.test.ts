import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { oneLine, plain, safeJson } from "../../../src/cli/safe_text.ts";

const ESC = "\x1b";

/** Whatever can move a cursor, change colours, or is not seen. */
// deno-lint-ignore no-control-regex
const UNSAFE =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/u;

describe("text for a terminal", () => {
  it.each([
    [`a${ESC}[31mred${ESC}[0m`, "ared"],
    [`a${ESC}[2K\rb`, "ab"],
    [`a${ESC}]0;title\x07b`, "ab"],
    [`a${ESC}]8;;http://evil.test${ESC}\\link${ESC}]8;;${ESC}\\b`, "alinkb"],
    [`a${ESC}]52;c;QUJD\x07b`, "ab"],
    [`a${ESC}]not closed\nb`, "anot closed\nb"],
    [`a${ESC}P1$r${ESC}\\b`, "ab"],
    ["a\x9b31mb", "ab"],
    ["a\x9d0;t\x9cb", "ab"],
    [`a${ESC}cb${ESC}`, "ab"],
    [`a${ESC}[999`, "a"],
    ["a\u202eb\u{e0041}c\u200bd", "abcd"],
    ["a\x00b\x7fc\bd", "abcd"],
    ["a\r\nb\tc", "a\nb\tc"],
    ["👩‍👩‍👧 שלום", "👩‍👩‍👧 שלום"],
  ])("%j becomes %j", (text, expected) => {
    expect(plain(text)).toBe(expected);
  });

  it("no text leaves anything that a terminal obeys", () => {
    const piece = fc.constantFrom(
      "\x1b",
      "[",
      "]",
      "\x9b",
      "\x9d",
      "\x07",
      "\\",
      "0",
      ";",
      "m",
      "K",
      "\n",
      "a",
      "\u202e",
      "P",
      "\x9c",
      " ",
    );
    fc.assert(fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => !UNSAFE.test(plain(pieces.join("")))), {
      numRuns: 2_000,
      seed: 1,
    });
  });

  it("long hostile text takes linear time", () => {
    const text = `${ESC}]`.repeat(200_000) + "\x9d".repeat(200_000) + `${ESC}[`.repeat(200_000);
    const start = performance.now();
    expect(plain(text)).toBe("");
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  it("one line has no line ends", () => {
    expect(oneLine(" a\n\n b\tc\u2028d ")).toBe("a b cd");
  });

  it("JSON shows what is unsafe as escapes, and means the same", () => {
    const value = { "a\u202e": `x${ESC}[0m\x9b\u{e0041}\n` };
    const text = safeJson(value, 2);
    expect(text).toBe('{\n  "a\\u202e": "x\\u001b[0m\\u009b\\udb40\\udc41\\n"\n}');
    expect(JSON.parse(text)).toEqual(value);
  });
});
