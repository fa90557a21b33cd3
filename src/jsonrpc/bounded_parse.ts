import { endOfString } from "../kernel/json_text.ts";

/** Bounds for one frame. */
export interface ParseLimits {
  /** UTF-16 units of text; a frame in UTF-8 bytes is never shorter. */
  readonly maxLength: number;
  readonly maxDepth: number;
  readonly maxNodes: number;
}

/** 8 MiB, 64 levels, 1,000,000 values. */
export const DEFAULT_PARSE_LIMITS: ParseLimits = Object.freeze({
  maxLength: 8 << 20,
  maxDepth: 64,
  maxNodes: 1_000_000,
});

export type BoundedParse =
  | { readonly ok: true; readonly value: unknown }
  | {
    readonly ok: false;
    readonly reason: "not_json" | "too_large" | "too_deep" | "too_many_nodes";
    /** What was parsed and is not within the bounds, for its envelope. Absent where nothing was parsed. */
    readonly value?: unknown;
  };

/** Up to this length a text is parsed first and walked afterwards; beyond it the text itself is counted first. */
const COUNT_FIRST = 64 << 10;

/**
 * Parses JSON text within bounds, with a parser that throws for what is none, and takes out members named `__proto__`,
 * which would change the prototype of whatever they are copied to.
 *
 * A check after parsing alone comes too late: 20 MB of `[` cost `JSON.parse` seconds and half a gigabyte, and succeed.
 */
export function boundedParse(
  text: string,
  limits: ParseLimits,
  parse: (text: string) => unknown = JSON.parse,
): BoundedParse {
  if (text.length > limits.maxLength) return { ok: false, reason: "too_large" };
  // A text with fewer characters than the limit on values cannot hold more values.
  const counted = text.length > COUNT_FIRST || text.length > limits.maxNodes;
  if (counted) {
    const reason = countText(text, limits);
    if (reason !== undefined) return { ok: false, reason };
  }
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    // The parser's own message quotes the input and differs between runtimes.
    return { ok: false, reason: "not_json" };
  }
  // A text shorter than twice the depth cannot pass it: every level needs a bracket at each end.
  if (!counted && text.length >= 2 * limits.maxDepth && !isWithin(value, limits.maxDepth)) {
    return { ok: false, reason: "too_deep", value };
  }
  if (text.includes("__proto__") || text.includes("\\u")) dropPrototypeKeys(value);
  return { ok: true, value };
}

function isWithin(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (depth === 0) return false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const member = value[i];
      if (typeof member === "object" && member !== null && !isWithin(member, depth - 1)) return false;
    }
    return true;
  }
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key];
    if (typeof member === "object" && member !== null && !isWithin(member, depth - 1)) return false;
  }
  return true;
}

const QUOTE = 34;

/**
 * Counts depth and values in the text, jumping over strings: a value for the whole, one for each bracket and comma.
 * Wrong JSON is left for the parser to refuse, but for a string without an end, over which there is no jumping.
 */
function countText(text: string, limits: ParseLimits): "too_deep" | "too_many_nodes" | "not_json" | undefined {
  let depth = 0;
  let nodes = 1;
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = endOfString(text, i + 1);
        if (i < 0) return "not_json";
        break;
      case 91: // [
      case 123: // {
        if (++depth > limits.maxDepth) return "too_deep";
        if (++nodes > limits.maxNodes) return "too_many_nodes";
        break;
      case 93: // ]
      case 125: // }
        depth--;
        break;
      case 44: // ,
        if (++nodes > limits.maxNodes) return "too_many_nodes";
        break;
    }
  }
  return undefined;
}

/** Takes out members named `__proto__`. Recursion is as deep as the value, which is bounded by now. */
export function dropPrototypeKeys(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const member of value) dropPrototypeKeys(member);
    return;
  }
  for (const key of Object.keys(value)) {
    if (key === "__proto__") delete (value as Record<string, unknown>)[key];
    else dropPrototypeKeys((value as Record<string, unknown>)[key]);
  }
}
