import type { Clock } from "../kernel/clock.ts";
import { HostError, isHostError, isRemoteError } from "../kernel/errors.ts";
import type { JsonObject } from "../protocol/model.ts";
import type { Malformed, Page } from "../protocol/offers.ts";
import type { Client, RequestOptions } from "./client.ts";

/** Limits on a list. */
export interface PageLimits {
  /** Most entries taken; default 1,000. Beyond it the list is cut and `truncated` says so. */
  readonly maxItems?: number;
  /** Most pages asked for; default 100. */
  readonly maxPages?: number;
}

/** All pages of a list. */
export interface FullList<T> {
  readonly items: readonly T[];
  /** Entries that have no usable shape, as received. */
  readonly malformed: readonly Malformed[];
  /** Set when a cap, a repeated cursor, the page limit or the time for a page ended the listing early. */
  readonly truncated?: "items" | "pages" | "repeated_cursor" | "time";
}

/** What the functions of this folder need of a client: an application may put one of its own before it. */
export type Requester = Pick<Client, "facts" | "request">;

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const MAX_CURSOR_LENGTH = 64 << 10;

/**
 * All pages of a list: bounded in entries, pages and total time, and proof against a cursor that comes again. A cursor
 * that the server does not know any more starts the list anew, once. A server that does not know the method has nothing
 * to list. A later page that does not come in time ends the list with what there is; rejects with what a page failed
 * with otherwise, since half a list must not pass for a whole one.
 */
export async function listAllPages<T>(
  client: Requester,
  clock: Clock,
  method: string,
  read: (result: JsonObject) => Page<T> | undefined,
  options: RequestOptions & PageLimits,
): Promise<FullList<T>> {
  const { maxItems = 1000, maxPages = 100, maxTotalMs = 600_000 } = options;
  const deadline = clock.monotonic() + maxTotalMs;
  let items: T[] = [];
  let malformed: Malformed[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  let isRestarted = false;
  for (let page = 0; page < maxPages; page++) {
    const reply = await client.request(method, cursor === undefined ? undefined : { cursor }, {
      ...options,
      maxTotalMs: deadline - clock.monotonic(),
      // Of the pages from before, none may come back out of a cache.
      ...(isRestarted ? { fresh: true } : {}),
    });
    if (reply.kind === "failed") {
      const code = isRemoteError(reply.error) ? reply.error.code : undefined;
      if (code === METHOD_NOT_FOUND && page === 0) return { items, malformed };
      if (page > 0 && isHostError(reply.error, "ERR_TIMEOUT")) return { items, malformed, truncated: "time" };
      if (code !== INVALID_PARAMS || cursor === undefined || isRestarted) throw reply.error;
      isRestarted = true;
      [items, malformed, cursor] = [[], [], undefined];
      seen.clear();
      continue;
    }
    const found = reply.kind === "done" ? read(reply.result) : undefined;
    if (found === undefined) {
      throw new HostError("ERR_PROTOCOL", `Cannot use the answer to ${method}: found no list`);
    }
    for (const item of found.items) {
      if (items.length >= maxItems) return { items, malformed, truncated: "items" };
      items.push(item);
    }
    if (malformed.length < maxItems) malformed.push(...found.malformed.slice(0, maxItems - malformed.length));
    cursor = found.nextCursor;
    if (cursor === undefined) return { items, malformed };
    if (cursor.length > MAX_CURSOR_LENGTH) {
      const length = `its cursor has ${cursor.length} characters, at most ${MAX_CURSOR_LENGTH} allowed`;
      throw new HostError("ERR_TOO_LARGE", `Cannot go on with ${method}: ${length}`);
    }
    if (seen.has(cursor)) return { items, malformed, truncated: "repeated_cursor" };
    seen.add(cursor);
  }
  return { items, malformed, truncated: "pages" };
}
