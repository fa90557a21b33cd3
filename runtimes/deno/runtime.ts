import type { FetchFunction, Runtime } from "../../src/kernel/runtime.ts";
import { nodeFiles } from "../node/files.ts";
import { nodeSha256 } from "../node/sha256.ts";
import { spawnDenoProcess } from "./spawn.ts";

/** What may be replaced in the Deno adapter. */
export interface DenoRuntimeOptions {
  /** Used instead of the global `fetch`: one that brings a `Deno.HttpClient` with certificates or a proxy. */
  readonly fetch?: FetchFunction;
}

/**
 * The adapter for Deno. Starting servers needs `--allow-run`, the environment `--allow-env`, files `--allow-read` and
 * `--allow-write`, HTTP servers `--allow-net`; what was not granted rejects with Deno's own error.
 *
 * @example
 * ```ts
 * import { denoRuntime } from "portcullis/deno";
 * const runtime = denoRuntime();
 * console.log(runtime.name, runtime.version);
 * ```
 */
export function denoRuntime(options: DenoRuntimeOptions = {}): Runtime {
  return {
    name: "deno",
    version: Deno.version.deno,
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    contentLengthIsDecoded: true,
    spawn: spawnDenoProcess,
    files: nodeFiles,
    sha256: nodeSha256,
    environment: () => Deno.env.toObject(),
  };
}
