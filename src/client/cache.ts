import type { Clock } from "../kernel/clock.ts";
import type { Era } from "../protocol/era.ts";
import { freshnessOf, madeStaleBy, requestKey } from "../protocol/freshness.ts";
import type { JsonObject } from "../protocol/model.ts";
import type { Reply } from "./reply.ts";

export interface ResponseCacheOptions {
  /** Its monotonic time is what answers age by. */
  readonly clock: Clock;
  /** Most answers that are kept; default 1,000. */
  readonly maxEntries?: number;
  /** Most characters of JSON in all of them together; default 16 Mi. */
  readonly maxLength?: number;
}

interface Entry {
  /** The JSON text: what one caller does to an answer must not reach the next. */
  readonly text: string;
  /** On the monotonic clock. */
  readonly staleAt: number;
}

/** What answers are kept for. */
interface Space {
  /** By the key of the request. */
  readonly entries: Map<string, Entry>;
}

/**
 * Answers that servers have declared good for a while (2026-07-28, `ttlMs`), for any number of connections. Nothing is
 * asked for anew by itself when it grows old. What a server declares public is shared by all connections to it; the rest
 * only by those of one identity.
 */
export class ResponseCache {
  readonly #clock: Clock;
  readonly #maxEntries: number;
  readonly #maxLength: number;
  readonly #spaces = new Map<string, Space>();
  /** The oldest first. */
  readonly #order = new Map<Entry, { readonly space: string; readonly key: string }>();
  #length = 0;
  #connections = 0;
  /** Rises with each invalidation, so that what was asked for before one is not kept after it. */
  #generation = 0;

  constructor({ clock, maxEntries = 1000, maxLength = 16 << 20 }: ResponseCacheOptions) {
    this.#clock = clock;
    this.#maxEntries = maxEntries;
    this.#maxLength = maxLength;
  }

  /** Answers that are kept at this moment, old ones included. */
  get size(): number {
    return this.#order.size;
  }

  /** The part of it that one connection uses. `identity` names whose credentials it has; connections without are alone. */
  connection(server: string, identity: string | undefined): CachedConnection {
    const whose = identity ?? ++this.#connections;
    return {
      find: (era, method, params) => {
        const key = era.caches ? requestKey(method, params) : undefined;
        if (key === undefined) return undefined;
        const [own, shared] = spacesOf(server, whose, era);
        const found = this.#find(own, key) ?? this.#find(shared, key);
        const generation = this.#generation;
        return {
          found: found === undefined ? undefined : JSON.parse(found) as JsonObject,
          keep: (reply) => {
            if (reply.kind !== "done" || reply.spills !== undefined || generation !== this.#generation) return;
            for (const space of [own, shared]) this.#drop(space, key);
            const freshness = freshnessOf(reply.result);
            if (freshness === undefined) return;
            this.#keep(freshness.isPublic ? shared : own, key, reply.result, freshness.ttlMs);
          },
        };
      },
      hear: (method, params) => {
        const isStale = madeStaleBy(method, params);
        if (isStale === undefined) return;
        this.#generation++;
        for (const [name, { entries }] of this.#spaces) {
          if (!name.startsWith(`${JSON.stringify(server)} `)) continue;
          for (const key of entries.keys()) if (isStale(key)) this.#drop(name, key);
        }
      },
    };
  }

  #find(space: string, key: string): string | undefined {
    const entry = this.#spaces.get(space)?.entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.staleAt > this.#clock.monotonic()) return entry.text;
    this.#drop(space, key);
    return undefined;
  }

  #keep(name: string, key: string, result: JsonObject, ttlMs: number): void {
    let text: string;
    try {
      text = JSON.stringify(result);
    } catch {
      // Numbers beyond 2^53 have no JSON text here; such an answer is asked for anew each time.
      return;
    }
    if (text.length > this.#maxLength) return;
    const entry: Entry = { text, staleAt: this.#clock.monotonic() + ttlMs };
    let space = this.#spaces.get(name);
    if (space === undefined) this.#spaces.set(name, space = { entries: new Map() });
    space.entries.set(key, entry);
    this.#order.set(entry, { space: name, key });
    this.#length += text.length;
    while (this.#order.size > this.#maxEntries || this.#length > this.#maxLength) {
      const [oldest] = this.#order.values();
      this.#drop(oldest!.space, oldest!.key);
    }
  }

  #drop(name: string, key: string): void {
    const space = this.#spaces.get(name);
    const entry = space?.entries.get(key);
    if (space === undefined || entry === undefined) return;
    space.entries.delete(key);
    if (space.entries.size === 0) this.#spaces.delete(name);
    this.#order.delete(entry);
    this.#length -= entry.text.length;
  }
}

/** A {@link ResponseCache} as one connection sees it. */
export interface CachedConnection {
  /** What there is for a request; `undefined` for one whose answer is never kept. */
  find(era: Era, method: string, params: JsonObject | undefined): Cached | undefined;
  /** A notification of the server. */
  hear(method: string, params: unknown): void;
}

export interface Cached {
  /** An answer that is still good. */
  readonly found: JsonObject | undefined;
  /** Takes the answer to the request, if it may be kept. */
  keep(reply: Reply): void;
}

/** Of an identity alone, and of all. */
function spacesOf(server: string, identity: string | number, { protocolVersion }: Era): readonly [string, string] {
  const prefix = `${JSON.stringify(server)} ${protocolVersion}`;
  return [`${prefix} ${JSON.stringify(identity)}`, prefix];
}
