import { canonicalJson } from "../kernel/canonical.ts";
import type { JsonObject } from "./model.ts";

/** How long an answer stays good, and for whom (2026-07-28, server/utilities/caching). */
export interface Freshness {
  /** Above 0. */
  readonly ttlMs: number;
  /** Good for whoever asks, whatever their credentials. */
  readonly isPublic: boolean;
}

/** Requests whose complete answers say how long they are good. */
const CACHEABLE: ReadonlySet<string> = new Set([
  "server/discover",
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
]);

/** What tells the answers to a method apart; `undefined` where none may be kept, as in a further round of input. */
export function requestKey(method: string, params: JsonObject | undefined): string | undefined {
  if (!CACHEABLE.has(method)) return undefined;
  const { _meta: _, ...others } = params ?? {};
  if (others["inputResponses"] !== undefined || others["requestState"] !== undefined) return undefined;
  try {
    return `${method} ${canonicalJson(others)}`;
  } catch {
    // What is no JSON is not sent either.
    return undefined;
  }
}

/** What a complete result says of itself; `undefined` where it is old as soon as it is there. */
export function freshnessOf({ ttlMs, cacheScope, resultType }: JsonObject): Freshness | undefined {
  const isComplete = resultType === undefined || resultType === "complete";
  if (!isComplete || typeof ttlMs !== "number" || !(ttlMs > 0) || !Number.isFinite(ttlMs)) return undefined;
  return { ttlMs, isPublic: cacheScope === "public" };
}

/** Says of a key of {@link requestKey} whether this notification makes its answers old; `undefined` if it makes none. */
export function madeStaleBy(method: string, params: unknown): ((key: string) => boolean) | undefined {
  const list = /^notifications\/(tools|prompts|resources)\/list_changed$/.exec(method)?.[1];
  if (list !== undefined) {
    return (key) => key.startsWith(`${list}/list `) || (list === "resources" && key.startsWith("resources/templates/"));
  }
  if (method !== "notifications/resources/updated") return undefined;
  const { uri } = (params ?? {}) as { uri?: unknown };
  return (key) => {
    if (!key.startsWith("resources/read ")) return false;
    const read = (JSON.parse(key.slice("resources/read ".length)) as { uri?: unknown }).uri;
    // What was updated may be a part of what was read.
    return typeof uri !== "string" || typeof read !== "string" || uri.startsWith(read);
  };
}
