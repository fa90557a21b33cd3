import { describe, expect, test } from "vitest";
import type { ClientCapabilities } from "../../../src/protocol/model.ts";
import { checkedExtensions, checkedMeta } from "../../../src/protocol/meta_names.ts";

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
  test.each(good)("%j is one", (key) => expect(() => checkedMeta({ [key]: 1 })).not.toThrow());
  test.each(bad)("%j is none", (key) => expect(() => checkedMeta({ [key]: 1 })).toThrow(/found the name/));

  test("of a megabyte are judged at once", () => {
    for (const text of ["a", "-", "a.", ".", "a/"]) {
      try {
        checkedMeta({ [text.repeat(1 << 19)]: 1 });
      } catch {
        // Only the time counts here.
      }
    }
  });
});

describe("names of extensions (C-EXT-01)", () => {
  test.each(["io.modelcontextprotocol/tasks", "com.example/a", "local/x"])("%j is one", (id) => {
    expect(() => checkedExtensions({ [id]: {} })).not.toThrow();
  });
  test("without a prefix are refused by the compiler, too", () => {
    const capabilities: ClientCapabilities = { extensions: { "com.example/a": {} } };
    // @ts-expect-error: it has no prefix
    const wrong: ClientCapabilities = { extensions: { tasks: {} } };
    expect([capabilities, wrong]).toHaveLength(2);
  });
  test.each(["tasks", "com.example/", "/x", "com example/x", ""])("%j is none", (id) => {
    expect(() => checkedExtensions({ [id]: {} })).toThrow(
      expect.objectContaining({ code: "ERR_INVALID_ARGUMENTS" }),
    );
  });
});
