import process from "node:process";
import type { FetchFunction, Runtime } from "../../src/kernel/runtime.ts";
import { processEnvironment } from "../node/environment.ts";
import { nodeFiles } from "../node/files.ts";
import { nodeSha256 } from "../node/sha256.ts";
import { spawnNodeProcess } from "../node/spawn.ts";

/** What may be replaced in the Bun adapter. */
export interface BunRuntimeOptions {
  /** Used instead of the global `fetch`. */
  readonly fetch?: FetchFunction;
}

/**
 * The adapter for Bun. Its parts are those of the Node adapter, which Bun runs without loss. `Bun.spawn` is a little
 * faster than `node:child_process`, but keeps in memory whatever a child writes before the first read (Bun 1.4).
 *
 * @example
 * ```ts
 * import { bunRuntime } from "portcullis/bun";
 * const runtime = bunRuntime();
 * console.log(runtime.name, runtime.version);
 * ```
 */
export function bunRuntime(
  options: BunRuntimeOptions = {},
): Runtime & Required<Pick<Runtime, "spawn" | "files" | "sha256">> {
  return {
    name: "bun",
    version: process.versions["bun"] ?? "unknown",
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    contentLengthIsDecoded: true,
    spawn: spawnNodeProcess,
    files: nodeFiles,
    sha256: nodeSha256,
    environment: processEnvironment,
  };
}
