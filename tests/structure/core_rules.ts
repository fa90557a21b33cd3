import ts from "typescript";
import { collectImports } from "./imports.ts";
import { parse, type SourceText, type Violation, violation, walk } from "./source_text.ts";

const runtimeGlobals = new Set([
  "process",
  "Buffer",
  "Deno",
  "Bun",
  "require",
  "module",
  "exports",
  "__dirname",
  "__filename",
  "global",
  "setImmediate",
  "clearImmediate",
  "window",
  "document",
  "localStorage",
  "navigator",
  "WebSocketPair",
  "caches",
]);

/** Refuses what only some runtimes have: their globals, their modules, their types. */
export function noRuntime(file: SourceText): Violation[] {
  const found: Violation[] = [];
  const own = declaredNames(file);
  walk(file, (node) => {
    if (ts.isIdentifier(node) && runtimeGlobals.has(node.text) && !own.has(node.text) && isReference(node)) {
      found.push(violation(file, node, `uses the runtime's own ${node.text}`));
    }
    const key = memberOfGlobalThis(node);
    if (key !== undefined && runtimeGlobals.has(key)) {
      found.push(violation(file, node, `uses the runtime's own ${key}`));
    }
  });
  for (const { specifier, at } of collectImports(file)) {
    if (/^(node|bun|deno|cloudflare|workerd|npm|jsr|https?|file):|^bun$/.test(specifier)) {
      found.push(violation(file, at, `imports "${specifier}"`));
    }
  }
  const tree = parse(file);
  for (const reference of [...tree.typeReferenceDirectives, ...tree.referencedFiles, ...tree.libReferenceDirectives]) {
    found.push(violation(file, reference.pos, `refers to the types of "${reference.fileName}"`));
  }
  return found;
}

/** Refuses comments that turn the compiler off. `@ts-expect-error` stays: it fails once it is not needed. */
export function noSilencedCompiler(file: SourceText): Violation[] {
  return [...file.text.matchAll(/@ts-(ignore|nocheck)\b/g)].map((match) =>
    violation(file, match.index, `turns the compiler off with ${match[0]}`)
  );
}

const PROTOCOL_VERSION = /(?<!\d)20\d\d-\d\d-\d\d(?!\d)/;

/** Refuses protocol revisions written in code. Comments may name the revision that a clause comes from. */
export function noVersionLiterals(file: SourceText): Violation[] {
  const found: Violation[] = [];
  walk(file, (node) => {
    const text = literalText(node);
    const match = text === undefined ? null : PROTOCOL_VERSION.exec(text);
    if (match !== null) found.push(violation(file, node, `writes the protocol version ${match[0]}`));
  });
  return found;
}

const eras = new Set(["legacy", "modern"]);

/** Refuses branches on the era's name: comparisons, cases, tables keyed by it, and predicates called after it. */
export function noEraBranches(file: SourceText): Violation[] {
  const found: Violation[] = [];
  const named = (node: ts.Node): boolean => ts.isStringLiteralLike(node) && eras.has(node.text);
  walk(file, (node) => {
    if (ts.isBinaryExpression(node) && isEquality(node.operatorToken.kind) && (named(node.left) || named(node.right))) {
      found.push(violation(file, node, "compares the name of an era"));
    } else if (ts.isCaseClause(node) && named(node.expression)) {
      found.push(violation(file, node, "switches on the name of an era"));
    } else if (ts.isElementAccessExpression(node) && isEraMember(node.argumentExpression)) {
      found.push(violation(file, node, "looks something up by the name of an era"));
    } else if (ts.isIdentifier(node) && /^is(Not)?(Modern|Legacy)/.test(node.text)) {
      found.push(violation(file, node, `asks ${node.text}`));
    }
  });
  return found;
}

/** Refuses everything that makes code out of text. */
export function noEval(file: SourceText): Violation[] {
  const found: Violation[] = [];
  const makers = new Set(["eval", "Function", "AsyncFunction", "GeneratorFunction"]);
  walk(file, (node) => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const callee = node.expression;
      const name = ts.isIdentifier(callee) ? callee.text : memberOfGlobalThis(callee);
      if (name !== undefined && makers.has(name)) found.push(violation(file, node, `makes code with ${name}`));
      if (
        (name === "setTimeout" || name === "setInterval") && node.arguments?.[0] !== undefined &&
        literalText(node.arguments[0]) !== undefined
      ) {
        found.push(violation(file, node, `makes code with ${name} of a text`));
      }
    }
    if (
      ts.isPropertyAccessExpression(node) && node.name.text === "constructor" &&
      ts.isFunctionLike(unwrap(node.expression))
    ) {
      found.push(violation(file, node, "reaches for the constructor of functions"));
    }
  });
  for (const { specifier, at } of collectImports(file)) {
    if (/^(node:)?vm$/.test(specifier)) found.push(violation(file, at, "imports vm"));
  }
  return found;
}

