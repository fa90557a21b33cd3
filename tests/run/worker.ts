import { Miniflare } from "miniflare";
import { afterAll } from "vitest";
import { bundle } from "../structure/bundle.ts";

/** Asks a worker for a path, which may have a query. */
export type AskWorker = (path: string) => ReturnType<Miniflare["dispatchFetch"]>;

/**
 * Starts a file of this folder as an edge bundle, in workerd without `nodejs_compat`: what needs a `node:` module fails.
 * The worker ends after the test file.
 */
export async function startWorker(file: string, bindings: Readonly<Record<string, string>> = {}): Promise<AskWorker> {
  const { code } = await bundle({ file: `tests/run/${file}` }, { readable: true });
  const miniflare = new Miniflare({
    modules: [{ type: "ESModule", path: "worker.mjs", contents: code }],
    compatibilityDate: "2026-01-01",
    host: "127.0.0.1",
    bindings: { ...bindings },
  });
  afterAll(() => miniflare.dispose());
  return (path) => miniflare.dispatchFetch(`http://worker.test/${path}`);
}
