import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  brokenScripts,
  compareManifests,
  type DenoManifest,
  lockFaults,
  type LockFile,
  type NodeManifest,
  undeclared,
  unpinned,
} from "./manifests.ts";
import { readProduct, root } from "./source_text.ts";

const read = <T>(name: string): T => JSON.parse(readFileSync(join(root, name), "utf8")) as T;
const exists = (path: string): boolean => existsSync(join(root, path));
const node = read<NodeManifest>("package.json");
const deno = read<DenoManifest>("deno.json");

describe("manifests", () => {
  it("manifests agree on version, license and entries, and each entry exists", () => {
    expect(compareManifests(node, deno, exists)).toEqual([]);
  });

  it.each(Object.entries(deno.exports))("entry %s loads on a runtime that is not its own", async (_key, file) => {
    expect(Object.keys(await import(join(root, file)))).not.toEqual([]);
  });

  it("manifests pin every version", () => {
    expect(unpinned(node)).toEqual([]);
    expect(unpinned(read("tests/servers/package.json"))).toEqual([]);
    expect(unpinned(read("tests/servers/more/package.json"))).toEqual([]);
  });

  it("manifest declares what the product imports", () => {
    expect(undeclared(node, readProduct())).toEqual([]);
  });

  it("scripts name files that exist", () => {
    expect(brokenScripts(node, exists)).toEqual([]);
  });

  it("lock files name no source of packages and have every sum", () => {
    expect(lockFaults(read("package-lock.json"), node)).toEqual([]);
    for (const folder of ["tests/servers", "tests/servers/more"]) {
      expect(lockFaults(read(`${folder}/package-lock.json`), read(`${folder}/package.json`))).toEqual([]);
    }
  });

  it("commands of the package start with the line that finds Node", () => {
    for (const target of Object.values(node.bin ?? {})) {
      const source = readFileSync(join(root, target.replace(/^(\.\/)?dist\//, "").replace(/\.js$/, ".ts")), "utf8");
      expect(source.startsWith("#!/usr/bin/env node\n")).toBe(true);
    }
  });
});

describe("rules for manifests", () => {
  const goodDeno: DenoManifest = {
    version: "1.0.0",
    license: "MIT",
    exports: { ".": "./mod.ts", "./client": "./src/client/mod.ts" },
  };
  const goodNode: NodeManifest = {
    name: "planted",
    version: "1.0.0",
    license: "MIT",
    exports: {
      ".": { types: "./dist/mod.d.ts", default: "./dist/mod.js" },
      "./client": { types: "./dist/src/client/mod.d.ts", default: "./dist/src/client/mod.js" },
    },
    bin: { planted: "dist/runtimes/node/cli.js" },
    scripts: { test: "node tests/run/all.mjs" },
    dependencies: { valibot: "1.5.0" },
  };
  const anything = (): boolean => true;

  it("comparison accepts manifests that agree", () => {
    expect(compareManifests(goodNode, goodDeno, anything)).toEqual([]);
  });

  it.each<[string, Partial<NodeManifest>]>([
    ["another version", { version: "1.0.1" }],
    ["another license", { license: "ISC" }],
    ["a missing entry", { exports: { ".": goodNode.exports["."] } }],
    ["an entry without types", {
      exports: { ...goodNode.exports, "./client": { default: "./dist/src/client/mod.js" } },
    }],
    ["default before types", {
      exports: { ...goodNode.exports, ".": { default: "./dist/mod.js", types: "./dist/mod.d.ts" } },
    }],
    ["a condition", {
      exports: { ...goodNode.exports, ".": { bun: "./mod.ts", types: "./dist/mod.d.ts", default: "./dist/mod.js" } },
    }],
  ])("comparison bites on %s", (_what, change) => {
    expect(compareManifests({ ...goodNode, ...change }, goodDeno, anything)).not.toEqual([]);
  });

  it("comparison bites on entries and commands that lead nowhere", () => {
    expect(compareManifests(goodNode, goodDeno, (path) => path !== "./src/client/mod.ts")).toEqual([
      "./client: ./src/client/mod.ts does not exist",
    ]);
    expect(compareManifests(goodNode, goodDeno, (path) => path !== "./runtimes/node/cli.ts")).toEqual([
      "bin planted: ./runtimes/node/cli.ts does not exist",
    ]);
  });

  it.each(["^1.5.0", "~1.5.0", "1.5", "latest", "*", ">=1.0.0", "npm:other@1.0.0"])(
    "pin rule bites on %s",
    (version) => {
      expect(unpinned({ ...goodNode, devDependencies: { planted: version } })).toEqual([`planted ${version}`]);
    },
  );

  it("declaration rule bites on a package that only development has", () => {
    const text = `import * as v from "valibot"; import { z } from "zod/mini"; import "node:fs"; import "./x.ts";`;
    expect(undeclared({ ...goodNode, devDependencies: { zod: "4.0.0" } }, [{ path: "src/a/a.ts", text }])).toEqual([
      "zod",
    ]);
  });

  it("script rule bites on a missing file", () => {
    expect(brokenScripts(goodNode, anything)).toEqual([]);
    expect(brokenScripts(goodNode, () => false)).toEqual(["test: tests/run/all.mjs does not exist"]);
  });

  it("lock rule bites on a source, on a missing sum and on another version", () => {
    const lock: LockFile = {
      name: "planted",
      version: "0.9.0",
      packages: {
        "": {},
        "node_modules/a": { resolved: "somewhere", integrity: "sha512-x" },
        "node_modules/b": {},
        "node_modules/c": { link: true },
      },
    };
    expect(lockFaults(lock, goodNode)).toEqual([
      "lock is for planted 0.9.0",
      "node_modules/a says where it came from",
      "node_modules/b has no integrity",
    ]);
  });
});
