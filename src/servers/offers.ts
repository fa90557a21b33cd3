import { withSafeIcons } from "../catalog/icons.ts";
import type { Client, RequestOptions } from "../client/client.ts";
import { type CompletionQuery, createCompleter } from "../client/completion.ts";
import type { FullList } from "../client/pages.ts";
import { listPrompts } from "../client/prompts.ts";
import { listResources, listResourceTemplates } from "../client/resources.ts";
import type { EventInput } from "../events/event.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Prompt, Resource, ResourceTemplate } from "../protocol/model.ts";
import type { Completion } from "../protocol/offers.ts";
import { CatalogRefresh } from "./catalog_refresh.ts";
import { faultOf } from "./fault.ts";
import type { Notices } from "./notices.ts";
import { ResourceWatch, type ResourceWatchContext } from "./resource_watch.ts";
import { offersChangedEvent } from "./server_events.ts";

/** What a server lists besides tools. */
export interface OfferLists {
  readonly resources: Resource;
  readonly templates: ResourceTemplate;
  readonly prompts: Prompt;
}
export type OfferKind = keyof OfferLists;

export interface OffersContext extends ResourceWatchContext {
  readonly append: (events: readonly EventInput[]) => Promise<unknown>;
}

/** How one list is asked for. */
export interface OfferListOptions {
  readonly timeoutMs: number;
  readonly maxTotalMs: number;
  readonly signal?: AbortSignal;
}

const LISTS: {
  readonly [K in OfferKind]: (
    client: Client,
    options: OfferListOptions & { readonly clock: Clock; readonly fresh: boolean },
  ) => Promise<FullList<OfferLists[K]>>;
} = {
  resources: listResources,
  templates: listResourceTemplates,
  prompts: listPrompts,
};
const CHANGED: ReadonlyMap<string, readonly OfferKind[]> = new Map([
  ["notifications/resources/list_changed", ["resources", "templates"]],
  ["notifications/prompts/list_changed", ["prompts"]],
]);
/** Longest JSON of one entry, in UTF-16 units. */
const MAX_ENTRY = 64 << 10;

/** What one server offers besides tools: its lists as of its last word about them, and who is told of changes of resources. */
export class Offers {
  /** Told of changes of resources. */
  readonly watch: ResourceWatch;
  readonly #server: string;
  readonly #limits: OfferListOptions;
  readonly #context: OffersContext;
  readonly #notices: Notices;
  readonly #lists = new Map<OfferKind, Promise<readonly OfferLists[OfferKind][]>>();
  readonly #counts = new Map<OfferKind, number>();
  #refreshes: ReadonlyMap<string, CatalogRefresh> = new Map();
  #client: Client | undefined;
  #completer: ReturnType<typeof createCompleter> | undefined;

  /** `limits` are those of a list that nobody waits for. */
  constructor(server: string, limits: OfferListOptions, notices: Notices, context: OffersContext) {
    this.#server = server;
    this.#limits = limits;
    this.#notices = notices;
    this.#context = context;
    this.watch = new ResourceWatch(limits, notices, context);
  }

  /** How many there are as of the last list; `undefined` where the server offers none, or was not asked. */
  count(kind: OfferKind): number | undefined {
    return this.#counts.get(kind);
  }

  /** A connection begins: lists of the one before say nothing any more. */
  connected(client: Client): void {
    this.disconnected();
    this.#client = client;
    this.#completer = createCompleter(client, { clock: this.#context.clock });
    this.#lists.clear();
    this.#counts.clear();
    this.#refreshes = new Map(
      [...CHANGED].map(([method, kinds]) => [
        method,
        new CatalogRefresh(this.#context.clock, () => this.#relist(client, kinds)),
      ]),
    );
    this.watch.connected(client);
  }

