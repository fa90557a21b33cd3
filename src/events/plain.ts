import type { EventPayload } from "./event.ts";

/** Objects and lists deeper than this inside a payload are replaced. */
const MAX_DEPTH = 64;
/** Most values that are looked at; the rest is left out, without a count of it. */
const MAX_NODES = 1_000_000;
/** What stands where a value was too deep or one too many. */
export const LEFT_OUT = "…";

/** A payload as it will read after a round trip through JSON. */
export interface PlainPayload {
  readonly payload: EventPayload;
  /** An upper bound of its JSON bytes, taken without making the JSON. */
  readonly maxBytes: number;
  /** Something was too deep, too much or a cycle, and has been replaced by {@link LEFT_OUT}. */
  readonly cut: boolean;
}

/**
 * Copies a payload into plain JSON values: the log keeps it while its writer may go on changing its own. `undefined`
 * members and functions are left out as JSON does, so are members named `__proto__`, and what JSON refuses (big
 * integers, cycles) becomes text instead of an error.
 */
export function toPlain(payload: EventPayload): PlainPayload {
  const walk: Walk = { bytes: 0, nodes: 0, cut: false, path: [] };
  const copy = copyValue(payload, walk);
  const isObject = typeof copy === "object" && copy !== null && !Array.isArray(copy);
  return { payload: isObject ? copy as EventPayload : {}, maxBytes: walk.bytes, cut: walk.cut || !isObject };
}

/** An upper bound of a plain value's JSON bytes. */
export function maxJsonBytes(value: unknown): number {
  if (typeof value === "string") return textBytes(value);
  if (typeof value !== "object" || value === null) return SCALAR_BYTES;
  let bytes = 2;
  if (Array.isArray(value)) {
    for (const item of value) bytes += maxJsonBytes(item) + 1;
    return bytes;
  }
  for (const key of Object.keys(value)) {
    bytes += textBytes(key) + maxJsonBytes((value as Record<string, unknown>)[key]) + 2;
  }
  return bytes;
}

interface Walk {
  bytes: number;
  nodes: number;
  cut: boolean;
  /** The objects and lists that lead to where the walk is. */
  readonly path: unknown[];
}

/** The longest numbers have 24 characters (`-1.2345678901234567e-300`). */
const SCALAR_BYTES = 24;

/** No UTF-16 unit takes more than the six bytes of an escape. */
function textBytes(text: string): number {
  return text.length * 6 + 2;
}

function copyValue(value: unknown, walk: Walk): unknown {
  switch (typeof value) {
    case "string":
      walk.bytes += textBytes(value);
      return value;
    case "number":
      walk.bytes += SCALAR_BYTES;
      // JSON has no negative zero, no infinity and no NaN.
      return Number.isFinite(value) ? value + 0 : null;
    case "boolean":
      walk.bytes += SCALAR_BYTES;
      return value;
    case "bigint":
      return copyValue(String(value), walk);
    case "object":
      break;
    default:
      return undefined;
  }
  if (value === null) {
    walk.bytes += SCALAR_BYTES;
    return null;
  }
  if (walk.path.length > MAX_DEPTH || walk.path.includes(value)) {
    walk.cut = true;
    return copyValue(LEFT_OUT, walk);
  }
  walk.path.push(value);
  const copy = copyComposite(value, walk);
  walk.path.pop();
  return copy;
}

function copyComposite(value: object, walk: Walk): unknown {
  if (typeof (value as { toJSON?: unknown }).toJSON === "function") {
    const json = (value as { toJSON(): unknown }).toJSON();
    if (json !== value) return copyValue(json, walk);
  }
  walk.bytes += 2;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const item of value) {
      if (!take(walk)) break;
      walk.bytes++;
      list.push(copyValue(item, walk) ?? null);
    }
    return list;
  }
  const record: Record<string, unknown> = {};
  // Seven payloads a call come by here: a list of the keys would cost as much as the copy.
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue;
    if (!take(walk)) break;
    const member = key === "__proto__" ? undefined : copyValue((value as Record<string, unknown>)[key], walk);
    if (member === undefined) continue;
    walk.bytes += textBytes(key) + 2;
    record[key] = member;
  }
  return record;
}

/** Counts one more value; false when there have been enough. */
function take(walk: Walk): boolean {
  if (++walk.nodes <= MAX_NODES) return true;
  walk.cut = true;
  return false;
}
