import { createScanner, type JSONPath, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { type Fault, fault } from "./problem.ts";

/** Most characters that a configuration file may have. */
export const MAX_CONFIG_LENGTH = 1_048_576;
/** How deep its values may be nested. */
export const MAX_CONFIG_DEPTH = 64;

/** A configuration file as a value, and as a tree that knows where everything stands. */
export interface ConfigDocument {
  readonly root: Node;
  readonly value: unknown;
  /** Keys that cannot be used; the value does not hold them. */
  readonly faults: readonly Fault[];
}

/** Reads JSON with comments and trailing commas. A text that cannot be read gives the first fault in it. */
export function readDocument(text: string): ConfigDocument | Fault {
  const fatal = (offset: number, detail: string): Fault => fault([], detail, { severity: "fatal", offset });
  if (text.length > MAX_CONFIG_LENGTH) {
    return fatal(0, `found ${text.length} characters, wanted at most ${MAX_CONFIG_LENGTH}`);
  }
  const tooDeep = firstTooDeep(text);
  if (tooDeep !== undefined) {
    return fatal(tooDeep, `found more than ${MAX_CONFIG_DEPTH} levels, wanted at most that many`);
  }
  const errors: ParseError[] = [];
  const root = parseTree(text, errors, { allowTrailingComma: true });
  const first = errors[0];
  if (first !== undefined || root === undefined) {
    return fatal(first?.offset ?? 0, describeError(first, text));
  }
  const faults: Fault[] = [];
  return { root, value: toValue(root, [], faults), faults };
}

/** The parser recurses, so depth is counted in the tokens before it runs. */
function firstTooDeep(text: string): number | undefined {
  const scanner = createScanner(text, true);
  let depth = 0;
  while (true) {
    scanner.scan();
    if (scanner.getTokenLength() === 0) return undefined;
    const char = text[scanner.getTokenOffset()];
    if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    if (depth > MAX_CONFIG_DEPTH) return scanner.getTokenOffset();
  }
}

const WANTED: Readonly<Record<string, string>> = Object.freeze({
  InvalidSymbol: "a JSON value",
  InvalidNumberFormat: "a JSON number",
  PropertyNameExpected: "a key in double quotes",
  ValueExpected: "a value",
  ColonExpected: "a colon",
  CommaExpected: "a comma",
  CloseBraceExpected: "a closing brace",
  CloseBracketExpected: "a closing bracket",
  EndOfFileExpected: "the end of the file",
  InvalidCommentToken: "a JSON value",
  UnexpectedEndOfComment: "the end of the comment",
  UnexpectedEndOfString: "a closing double quote on the same line",
  UnexpectedEndOfNumber: "more digits",
  InvalidUnicode: "four hexadecimal digits after \\u",
  InvalidEscapeCharacter: 'one of " \\ / b f n r t u after the backslash',
  InvalidCharacter: "no control character in a string",
});

function describeError(error: ParseError | undefined, text: string): string {
  const wanted = error === undefined ? "an object" : WANTED[printParseErrorCode(error.error)] ?? "JSON";
  const char = text.slice(error?.offset ?? 0).trimStart()[0];
  if (char === undefined) return `is not JSON: found the end of the file, wanted ${wanted}`;
  return `is not JSON: found ${char === '"' ? "a string" : JSON.stringify(char)}, wanted ${wanted}`;
}

/** Of two equal keys the first counts. `Object.fromEntries` defines members, so no key can reach a prototype. */
function toValue(node: Node, path: JSONPath, faults: Fault[]): unknown {
  if (node.type === "array") {
    return (node.children ?? []).map((child, index) => toValue(child, [...path, index], faults));
  }
  if (node.type !== "object") return node.value;
  const entries = new Map<string, unknown>();
  for (const property of node.children ?? []) {
    const [keyNode, valueNode] = property.children ?? [];
    const key = String(keyNode?.value);
    if (valueNode === undefined) continue;
    const at = [...path, key];
    if (key === "__proto__") {
      faults.push(fault(at, 'found the key "__proto__", wanted any other', { offset: property.offset }));
    } else if (entries.has(key)) {
      const code = path.length === 1 && path[0] === "mcpServers" ? "ERR_DUPLICATE_SERVER" : "ERR_CONFIG";
      faults.push(
        fault(at, `found the key ${JSON.stringify(key)} a second time, wanted it once`, {
          code,
          offset: property.offset,
        }),
      );
    } else entries.set(key, toValue(valueNode, at, faults));
  }
  return Object.fromEntries(entries);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What messages call a value that stands where an object should; never the value itself. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return value === null ? "null" : "nothing";
  return Array.isArray(value) ? "a list" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}
