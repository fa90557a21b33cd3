import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteRing } from "../../../src/transport/byte_ring.ts";
import { heldBytes } from "../../fixtures/held_memory.ts";
import { growthBeyondLinear } from "../cpu_time.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function filled(capacity: number, ...chunks: string[]): ByteRing {
  const ring = new ByteRing(capacity);
  for (const chunk of chunks) {
    const bytes = bytesOf(chunk);
    ring.push(bytes);
    bytes.fill(0x3f);
  }
  return ring;
}

describe("byte ring", () => {
  const rows: [claim: string, capacity: number, chunks: string[], maxBytes: number, tail: string][] = [
    ["nothing", 10, [], 10, ""],
    ["all that fits", 10, ["ab", "c\n", "d"], 10, "abc\nd"],
    ["no blanks at the end", 10, ["ab \n\n"], 10, "ab"],
    ["empty chunks as nothing", 10, ["", "a", ""], 10, "a"],
    [
      "whole lines from where the beginning is lost",
      10,
      ["first\nsecond\nthird"],
      10,
      "[13 earlier bytes dropped]\nthird",
    ],
    ["half a line where there is no whole one", 4, ["abcdefgh"], 4, "[4 earlier bytes dropped]\nefgh"],
    ["half a line rather than none", 4, ["abcdef\n"], 4, "[3 earlier bytes dropped]\ndef"],
    ["less than it holds", 100, ["one\ntwo\nthree\n"], 7, "[8 earlier bytes dropped]\nthree"],
    ["a cut character as U+FFFD", 3, ["éé"], 3, "[1 earlier bytes dropped]\n\uFFFDé"],
    ["what several chunks leave", 4, ["abc", "def", "gh\n", "ij"], 4, "[9 earlier bytes dropped]\nij"],
  ];
  test.each(rows)("tells %s", (_claim, capacity, chunks, maxBytes, tail) => {
    expect(filled(capacity, ...chunks).tail(maxBytes)).toBe(tail);
  });

  test("keeps the very last bytes, however they came", () => {
    const chunk = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 60 });
    fc.assert(fc.property(fc.array(chunk, { maxLength: 600 }), fc.integer({ min: 1, max: 40 }), (chunks, capacity) => {
      const ring = filled(capacity, ...chunks);
      const all = chunks.join("");
      expect(ring.total).toBe(all.length);
      const lost = Math.max(0, all.length - capacity);
      const kept = all.slice(lost);
      expect(ring.tail(capacity)).toBe(lost > 0 ? `[${lost} earlier bytes dropped]\n${kept}` : kept);
    }));
  });

  test.each([1, 100, 65_536, 1 << 20])(
    "holds its capacity and no more, fed %i bytes at a time (A-15)",
    (size) => {
      const ring = new ByteRing(64 << 10);
      const chunk = new Uint8Array(size).fill(0x65);
      const before = heldBytes();
      for (let pushed = 0; pushed < (size === 1 ? 1 << 20 : 64 << 20); pushed += size) ring.push(chunk);
      // Of 64 MiB; what else the process allocates meanwhile counts too.
      expect(heldBytes() - before).toBeLessThan(4 << 20);
      expect(ring.total).toBeGreaterThanOrEqual(1 << 20);
    },
  );

  test("costs linear time, fed a byte at a time", () => {
    const one = Uint8Array.of(0x65);
    const growth = growthBeyondLinear(100_000, (bytes) => () => {
      const ring = new ByteRing(64 << 10);
      for (let pushed = 0; pushed < bytes; pushed++) ring.push(one);
    });
    expect(growth).toBeLessThan(5);
  });
});
