/**
 * Bun: `portcullis/bun`.
 * @module
 */
export { bunRuntime } from "./runtime.ts";
export type { BunRuntimeOptions } from "./runtime.ts";
export type { Runtime } from "../../src/kernel/runtime.ts";
export { loopbackLogin } from "../node/login.ts";
export type { LoopbackLogin, LoopbackLoginOptions } from "../node/login.ts";
