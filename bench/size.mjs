/**
 * What an application pays for an entry: bundled as edge and browser tools do it, minified, gzip.
 *
 *     node bench/size.mjs
 *
 * Ends with code 1 when an entry is over what it is aimed to cost, asks the runtime for a module, or makes code out of text.
 */
import { existsSync } from "node:fs";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { tsImport } from "tsx/esm/api";

const KIB = 1024;

/**
 * What each is aimed to cost, in bytes after gzip, and what a test holds it to meanwhile. Of `./client` the edge takes what speaks HTTP, in all eras: the same
 * program as that of the official client beside it.
 */
export const SIZE_BUDGETS = {
  "./client, HTTP": {
    text: `export { connectClient, httpDialer } from "./src/client/mod.ts";`,
    gzipBytes: 20 * KIB,
    heldBytes: 20 * KIB,
  },
  "./client, whole": { file: "src/client/mod.ts", gzipBytes: 34 * KIB, heldBytes: 34 * KIB },
  ".": { file: "mod.ts", gzipBytes: 45 * KIB },
  "./app": { file: "src/app/mod.ts", gzipBytes: 75 * KIB },
};

const OFFICIAL = { text: `export { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";` };

/**
 * Measures one entry: `{ file }` of the project, or `{ text }` that stands at its root. `faults` says in words what must
 * not be in a bundle for the edge.
 */
export async function bundleSize(entry) {
  const { bundle } = await tsImport("../tests/structure/bundle.ts", import.meta.url);
  const { noEval } = await tsImport("../tests/structure/core_rules.ts", import.meta.url);
  const { check } = await tsImport("../tests/structure/source_text.ts", import.meta.url);
  const { code, gzipBytes, external } = await bundle(entry);
  const evals = check([{ path: "bundle.mjs", text: code }], noEval);
  return {
    bytes: code.length,
    gzipBytes,
    faults: [...external.map((name) => `asks the runtime for ${name}`), ...evals.map(() => "makes code out of text")],
  };
}

async function main() {
  for (const [name, { gzipBytes: budget, ...entry }] of Object.entries(SIZE_BUDGETS)) {
    const { file } = entry;
    if (file !== undefined && !existsSync(fileURLToPath(new URL(`../${file}`, import.meta.url)))) {
      console.log(`${name.padEnd(16)} not there yet: ${file}`);
      continue;
    }
    const { bytes, gzipBytes, faults } = await bundleSize(entry);
    if (gzipBytes > budget) faults.push(`is over its budget of ${kib(budget)}`);
    console.log(`${name.padEnd(16)} ${kib(gzipBytes)} gzip, ${kib(bytes)} minified, budget ${kib(budget)}`);
    for (const fault of new Set(faults)) console.error(`${name.padEnd(16)} ${fault}`);
    if (faults.length > 0) process.exitCode = 1;
  }
  const { bytes, gzipBytes } = await bundleSize(OFFICIAL);
  console.log(`${"official client".padEnd(16)} ${kib(gzipBytes)} gzip, ${kib(bytes)} minified, for comparison`);
}

const kib = (bytes) => `${(bytes / KIB).toFixed(1).padStart(6)} KiB`;

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main();
