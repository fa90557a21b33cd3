import { aliasName, aliasTail, type NameParts, qualifiedName, splitName } from "../catalog/names.ts";
import { type RouterView, STANDINGS } from "../catalog/router_view.ts";
import { HostError } from "../kernel/errors.ts";
import { nearestWord } from "../kernel/nearest.ts";
import type { Prompt } from "../protocol/model.ts";
import type { AskServerOptions } from "../servers/ask_server.ts";
import type { OfferKind, OfferLists } from "../servers/offers.ts";
import type { Supervisor } from "../servers/supervisor.ts";

/** Something that a server of a session offers. */
export interface FoundOffer<K extends OfferKind> {
  readonly server: Supervisor;
  readonly item: OfferLists[K];
}

/** Which lists are wanted. */
export interface FindOptions extends AskServerOptions {
  /** The one server to ask; it is waited for. Default: all that are ready. */
  readonly server?: string | undefined;
}

/** Names of prompts that are compared with one that nobody has, that are listed beside it, and how long they may be. */
const MAX_COMPARED = 1000;
const MAX_LISTED = 5;
const MAX_NAME = 160;

/** Finds what the servers of a session offer besides tools. Of two servers of one name the later source's counts. */
export class OfferFinder {
  readonly #view: RouterView<Supervisor>;
  readonly #scrub: (text: string) => string;
  readonly #onError: (error: unknown) => void;

  constructor(view: RouterView<Supervisor>, scrub: (text: string) => string, onError: (error: unknown) => void) {
    this.#view = view;
    this.#scrub = scrub;
    this.#onError = onError;
  }

  /** Throws `ERR_SERVER_NOT_FOUND` for a name that none of the session's servers has. */
  server(name: string): Supervisor {
    const servers = this.#servers();
    const server = servers.get(name);
    if (server !== undefined) return server;
    const guess = nearestWord(name, servers.keys());
    const hint = guess === undefined ? "" : `, did you mean "${guess}"`;
    throw new HostError("ERR_SERVER_NOT_FOUND", `Cannot find server ${JSON.stringify(name.slice(0, 64))}${hint}`);
  }

