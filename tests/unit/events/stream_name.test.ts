import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkStreamName, fileNameToStream, streamToFileName } from "../../../src/events/stream_name.ts";

const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
const names = fc.array(visible, { minLength: 1, maxLength: 60 }).map((list) => list.join(""));

describe("stream name", () => {
  it("becomes a file name and back", () => {
    fc.assert(fc.property(names, (stream) => {
      const file = streamToFileName(stream);
      expect(fileNameToStream(file)).toBe(stream);
      expect(file).toMatch(/^[a-z0-9_=%-]+$/);
    }));
  });

  it("has a file name of its own, also where case does not count", () => {
    fc.assert(fc.property(names, names, (a, b) => {
      fc.pre(a !== b);
      expect(streamToFileName(a).toLowerCase()).not.toBe(streamToFileName(b).toLowerCase());
    }));
    expect(streamToFileName("session:s_1")).toBe("session=s_1");
    expect(streamToFileName("session:S_1")).toBe("session=%53_1");
  });

  it.each([".", "..", "../x", "a/b", "a\\b", "C:\\x", "=", "%", "a%2e"])("%j leads to no other directory", (stream) => {
    expect(streamToFileName(stream)).not.toMatch(/[./\\]/);
    expect(fileNameToStream(streamToFileName(stream))).toBe(stream);
  });

  it.each(["", "a b", "a\n", "é", "x".repeat(201), "\u0000"])("%j is refused", (stream) => {
    expect(() => checkStreamName(stream)).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS" }));
  });

  it("is refused by files when it would be too long there", () => {
    expect(() => streamToFileName("X".repeat(200))).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS" }));
  });

  it.each(["", "Upper", "a.b", "%3a", "%61", "%zz", "a b", "lock.txt"])(
    "is not what file name %j stands for",
    (file) => {
      expect(fileNameToStream(file)).toBeUndefined();
    },
  );
});
