/**
 * Deno: `portcullis/deno`.
 * @module
 */
export { denoRuntime } from "./runtime.ts";
export type { DenoRuntimeOptions } from "./runtime.ts";
export type { Runtime } from "../../src/kernel/runtime.ts";
export { loopbackLogin } from "../node/login.ts";
export type { LoopbackLogin, LoopbackLoginOptions } from "../node/login.ts";
