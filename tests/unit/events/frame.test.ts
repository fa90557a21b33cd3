import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { crc32c } from "../../../src/events/crc32c.ts";
import { checkFrame, FrameBlock, frameValue } from "../../../src/events/frame.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** One bit at a time, straight from the polynomial. */
function slowCrc(data: Uint8Array, seed = 0): number {
  let crc = ~seed >>> 0;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1) >>> 0;
  }
  return ~crc >>> 0;
}

describe("crc32c", () => {
  it.each([
    ["nothing", new Uint8Array(0), 0],
    ["the check text", bytes("123456789"), 0xe3069283],
    ["32 zeros (RFC 3720, B.4)", new Uint8Array(32), 0x8a9136aa],
    ["32 ones (RFC 3720, B.4)", new Uint8Array(32).fill(255), 0x62a8ab43],
    ["0 to 31 (RFC 3720, B.4)", Uint8Array.from({ length: 32 }, (_, n) => n), 0x46dd794e],
  ])("of %s is as published", (_, data, wanted) => {
    expect(crc32c(data)).toBe(wanted);
  });

  it("goes on from any point as if it had not stopped", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(200), (data, cut) => {
      const at = Math.min(cut, data.length);
      expect(crc32c(data)).toBe(slowCrc(data));
      expect(crc32c(data.subarray(at), crc32c(data.subarray(0, at)))).toBe(crc32c(data));
    }));
  });
});

describe("frame", () => {
  const lines = (block: FrameBlock): Uint8Array[] => {
    const found: Uint8Array[] = [];
    let start = 0;
    const all = block.bytes();
    for (let end = all.indexOf(10); end >= 0; end = all.indexOf(10, start)) {
      found.push(all.slice(start, end));
      start = end + 1;
    }
    expect(start).toBe(all.length);
    return found;
  };
  const chain = (records: readonly Uint8Array[]): boolean => {
    let crc = 0;
    return records.every((line) => {
      const next = checkFrame(line, crc);
      crc = next ?? 0;
      return next !== undefined;
    });
  };
  const jsonTexts = fc.array(fc.json({ noUnicodeString: false } as object), { minLength: 1, maxLength: 8 });

  it("gives back what was put in, whatever it holds", () => {
    fc.assert(fc.property(jsonTexts, (texts) => {
      const block = new FrameBlock(0);
      for (const text of texts) block.add(text);
      const found = lines(block);
      expect(found.length).toBe(texts.length);
      expect(chain(found)).toBe(true);
      expect(found.map(frameValue)).toEqual(texts.map((text) => JSON.parse(text)));
    }));
  });

  it("is found changed when any bit of it is", () => {
    const block = new FrameBlock(0);
    block.add('{"seq":1,"text":"Aa~"}');
    const [line] = lines(block);
    for (let bit = 0; bit < line!.length * 8; bit++) {
      const changed = line!.slice();
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(checkFrame(changed, 0), `bit ${bit}`).toBeUndefined();
    }
  });

  it("is found missing or moved by the one behind it", () => {
    const block = new FrameBlock(0);
    for (let seq = 1; seq <= 4; seq++) block.add(`{"seq":${seq}}`);
    const [a, b, c, d] = lines(block) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
    expect(chain([a, b, c, d])).toBe(true);
    expect(chain([a, c, d])).toBe(false);
    expect(chain([b, c, d])).toBe(false);
    expect(chain([a, c, b, d])).toBe(false);
    expect(chain([a, b, b, c, d])).toBe(false);
  });

  it("takes the checksum as text: upper-case digits are not what was written", () => {
    const block = new FrameBlock(0);
    block.add("{}");
    block.add("[]");
    const upper = lines(block).map((line) => bytes(new TextDecoder().decode(line).toUpperCase()));
    expect(upper.some((line) => /[A-F]/.test(new TextDecoder().decode(line.subarray(0, 8))))).toBe(true);
    expect(chain(upper)).toBe(false);
  });

  it.each(["", "1234567", "00000000", "00000000 ", "00000000x{}", "0000000g {}"])("is not what %j is", (text) => {
    expect(checkFrame(bytes(text), 0)).toBeUndefined();
    expect(frameValue(bytes(text.replace("{}", "{")))).toBeUndefined();
  });
});
