import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, sep } from "node:path";
import ts from "typescript";

/** The project root, whatever the working directory is. */
export const root: string = join(import.meta.dirname, "..", "..");

/** One file as the rules see it. `path` is relative to the project root and uses `/`. */
export interface SourceText {
  readonly path: string;
  readonly text: string;
}

/** A broken rule. `line` counts from 1; 0 means the whole file. */
export interface Violation {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** A rule looks at one file and knows nothing of the disk. */
export type Rule = (file: SourceText) => Violation[];

const generated = new Set([".git", ".cache", ".portcullis", "node_modules", "dist", "coverage"]);

/** Every file under `places` whose name ends in one of `endings`, sorted; installed and generated folders and missing places are left out. */
export function readTree(places: readonly string[], endings: readonly string[] = [".ts", ".tsx"]): SourceText[] {
  const found: SourceText[] = [];
  const visit = (path: string): void => {
    const entry = statSync(path, { throwIfNoEntry: false });
    if (entry === undefined) return; // a temporary file of another test, gone since
    if (entry.isDirectory()) {
      for (const name of readdirSync(path)) if (!generated.has(name)) visit(join(path, name));
    } else if (endings.some((ending) => path.endsWith(ending))) {
      found.push({ path: relative(root, path).split(sep).join("/"), text: readFileSync(path, "utf8") });
    }
  };
  for (const place of places) if (existsSync(join(root, place))) visit(join(root, place));
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** What is published: the entry, the core and the adapters. */
export function readProduct(): SourceText[] {
  return readTree(["mod.ts", "src", "runtimes"]);
}

const parsed = new WeakMap<SourceText, ts.SourceFile>();

export function parse(file: SourceText): ts.SourceFile {
  let tree = parsed.get(file);
  if (tree === undefined) {
    tree = ts.createSourceFile(file.path, file.text, ts.ScriptTarget.ES2022, true);
    parsed.set(file, tree);
  }
  return tree;
}

/** Calls `visit` for every node of a file, parents first. */
export function walk(file: SourceText, visit: (node: ts.Node) => void): void {
  const step = (node: ts.Node): void => {
    visit(node);
    ts.forEachChild(node, step);
  };
  step(parse(file));
}

export function violation(file: SourceText, at: ts.Node | number, message: string): Violation {
  const offset = typeof at === "number" ? at : at.getStart(parse(file));
  return { path: file.path, line: parse(file).getLineAndCharacterOfPosition(offset).line + 1, message };
}

/** One violation a line, as an editor understands it: `path:line message`. */
export function format(violations: readonly Violation[]): string[] {
  return violations.map(({ path, line, message }) => `${path}:${line} ${message}`);
}

/** Runs each rule over each file. */
export function check(files: readonly SourceText[], ...rules: readonly Rule[]): string[] {
  return format(files.flatMap((file) => rules.flatMap((rule) => rule(file))));
}
