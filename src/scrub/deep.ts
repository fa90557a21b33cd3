/** Values deeper than this are not looked into; they are taken out. */
const MAX_DEPTH = 100;
const TOO_DEEP = "[too deep]";

/**
 * Applies `scrub` to every string and every object key of a JSON value. The result is the very same value when nothing
 * changed, else a copy of what lies on the way. A key that meets another one after scrubbing gets a `~` at its end.
 * Members named `__proto__` are left out, since copying one would change a prototype.
 */
export function scrubDeep<T>(value: T, scrub: (text: string) => string): T {
  return deep(value, scrub, 0) as T;
}

function deep(value: unknown, scrub: (text: string) => string, depth: number): unknown {
  if (typeof value === "string") return scrub(value);
  if (typeof value === "number" || typeof value === "bigint") return deepNumber(value, scrub);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return TOO_DEEP;
  return Array.isArray(value) ? deepList(value, scrub, depth) : deepObject(value as JsonRecord, scrub, depth);
}

/** A secret made of digits comes back as a number where a server reads it as one. */
function deepNumber(value: number | bigint, scrub: (text: string) => string): number | bigint | string {
  if (value < MIN_NUMBER && value > -MIN_NUMBER) return value;
  const text = String(value);
  const clean = scrub(text);
  return clean === text ? value : clean;
}

/** Shorter numbers cannot be secrets, see `MIN_SECRET_LENGTH`. */
const MIN_NUMBER = 10_000_000;

type JsonRecord = Record<string, unknown>;

function deepList(list: readonly unknown[], scrub: (text: string) => string, depth: number): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let at = 0; at < list.length; at++) {
    const item = deep(list[at], scrub, depth + 1);
    if (copy === undefined && item !== list[at]) copy = list.slice(0, at);
    copy?.push(item);
  }
  return copy ?? list;
}

function deepObject(record: JsonRecord, scrub: (text: string) => string, depth: number): JsonRecord {
  const keys = Object.keys(record);
  let copy: JsonRecord | undefined;
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at]!;
    const name = key === "__proto__" ? undefined : scrub(key);
    const member = name === undefined ? undefined : deep(record[key], scrub, depth + 1);
    if (copy === undefined && (name !== key || member !== record[key])) {
      copy = {};
      for (const before of keys.slice(0, at)) copy[before] = record[before];
    }
    if (copy !== undefined && name !== undefined) copy[freeName(copy, name)] = member;
  }
  return copy ?? record;
}

function freeName(record: JsonRecord, name: string): string {
  let free = name;
  while (Object.hasOwn(record, free)) free += "~";
  return free;
}
