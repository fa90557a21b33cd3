import { HostError } from "../kernel/errors.ts";
import { wholeText } from "../kernel/foreign_text.ts";
import { encodeHeaderValue } from "./headers.ts";
import type { JsonObject, Tool } from "./model.ts";
import { asObject } from "./results.ts";

/** One argument that a header repeats. */
interface Mirrored {
  /** In lower case: so it wins over a header that the user has configured under that name. */
  readonly header: string;
  /** The members that lead to the argument. */
  readonly path: readonly string[];
}

/** Tools of a list that may be called, and those that may not. */
export interface Sifted {
  readonly tools: readonly Tool[];
  readonly malformed: readonly { readonly name: string; readonly why: string }[];
}

/** What a server answers when headers and body do not fit (2026-07-28, error codes). It has executed nothing. */
export const HEADER_MISMATCH = -32020;

const ANNOTATION = "x-mcp-header";
/** None that a proxy would act upon, should it take the prefix away. */
const TOKEN = /^(?!(?:(?:proxy-)?authorization|cookie|host)$)[\w!#$%&'*+.^`|~-]{1,256}$/i;
/** What they hold is data and no schema, whatever it looks like. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum", "examples"]);
/** Their members are schemas by names that are the author's. */
const BY_NAME: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);

/**
 * The arguments that HTTP headers repeat, as of the latest list of tools (2026-07-28, basic/transports, `x-mcp-header`).
 * A tool without annotations costs a call nothing.
 */
export class HeaderMirror {
  #tools: ReadonlyMap<string, readonly Mirrored[]> = new Map();

  /** True while no tool wants anything repeated. */
  get isEmpty(): boolean {
    return this.#tools.size === 0;
  }

  /** Takes the annotations of a new list in the place of all before. A tool with a wrong one must not be used. */
  sift(list: readonly Tool[]): Sifted {
    const tools: Tool[] = [];
    const malformed: { name: string; why: string }[] = [];
    const known = new Map<string, readonly Mirrored[]>();
    for (const tool of list) {
      const found = readAnnotations(tool.inputSchema);
      if (typeof found === "string") {
        malformed.push({ name: wholeText(tool.name), why: found });
        continue;
      }
      tools.push(tool);
      // Of two tools of one name the first is the one that is called.
      if (found.length > 0 && !known.has(tool.name)) known.set(tool.name, found);
    }
    this.#tools = known;
    return { tools, malformed };
  }

  /**
   * The headers of a `tools/call` with these parameters. Throws `ERR_INVALID_ARGUMENTS` for a number that a header must
   * carry and that is not exact.
   */
  headersOf(params: unknown): Record<string, string> {
    const headers: Record<string, string> = {};
    const { name, arguments: args } = asObject(params) ?? {};
    for (const { header, path } of this.#tools.get(name as string) ?? []) {
      const text = textOf(valueAt(args, path), header, path);
      if (text !== undefined) headers[header] = encodeHeaderValue(text);
    }
    return headers;
  }
}

/** What a schema wants repeated, or what is wrong with it. */
function readAnnotations(schema: JsonObject): readonly Mirrored[] | string {
  const found: Mirrored[] = [];
  const names = new Set<string>();
  const rest: { schema: unknown; path: readonly string[] | undefined }[] = [{ schema, path: [] }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { path } = next;
    const here = asObject(next.schema);
    if (here === undefined) continue;
    if (Object.hasOwn(here, ANNOTATION)) {
      const name = here[ANNOTATION];
      const fault = faultOf(name, here["type"], path);
      if (fault !== undefined) return fault;
      const header = `mcp-param-${(name as string).toLowerCase()}`;
      if (names.has(header)) return `${ANNOTATION} ${shown(name)} stands at two arguments`;
      names.add(header);
      found.push({ header, path: path! });
    }
    for (const [keyword, value] of Object.entries(here)) {
      if (typeof value !== "object" || value === null || DATA.has(keyword)) continue;
      if (BY_NAME.has(keyword) && !Array.isArray(value)) {
        const isReached = keyword === "properties" && path !== undefined;
        for (const [name, member] of Object.entries(value)) {
          rest.push({ schema: member, path: isReached ? [...path, name] : undefined });
        }
      } else {
        for (const member of Array.isArray(value) ? value : [value]) rest.push({ schema: member, path: undefined });
      }
    }
  }
  return found;
}

function faultOf(name: unknown, type: unknown, path: readonly string[] | undefined): string | undefined {
  if (typeof name !== "string" || !TOKEN.test(name)) {
    return `${ANNOTATION} ${shown(name)} cannot end the name of a header, wanted a harmless RFC 9110 token`;
  }
  if (path === undefined) {
    return `${ANNOTATION} ${shown(name)} is on no fixed argument, wanted under properties`;
  }
  const types = (Array.isArray(type) ? type : [type]).filter((each) => each !== "null");
  if (types.length > 0 && types.every((each) => each === "string" || each === "integer" || each === "boolean")) return;
  return `${ANNOTATION} ${shown(name)} is on type ${shown(type)}, wanted string, integer or boolean`;
}

/** The value that goes out at that place; members that the body leaves out count as absent. */
function valueAt(args: unknown, path: readonly string[]): unknown {
  let value = asWritten(args);
  for (const member of path) {
    const object = asObject(value);
    value = object !== undefined && Object.hasOwn(object, member) ? asWritten(object[member]) : undefined;
  }
  return value;
}

/** What writes itself, such as a date, is mirrored as it is written. */
function asWritten(value: unknown): unknown {
  if (typeof (value as { toJSON?: unknown } | undefined | null)?.toJSON !== "function") return value;
  const text: string | undefined = JSON.stringify(value);
  return text === undefined ? undefined : JSON.parse(text);
}

/** `undefined` for a value that has no form as a header: then there is none, and the server says what it wants. */
function textOf(value: unknown, header: string, path: readonly string[]): string | undefined {
  if (typeof value === "string" || typeof value === "boolean") return String(value);
  if (typeof value === "number" && !Number.isFinite(value)) return undefined;
  if (typeof value !== "number" && typeof value !== "bigint") return undefined;
  if (value <= Number.MAX_SAFE_INTEGER && value >= -Number.MAX_SAFE_INTEGER) return String(value);
  throw new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot call a tool: argument ${
      shown(path.join("."))
    } is repeated in ${header} and beyond 2^53 - 1, wanted an exact number`,
  );
}

function shown(value: unknown): string {
  return wholeText(JSON.stringify(value) ?? "none");
}
