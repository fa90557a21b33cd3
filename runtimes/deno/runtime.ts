import type { FetchFunction, Runtime } from "../../src/kernel/runtime.ts";
import { nodeFiles } from "../node/files.ts";
import { nodeSha256 } from "../node/sha256.ts";
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
    fetch: options.fetch ?? sendOnce,
    contentLengthIsDecoded: true,
    spawn: spawnDenoProcess,
    files: nodeFiles,
    sha256: nodeSha256,
    environment: () => Deno.env.toObject(),
  };
}

/**
 * Deno (2.9) sends a request again by itself when the kept connection that it went out on breaks, whether or not the
 * server has acted on it. A body that can be read only once keeps it from doing so; that of a blob still has a length.
 * Where Deno may not reach the server, a blob keeps the process alive for good: there a text fails as it should.
 */
const sendOnce: FetchFunction = (url, init) =>
  fetch(
    url,
    typeof init?.body === "string" && isGranted(url) ? { ...init, body: new Blob([init.body]) } : init,
  );

function isGranted(url: string): boolean {
  const { protocol, hostname, port } = new URL(url);
  const host = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  return Deno.permissions.querySync({ name: "net", host }).state === "granted";
}
