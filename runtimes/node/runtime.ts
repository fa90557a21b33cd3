import process from "node:process";
import type { FetchFunction, Runtime } from "../../src/kernel/runtime.ts";
import { processEnvironment } from "./environment.ts";
import { blockedPort } from "./blocked_port.ts";
import { nodeFiles } from "./files.ts";
import { nodeSha256 } from "./sha256.ts";
import { spawnNodeProcess } from "./spawn.ts";

/** What may be replaced in the Node adapter. */
export interface NodeRuntimeOptions {
  /** Used instead of the global `fetch`: one with a proxy, a connection pool or client certificates of its own. */
  readonly fetch?: FetchFunction;
}

/**
 * The adapter for Node 20.19 and later. Children lead a process group of their own, except on Windows, where only
 * their tree can be ended and `containment` says `none`.
 *
 * @example
 * ```ts
 * import { nodeRuntime } from "portcullis/node";
 * const runtime = nodeRuntime();
 * console.log(runtime.name, runtime.version);
 * ```
 */
export function nodeRuntime(
  options: NodeRuntimeOptions = {},
): Runtime & Required<Pick<Runtime, "spawn" | "files" | "sha256">> {
  return {
    name: "node",
    version: process.versions.node,
    fetch: options.fetch ?? nodeFetch,
    contentLengthIsDecoded: true,
    spawn: spawnNodeProcess,
    files: nodeFiles,
    sha256: nodeSha256,
    environment: processEnvironment,
  };
}

const nodeFetch: FetchFunction = async (url, init) => {
  try {
    return await fetch(url, init);
  } catch (error) {
    throw blockedPort(error, url) ?? error;
  }
};
