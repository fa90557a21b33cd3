import { describe, expect, it } from "vitest";
import { compile } from "./compile.ts";
import {
  noEraBranches,
  noEval,
  noRuntime,
  noSilencedCompiler,
  noSilentCatch,
  noVersionLiterals,
} from "./core_rules.ts";
import { check, readProduct, type Rule } from "./source_text.ts";

const product = readProduct();
const core = product.filter(({ path }) => !path.startsWith("runtimes/"));
const outsideProtocol = product.filter(({ path }) => !path.startsWith("src/protocol/"));

/** How often a rule bites in a planted text. */
function bites(rule: Rule, text: string): number {
  return rule({ path: "src/planted/planted.ts", text }).length;
}

describe("core", () => {
  it("core uses nothing that only some runtimes have", () => {
    expect(check(core, noRuntime)).toEqual([]);
  });

  it("product never turns the compiler off", () => {
    expect(check(product, noSilencedCompiler)).toEqual([]);
  });

  it("product names protocol versions and branches on eras in src/protocol only", () => {
    expect(check(outsideProtocol, noVersionLiterals, noEraBranches)).toEqual([]);
  });

  it("product makes no code out of text", () => {
    expect(check(product, noEval)).toEqual([]);
  });

  it("product drops no error without saying why", () => {
    expect(check(product, noSilentCatch)).toEqual([]);
  });

  it("core compiles without the types of any runtime", () => {
    expect(compile("src/tsconfig.json")).toEqual([]);
  }, 120_000);

  it("compiler refuses a runtime global and a runtime module in the core", () => {
    const text =
      `import { readFile } from "node:fs";\nexport const home: string | undefined = process.env["HOME"];\nreadFile;\n`;
    const found = compile("src/tsconfig.json", [{ path: "src/kernel/planted.ts", text }]);
    expect(found).toEqual([expect.stringContaining("node:fs"), expect.stringContaining("process")]);
  }, 120_000);
});

describe("rules for the core", () => {
  it.each([
    `const a = process.env;`,
    `const a = Buffer.from("x");`,
    `if (typeof Deno !== "undefined") run();`,
    `const a = globalThis.process;`,
    `const a = (globalThis as Any)["Bun"];`,
    `declare const process: { env: object };`,
    `import * as fs from "node:fs";`,
    `const fs = await import("node:fs");`,
    `import { z } from "npm:zod";`,
    `const fs = require("fs");`,
    `/// <reference types="node" />`,
    `let timer: NodeJS.Timeout; const b: Buffer = c;`,
    `setImmediate(run);`,
  ])("runtime rule bites on %s", (text) => {
    expect(bites(noRuntime, text)).toBeGreaterThan(0);
  });

  it.each([
    `// process.env and Buffer`,
    `const a = "process";`,
    `const a = { process: 1, Buffer: 2 }; a.process;`,
    `function run(process: Child): void { process.kill(); }`,
    `const { module } = options; module.run();`,
    `interface Child { readonly process: string; exports(): void }`,
    `import { window } from "./window.ts"; window(1);`,
  ])("runtime rule lets pass %s", (text) => {
    expect(bites(noRuntime, text)).toBe(0);
  });

  it("compiler rule bites on comments that turn it off", () => {
    expect(bites(noSilencedCompiler, "// @ts-ignore: because")).toBe(1);
    expect(bites(noSilencedCompiler, "// @ts-nocheck")).toBe(1);
    expect(bites(noSilencedCompiler, "// @ts-expect-error: wrong on purpose")).toBe(0);
  });

  it.each([
    `const v = "2025-11-25";`,
    "const v = `x-2025-11-25-${y}`;",
    `const v = /2026-07-28/;`,
    `type V = "2024-11-05";`,
  ])(
    "version rule bites on %s",
    (text) => {
      expect(bites(noVersionLiterals, text)).toBe(1);
    },
  );

  it.each([`// revision 2025-11-25, section 4`, `/** Since 2026-07-28. */ const a = 1;`, `const v = "12025-11-251";`])(
    "version rule lets pass %s",
    (text) => {
      expect(bites(noVersionLiterals, text)).toBe(0);
    },
  );

  it.each([
    `if (facts.era === "legacy") run();`,
    `if ("modern" != facts.era) run();`,
    `switch (facts.era) { case "modern": run(); }`,
    `table[facts.era]();`,
    `if (isModern(era)) run();`,
    `if (era.isLegacy) run();`,
  ])("era rule bites on %s", (text) => {
    expect(bites(noEraBranches, text)).toBeGreaterThan(0);
  });

  it.each([
    `type Era = "legacy" | "modern";`,
    `show(facts.era);`,
    `// if (era === "legacy")`,
    `const era: string = facts.era;`,
  ])(
    "era rule lets pass %s",
    (text) => {
      expect(bites(noEraBranches, text)).toBe(0);
    },
  );

  it.each([
    `eval("1");`,
    `globalThis.eval("1");`,
    `new Function("a", "return a");`,
    `Function("return this")();`,
    `setTimeout("run()", 1);`,
    `const F = (async () => {}).constructor;`,
    `import vm from "node:vm";`,
  ])("eval rule bites on %s", (text) => {
    expect(bites(noEval, text)).toBe(1);
  });

  it.each([`setTimeout(run, 1);`, `type F = Function;`, `// eval("1")`, `this.constructor.name;`, `evaluate("1");`])(
    "eval rule lets pass %s",
    (text) => {
      expect(bites(noEval, text)).toBe(0);
    },
  );

  it.each([
    `try { run(); } catch {}`,
    `try { run(); } catch (error) { }`,
    `run().catch(() => {});`,
    `run().catch(() => undefined);`,
    `run().catch((_error) => void 0);`,
    `run().then(done, () => null);`,
  ])("catch rule bites on %s", (text) => {
    expect(bites(noSilentCatch, text)).toBe(1);
  });

  it.each([
    `try { run(); } catch { /* the peer is gone, nobody waits */ }`,
    `try { run(); } catch (error) { report(error); }`,
    `// Settled elsewhere.\nrun().catch(() => {});`,
    `run().catch(() => {}); // settled elsewhere`,
    `run().catch((error) => report(error));`,
    `run().then(done);`,
  ])("catch rule lets pass %s", (text) => {
    expect(bites(noSilentCatch, text)).toBe(0);
  });
});
