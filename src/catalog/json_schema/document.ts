import type { JsonObject } from "../../protocol/model.ts";
import { type Dialect, dialectOf, knows, neighbourOf, SCHEMA_KEYWORDS } from "./dialect.ts";
import { linearBound, type Pattern } from "./linear_pattern.ts";
import { type Resource, SchemaNode } from "./node.ts";

/** Something in a schema that is not checked, although it asks for it. */
export interface SchemaFlag {
  readonly kind:
    /** A pattern that is not known to take linear time, or that is none. */
    | "pattern_not_run"
    /** A keyword whose value is not what the dialect wants there. */
    | "keyword_ignored";
  /** JSON Pointer of the keyword in the schema. */
  readonly where: string;
}

/** Why a schema cannot be used, to stand after "the schema". */
export class Unusable extends Error {}

/** What reading a schema has cost: one for each subschema and each character of a pattern. */
export interface Effort {
  spent: number;
}

export interface DocumentLimits {
  readonly maxDepth: number;
  readonly maxSubschemas: number;
}

/** Longest pattern that is looked at, and the most of them together: looking costs more than running. */
const MAX_PATTERN = 1000;
const MAX_PATTERNS = 10_000;
const MAX_FLAGS = 20;
const MAX_WHERE = 200;
const MAX_SHOWN = 100;

/** Relative identifiers need something to be relative to. Nothing is ever fetched from it, or from anywhere. */
const BASE = "schema:///";

/** All schemas of one document, by where they stand and by what they call themselves. */
export class SchemaDocument {
  readonly dialect: Dialect;
  /** The schema that the whole document is. */
  readonly root: SchemaNode;
  /** By the object that each is written as, in the order they were met. Resolving a reference may add to it. */
  readonly nodes: Map<object, SchemaNode> = new Map();
  readonly flags: SchemaFlag[] = [];
  /** Some schema asks what others have seen of the same value. */
  tracks = false;
  /** Some schema is of a dialect whose rules nobody here knows: values cannot be held against the document. */
  isForeign = false;
  /** What there is to say of the dialects in it, to stand after "the schema". */
  dialectNote: string | undefined;
  readonly #limits: DocumentLimits;
  readonly #effort: Effort;
  readonly #resources = new Map<string, Resource>();
  #patternsLength = 0;

  /** Throws `Unusable`. */
  constructor(schema: unknown, limits: DocumentLimits, effort: Effort) {
    if (!isObject(schema) && typeof schema !== "boolean") throw new Unusable("is neither an object nor a boolean");
    const name = isObject(schema) ? schema["$schema"] : undefined;
    this.dialect = dialectOf(name) ?? neighbourOf(name) ?? "2020-12";
    this.#limits = limits;
    this.#effort = effort;
    this.root = this.node(schema, resourceOf(BASE, schema), "", 1);
  }

  /** The node of a schema; made, with all below it, when it is met for the first time. */
  node(schema: unknown, resource: Resource, at: string, depth: number): SchemaNode {
    if (!isObject(schema)) return this.#simple(schema, resource, at);
    const known = this.nodes.get(schema);
    if (known !== undefined) return known;
    const { maxDepth, maxSubschemas } = this.#limits;
    if (depth > maxDepth) throw new Unusable(`is nested deeper than ${maxDepth} levels`);
    if (this.nodes.size >= maxSubschemas) throw new Unusable(`has more than ${maxSubschemas} subschemas`);
    this.#noteDialect(schema["$schema"]);
    this.#effort.spent++;
    const inner = this.#identify(schema, resource);
    const node = new SchemaNode(inner, at);
    this.nodes.set(schema, node);
    this.#name(schema, node, resource);
    for (const [keyword, value, below] of schemasIn(schema)) {
      if (knows(this.dialect, keyword)) this.node(value, inner, `${at}/${below}`, depth + 1);
    }
    return node;
  }

  /** The schema that a reference means. It is in this document or the document cannot be used. */
  resolve(reference: string, from: Resource): SchemaNode {
    const [resource, fragment] = this.#locate(reference, from);
    const node = fragment === "" || fragment.startsWith("/")
      ? this.#walk(resource, fragment)
      : resource.anchors.get(fragment);
    if (node === undefined) throw new Unusable(`refers to ${shown(reference)}, which is not in it`);
    return node;
  }

  /** A pattern that may be run, or `undefined` for one that must not be. */
  pattern(text: string, where: string): Pattern | undefined {
    this.#patternsLength += text.length;
    const isShort = text.length <= MAX_PATTERN && this.#patternsLength <= MAX_PATTERNS;
    if (isShort) this.#effort.spent += text.length;
    const expression = isShort ? compiled(text) : undefined;
    const cost = expression === undefined ? undefined : linearBound(expression);
    if (expression !== undefined && cost !== undefined) return { expression, cost };
    this.flag("pattern_not_run", where);
    return undefined;
  }

  flag(kind: SchemaFlag["kind"], where: string): void {
    const isKnown = this.flags.some((flag) => flag.where === where);
    if (isKnown || this.flags.length >= MAX_FLAGS) return;
    // Whole or not at all: half a name might be half a secret, which nobody would know for one.
    this.flags.push({ kind, where: where.length > MAX_WHERE ? "/..." : where });
  }

