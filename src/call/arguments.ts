import { hasLongNumber, parseExact, rawNumber, replaceBigints } from "../kernel/exact_json.ts";
import { changedInteger } from "./changed_integer.ts";

/** Arguments of a call, checked and copied; or what is wrong with them, as the end of a sentence. */
export type ReadArguments =
  | { readonly ok: true; readonly args: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly why: string; readonly code: "ERR_INVALID_ARGUMENTS" | "ERR_TOO_LARGE" };

const MAX_DEPTH = 64;
/** Members and items at all levels together. */
const MAX_VALUES = 200_000;
/** Longest text that is taken for arguments in JSON. */
const MAX_TEXT = 1 << 20;
const MAX_DIGITS = 40;

/**
 * Reads the arguments of a call into JSON values of our own, so that what was allowed is what is sent, whatever the
 * caller does to its object meanwhile.
 *
 * None and `null` are `{}`. Members that are `undefined` are left out, never turned into `null`. A string is taken for
 * JSON text, as models give it, if an object is in it. Integers that no double holds stay exact, as bigint of up to 4,096
 * digits, where the runtime can send them, see {@link rawNumber}; elsewhere they are refused, since they would become other
 * ones. Members called `__proto__` are left out at every level: some of those who read arguments would see other ones behind
 * them. Everything else that is no object is refused, and so is what JSON cannot carry.
 */
export function readArguments(given: unknown): ReadArguments {
  if (given === undefined || given === null) return { ok: true, args: {} };
  const value = typeof given === "string" ? parseText(given) : given;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const found = typeof given === "string"
      ? "a text that is not the JSON of an object"
      : Array.isArray(given)
      ? "a list"
      : `a ${typeof given}`;
    return { ok: false, code: "ERR_INVALID_ARGUMENTS", why: `found ${found}, wanted an object` };
  }
  const changed = typeof given === "string" && (rawNumber === undefined || TOO_LONG.test(given))
    ? changedInteger(given)
    : undefined;
  if (changed !== undefined) return { ok: false, code: "ERR_INVALID_ARGUMENTS", why: inexact(changed) };
  const walk: Walk = { values: 0, isExact: false };
  try {
    const args = copyObject(value, walk, 0);
    if (walk.isExact) EXACT.add(args);
    return { ok: true, args };
  } catch (error) {
    if (error instanceof TooMany) return { ok: false, code: "ERR_TOO_LARGE", why: error.message };
    if (error instanceof Unusable) return { ok: false, code: "ERR_INVALID_ARGUMENTS", why: error.message };
    // A getter or a toJSON of the caller's has thrown.
    const why = "found a member that cannot be read, wanted JSON values";
    return { ok: false, code: "ERR_INVALID_ARGUMENTS", why };
  }
}

/** The same arguments as they can be written into a message. */
export function sendable(args: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return EXACT.has(args) ? replaceBigints(args, rawNumber!) as Readonly<Record<string, unknown>> : args;
}

/** Arguments that hold a bigint: hardly any do, and the others are not looked through for one. */
const EXACT = new WeakSet<object>();
const TOO_LONG = /\d{4097}/;
/** The first integer of more digits. */
const LIMIT = 10n ** 4096n;

function inexact(digits: string): string {
  const found = `the integer ${digits.slice(0, MAX_DIGITS)}, which no number here is exact enough for`;
  return `found ${found}, wanted it as a string`;
}

class Unusable extends Error {}
class TooMany extends Unusable {}

interface Walk {
  values: number;
  /** A bigint was met. */
  isExact: boolean;
}

function parseText(text: string): unknown {
  if (text.length > MAX_TEXT) return undefined;
  if (text.trim() === "") return {};
  try {
    return rawNumber !== undefined && hasLongNumber(text) ? parseExact(text) : JSON.parse(text);
  } catch {
    // No JSON: the caller is told by what is returned.
    return undefined;
  }
}

function copyValue(value: unknown, walk: Walk, depth: number): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new Unusable(`found ${value}, wanted JSON values`);
      return value;
    case "bigint":
      return exactInteger(value, walk);
    case "object":
      break;
    default:
      throw new Unusable(`found a ${typeof value}, wanted JSON values`);
  }
  if (value === null) return null;
  if (depth > MAX_DEPTH) throw new Unusable(`found more than ${MAX_DEPTH} levels or a cycle`);
  if (Array.isArray(value)) {
    count(walk, value.length);
    // Over its gaps too, which are null in JSON.
    return Array.from(value, (item) => copyValue(item, walk, depth + 1) ?? null);
  }
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === "function") return copyValue(toJSON.call(value), walk, depth + 1);
  return copyObject(value, walk, depth);
}

function exactInteger(value: bigint, walk: Walk): number | bigint {
  if (value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER) return Number(value);
  if (value >= LIMIT || value <= -LIMIT) throw new Unusable("found an integer of more than 4,096 digits");
  if (rawNumber === undefined) throw new Unusable(inexact(String(value)));
  walk.isExact = true;
  return value;
}

/** Counts what is about to be looked at, so that a list is refused by its length. */
function count(walk: Walk, values: number): void {
  walk.values += values;
  if (walk.values > MAX_VALUES) throw new TooMany(`found more than ${MAX_VALUES} values`);
}

function copyObject(value: object, walk: Walk, depth: number): Record<string, unknown> {
  if (ArrayBuffer.isView(value) || value instanceof Map || value instanceof Set) {
    throw new Unusable("found a map, a set or binary data, wanted JSON values");
  }
  const copy: Record<string, unknown> = {};
  const keys = Object.keys(value);
  count(walk, keys.length);
  for (const key of keys) {
    if (key === "__proto__") continue;
    const member = copyValue((value as Record<string, unknown>)[key], walk, depth + 1);
    if (member !== undefined) copy[key] = member;
  }
  return copy;
}
