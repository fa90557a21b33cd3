import type { JsonObject } from "../protocol/model.ts";

/** Takes secrets out of what is shown; the very same value where there is none. */
export interface DefinitionScrubber {
  text(text: string): string;
  value<T>(value: T): T;
}

/** Their members are schemas, or lists of names, by names that are the author's. */
const BY_NAME: ReadonlySet<string> = new Set([
  "$defs",
  "definitions",
  "dependencies",
  "dependentRequired",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);
/** Any JSON value is a valid one of these. */
const FREE: ReadonlySet<string> = new Set(["$comment", "const", "default", "description", "enum", "examples", "title"]);
const MAX_DEPTH = 100;

/**
 * A schema as it may be shown: the very same object where it holds no secret. Texts for people and listed values are
 * scrubbed; a keyword that would mean something else by it, such as a pattern or a property's name, is left out, so that
 * what remains is still a valid schema.
 */
export function shownSchema(schema: JsonObject, scrubber: DefinitionScrubber): JsonObject {
  return scrubber.value(schema) === schema ? schema : shownKeywords(schema, scrubber, 0);
}

function shownKeywords(schema: JsonObject, scrubber: DefinitionScrubber, depth: number): JsonObject {
  // A schema without keywords takes everything.
  if (depth > MAX_DEPTH) return {};
  const shown: { [key: string]: unknown } = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (scrubber.text(keyword) !== keyword || keyword === "__proto__") continue;
    const kept = FREE.has(keyword)
      ? scrubber.value(value)
      : BY_NAME.has(keyword) && isObject(value)
      ? shownByName(value, scrubber, depth)
      : shownMember(value, scrubber, depth);
    if (kept !== undefined) shown[keyword] = kept;
  }
  return shown;
}

function shownByName(members: JsonObject, scrubber: DefinitionScrubber, depth: number): JsonObject {
  const shown: { [name: string]: unknown } = {};
  for (const [name, member] of Object.entries(members)) {
    if (scrubber.text(name) !== name || name === "__proto__") continue;
    const kept = shownMember(member, scrubber, depth);
    if (kept !== undefined) shown[name] = kept;
  }
  return shown;
}

/** `undefined` for what cannot be shown. Of a list, what can. */
function shownMember(value: unknown, scrubber: DefinitionScrubber, depth: number): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => shownMember(item, scrubber, depth + 1)).filter((item) => item !== undefined);
    return items.length === 0 && value.length > 0 ? undefined : items;
  }
  if (isObject(value)) return shownKeywords(value, scrubber, depth + 1);
  return scrubber.value(value) === value ? value : undefined;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