/** Refuses a caught error that disappears without a comment that says why. */
export function noSilentCatch(file: SourceText): Violation[] {
  const found: Violation[] = [];
  walk(file, (node) => {
    if (ts.isCatchClause(node) && node.block.statements.length === 0 && !hasComment(node.block.getText())) {
      found.push(violation(file, node, "empty catch without a comment"));
    }
    if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return;
    const name = node.expression.name.text;
    const handler = name === "catch" ? node.arguments[0] : name === "then" ? node.arguments[1] : undefined;
    if (handler === undefined || !isEmptyFunction(handler) || commentNear(file, handler)) return;
    found.push(violation(file, handler, "empty catch without a comment"));
  });
  return found;
}

function literalText(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
    return node.text;
  }
  return ts.isRegularExpressionLiteral(node) ? node.text : undefined;
}

function isEquality(kind: ts.SyntaxKind): boolean {
  return kind === ts.SyntaxKind.EqualsEqualsEqualsToken || kind === ts.SyntaxKind.ExclamationEqualsEqualsToken ||
    kind === ts.SyntaxKind.EqualsEqualsToken || kind === ts.SyntaxKind.ExclamationEqualsToken;
}

function isEraMember(node: ts.Node): boolean {
  return ts.isPropertyAccessExpression(node) && node.name.text === "era";
}

/** `globalThis.name`, `globalThis["name"]`, `(globalThis as X).name`: the name. */
function memberOfGlobalThis(node: ts.Node): string | undefined {
  const isGlobal = (target: ts.Node): boolean => {
    const inner = unwrap(target);
    return ts.isIdentifier(inner) && (inner.text === "globalThis" || inner.text === "self");
  };
  if (ts.isPropertyAccessExpression(node) && isGlobal(node.expression)) return node.name.text;
  if (ts.isElementAccessExpression(node) && isGlobal(node.expression)) return literalText(node.argumentExpression);
  return undefined;
}

function unwrap(node: ts.Node): ts.Node {
  while (
    ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isNonNullExpression(node) ||
    ts.isSatisfiesExpression(node)
  ) {
    node = node.expression;
  }
  return node;
}

/** Names that the file binds itself, other than with `declare`. */
function declaredNames(file: SourceText): Set<string> {
  const names = new Set<string>();
  walk(file, (node) => {
    const binds = ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isBindingElement(node) ||
      ts.isImportSpecifier(node) ||
      ts.isFunctionDeclaration(node) || ts.isNamespaceImport(node);
    if (binds && node.name !== undefined && ts.isIdentifier(node.name) && !isAmbient(node)) names.add(node.name.text);
  });
  return names;
}

function isAmbient(node: ts.Node): boolean {
  for (let at: ts.Node | undefined = node; at !== undefined; at = at.parent) {
    if (ts.canHaveModifiers(at) && ts.getModifiers(at)?.some(({ kind }) => kind === ts.SyntaxKind.DeclareKeyword)) {
      return true;
    }
    if (ts.isFunctionTypeNode(at) || ts.isMethodSignature(at) || ts.isCallSignatureDeclaration(at)) return true;
  }
  return false;
}

/** True where an identifier stands for a value or type of that name, not for a member, key or label. */
function isReference(node: ts.Identifier): boolean {
  const parent = node.parent;
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node;
  if (ts.isQualifiedName(parent)) return parent.left === node;
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isBindingElement(parent)) return parent.initializer === node;
  if (ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent)) return false;
  const isName = (parent as { name?: ts.Node }).name === node;
  return !isName || isAmbient(parent) && ts.isVariableDeclaration(parent);
}

function isEmptyFunction(node: ts.Node): boolean {
  if (!ts.isArrowFunction(node) && !ts.isFunctionExpression(node)) return false;
  const body = unwrap(node.body);
  if (ts.isBlock(body)) return body.statements.length === 0;
  return ts.isVoidExpression(body) || body.kind === ts.SyntaxKind.NullKeyword ||
    ts.isIdentifier(body) && body.text === "undefined";
}

function hasComment(text: string): boolean {
  return /\/\/|\/\*/.test(text);
}

/** A comment inside the node, at the end of its lines, or on the lines right above its statement. */
function commentNear(file: SourceText, node: ts.Node): boolean {
  if (hasComment(node.getText())) return true;
  const lines = file.text.split("\n");
  const first = parse(file).getLineAndCharacterOfPosition(statementOf(node).getStart()).line;
  const last = parse(file).getLineAndCharacterOfPosition(node.getEnd()).line;
  return /^\s*(\/\/|\*|\/\*)/.test(lines[first - 1] ?? "") || /\/\/ |\*\/\s*$/.test(lines[last] ?? "");
}

function statementOf(node: ts.Node): ts.Node {
  let at = node;
  while (at.parent !== undefined && !ts.isBlock(at.parent) && !ts.isSourceFile(at.parent)) at = at.parent;
  return at;
}
