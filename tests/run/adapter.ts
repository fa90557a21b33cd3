import type { Runtime } from "../../src/kernel/runtime.ts";
import type { RuntimeCapabilities } from "../contract/runtime.ts";

/** Makes the adapter of the runtime that this file runs on. */
export async function runtimeHere(): Promise<Runtime> {
  if ("Deno" in globalThis) return (await import("../../runtimes/deno/mod.ts")).denoRuntime();
  if ("Bun" in globalThis) return (await import("../../runtimes/bun/mod.ts")).bunRuntime();
  return (await import("../../runtimes/node/mod.ts")).nodeRuntime();
}

/** What that adapter can do. */
export const capabilitiesHere: RuntimeCapabilities = {
  spawn: true,
  files: true,
  sha256: true,
  releasesWrites: "Deno" in globalThis ? { absent: "Deno cannot take back a write to a child" } : true,
};
