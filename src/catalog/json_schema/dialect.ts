/** The dialects of JSON Schema that are understood. */
export type Dialect = "2020-12" | "draft-07";

const DIALECTS: ReadonlyMap<string, Dialect> = new Map([
  ["json-schema.org/draft/2020-12/schema", "2020-12"],
  ["json-schema.org/draft-07/schema", "draft-07"],
]);

/** Others, by whose rules they can be read: what is left over is flagged or means nothing in either. */
const NEIGHBOURS: ReadonlyMap<string, Dialect> = new Map([
  ["json-schema.org/draft/2019-09/schema", "2020-12"],
  ["json-schema.org/draft-06/schema", "draft-07"],
  ["json-schema.org/draft-04/schema", "draft-07"],
]);

/** The dialect that a `$schema` names; `undefined` for others. Without one it is 2020-12 (MCP 2025-11-25, Tools). */
export function dialectOf(name: unknown): Dialect | undefined {
  return name === undefined ? "2020-12" : lookUp(DIALECTS, name);
}

/** The dialect that one which is not understood is near to. */
export function neighbourOf(name: unknown): Dialect | undefined {
  return lookUp(NEIGHBOURS, name);
}

function lookUp(dialects: ReadonlyMap<string, Dialect>, name: unknown): Dialect | undefined {
  return typeof name === "string" ? dialects.get(name.replace(/^https?:\/\//, "").replace(/#$/, "")) : undefined;
}

/**
 * Where schemas stand below a keyword: one, a list of them, an object of them, or, where older dialects allow something
 * else beside, a mixture.
 */
export type Holds = "one" | "list" | "map" | "one_or_list" | "map_or_names";

/**
 * The keywords that hold schemas. `definitions`, `dependencies` and a list as `items` belong to draft-07; they are read
 * everywhere, since servers write them without naming a dialect.
 */
export const SCHEMA_KEYWORDS: ReadonlyMap<string, Holds> = new Map([
  ["$defs", "map"],
  ["definitions", "map"],
  ["properties", "map"],
  ["patternProperties", "map"],
  ["dependentSchemas", "map"],
  ["dependencies", "map_or_names"],
  ["additionalProperties", "one"],
  ["unevaluatedProperties", "one"],
  ["propertyNames", "one"],
  ["prefixItems", "list"],
  ["items", "one_or_list"],
  ["additionalItems", "one"],
  ["unevaluatedItems", "one"],
  ["contains", "one"],
  ["allOf", "list"],
  ["anyOf", "list"],
  ["oneOf", "list"],
  ["not", "one"],
  ["if", "one"],
  ["then", "one"],
  ["else", "one"],
]);

const NOT_IN_DRAFT_07: ReadonlySet<string> = new Set([
  "$anchor",
  "$dynamicAnchor",
  "$dynamicRef",
  "dependentRequired",
  "dependentSchemas",
  "maxContains",
  "minContains",
  "prefixItems",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** Whether a keyword means something in a dialect. */
export function knows(dialect: Dialect, keyword: string): boolean {
  return dialect === "2020-12" || !NOT_IN_DRAFT_07.has(keyword);
}
