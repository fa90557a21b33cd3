import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { type HttpServer, startHttpServer } from "../fixtures/http_server.mjs";
import { startWorker } from "./worker.ts";

const askWorker = await startWorker("workerd_host_entry.ts");

async function ask(path: string, server: HttpServer, more = ""): Promise<string> {
  return await (await askWorker(`${path}?url=${encodeURIComponent(server.url)}${more}`)).text();
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
        await expect.poll(() => server.openSockets()).toBe(0);
      } finally {
        await server.close();
      }
    },
  );
}
