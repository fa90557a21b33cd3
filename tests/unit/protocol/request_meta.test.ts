import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { checkExtensions, withMeta } from "../../../src/protocol/request_meta.ts";

const send = (_meta: JsonObject): JsonObject => withMeta({ _meta }, undefined, {});

describe("names of metadata (C-META-04)", () => {
  const good = [
    "a",
    "a.b-c_d",
    "Z9",
    "progressToken",
    "com.example/",
    "com.example/a",
    "com.example.mcp/x",
    "a-1.b/c.d",
  ];
  const bad = ["", "-a", "a-", ".a", "a b", "é", "/a", "1com/a", "com./a", "com-/a", "a/b/c", "com.example/-a", "a\n"];
  test.each(good)("%j is one", (key) => expect(() => send({ [key]: 1 })).not.toThrow());
  test.each(bad)("%j is none", (key) => expect(() => send({ [key]: 1 })).toThrow(/found the name/));

  test("of a megabyte are judged at once", () => {
    for (const text of ["a", "-", "a.", ".", "a/"]) {
      try {
        send({ [text.repeat(1 << 19)]: 1 });
      } catch {
        // Only the time counts here.
      }
    }
  });
});

describe("names of extensions (C-EXT-01)", () => {
  test.each(["io.modelcontextprotocol/tasks", "com.example/a", "local/x"])("%j is one", (id) => {
    expect(() => checkExtensions({ extensions: { [id]: {} } })).not.toThrow();
  });
  test.each(["tasks", "com.example/", "/x", "com example/x", ""])("%j is none", (id) => {
    expect(() => checkExtensions({ extensions: { [id]: {} } })).toThrow(
      expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS" }),
    );
  });
  test("are looked for nowhere else", () => {
    for (const capabilities of [{}, { extensions: null }, { extensions: 5 }, { experimental: { "x y": {} } }]) {
      expect(() => checkExtensions(capabilities as JsonObject)).not.toThrow();
    }
  });
});

describe("metadata of a request", () => {
  test("keeps what its caller has put there, and wants it to be an object of good names", () => {
    expect(withMeta(undefined, undefined, { "a/b": 1 })).toEqual({ _meta: { "a/b": 1 } });
    expect(withMeta({ _meta: { "a/b": 2, c: 3 }, x: 1 }, undefined, { "a/b": 1 })).toEqual({
      _meta: { "a/b": 2, c: 3 },
      x: 1,
    });
    for (const _meta of [5, [], null, { "b d": 1 }]) {
      expect(() => withMeta({ _meta }, undefined, {})).toThrow(
        expect.objectContaining({
          code: "ERR_INVALID_ARGUMENTS",
          message: expect.stringMatching(/^Cannot send metadata: /),
        }),
      );
    }
  });
});