  /** The connection is over. What was listed stays known as what it was. */
  disconnected(): void {
    for (const refresh of this.#refreshes.values()) refresh.stop();
    this.#client = undefined;
    this.watch.disconnected();
  }

  /** There may have been changes that nobody was told of; `isForgotten` where the server knows nothing of what it was asked. */
  missed(isForgotten: boolean): void {
    for (const refresh of this.#refreshes.values()) refresh.request();
    if (isForgotten && this.#client !== undefined) this.watch.connected(this.#client);
  }

  /** Something was told on the connection. */
  notified(method: string, params: unknown): void {
    this.#refreshes.get(method)?.request();
    this.watch.notified(method, params);
  }

  /**
   * A list, from the server or as it was last given on this connection; concurrent callers share one request. Rejects with
   * what a page failed with; a signal ends the waiting of its caller alone.
   */
  list<K extends OfferKind>(kind: K, client: Client): Promise<readonly OfferLists[K][]> {
    const known = client === this.#client ? this.#lists.get(kind) : undefined;
    if (known !== undefined) return known as Promise<readonly OfferLists[K][]>;
    const list = this.#ask(kind, client);
    if (client === this.#client) {
      this.#lists.set(kind, list);
      list.then((items) => this.#lists.get(kind) === list && this.#count(kind, client, items.length), () => {
        // Whoever waits is told; the next one asks again.
        if (this.#lists.get(kind) === list) this.#lists.delete(kind);
      });
    }
    return list;
  }

  /** Values for an argument or a variable; answers are kept for a while. Rejects with what the request failed with. */
  complete(client: Client, query: CompletionQuery, options: RequestOptions): Promise<Completion> {
    const { clock } = this.#context;
    const completer = client === this.#client ? this.#completer : undefined;
    return (completer ?? createCompleter(client, { clock }))(query, options);
  }

  #count(kind: OfferKind, { facts: { capabilities } }: Client, length: number): void {
    if (capabilities[kind === "templates" ? "resources" : kind] !== undefined) this.#counts.set(kind, length);
  }

  async #ask<K extends OfferKind>(kind: K, client: Client): Promise<readonly OfferLists[K][]> {
    const { items, malformed, truncated } = await LISTS[kind](client, {
      ...this.#limits,
      clock: this.#context.clock,
      fresh: true,
    });
    const seen = new Set<string>();
    const usable = items.filter((item) => {
      const key = keyOf(item);
      return !seen.has(key) && JSON.stringify(item).length <= MAX_ENTRY && seen.add(key);
    });
    if (truncated !== undefined) this.#notices.warn("list_truncated", `${kind}: ${truncated}`);
    const unusable = malformed.length + items.length - usable.length;
    if (unusable > 0) {
      this.#notices.warn(`${kind}_rejected`, `${unusable}: ${malformed[0]?.why ?? "too long, or listed twice"}`);
    }
    return usable.map((item) => withSafeIcons(item));
  }

  /** Resolves with whether anything has changed. Never rejects. */
  async #relist(client: Client, kinds: readonly OfferKind[]): Promise<boolean> {
    const { scrubber, append } = this.#context;
    const changes = await Promise.all(kinds.map(async (kind) => {
      const before = this.#lists.get(kind);
      // What nobody has asked for need not be known.
      if (before === undefined || client !== this.#client) return undefined;
      try {
        const [old, items] = [await before, await this.#ask(kind, client)];
        if (client !== this.#client || canonicalJson(old) === canonicalJson(items)) return undefined;
        this.#lists.set(kind, Promise.resolve(items));
        this.#count(kind, client, items.length);
        return offersChangedEvent(this.#server, kind, byKey(old), byKey(items));
      } catch (error) {
        if (client === this.#client) this.#notices.warn("list_failed", faultOf(error, scrubber).message);
        return undefined;
      }
    }));
    const events = changes.filter((event) => event !== undefined);
    if (events.length === 0) return false;
    await append(events).catch(this.#context.onError);
    return true;
  }
}

/** What an entry goes by. */
export function keyOf(item: Resource | ResourceTemplate | Prompt): string {
  if (typeof item["uri"] === "string") return item["uri"];
  return typeof item["uriTemplate"] === "string" ? item["uriTemplate"] : item.name;
}

function byKey(items: readonly (Resource | ResourceTemplate | Prompt)[]): ReadonlyMap<string, unknown> {
  return new Map(items.map((item) => [keyOf(item), item]));
}
