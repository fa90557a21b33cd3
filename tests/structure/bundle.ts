import type { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { Miniflare } from "miniflare";
import { root } from "./source_text.ts";

/** One entry as it reaches a browser or the edge: everything it needs in one minified text. */
export interface Bundle {
  readonly code: string;
  readonly gzipBytes: number;
  /** Modules that the bundle still asks the runtime for. */
  readonly external: readonly string[];
}

/**
 * Bundles a file of the project, or a text that stands at its root, the way edge and browser tools do; where it is to be
 * readable, with its names and a source map instead of as little as can be.
 */
export async function bundle(
  entry: { readonly file: string } | { readonly text: string },
  { readable = false }: { readonly readable?: boolean } = {},
): Promise<Bundle> {
  const external: string[] = [];
  const { outputFiles } = await build({
    ...("file" in entry
      ? { entryPoints: [entry.file] }
      : { stdin: { contents: entry.text, loader: "ts", resolveDir: root } }),
    absWorkingDir: root,
    bundle: true,
    write: false,
    minify: !readable,
    sourcemap: readable ? "inline" : false,
    format: "esm",
    target: "es2022",
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["workerd", "browser"],
    logLevel: "silent",
    plugins: [{
      name: "left-to-the-runtime",
      setup({ onResolve }) {
        onResolve({ filter: /^(node|bun|cloudflare|npm|jsr):/ }, ({ path }) => {
          external.push(path);
          return { path, external: true };
        });
      },
    }],
  });
  const code = outputFiles[0]!.text;
  return { code, gzipBytes: gzipSync(code, { level: 9 }).byteLength, external };
}

/** Loads a module in workerd, without nodejs_compat and without eval, and returns the names that it exports, sorted. */
export async function exportsInWorkerd(code: string): Promise<string[]> {
  let said = "";
  const miniflare = new Miniflare({
    handleRuntimeStdio(stdout: Readable, stderr: Readable): void {
      stdout.resume();
      stderr.on("data", (chunk: unknown) => said += String(chunk));
    },
    compatibilityDate: "2026-01-01",
    compatibilityFlags: ["disallow_eval_during_startup"],
    host: "127.0.0.1",
    modules: [
      {
        type: "ESModule",
        path: "worker.mjs",
        contents:
          `import * as entry from "./entry.mjs";\nexport default { fetch: () => Response.json(Object.keys(entry).sort()) };`,
      },
      { type: "ESModule", path: "entry.mjs", contents: code },
    ],
  });
  try {
    const response = await miniflare.dispatchFetch("http://entry.test/");
    return await response.json() as string[];
  } catch (error) {
    throw new Error(`workerd does not load the module: ${said}`, { cause: error });
  } finally {
    // It rejects once more with what kept workerd from starting.
    await miniflare.dispose().catch(() => {});
  }
}
