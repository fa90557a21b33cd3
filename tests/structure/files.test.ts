import { homedir, tmpdir } from "node:os";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import {
  countLines,
  finished,
  goodLength,
  goodName,
  LONG_LINES,
  MAX_LINES,
  noMachinePaths,
  noRegistryHosts,
  notFocused,
} from "./file_rules.ts";
import { check, readProduct, readTree, root, type Rule, type SourceText } from "./source_text.ts";

const product = readProduct();
const scripts = readTree(["mod.ts", "src", "runtimes", "tests", "bench", "examples", ".ci"], [".ts", ".tsx", ".mjs"]);
const written = readTree(["."], [""]).filter(({ path, text }) => path !== "package-lock.json" && !text.includes("\0"));

/** Places of this checkout that a file could have caught; a temporary folder is anybody's, and so is a made-up home. */
function placesHere(): string[] {
  const above = dirname(root);
  const tooCommon = new Set(["/", "/tmp", tmpdir(), dirname(tmpdir())]);
  const isMadeUp = (place: string): boolean => noMachinePaths([])({ path: "", text: place }).length === 0;
  return [root, above, homedir()].filter((place) => !tooCommon.has(place) && !(isHome(place) && isMadeUp(place)));
}

function isHome(place: string): boolean {
  return /^\/(?:home|Users)\/[^/]+$/.test(place);
}

function bites(rule: Rule, file: Partial<SourceText>): number {
  return rule({ path: "src/planted/planted.ts", text: "", ...file }).length;
}

describe("files", () => {
  it("files have names in snake_case that say what is inside", () => {
    expect(check(scripts, goodName)).toEqual([]);
  });

  it("product files are short", () => {
    const long = product.filter(({ text }) => countLines(text) > LONG_LINES);
    for (const { path, text } of long) {
      console.warn(`${path} has ${countLines(text)} lines: is there a second responsibility?`);
    }
    expect(check(product, goodLength)).toEqual([]);
  });

  it("product has no marks of unfinished work", () => {
    expect(check(product, finished)).toEqual([]);
  });

  it("tests are not focused", () => {
    expect(check(scripts, notFocused)).toEqual([]);
  });

  it("files name no path of this machine and no registry", () => {
    expect(written.length).toBeGreaterThan(product.length);
    expect(check(written, noMachinePaths(placesHere()), noRegistryHosts)).toEqual([]);
  });
});

describe("rules for files", () => {
  it.each([
    "src/kernel/fileName.ts",
    "src/kernel/file-name.ts",
    "src/Kernel/file.ts",
    "src/kernel/utils.ts",
    "src/kernel/helpers.ts",
    "tests/unit/_x.test.ts",
  ])("name rule bites on %s", (path) => {
    expect(bites(goodName, { path })).toBe(1);
  });

  it.each([
    "mod.ts",
    "src/scrub/to_text.ts",
    "tests/unit/line_cut.test.ts",
    "tests/vitest.config.ts",
    ".ci/run.mjs",
    "src/app/page.tsx",
  ])(
    "name rule lets pass %s",
    (path) => {
      expect(bites(goodName, { path })).toBe(0);
    },
  );

  it("length rule bites past its limit and not at it", () => {
    expect(bites(goodLength, { text: "x\n".repeat(MAX_LINES) })).toBe(0);
    expect(bites(goodLength, { text: "x\n".repeat(MAX_LINES + 1) })).toBe(1);
  });

  it.each(["// TO" + "DO: later", "// FIX" + "ME", "// enough for" + " now"])(
    "unfinished-work rule bites on %s",
    (text) => {
      expect(bites(finished, { text })).toBe(1);
    },
  );

  it("focus rule bites", () => {
    expect(bites(notFocused, { text: "it" + ".only('x', () => {});" })).toBe(1);
    expect(bites(notFocused, { text: "describe.each([])" + ".only('x', () => {});" })).toBe(0);
    expect(bites(notFocused, { text: "options.only('x');" })).toBe(0);
  });

  it.each([
    "see /build/place/notes.md",
    "cd /build/place",
    "path: '/home/" + "karl/x'",
    "/Users/" + "karl/x",
    "C:\\Users\\" + "karl",
    "C:\\\\Users\\\\" + "karl",
  ])("path rule bites on %s", (text) => {
    expect(bites(noMachinePaths(["/build/place"]), { text })).toBe(1);
  });

  it.each([
    "/home/user/project",
    "/Users/me/x",
    "/build/placement",
    "a/build/place/b",
    "GET /users/karl",
    "./home/karl",
  ])(
    "path rule lets pass %s",
    (text) => {
      expect(bites(noMachinePaths(["/build/place"]), { text })).toBe(0);
    },
  );

  it.each(["https://reg" + "istry.example.com/x.tgz", "http://npm.j" + "sr.io/", "from reg" + "istry.npmjs.org"])(
    "registry rule bites on %s",
    (text) => {
      expect(bites(noRegistryHosts, { text })).toBe(1);
    },
  );

  it.each(["jsr:@portcullis/portcullis", "https://example.com/registry", "the npm registry"])(
    "registry rule lets pass %s",
    (text) => {
      expect(bites(noRegistryHosts, { text })).toBe(0);
    },
  );
});
