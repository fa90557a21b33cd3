import { describe, expect, it } from "vitest";
import { bundle, exportsInWorkerd } from "./bundle.ts";
import { noEval } from "./core_rules.ts";
import { check } from "./source_text.ts";

/** The client is for edges and browsers: every byte is paid by somebody's first page. */
const CLIENT_BUDGET = 20 * 1024;

describe("edge bundle of ./client", () => {
  it("bundle fits its budget, asks for no module and makes no code out of text", async () => {
    const { code, gzipBytes, external } = await bundle({ file: "src/client/mod.ts" });
    console.info(`./client: ${code.length} bytes, ${gzipBytes} gzipped, ${CLIENT_BUDGET} allowed`);
    expect(external).toEqual([]);
    expect(check([{ path: "client.mjs", text: code }], noEval)).toEqual([]);
    expect(gzipBytes).toBeLessThanOrEqual(CLIENT_BUDGET);
  });

  it("bundle loads in workerd without nodejs_compat", async () => {
    const { code } = await bundle({ file: "src/client/mod.ts" });
    expect(await exportsInWorkerd(code)).toContain("connectClient");
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
