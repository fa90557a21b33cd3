import { createRequire } from "node:module";
import { describe, expect, test } from "vitest";
import { gzipServer } from "./gzip_server.ts";
import { startWorker } from "./worker.ts";
import type { CaseReport } from "./workerd_entry.ts";

const requireBeside = createRequire(createRequire(import.meta.url).resolve("miniflare"));
const { version } = requireBeside("workerd") as { readonly version: string };
console.log(`running on workerd ${version}`);

const bindings = { SAMPLE: "sample-of-the-worker", GZIP_URL: await gzipServer() };
const askWorker = await startWorker("workerd_entry.ts", bindings);
const ask = async (path: string): Promise<unknown> => (await askWorker(path)).json();

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
