import process from "node:process";
import type { Runtime } from "../../src/kernel/runtime.ts";
import type { RuntimeCapabilities } from "../contract/runtime.ts";

/** Makes the adapter of the runtime that this file runs on. */
export async function runtimeHere(): Promise<Runtime> {
  if ("Deno" in globalThis) return (await import("../../runtimes/deno/mod.ts")).denoRuntime();
  if ("Bun" in globalThis) return (await import("../../runtimes/bun/mod.ts")).bunRuntime();
  return (await import("../../runtimes/node/mod.ts")).nodeRuntime();
}

/**
 * What starts a program in JavaScript on that runtime: a command and its first arguments. Deno permits nothing of its own
 * accord, and a program that is refused something exits with 1, which looks like a crash.
 */
export const programHere: readonly [command: string, ...args: string[]] = [
  process.execPath,
  ...("Deno" in globalThis ? ["run", "-A"] : []),
];

/** What that adapter can do. */
export const capabilitiesHere: RuntimeCapabilities = {
  spawn: true,
  files: true,
  sha256: true,
  releasesWrites: "Deno" in globalThis ? { absent: "Deno cannot take back a write to a child" } : true,
};
