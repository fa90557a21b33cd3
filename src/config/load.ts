import { HostError } from "../kernel/errors.ts";
import { aFunction, anObject, aText, checkOptions, option, type OptionRules } from "../kernel/options.ts";
import type { KnownSecret } from "../kernel/secrets.ts";
import type { PermissionConfig } from "../permission/policy.ts";
import { type ConfigDocument, isObject, kindOf, readDocument } from "./document.ts";
import { type ConfiguredServer, type LoadedServers, loadServers } from "./entries.ts";
import type { ExpandSources } from "./expand.ts";
import { existingPath, keyOffsetOf, offsetOf, placeOf } from "./locate.ts";
import { type ConfigProblem, type Fault, fault, problem } from "./problem.ts";
import { readPermission, sectionFaults } from "./sections.ts";

/** What a configuration file is made into a configuration with. */
export interface LoadConfigOptions extends ExpandSources {
  /** The whole text of the file. */
  readonly text: string;
  /** How messages name the file. */
  readonly file: string;
}

/** What a configuration file says, as far as it can be used. */
export interface LoadedConfig {
  /** In the order of the file; each one has passed the host's own checks. */
  readonly servers: readonly ConfiguredServer[];
  /** The rules of the gate; absent when the file has none. */
  readonly permission?: PermissionConfig;
  /**
   * Values that stood behind placeholders, for `secrets` of `createHost`. Left out are variables that every child has
   * anyway (`HOME`), and paths under a name that says nothing of secrets.
   */
  readonly expandedSecrets: readonly KnownSecret[];
  /** What was left out, and why, in the order of the file. */
  readonly problems: readonly ConfigProblem[];
  /** What is used as written, but should be looked at. */
  readonly warnings: readonly ConfigProblem[];
  /** Where a server's entry begins, as `mcp.config.json:4:5`, for what turns out to be wrong with it later. */
  placeOf(server: string): string;
}

/**
 * Reads `mcp.config.json`: JSON with comments, trailing commas and a byte order mark.
 *
 * One bad server leaves out that server; everything that is wrong is in `problems`, with its line and column. Rejects with
 * `ERR_CONFIG` for options in the wrong shape, and never for what the file says. When a problem is `fatal`, there are no
 * servers: the file is not JSON, or the rules of its gate cannot be read, and a gate other than the written one must not
 * open.
 *
 * @example
 * ```ts
 * import { loadConfig } from "portcullis/config";
 * const { servers, problems } = await loadConfig({
 *   text: `{ "mcpServers": { "echo": { "command": "node", "args": ["\${SERVER:-echo.mjs}"] } } }`,
 *   file: "mcp.config.json",
 *   env: {},
 * });
 * console.log(servers.length, problems.length); // 1 0
 * ```
 */
export async function loadConfig(options: LoadConfigOptions): Promise<LoadedConfig> {
  checkLoadOptions(options);
  const text = options.text.startsWith("\uFEFF") ? options.text.slice(1) : options.text;
  const document = readDocument(text);
  if (!("root" in document)) return conclude([document], undefined, text, options.file, {});
  const { value } = document;
  if (!isObject(value)) {
    const found = fault([], `found ${kindOf(value)}, wanted { "mcpServers": { ... } }`, { severity: "fatal" });
    return conclude([found], document, text, options.file, {});
  }
  const faults: Fault[] = [...document.faults.map(orFatal), ...sectionFaults(value)];
  const permission = readPermission(value["permission"], faults);
  const servers = await loadServers(value["mcpServers"], options, faults);
  return conclude(faults, document, text, options.file, { ...servers, permission });
}

const loadRules: OptionRules<LoadConfigOptions> = Object.freeze({
  text: option("the whole text of the file", aText.fits),
  file: option("a string, how messages name the file", aText.fits),
  env: option("an object of variables", anObject.fits),
  readFile: aFunction,
  secrets: aFunction,
});

/** It opens no file: whoever hands in a path has to be told so. */
function checkLoadOptions(options: unknown): void {
  const action = "load a configuration";
  if (!anObject.fits(options)) {
    const wanted = "{ text, file, env }: the text of the file, how messages name it, and variables";
    throw new HostError("ERR_CONFIG", `Cannot ${action}: found ${kindOf(options)}, wanted ${wanted}`);
  }
  checkOptions(options as object, loadRules, { action, code: "ERR_CONFIG", required: ["text", "file", "env"] });
}

/** Rules that cannot be told apart are no rules. */
function orFatal(found: Fault): Fault {
  return found.path[0] === "permission" ? { ...found, severity: "fatal" } : found;
}

function conclude(
  faults: readonly Fault[],
  document: ConfigDocument | undefined,
  text: string,
  file: string,
  loaded: Partial<LoadedServers & { readonly permission: PermissionConfig | undefined }>,
): LoadedConfig {
  const root = document?.root;
  const located = faults.map((found) => {
    const path = root === undefined || found.offset !== undefined ? found.path : existingPath(root, found.path);
    const offset = found.offset ?? (root === undefined ? 0 : (found.atKey ? keyOffsetOf : offsetOf)(root, path));
    return { offset, problem: problem({ ...found, path }, file, placeOf(text, offset)) };
  });
  located.sort((a, b) => a.offset - b.offset);
  const all = located.map((each) => each.problem);
  const fatal = all.some(({ severity }) => severity === "fatal");
  return {
    servers: fatal ? [] : loaded.servers ?? [],
    ...(loaded.permission === undefined ? {} : { permission: loaded.permission }),
    expandedSecrets: loaded.secrets ?? [],
    problems: all.filter(({ severity }) => severity !== "warning"),
    warnings: all.filter(({ severity }) => severity === "warning"),
    placeOf(server: string): string {
      const place = root === undefined ? placeOf(text, 0) : placeOf(text, keyOffsetOf(root, ["mcpServers", server]));
      return `${file}:${place.line}:${place.column}`;
    },
  };
}
