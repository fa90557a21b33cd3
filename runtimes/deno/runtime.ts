import type { FetchFunction, Runtime } from "../../src/kernel/runtime.ts";
import { nodeFiles } from "../node/files.ts";
import { nodeSha256 } from "../node/sha256.ts";
import { fetchOnce } from "./fetch.ts";
import { filesWithin, refusalOf } from "./permission.ts";
import { spawnDenoProcess } from "./spawn.ts";

/** What may be replaced in the Deno adapter. */
export interface DenoRuntimeOptions {
  /**
   * Used instead of the global `fetch`: one that brings a `Deno.HttpClient` with certificates or a proxy. Bodies come to it
   * as texts; it must keep Deno from sending a request twice, for which `new Blob([body])` in place of the text will do.
   */
  readonly fetch?: FetchFunction;
}

/**
 * The adapter for Deno. Starting servers needs `--allow-run`, the environment `--allow-env`, files `--allow-read` and
 * `--allow-write`, HTTP servers `--allow-net`; what was not granted rejects with
 * `ERR_UNSUPPORTED_HERE`, which names the flag.
 *
 * @example
 * ```ts
 * import { denoRuntime } from "portcullis/deno";
 * const runtime = denoRuntime();
 * console.log(runtime.name, runtime.version);
 * ```
 */
export function denoRuntime(
  options: DenoRuntimeOptions = {},
): Runtime & Required<Pick<Runtime, "spawn" | "files" | "sha256">> {
  return {
    name: "deno",
    version: Deno.version.deno,
    fetch: options.fetch ?? fetchOnce,
    contentLengthIsDecoded: true,
    spawn: spawnDenoProcess,
    files: filesWithin(nodeFiles),
    sha256: nodeSha256,
    environment,
  };
}

function environment(): Record<string, string> {
  try {
    return Deno.env.toObject();
  } catch (error) {
    throw refusalOf(error, "read the environment");
  }
}
