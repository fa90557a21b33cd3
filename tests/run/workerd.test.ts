import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { afterAll, describe, expect, test } from "vitest";
import { gzipServer } from "./gzip_server.ts";
import type { Bindings, CaseReport } from "./workerd_entry.ts";

/** The contract suites as an edge bundle, in workerd without `nodejs_compat`: what needs a `node:` module fails. */
const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("workerd_entry.ts", import.meta.url))],
  bundle: true,
  write: false,
  format: "esm",
  target: "es2022",
  platform: "neutral",
  mainFields: ["module", "main"],
  conditions: ["workerd", "browser"],
  sourcemap: "inline",
});

const requireBeside = createRequire(createRequire(import.meta.url).resolve("miniflare"));
const { version } = requireBeside("workerd") as { readonly version: string };
console.log(`running on workerd ${version}`);

const bindings: Bindings = { SAMPLE: "sample-of-the-worker", GZIP_URL: await gzipServer() };
const miniflare = new Miniflare({
  modules: [{ type: "ESModule", path: "worker.mjs", contents: outputFiles[0]!.text }],
  compatibilityDate: "2026-01-01",
  host: "127.0.0.1",
  bindings: { ...bindings },
});
afterAll(() => miniflare.dispose());

const ask = async (path: string): Promise<unknown> =>
  (await miniflare.dispatchFetch(`http://contract.test/${path}`)).json();

const suites = await ask("") as Readonly<Record<string, readonly string[]>>;
for (const [suite, names] of Object.entries(suites)) {
  describe(`${suite} on workerd ${version}`, () => {
    names.forEach((name, index) =>
      test(name, async () => {
        const { failure } = await ask(`${encodeURIComponent(suite)}/${index}`) as CaseReport;
        if (failure === undefined) return;
        expect.fail(`${failure.name}: ${failure.message}\n${failure.stack}`);
      })
    );
  });
}
