import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeHeaderValue, nameHeader } from "../../../src/protocol/headers.ts";

describe("header value", () => {
  const vectors: [text: string, value: string][] = [
    ["us-west1", "us-west1"],
    ["us west 1", "us west 1"],
    ["", ""],
    [" padded ", "=?base64?IHBhZGRlZCA=?="],
    ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
    ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
    ["\tindented", "=?base64?CWluZGVudGVk?="],
    ["in\tner", "=?base64?aW4JbmVy?="],
    ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
    ["=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="],
    ["日本語", "=?base64?5pel5pys6Kqe?="],
    [" us-west1", "=?base64?IHVzLXdlc3Qx?="],
    ["us-west1 ", "=?base64?dXMtd2VzdDEg?="],
    ["a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="],
    ["a\0b", "=?base64?YQBi?="],
    ["\x7f", "=?base64?fw==?="],
    ["~!", "~!"],
    ["=?base64?half", "=?base64?half"],
    ["half?=", "half?="],
    ["=?BASE64?x?=", "=?BASE64?x?="],
    ["x", "x"],
    [" ", "=?base64?IA==?="],
    ["a\n", "=?base64?YQo=?="],
  ];
  test.each(vectors)("of %j is %j (C-HTTP-07)", (text, value) => {
    expect(encodeHeaderValue(text)).toBe(value);
  });

  test("is always legal, and gives the text back", () => {
    fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const value = encodeHeaderValue(text);
      expect(value).toMatch(/^[\x20-\x7e]*$/);
      expect(new Headers({ x: value }).get("x")).toBe(value);
      const wrapped = /^=\?base64\?(.*)\?=$/.exec(value);
      const found = wrapped === null
        ? value
        : new TextDecoder().decode(Uint8Array.from(atob(wrapped[1]!), (each) => each.charCodeAt(0)));
      expect(found).toBe(text);
    }));
  });

  test.each(["\ud800", "a\udc00b", "\udc00\ud800", "x".repeat(99) + "\udbff"])(
    "of half a surrogate pair is none: header and body would differ (%j)",
    (text) => {
      expect(() => encodeHeaderValue(text)).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS" }));
      expect(() => nameHeader("resources/read", { uri: text })).toThrow(
        expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS" }),
      );
    },
  );

  test("of a megabyte is made in one go", () => {
    expect(encodeHeaderValue("é".repeat(1 << 20)).length).toBeGreaterThan(2 << 20);
  });
});

describe("name header", () => {
  const rows: [method: string, params: unknown, value: string | undefined][] = [
    ["tools/call", { name: "echo" }, "echo"],
    ["tools/call", { name: "漢" }, "=?base64?5ryi?="],
    ["tools/call", { name: "" }, ""],
    ["prompts/get", { name: "p" }, "p"],
    ["resources/read", { uri: "file:///a b" }, "file:///a b"],
    ["tasks/get", { taskId: "t" }, "t"],
    ["tasks/update", { taskId: "t" }, "t"],
    ["tasks/cancel", { taskId: "t" }, "t"],
    ["tools/list", { name: "echo" }, undefined],
    ["tools/call", { name: 5 }, undefined],
    ["tools/call", {}, undefined],
    ["tools/call", undefined, undefined],
    ["__proto__", { name: "x" }, undefined],
  ];
  test.each(rows)("of %s with %j is %j (C-HTTP-05, C-HTTP-06)", (method, params, value) => {
    expect(nameHeader(method, params)).toBe(value);
  });
});
