import { posix } from "node:path";
import ts from "typescript";
import { parse, type SourceText, walk } from "./source_text.ts";

/** One mention of another module. */
export interface ImportEdge {
  readonly specifier: string;
  /** True when the compiler's output does not mention the module: `import type`, `export type`, `import("x").T`. */
  readonly typesOnly: boolean;
  /** Offset in the file. */
  readonly at: number;
}

/** Stands in for the specifier of `import(variable)`, which nobody can follow. */
export const COMPUTED = "(computed)";

/**
 * Every import, re-export, dynamic import, `require` and `import("x").T` of a file. `import { type A }` counts as a
 * value: under `verbatimModuleSyntax` the module is still loaded.
 */
export function collectImports(file: SourceText): ImportEdge[] {
  const edges: ImportEdge[] = [];
  const tree = parse(file);
  const add = (specifier: ts.Node | undefined, typesOnly: boolean, node: ts.Node): void => {
    const name = specifier !== undefined && ts.isStringLiteralLike(specifier) ? specifier.text : COMPUTED;
    edges.push({ specifier: name, typesOnly, at: node.getStart(tree) });
  };
  walk(file, (node) => {
    if (ts.isImportDeclaration(node)) {
      add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword, node);
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
      add(node.moduleSpecifier, node.isTypeOnly, node);
    } else if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) {
      add(node.moduleReference.expression, node.isTypeOnly, node);
    } else if (ts.isImportTypeNode(node)) {
      add(ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined, true, node);
    } else if (ts.isCallExpression(node)) {
      const isImport = node.expression.kind === ts.SyntaxKind.ImportKeyword;
      const isRequire = ts.isIdentifier(node.expression) && node.expression.text === "require";
      if (isImport || isRequire) add(node.arguments[0], false, node);
    }
  });
  return edges;
}

export function isRelative(specifier: string): boolean {
  return specifier.startsWith(".");
}

/** The path that a relative specifier names, from the project root; it may lead out of it with `../`. */
export function resolveImport(from: string, specifier: string): string {
  return posix.normalize(posix.join(posix.dirname(from), specifier));
}

/** `@scope/name/deep/file` to `@scope/name`; `node:fs/promises` to `node:fs`. */
export function packageOf(specifier: string): string {
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Rings of files that import one another, each as one path that ends where it began. Imports of types count too. */
export function findCycles(files: readonly SourceText[]): string[][] {
  const known = new Map(files.map((file) => [file.path, file]));
  const state = new Map<string, "open" | "done">();
  const trail: string[] = [];
  const cycles: string[][] = [];
  const visit = (file: SourceText): void => {
    state.set(file.path, "open");
    trail.push(file.path);
    for (const edge of collectImports(file)) {
      const next = isRelative(edge.specifier) ? known.get(resolveImport(file.path, edge.specifier)) : undefined;
      if (next === undefined) continue;
      if (state.get(next.path) === "open") cycles.push([...trail.slice(trail.indexOf(next.path)), next.path]);
      else if (!state.has(next.path)) visit(next);
    }
    trail.pop();
    state.set(file.path, "done");
  };
  for (const file of files) if (!state.has(file.path)) visit(file);
  return cycles;
}
