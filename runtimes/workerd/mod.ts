/**
 * Cloudflare workerd and browsers: `portcullis/workerd`.
 * @module
 */
export { workerdRuntime } from "./runtime.ts";
export type { WorkerdRuntimeOptions } from "./runtime.ts";
export type { Runtime } from "../../src/kernel/runtime.ts";
