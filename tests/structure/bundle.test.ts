import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SIZE_BUDGETS } from "../../bench/size.mjs";
import { bundle, exportsInWorkerd } from "./bundle.ts";
import { noEval } from "./core_rules.ts";
import { check, root } from "./source_text.ts";

const CLIENT_BUDGET = 20 * 1024;

interface Entry {
  readonly name: string;
  readonly entry: { readonly file: string } | { readonly text: string };
  readonly gzipBytes: number;
  readonly heldBytes: number | undefined;
}

const entries = Object.entries(SIZE_BUDGETS).flatMap(([name, { file, text, gzipBytes, heldBytes }]): Entry[] => {
  if (text !== undefined) return [{ name, entry: { text }, gzipBytes, heldBytes }];
  return file !== undefined && existsSync(join(root, file)) ? [{ name, entry: { file }, gzipBytes, heldBytes }] : [];
});

describe.each(entries)("edge bundle of $name", ({ name, entry, gzipBytes: budget, heldBytes }) => {
  it("bundle asks for no module, makes no code out of text and keeps its budget", async () => {
    const { code, gzipBytes, external } = await bundle(entry);
    console.info(`${name}: ${code.length} bytes, ${gzipBytes} gzipped, ${budget} aimed at`);
    expect(external).toEqual([]);
    expect(check([{ path: "bundle.mjs", text: code }], noEval)).toEqual([]);
    if (heldBytes !== undefined) expect(gzipBytes).toBeLessThanOrEqual(heldBytes);
  });

  it("bundle loads in workerd without nodejs_compat", async () => {
    const { code } = await bundle(entry);
    expect(await exportsInWorkerd(code)).not.toEqual([]);
  });
});

describe("budgets", () => {
  it("client over HTTP is aimed at 20 KB", () => {
    expect(SIZE_BUDGETS["./client, HTTP"]?.gzipBytes).toBe(CLIENT_BUDGET);
  });
});

describe("bundler", () => {
  it("bundler reports a module that it leaves to the runtime", async () => {
    expect((await bundle({ text: `import fs from "node:fs"; console.log(fs);` })).external).toEqual(["node:fs"]);
  });

  it("bundler counts what is imported and leaves out what is not", async () => {
    const small = await bundle({ text: `import { HostError } from "./src/kernel/errors.ts"; console.log(HostError);` });
    const large = await bundle({ text: `import * as z from "zod"; console.log(z);` });
    expect(large.gzipBytes).toBeGreaterThan(CLIENT_BUDGET);
    expect(small.gzipBytes).toBeLessThan(2048);
    expect(small.code).not.toContain("zod");
  });

  it("workerd refuses a module that needs Node", async () => {
    const { code } = await bundle({ text: `import fs from "node:fs"; export const read = fs.readFile;` });
    await expect(exportsInWorkerd(code)).rejects.toThrow("node:fs");
  });

  it("workerd refuses a module that makes code out of text while it loads", async () => {
    await expect(exportsInWorkerd(`export const one = new Function("return 1")();`)).rejects.toThrow("EvalError");
  });
});
