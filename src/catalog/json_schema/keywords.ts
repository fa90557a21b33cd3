import { canonicalJson } from "../../kernel/canonical.ts";
import { isObject } from "./document.ts";
import type { Check } from "./node.ts";
import { isNumber } from "./number_keywords.ts";
import { isList, isText, isTextList, type Place } from "./place.ts";
import { OutOfSteps, type Run } from "./run.ts";

// Keywords that look at the value alone. A builder gives `undefined` where its keywords ask for nothing.

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = Object.freeze({
  null: (value) => value === null,
  boolean: (value) => typeof value === "boolean",
  number: isNumber,
  integer: (value) => typeof value === "bigint" || Number.isInteger(value),
  string: isText,
  array: isList,
  object: isObject,
});

const ARTICLES: Readonly<Record<string, string>> = Object.freeze({
  array: "an",
  integer: "an",
  object: "an",
  null: "",
});

/** Most values of an `enum` that a message names. */
const MAX_NAMED = 8;
/** Longest text of a schema that a message repeats. */
const MAX_SHOWN = 80;

export function type(place: Place): Check | undefined {
  const named = place.read("type", isTypes);
  if (named === undefined) return undefined;
  const names = isText(named) ? [named] : named;
  const tests = names.map((name) => TYPES[name]!);
  return (value, run) =>
    tests.some((test) => test(value)) ||
    run.fail("type", () => `is ${kindOf(value)}, wanted ${names.map(withArticle).join(" or ")}`);
}

export function constant(place: Place): Check | undefined {
  const wanted = place.get("const");
  return wanted === undefined ? undefined : oneOfValues("const", [wanted]);
}

export function enumeration(place: Place): Check | undefined {
  const wanted = place.read("enum", isList);
  return wanted === undefined ? undefined : oneOfValues("enum", wanted);
}

export function minLength(place: Place): Check | undefined {
  const least = place.count("minLength");
  if (least === undefined) return undefined;
  return (value, run) =>
    !isText(value) || lengthOf(value, least, run) >= least ||
    run.fail("minLength", () => `is too short, wanted at least ${least} characters`);
}

export function maxLength(place: Place): Check | undefined {
  const most = place.count("maxLength");
  if (most === undefined) return undefined;
  return (value, run) =>
    !isText(value) || lengthOf(value, most + 1, run) <= most ||
    run.fail("maxLength", () => `is too long, wanted at most ${most} characters`);
}

export function pattern(place: Place): Check | undefined {
  const text = place.read("pattern", isText);
  const wanted = text === undefined ? undefined : place.pattern(text, "pattern");
  if (wanted === undefined) return undefined;
  return (value, run) =>
    !isText(value) || run.matches(wanted, value) ||
    run.fail("pattern", () => `does not match ${shown(text)}`);
}

export function minItems(place: Place): Check | undefined {
  const least = place.count("minItems");
  if (least === undefined) return undefined;
  return (value, run) =>
    !isList(value) || value.length >= least ||
    run.fail("minItems", () => `has ${value.length} items, wanted at least ${least}`);
}

export function maxItems(place: Place): Check | undefined {
  const most = place.count("maxItems");
  if (most === undefined) return undefined;
  return (value, run) =>
    !isList(value) || value.length <= most ||
    run.fail("maxItems", () => `has ${value.length} items, wanted at most ${most}`);
}

export function uniqueItems(place: Place): Check | undefined {
  if (place.read("uniqueItems", (value) => typeof value === "boolean") !== true) return undefined;
  return (value, run) => {
    if (!isList(value)) return true;
    const known = new Set<unknown>();
    for (const item of value) {
      const key = keyOf(item, run);
      if (known.has(key)) return run.fail("uniqueItems", () => "has an item twice");
      known.add(key);
    }
    return true;
  };
}

export function minProperties(place: Place): Check | undefined {
  const least = place.count("minProperties");
  if (least === undefined) return undefined;
  return (value, run) =>
    !isObject(value) || sizeOf(value, run) >= least ||
    run.fail("minProperties", () => `has too few members, wanted at least ${least}`);
}

