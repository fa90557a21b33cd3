import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { afterAll, expect, test } from "vitest";
import { type HttpServer, startHttpServer } from "../fixtures/http_server.mjs";

/** A whole host as an edge bundle, in workerd without `nodejs_compat`. */
const { outputFiles } = await build({
  entryPoints: [fileURLToPath(new URL("workerd_host_entry.ts", import.meta.url))],
  bundle: true,
  write: false,
  format: "esm",
  target: "es2022",
  platform: "neutral",
  mainFields: ["module", "main"],
  conditions: ["workerd", "browser"],
});
const miniflare = new Miniflare({
  modules: [{ type: "ESModule", path: "worker.mjs", contents: outputFiles[0]!.text }],
  compatibilityDate: "2026-01-01",
  host: "127.0.0.1",
});
afterAll(() => miniflare.dispose());

async function ask(path: string, server: HttpServer, more = ""): Promise<string> {
  const response = await miniflare.dispatchFetch(
    `http://worker.test/${path}?url=${encodeURIComponent(server.url)}${more}`,
  );
  return await response.text();
}

for (const era of ["legacy", "modern"] as const) {
  test(`event chain in workerd over Streamable HTTP, ${era}, is the kept one byte for byte`, async () => {
    const server = await startHttpServer({ era });
    try {
      const kept = readFileSync(new URL(`../fixtures/golden/http-${era}.jsonl`, import.meta.url), "utf8");
      expect(await ask("golden", server)).toBe(kept);
    } finally {
      await server.close();
    }
  });

  test(
    `20 connections from workerd, ${era}, leave the server without an open request and with no socket in the end`,
    async () => {
      const server = await startHttpServer({ era });
      try {
        expect(await ask("cycles", server, "&count=20")).toBe("20");
        await expect.poll(() => server.openSockets(), { timeout: 15_000 }).toBe(0);
      } finally {
        await server.close();
      }
    },
    30_000,
  );
}