  #noteDialect(name: unknown): void {
    if (name === undefined || dialectOf(name) === this.dialect) return;
    const isNear = neighbourOf(name) === this.dialect;
    if (!isNear) this.isForeign = true;
    else if (this.dialectNote !== undefined) return;
    const how = isNear ? `read as ${this.dialect}` : "wanted 2020-12 or draft-07 alone: values are not checked";
    this.dialectNote = `is of the dialect ${shown(name)}, ${how}`;
  }

  #simple(schema: unknown, resource: Resource, at: string): SchemaNode {
    const node = new SchemaNode(resource, at);
    if (schema === false) {
      const keyword = at.split("/").at(-1)!;
      node.checks = [(_, run) => run.fail(keyword, () => "is not allowed here")];
    } else if (schema !== true) {
      this.flag("keyword_ignored", at);
      node.isDoubtful = true;
    }
    return node;
  }

  /** The resource that a schema belongs to: a new one where it has an identifier that is not just a name. */
  #identify(schema: JsonObject, outer: Resource): Resource {
    const id = schema["$id"];
    if (typeof id !== "string" || id.startsWith("#") || this.ignoresSiblings(schema)) return outer;
    const uri = resolveUri(id, outer.uri)?.[0];
    if (uri === undefined) throw new Unusable(`has the $id ${shown(id)}, which is no URI`);
    const known = this.#resources.get(uri);
    // Of two schemas with one identifier the first has it.
    if (known !== undefined) return outer;
    const resource = resourceOf(uri, schema);
    this.#resources.set(uri, resource);
    return resource;
  }

  #name(schema: JsonObject, node: SchemaNode, outer: Resource): void {
    const { $id, $anchor, $dynamicAnchor } = schema;
    const { resource } = node;
    if (this.dialect === "draft-07") {
      if (typeof $id === "string" && $id.startsWith("#") && !this.ignoresSiblings(schema)) {
        add(outer.anchors, $id.slice(1), node);
      }
      return;
    }
    if (typeof $anchor === "string") add(resource.anchors, $anchor, node);
    if (typeof $dynamicAnchor !== "string") return;
    add(resource.anchors, $dynamicAnchor, node);
    add(resource.dynamicAnchors, $dynamicAnchor, node);
  }

  /** Beside a `$ref` draft-07 has no other keywords (draft-handrews-json-schema-01, section 8.3). */
  ignoresSiblings(schema: JsonObject): boolean {
    return this.dialect === "draft-07" && Object.hasOwn(schema, "$ref");
  }

  #locate(reference: string, from: Resource): readonly [Resource, string] {
    const [uri, encoded] = reference.startsWith("#")
      ? [from.uri, reference.slice(1)]
      : resolveUri(reference, from.uri) ?? [undefined, ""];
    const resource = uri === undefined ? undefined : uri === from.uri ? from : this.#resources.get(uri);
    const fragment = decoded(encoded);
    if (resource === undefined || fragment === undefined) {
      throw new Unusable(`refers to ${shown(reference)}, which is not in it`);
    }
    return [resource, fragment];
  }

  #walk(start: Resource, pointer: string): SchemaNode | undefined {
    let value: unknown = start.schema;
    let resource = start;
    for (const token of pointer.split("/").slice(1)) {
      const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
      value = (value as JsonObject)[key];
      if (isObject(value)) resource = this.nodes.get(value)?.resource ?? resource;
    }
    if (!isObject(value) && typeof value !== "boolean") return undefined;
    return this.node(value, resource, pointer, 1);
  }
}

/** The schemas that stand directly below one: keyword, value and the last part of the pointer. */
function* schemasIn(schema: JsonObject): Generator<readonly [string, unknown, string]> {
  for (const [keyword, value] of Object.entries(schema)) {
    const holds = SCHEMA_KEYWORDS.get(keyword);
    if (holds === undefined) continue;
    const isList = Array.isArray(value);
    if (holds === "list" || (holds === "one_or_list" && isList)) {
      if (!isList) continue;
      for (const [index, item] of value.entries()) if (isObject(item)) yield [keyword, item, `${keyword}/${index}`];
    } else if (holds === "map" || holds === "map_or_names") {
      if (!isObject(value)) continue;
      for (const [key, item] of Object.entries(value)) {
        if (isObject(item)) yield [keyword, item, `${keyword}/${escaped(key)}`];
      }
    } else if (isObject(value)) yield [keyword, value, keyword];
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A key as JSON Pointers have it. */
export function escaped(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

function add(names: Map<string, SchemaNode>, name: string, node: SchemaNode): void {
  if (!names.has(name)) names.set(name, node);
}

function resourceOf(uri: string, schema: object | boolean): Resource {
  return { uri, schema, anchors: new Map(), dynamicAnchors: new Map() };
}

/** The URI without its fragment, and the fragment. */
function resolveUri(reference: string, base: string): readonly [string, string] | undefined {
  try {
    const url = new URL(reference, base);
    const fragment = url.hash.slice(1);
    url.hash = "";
    return [url.href, fragment];
  } catch {
    // It is no URI; whoever asks says so.
    return undefined;
  }
}

function decoded(fragment: string): string | undefined {
  try {
    return decodeURIComponent(fragment);
  } catch {
    // A lone percent sign names nothing.
    return undefined;
  }
}

/** As JSON Schema wants patterns, else as older expressions are written: with escapes that mean nothing. */
function compiled(text: string): RegExp | undefined {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(text, flags);
    } catch {
      // Not in this syntax.
    }
  }
  return undefined;
}

function shown(value: unknown): string {
  if (typeof value !== "string") return `a ${typeof value}`;
  return value.length > MAX_SHOWN ? '"..."' : JSON.stringify(value);
}