export function maxProperties(place: Place): Check | undefined {
  const most = place.count("maxProperties");
  if (most === undefined) return undefined;
  return (value, run) =>
    !isObject(value) || sizeOf(value, run) <= most ||
    run.fail("maxProperties", () => `has too many members, wanted at most ${most}`);
}

export function required(place: Place): Check | undefined {
  const names = place.read("required", isTextList);
  if (names === undefined || names.length === 0) return undefined;
  return (value, run) => !isObject(value) || hasAll(value, names, "required", run);
}

export function dependentRequired(place: Place): Check | undefined {
  return dependent(place, "dependentRequired");
}

/** What `dependencies` says of names; its schemas are `dependentSchemas`. */
export function dependencies(place: Place): Check | undefined {
  return dependent(place, "dependencies");
}

function dependent(place: Place, keyword: string): Check | undefined {
  const map = place.read(keyword, isObject);
  const lists = Object.entries(map ?? {}).filter((entry): entry is [string, string[]] => isTextList(entry[1]));
  if (lists.length === 0) return undefined;
  return (value, run) => {
    if (!isObject(value)) return true;
    run.spend(lists.length);
    return lists.every(([name, names]) => !Object.hasOwn(value, name) || hasAll(value, names, keyword, run));
  };
}

function hasAll(value: object, names: readonly string[], keyword: string, run: Run): boolean {
  run.spend(names.length);
  let isValid = true;
  for (const name of names) {
    if (Object.hasOwn(value, name)) continue;
    isValid = run.fail(keyword, () => `lacks ${shown(name)}`);
    if (!run.goesOn) break;
  }
  return isValid;
}

function oneOfValues(keyword: string, wanted: readonly unknown[]): Check {
  const simple = new Set<unknown>();
  const texts = new Set<string>();
  for (const value of wanted) {
    if (isStructured(value)) texts.add(shallowJson(value) ?? "");
    else simple.add(value);
  }
  return (value, run) => {
    const isWanted = isStructured(value) ? texts.size > 0 && texts.has(textOf(value, run)) : simple.has(value);
    return isWanted || run.fail(keyword, () => {
      const named = wanted.slice(0, MAX_NAMED).map((each) => isStructured(each) ? kindOf(each) : shown(each));
      return `is not what was wanted: ${named.join(", ")}${wanted.length > MAX_NAMED ? " or others" : ""}`;
    });
  };
}

function isStructured(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Equal for equal values only, in a set. */
function keyOf(value: unknown, run: Run): unknown {
  run.spend(1);
  // No text that is an item of its own begins like this one.
  return isStructured(value) ? `\0${textOf(value, run)}` : isText(value) ? `"${value}` : value;
}

function textOf(value: object, run: Run): string {
  const text = shallowJson(value);
  if (text === undefined) throw new OutOfSteps();
  run.spend(text.length >> 3);
  return text;
}

/** `undefined` for what is nested too deeply to be written. */
function shallowJson(value: unknown): string | undefined {
  try {
    return canonicalJson(value);
  } catch {
    // The stack has no room for it.
    return undefined;
  }
}

function sizeOf(value: object, run: Run): number {
  const { length } = Object.keys(value);
  // The list of its keys is made for each time that it is counted.
  run.spend(4 * length);
  return length;
}

/** Characters, not counted further than `enough`. */
function lengthOf(text: string, enough: number, run: Run): number {
  // Two units are one character at most.
  if (text.length < enough || text.length >= 2 * enough) return text.length < enough ? text.length : enough;
  run.spend(text.length >> 3);
  let characters = 0;
  for (const _ of text) characters++;
  return characters;
}

function isTypes(value: unknown): value is string | readonly string[] {
  const names = isText(value) ? [value] : value;
  return isTextList(names) && names.length > 0 && names.every((name) => Object.hasOwn(TYPES, name));
}

/** Something that stands in the schema: whole or not at all. */
function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? '"..."' : text;
}

/** What a value is, as messages say it. */
function kindOf(value: unknown): string {
  return withArticle(value === null ? "null" : isList(value) ? "array" : isNumber(value) ? "number" : typeof value);
}

function withArticle(name: string): string {
  return `${ARTICLES[name] ?? "a"} ${name}`.trim();
}
