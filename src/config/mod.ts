/**
 * `portcullis/config`: reads `mcp.config.json` into what `createHost` takes.
 * @module
 */
export { loadConfig } from "./load.ts";
export type { LoadConfigOptions, LoadedConfig } from "./load.ts";
export type { ConfiguredServer } from "./entries.ts";
export type { ExpandSources } from "./expand.ts";
export type { ConfigProblem } from "./problem.ts";
