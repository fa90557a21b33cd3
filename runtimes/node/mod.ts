/**
 * Node: `portcullis/node`.
 * @module
 */
export { nodeRuntime } from "./runtime.ts";
export type { NodeRuntimeOptions } from "./runtime.ts";
export type { Runtime } from "../../src/kernel/runtime.ts";
export { loopbackLogin } from "./login.ts";
export type { LoopbackLogin, LoopbackLoginOptions } from "./login.ts";
