/**
 * Bun: `portcullis/bun`.
 * @module
 */
export { bunRuntime } from "./runtime.ts";
export type { BunRuntimeOptions } from "./runtime.ts";
export type { Runtime } from "../../src/kernel/runtime.ts";
