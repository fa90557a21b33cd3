import process from "node:process";
import type { Runtime } from "../src/kernel/runtime.ts";

/** The adapter of the runtime that this process is. */
export async function runtimeHere(): Promise<Runtime> {
  if (process.versions["bun"] !== undefined) return (await import("../runtimes/bun/mod.ts")).bunRuntime();
  if (process.versions["deno"] !== undefined) return (await import("../runtimes/deno/mod.ts")).denoRuntime();
  return (await import("../runtimes/node/mod.ts")).nodeRuntime();
}
