import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { expect, test } from "vitest";
import type { FetchFunction } from "../../src/kernel/runtime.ts";
import { GOLDEN_URL, goldenChain } from "../contract/golden.ts";
import { startHttpServer } from "../fixtures/http_server.mjs";
import { runtimeHere } from "./adapter.ts";

const golden = new URL("../fixtures/golden/", import.meta.url);

/** Holds a chain against the kept one, byte for byte. `UPDATE_GOLDEN=1` keeps what came instead. */
function expectGolden(name: string, chain: string): void {
  const file = new URL(`${name}.jsonl`, golden);
  if (process.env["UPDATE_GOLDEN"] === "1") {
    mkdirSync(golden, { recursive: true });
    writeFileSync(file, chain);
  }
  expect(chain).toBe(readFileSync(file, "utf8"));
}

const runtime = await runtimeHere();
const PATH = runtime.environment()["PATH"] ?? "";
// What this machine's environment holds must not show in a chain that is the same everywhere.
const here = { ...runtime, environment: () => ({ PATH }) };

for (const era of ["legacy", "modern"] as const) {
  test(`event chain over stdio, ${era}, is the kept one byte for byte`, async () => {
    // Relative, since a grant is bound to the words of the configuration.
    const args = ["tests/fixtures/stdio_server.mjs", `--era=${era}`];
    expectGolden(`stdio-${era}`, await goldenChain(here, { type: "stdio", command: "node", args }));
  });

  test(`event chain over Streamable HTTP, ${era}, is the kept one byte for byte`, async () => {
    const server = await startHttpServer({ era });
    try {
      expectGolden(
        `http-${era}`,
        await goldenChain({ ...here, fetch: named(server.url) }, { type: "http", url: GOLDEN_URL }),
      );
    } finally {
      await server.close();
    }
  });
}

/** Gives a server on a free port the one name that the chain knows it by, as a resolver would. */
function named(url: string): FetchFunction {
  return (input, init) => fetch(input.replace(GOLDEN_URL, url), init);
}
