import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  aliasName,
  aliasTail,
  checkServerName,
  checkToolName,
  MAX_ALIAS_LENGTH,
  qualifiedName,
  splitName,
} from "../../../src/catalog/names.ts";

const PORTABLE = /^[A-Za-z0-9_-]+$/;

describe("server names", () => {
  it.each(["a", "fs", "fs-v2", "jira_cloud", "_a", "-", "A9", "a".repeat(32), "constructor", "Mcp"])(
    "takes %j",
    (name) => {
      expect(checkServerName(name)).toBeUndefined();
    },
  );

  it.each([
    ["", "is empty, wanted 1 to 32 characters"],
    ["a".repeat(33), "has 33 characters, wanted at most 32"],
    ["fs.read", `contains ".", wanted only letters, digits, "_" and "-"`],
    ["a b", `contains U+0020, wanted only letters, digits, "_" and "-"`],
    ["a\n", `contains U+000A, wanted only letters, digits, "_" and "-"`],
    ["é", `contains "é", wanted only letters, digits, "_" and "-"`],
    ["😀", `contains "😀", wanted only letters, digits, "_" and "-"`],
    ["a\u202eb", `contains U+202E, wanted only letters, digits, "_" and "-"`],
    ["a__b", `contains "__", which divides the parts of an alias`],
    ["__proto__", `contains "__", which divides the parts of an alias`],
    ["a_", `ends in "_", which would hide where its tools begin`],
    ["mcp", `is taken, wanted any name but "mcp" and "local"`],
    ["local", `is taken, wanted any name but "mcp" and "local"`],
    [undefined, "is undefined, wanted a string"],
    [null, "is null, wanted a string"],
  ])("refuses %j", (name, fault) => {
    expect(checkServerName(name)).toBe(fault);
  });
});

describe("tool names", () => {
  it.each([
    "a",
    "a.b",
    "a/b",
    "a b",
    "é",
    "😀",
    "__proto__",
    "constructor",
    "mcp.fs.read_file",
    "x".repeat(256),
    "删除",
  ])(
    "takes %j",
    (name) => {
      expect(checkToolName(name)).toBeUndefined();
    },
  );

  it.each([
    ["", "is empty, wanted 1 to 256 characters"],
    ["x".repeat(257), "has 257 characters, wanted at most 256"],
    ["x".repeat(10_000), "has 10000 characters, wanted at most 256"],
    ["a\nb", "contains U+000A, wanted printable characters only"],
    ["a\u0000", "contains U+0000, wanted printable characters only"],
    ["a\u007f", "contains U+007F, wanted printable characters only"],
    ["a\u200bb", "contains U+200B, wanted printable characters only"],
    ["a\u2028b", "contains U+2028, wanted printable characters only"],
    ["read\u202efdp", "contains U+202E, wanted printable characters only"],
    ["a\u{e0041}", "contains U+E0041, wanted printable characters only"],
    ["a\ud800", "contains U+D800, wanted printable characters only"],
    [7, "is number, wanted a string"],
  ])("refuses %j", (name, fault) => {
    expect(checkToolName(name)).toBe(fault);
  });
});

describe("aliases", () => {
  it.each([
    ["fs", "read_text", "read_text"],
    ["fs", "a__b", "a__b"],
    ["fs", "_x", "_x"],
    ["fs", "__proto__", "__proto__"],
    ["fs", "constructor", "constructor"],
    ["fs", "x".repeat(55), "x".repeat(55)],
    ["s".repeat(32), "x".repeat(25), "x".repeat(25)],
  ])("carries the tool's own name where it fits: %s, %s", async (server, tool, tail) => {
    expect(await aliasTail(server, tool)).toBe(tail);
  });

  it.each([
    ["fs", "a.b", /^a_b_h[0-9a-z]{10}$/],
    ["fs", "a/b", /^a_b_h[0-9a-z]{10}$/],
    ["fs", "a b", /^a_b_h[0-9a-z]{10}$/],
    ["fs", "é", /^__h[0-9a-z]{10}$/],
    ["fs", "😀x", /^_x_h[0-9a-z]{10}$/],
    ["fs", "x".repeat(56), /^x{43}_h[0-9a-z]{10}$/],
    ["fs", "x".repeat(200), /^x{43}_h[0-9a-z]{10}$/],
    ["s".repeat(32), "x".repeat(26), /^x{13}_h[0-9a-z]{10}$/],
    ["aws-iac-mcp-server", `${"get_stack_".repeat(5)}ab`, /^get_stack_get_stack_get_sta_h[0-9a-z]{10}$/],
  ])("gets a hash where it does not: %s, %s", async (server, tool, tail) => {
    const found = await aliasTail(server, tool);
    expect(found).toMatch(tail);
    expect(aliasName(server, found).length).toBeLessThanOrEqual(MAX_ALIAS_LENGTH);
    expect(aliasName(server, found)).toMatch(PORTABLE);
  });

  it("is the same in every run and on every machine", async () => {
    expect(await aliasTail("fs", "a/b")).toBe("a_b_h1cx0kpbxa0");
  });

  it("tells tools apart that share their first 60 characters", async () => {
    const shared = "describe_the_current_state_of_every_stack_in_the_account_and";
    expect(shared.length).toBe(60);
    const tails = await Promise.all([`${shared}_region`, `${shared}_regions`].map((tool) => aliasTail("aws", tool)));
    expect(tails[0]).not.toBe(tails[1]);
    expect(tails.map((tail) => aliasName("aws", tail).length)).toEqual([64, 64]);
  });

  it("cannot be chosen to meet that of another tool", async () => {
    const target = await aliasTail("fs", "a/b");
    expect(await aliasTail("fs", target)).not.toBe(target);
  });

  it("is one to one over hostile names", async () => {
    const names = fc.uniqueArray(fc.string({ unit: "grapheme", minLength: 1, maxLength: 80 }), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(names, async (tools) => {
        const tails = await Promise.all(tools.map((tool) => aliasTail("fs", tool)));
        expect(new Set(tails).size).toBe(tools.length);
        for (const tail of tails) expect(aliasName("fs", tail)).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      }),
      { numRuns: 100 },
    );
  });
});

