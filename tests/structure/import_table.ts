import { collectImports, COMPUTED, isRelative, packageOf, resolveImport } from "./imports.ts";
import { type SourceText, type Violation, violation } from "./source_text.ts";

/**
 * Who may import what. A unit is a folder or file of `src/` without its ending, or a path under `runtimes/`; `*` stands
 * for any one name. The first row that fits a file is its row. A word ending in `(types)` allows `import type` only.
 * Imports inside a unit's own top folder are always allowed, except of an optional part.
 *
 * CONTRIBUTING.md repeats these rows; a test compares the two.
 */
export interface Row {
  readonly unit: string;
  readonly may: readonly string[];
  readonly packages: readonly string[];
}

const row = (unit: string, may: string, packages = ""): Row => ({ unit, may: words(may), packages: words(packages) });

const upToSession =
  "session call servers permission catalog client protocol transport auth jsonrpc events store scrub streams kernel";
const adapter = "kernel/errors kernel(types) store(types)";

export const importTable: readonly Row[] = [
  row("mod", `host* ${upToSession}`),
  row("kernel", ""),
  row("streams", "kernel"),
  row("scrub", "kernel"),
  row("store", "kernel"),
  row("jsonrpc", "streams kernel"),
  row("events/otel", "events store kernel", "@opentelemetry/api(types)"),
  row("events", "store kernel", "valibot"),
  row("auth/oauth", "auth store streams kernel", "valibot oauth4webapi"),
  row("auth/mod", "auth auth/oauth store streams kernel"),
  row("auth", "store streams kernel", "valibot"),
  row("transport", "jsonrpc streams auth(types) kernel"),
  row("protocol", "jsonrpc transport(types) kernel", "valibot"),
  row("client/mod", "client protocol jsonrpc transport kernel"),
  row("client", "protocol jsonrpc transport(types) kernel", "valibot url-template"),
  row("catalog/zod", "catalog protocol/model kernel", "zod"),
  row("catalog/json_schema", "catalog protocol/model kernel"),
  row("catalog", "protocol/model kernel", "valibot"),
  row("permission", "catalog(types) protocol/model scrub store events(types) kernel", "valibot"),
  row(
    "servers",
    "permission/request(types) catalog client protocol transport auth(types) scrub store events(types) kernel",
    "valibot",
  ),
  row(
    "call",
    "servers permission catalog client/asks client/rounds client/tasks client/url_ask client(types) jsonrpc(types) protocol/model scrub store events kernel",
    "valibot",
  ),
  row("session", "call servers permission catalog protocol/model store events kernel", "valibot"),
  row("host*", `host* ${upToSession}`, "valibot"),
  row("sandbox", "servers(types) kernel", "valibot"),
  row("config", "servers/config permission/policy scrub kernel", "valibot jsonc-parser"),
  row(
    "turn",
    "session(types) call(types) catalog protocol/model scrub streams store(types) events(types) kernel",
    "valibot",
  ),
  row(
    "app",
    "host* protocol protocol/serve_* session(types) call(types) permission(types) catalog(types) scrub streams store(types) events(types) kernel",
    "valibot hono",
  ),
  row(
    "cli",
    "host* app turn config sandbox auth/oauth permission scrub streams store events kernel",
    "valibot commander @clack/prompts picocolors",
  ),
  row("runtimes/*/cli", `${adapter} runtimes/node cli app`, "node:*"),
  row("runtimes/*/serve", `${adapter} runtimes/node cli app`, "node:*"),
  row("runtimes/node", adapter, "node:*"),
  row("runtimes/bun", `${adapter} runtimes/node`, "node:* bun bun:*"),
  row("runtimes/deno", `${adapter} runtimes/node`, "node:*"),
  row("runtimes/workerd", adapter, "cloudflare:*"),
];

/** Parts that a bundle pays for only when it asks: the name of their folder does not open them, only their own does. */
export const optionalParts: readonly string[] = [
  "auth/oauth",
  "catalog/zod",
  "protocol/serve_*",
  "store/redis",
  "events/otel",
];

const TYPES = "(types)";

function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}

/** `src/catalog/zod.ts` to `catalog/zod`. */
export function unitOf(path: string): string {
  return path.replace(/^src\//, "").replace(/\.tsx?$/, "");
}

function covers(pattern: string, unit: string): boolean {
  const source = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&")).join("[^/]*");
  return new RegExp(`^${source}(/.*)?$`).test(unit);
}

export function rowOf(unit: string, table: readonly Row[] = importTable): Row | undefined {
  return table.find((candidate) => covers(candidate.unit, unit));
}

/** The folder inside which files may import one another: `kernel`, or `runtimes/node`. */
function home(unit: string): string {
  return unit.split("/").slice(0, unit.startsWith("runtimes/") ? 2 : 1).join("/");
}

/** How a row's words admit a target: not at all, for its types, or whole. */
function admits(list: readonly string[], fits: (word: string) => boolean): "no" | "types" | "yes" {
  if (list.some((word) => !word.endsWith(TYPES) && fits(word))) return "yes";
  return list.some((word) => word.endsWith(TYPES) && fits(word.slice(0, -TYPES.length))) ? "types" : "no";
}

function admitsUnit(importer: string, row: Row, target: string): "no" | "types" | "yes" {
  const part = optionalParts.find((pattern) => covers(pattern, target));
  if (part !== undefined && !covers(part, importer)) {
    return admits(row.may, (word) => (word === part || word.startsWith(`${part}/`)) && covers(word, target));
  }
  return home(importer) === home(target) ? "yes" : admits(row.may, (word) => covers(word, target));
}

/** Every import that the table does not allow, that leads nowhere, or that nobody can follow. */
export function checkImports(files: readonly SourceText[], table: readonly Row[] = importTable): Violation[] {
  const known = new Set(files.map((file) => file.path));
  return files.flatMap((file) => {
    const unit = unitOf(file.path);
    const row = rowOf(unit, table);
    if (row === undefined) return [violation(file, 0, `${unit} has no row in the import table`)];
    return collectImports(file).flatMap((edge) => {
      const refuse = (why: string): Violation[] => [violation(file, edge.at, why)];
      const name = edge.specifier;
      if (name === COMPUTED) return refuse("imports a computed name");
      let verdict: "no" | "types" | "yes";
      if (isRelative(name)) {
        const path = resolveImport(file.path, name);
        if (!/\.tsx?$/.test(name)) return refuse(`"${name}" does not end in .ts`);
        if (!known.has(path)) return refuse(`"${name}" is no source file`);
        verdict = admitsUnit(unit, row, unitOf(path));
      } else {
        verdict = admits(
          row.packages,
          (word) => word.endsWith("*") ? name.startsWith(word.slice(0, -1)) : word === packageOf(name),
        );
      }
      if (verdict === "yes" || (verdict === "types" && edge.typesOnly)) return [];
      return refuse(`${unit} may not import "${name}"${verdict === "types" ? " except for its types" : ""}`);
    });
  });
}

/** The table as CONTRIBUTING.md prints it. */
export function printTable(table: readonly Row[] = importTable): string[] {
  const width = Math.max(...table.map(({ unit }) => unit.length));
  return table.map(({ unit, may, packages }) =>
    `${unit.padEnd(width)} <- ${may.join(" ") || "nothing"}${packages.length === 0 ? "" : `, ${packages.join(" ")}`}`
  );
}
