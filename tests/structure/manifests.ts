import { collectImports, isRelative, packageOf } from "./imports.ts";
import type { SourceText } from "./source_text.ts";

/** What the rules read of package.json. */
export interface NodeManifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** What the rules read of deno.json. */
export interface DenoManifest {
  readonly version: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, string>>;
}

/** What the rules read of package-lock.json. */
export interface LockFile {
  readonly name: string;
  readonly version: string;
  readonly packages: Readonly<
    Record<string, { readonly resolved?: string; readonly link?: boolean; readonly integrity?: string }>
  >;
}

/** `./src/client/mod.ts` to `./dist/src/client/mod`. */
function built(source: string): string {
  return source.replace(/^\.\//, "./dist/").replace(/\.ts$/, "");
}

/** Differences between the two manifests, and entries that lead nowhere. `exists` is asked with paths like `./mod.ts`. */
export function compareManifests(node: NodeManifest, deno: DenoManifest, exists: (path: string) => boolean): string[] {
  const found: string[] = [];
  if (node.version !== deno.version) {
    found.push(`version ${node.version} in package.json, ${deno.version} in deno.json`);
  }
  if (node.license !== deno.license) {
    found.push(`license ${node.license} in package.json, ${deno.license} in deno.json`);
  }
  const keys = Object.keys(deno.exports);
  if (keys.join() !== Object.keys(node.exports).join()) {
    found.push(`exports are ${Object.keys(node.exports).join(" ")} in package.json, ${keys.join(" ")} in deno.json`);
  }
  for (const [key, source] of Object.entries(deno.exports)) {
    if (!exists(source)) found.push(`${key}: ${source} does not exist`);
    const wanted = JSON.stringify({ types: `${built(source)}.d.ts`, default: `${built(source)}.js` });
    const actual = JSON.stringify(node.exports[key]);
    if (actual !== wanted) found.push(`${key}: package.json has ${actual}, deno.json means ${wanted}`);
  }
  for (const [name, target] of Object.entries(node.bin ?? {})) {
    const source = target.replace(/^(\.\/)?dist\//, "./").replace(/\.js$/, ".ts");
    if (!exists(source)) found.push(`bin ${name}: ${source} does not exist`);
  }
  return found;
}

/** Versions that are not pinned to the last digit. */
export function unpinned(node: NodeManifest): string[] {
  return Object.entries({ ...node.dependencies, ...node.devDependencies })
    .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    .map(([name, version]) => `${name} ${version}`);
}

/** Packages that the product imports and a user would not get. */
export function undeclared(node: NodeManifest, product: readonly SourceText[]): string[] {
  const used = product.flatMap((file) => collectImports(file).map(({ specifier }) => specifier))
    .filter((specifier) => !isRelative(specifier) && !specifier.includes(":") && specifier !== "bun")
    .map(packageOf);
  return [...new Set(used)].filter((name) => node.dependencies?.[name] === undefined).sort();
}

/** Files that a script names and nobody has written. */
export function brokenScripts(node: NodeManifest, exists: (path: string) => boolean): string[] {
  return Object.entries(node.scripts ?? {}).flatMap(([name, command]) =>
    command.split(/\s+/)
      .filter((word) => /^[\w./-]+\.(mjs|ts|json)$/.test(word) && !exists(`./${word}`))
      .map((word) => `${name}: ${word} does not exist`)
  );
}

/** What a lock file must not say: where packages came from, or a package without its sum. */
export function lockFaults(lock: LockFile, node: Pick<NodeManifest, "name" | "version">): string[] {
  const found: string[] = [];
  if (lock.name !== node.name || lock.version !== node.version) found.push(`lock is for ${lock.name} ${lock.version}`);
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path === "" || entry.link === true) continue;
    if (entry.resolved !== undefined) found.push(`${path} says where it came from`);
    if (entry.integrity === undefined) found.push(`${path} has no integrity`);
  }
  return found;
}