describe("taking names apart", () => {
  it.each([
    ["mcp.fs.read_text", { kind: "mcp", server: "fs", tool: "read_text" }],
    ["mcp.fs.a.b", { kind: "mcp", server: "fs", tool: "a.b" }],
    ["mcp.evil.mcp.fs.read_file", { kind: "mcp", server: "evil", tool: "mcp.fs.read_file" }],
    ["mcp.fs..", { kind: "mcp", server: "fs", tool: "." }],
    ["mcp.fs-v2.a/b c", { kind: "mcp", server: "fs-v2", tool: "a/b c" }],
    ["mcp.fs.__proto__", { kind: "mcp", server: "fs", tool: "__proto__" }],
    ["mcp__fs__read_text", { kind: "alias", server: "fs", tail: "read_text" }],
    ["mcp__a__b__c", { kind: "alias", server: "a", tail: "b__c" }],
    ["mcp__a___b", { kind: "alias", server: "a", tail: "_b" }],
    ["mcp___a__b", { kind: "alias", server: "_a", tail: "b" }],
    ["mcp__a_b__c", { kind: "alias", server: "a_b", tail: "c" }],
    ["local.read_file", { kind: "local", tool: "read_file" }],
    ["local__read_file", { kind: "local", tool: "read_file" }],
    ["local.__proto__", { kind: "local", tool: "__proto__" }],
    ["read_file", { kind: "bare", tool: "read_file" }],
    ["fs.read_text", { kind: "bare", tool: "fs.read_text" }],
    ["", { kind: "bare", tool: "" }],
    ["mcp", { kind: "bare", tool: "mcp" }],
    ["mcp.", { kind: "bare", tool: "mcp." }],
    ["mcp.fs", { kind: "bare", tool: "mcp.fs" }],
    ["mcp.fs.", { kind: "bare", tool: "mcp.fs." }],
    ["mcp..x", { kind: "bare", tool: "mcp..x" }],
    ["mcp.f s.x", { kind: "bare", tool: "mcp.f s.x" }],
    [`mcp.${"s".repeat(33)}.x`, { kind: "bare", tool: `mcp.${"s".repeat(33)}.x` }],
    ["mcp__", { kind: "bare", tool: "mcp__" }],
    ["mcp____x", { kind: "bare", tool: "mcp____x" }],
    ["mcp__fs", { kind: "bare", tool: "mcp__fs" }],
    ["mcp__fs__", { kind: "bare", tool: "mcp__fs__" }],
    ["local.", { kind: "bare", tool: "local." }],
    ["local__", { kind: "bare", tool: "local__" }],
    ["MCP.fs.x", { kind: "bare", tool: "MCP.fs.x" }],
    ["mcp-fs", { kind: "bare", tool: "mcp-fs" }],
  ])("%j", (name, parts) => {
    expect(splitName(name)).toEqual(parts);
  });

  it("gives back what both spellings were made of", async () => {
    const server = fc.stringMatching(/^[A-Za-z0-9_-]{1,32}$/).filter((name) => checkServerName(name) === undefined);
    const tool = fc.string({ unit: "grapheme", minLength: 1, maxLength: 80 }).filter((name) =>
      checkToolName(name) === undefined
    );
    await fc.assert(
      fc.asyncProperty(server, tool, async (server, tool) => {
        expect(splitName(qualifiedName(server, tool))).toEqual({ kind: "mcp", server, tool });
        const tail = await aliasTail(server, tool);
        expect(splitName(aliasName(server, tail))).toEqual({ kind: "alias", server, tail });
      }),
      { numRuns: 300 },
    );
  });
});
