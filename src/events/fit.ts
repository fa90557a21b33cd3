import type { EventPayload } from "./event.ts";
import { LEFT_OUT, maxJsonBytes } from "./plain.ts";

/** How much of a payload is kept. Tried in this order until it fits. */
interface Measure {
  readonly characters: number;
  readonly items: number;
  readonly members: number;
  readonly depth: number;
}

const MEASURES: readonly Measure[] = Object.freeze([
  { characters: 4096, items: 50, members: 200, depth: 16 },
  { characters: 1024, items: 50, members: 100, depth: 12 },
  { characters: 256, items: 50, members: 50, depth: 8 },
  { characters: 256, items: 10, members: 30, depth: 4 },
  { characters: 64, items: 5, members: 20, depth: 2 },
  { characters: 64, items: 0, members: 20, depth: 0 },
]);

/** An upper bound from {@link maxJsonBytes} is never more than this many times too large (a digit counts as 24 bytes). */
const BOUND_FACTOR = 24;
/** Most places that `omitted` names. */
const MAX_OMITTED = 20;
const encoder = new TextEncoder();

/**
 * Makes a plain payload fit into `maxBytes` of JSON: long strings are cut, lists keep their first items, deep values
 * go. A payload that was shortened has `truncated: true` and, where lists or objects lost members, `omitted` with a JSON
 * pointer and a count each. Equal payloads are shortened equally. `knownMaxBytes` is an upper bound of its size.
 */
export function fitPayload(payload: EventPayload, maxBytes: number, knownMaxBytes: number): EventPayload {
  if (knownMaxBytes <= maxBytes) return payload;
  // What takes far more than the bound can be wrong by need not be made into text only to be measured.
  if (knownMaxBytes <= maxBytes * BOUND_FACTOR && fits(payload, maxBytes)) return payload;
  for (const measure of MEASURES) {
    const omitted: Record<string, number> = {};
    const shortened = shortenObject(payload as Record<string, unknown>, measure, 0, "", omitted);
    shortened["truncated"] = true;
    if (Object.keys(omitted).length > 0) shortened["omitted"] = omitted;
    if (fits(shortened, maxBytes)) return shortened;
  }
  return { truncated: true };
}

/** Marks a payload as shortened. */
export function markTruncated(payload: EventPayload): EventPayload {
  return { ...payload, truncated: true };
}

function fits(payload: EventPayload, maxBytes: number): boolean {
  if (maxJsonBytes(payload) <= maxBytes) return true;
  const json = JSON.stringify(payload);
  if (json.length > maxBytes) return false;
  return json.length * 3 <= maxBytes || encoder.encode(json).length <= maxBytes;
}

function shorten(
  value: unknown,
  measure: Measure,
  depth: number,
  pointer: string,
  omitted: Record<string, number>,
): unknown {
  if (typeof value === "string") return shortenText(value, measure.characters);
  if (typeof value !== "object" || value === null) return value;
  if (depth > measure.depth) return LEFT_OUT;
  if (!Array.isArray(value)) return shortenObject(value as Record<string, unknown>, measure, depth, pointer, omitted);
  const kept = value.slice(0, measure.items);
  note(omitted, pointer, value.length - kept.length);
  return kept.map((item, at) => shorten(item, measure, depth + 1, `${pointer}/${at}`, omitted));
}

function shortenObject(
  record: Record<string, unknown>,
  measure: Measure,
  depth: number,
  pointer: string,
  omitted: Record<string, number>,
): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  const keys = Object.keys(record);
  for (const key of keys.slice(0, measure.members)) {
    const name = shortenText(key, 64);
    const place = `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    copy[name] = shorten(record[key], measure, depth + 1, place, omitted);
  }
  note(omitted, pointer, keys.length - measure.members);
  return copy;
}

function note(omitted: Record<string, number>, pointer: string, count: number): void {
  if (count > 0 && pointer.length <= 256 && Object.keys(omitted).length < MAX_OMITTED) omitted[pointer] = count;
}

/** Never cuts a surrogate pair in two. */
function shortenText(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const last = text.charCodeAt(characters - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? characters - 1 : characters) + LEFT_OUT;
}