  /**
   * One list of one server or of all that are ready, without what the session may not see. Rejects with what the list of
   * the one server failed with; of all, those that fail are left out.
   */
  async all<K extends OfferKind>(kind: K, options: FindOptions): Promise<FoundOffer<K>[]> {
    if (options.server !== undefined) return await this.#of(kind, this.server(options.server), options);
    const ready = [...this.#servers().values()].filter(({ state }) => state === "ready");
    const lists = await Promise.all(ready.map(async (server) => {
      try {
        return await this.#of(kind, server, options);
      } catch (error) {
        if (options.signal.aborted) throw error;
        this.#onError(error);
        return [];
      }
    }));
    return lists.flat();
  }

  /**
   * The server of a resource: the one that is named, else the one that lists it, else the only one that has any. Rejects
   * with `ERR_TOOL_AMBIGUOUS` where more than one lists it, `ERR_TOOL_NOT_FOUND` where none can be told.
   */
  async resource(uri: string, options: FindOptions): Promise<Supervisor> {
    if (options.server !== undefined) return this.#visible(this.server(options.server), uri);
    const listing = (await this.all("resources", options)).filter(({ item }) => item.uri === uri);
    if (listing.length === 1) return listing[0]!.server;
    const shown = JSON.stringify(uri.slice(0, 200));
    if (listing.length > 1) {
      const names = listing.map(({ server }) => server.name).join(", ");
      throw new HostError(
        "ERR_TOOL_AMBIGUOUS",
        `Cannot read ${shown}: more than one server lists it, wanted one of ${names}`,
      );
    }
    const offering = [...this.#servers().values()].filter(({ offers }) => offers.count("resources") !== undefined);
    if (offering.length === 1) return this.#visible(offering[0]!, uri);
    const found = offering.length === 0 ? "no server that is ready offers resources" : "no server lists it";
    throw new HostError("ERR_TOOL_NOT_FOUND", `Cannot read ${shown}: ${found}, wanted the name of its server`);
  }

  /**
   * A prompt by either full spelling, or by its bare name where one server alone has it. Rejects with `ERR_TOOL_AMBIGUOUS`
   * or `ERR_TOOL_NOT_FOUND`, and with what the list of the server that is named failed with.
   */
  async prompt(name: string, options: FindOptions): Promise<{ readonly server: Supervisor; readonly prompt: Prompt }> {
    const parts = splitName(name);
    const isFull = parts.kind === "mcp" || parts.kind === "alias";
    const named = isFull ? this.#servers().get(parts.server)?.name : options.server;
    const all = await this.all("prompts", { ...options, server: named });
    if (isFull && named === undefined) throw await this.#promptNotFound(name, parts.kind, all);
    const isMeant = async ({ server, item }: FoundOffer<"prompts">): Promise<boolean> =>
      parts.kind === "alias"
        ? parts.tail === await aliasTail(server.name, item.name)
        : item.name === (parts.kind === "mcp" ? parts.tool : name);
    const meant: FoundOffer<"prompts">[] = [];
    for (const found of all) if (await isMeant(found)) meant.push(found);
    if (meant.length === 1) return { server: meant[0]!.server, prompt: meant[0]!.item };
    const full = (found: readonly FoundOffer<"prompts">[]): string[] =>
      found.map(({ server, item }) => qualifiedName(server.name, item.name));
    if (meant.length === 0) throw await this.#promptNotFound(name, parts.kind, all);
    throw new HostError(
      "ERR_TOOL_AMBIGUOUS",
      `Cannot use prompt ${JSON.stringify(name.slice(0, 100))}: more than one server has it, wanted one of ${
        full(meant).join(", ")
      }`,
    );
  }

  /** Names what may be meant, in the spelling that was used. What a server calls its prompts is shown if it is clean. */
  async #promptNotFound(
    name: string,
    spelling: NameParts["kind"],
    there: readonly FoundOffer<"prompts">[],
  ): Promise<HostError> {
    const isClean = (each: string): boolean => each.length <= MAX_NAME && this.#scrub(each) === each;
    const full: string[] = [];
    for (const { server, item } of there.slice(0, MAX_COMPARED)) {
      const { alias, qualified } = await spellingsOf(server.name, item.name);
      full.push(spelling === "alias" ? alias : qualified);
    }
    const bare = there.slice(0, MAX_COMPARED).map(({ item }) => item.name);
    const shown = full.filter(isClean);
    const guess = nearestWord(name, [...shown, ...bare.filter(isClean)]);
    const more = shown.length > MAX_LISTED ? ` and ${shown.length - MAX_LISTED} more` : "";
    const hint = guess !== undefined
      ? `, did you mean ${guess}`
      : shown.length > 0
      ? `, wanted one of ${shown.slice(0, MAX_LISTED).join(", ")}${more}`
      : "";
    return new HostError(
      "ERR_TOOL_NOT_FOUND",
      `Cannot use prompt ${JSON.stringify(name.slice(0, 100))}: no server has it${hint}`,
    );
  }

  async #of<K extends OfferKind>(kind: K, server: Supervisor, options: AskServerOptions): Promise<FoundOffer<K>[]> {
    const { signal, timeoutMs = server.config.timeoutMs } = options;
    const lease = server.tryAcquire() ?? await server.acquire({ signal, timeoutMs });
    try {
      const list = await server.offers.list(kind, lease.client);
      return list.filter((item) => this.#isVisible(server.name, idOf(item))).map((item) => ({ server, item }));
    } finally {
      lease.release();
    }
  }

  #servers(): Map<string, Supervisor> {
    const servers = new Map<string, Supervisor>();
    for (const { servers: own } of this.#view.sources) {
      for (const server of own.values()) if (STANDINGS[server.state].known) servers.set(server.name, server);
    }
    return servers;
  }

  #visible(server: Supervisor, uri: string): Supervisor {
    if (this.#isVisible(server.name, uri)) return server;
    throw new HostError(
      "ERR_TOOL_NOT_FOUND",
      `Cannot read ${JSON.stringify(uri.slice(0, 200))}: this session does not see it`,
    );
  }

  #isVisible(server: string, id: string): boolean {
    return this.#view.isVisible?.(qualifiedName(server, id)) !== false;
  }
}

/** What an offer is called by: a resource by its address, a template by its pattern, a prompt by its name. */
export function idOf(item: OfferLists[OfferKind]): string {
  const { uri, uriTemplate, name } = item as { uri?: string; uriTemplate?: string; name: string };
  return uri ?? uriTemplate ?? name;
}

/** Both full spellings of a prompt. */
export async function spellingsOf(server: string, prompt: string): Promise<{ qualified: string; alias: string }> {
  return { qualified: qualifiedName(server, prompt), alias: aliasName(server, await aliasTail(server, prompt)) };
}
