import type { RouterView } from "../catalog/router_view.ts";
import { fillPrompt, type PromptOptions, type PromptOutcome } from "../call/prompts.ts";
import { type ReadingContext, type ReadingOptions, Readings } from "../call/reading.ts";
import {
  passResource,
  type ReadError,
  readResource,
  resourceFailed,
  type ResourceOutcome,
  resourceRequested,
  type ResourceTarget,
} from "../call/resources.ts";
import { HostError } from "../kernel/errors.ts";
import type { Prompt, Resource, ResourceTemplate } from "../protocol/model.ts";
import { completeOffered } from "../servers/offered.ts";
import type { OfferKind } from "../servers/offers.ts";
import type { Supervisor } from "../servers/supervisor.ts";
import { type FoundOffer, idOf, OfferFinder, spellingsOf } from "./found_offers.ts";
import { checkUse } from "./option_rules.ts";
import type { CompleteQuery, OfferListOptions, ResourceOptions, SubscribeOptions } from "./session_options.ts";

export type ListedResource = Resource & { readonly server: string };
export type ListedTemplate = ResourceTemplate & { readonly server: string };
/** `qualified` and `alias` are the two spellings that are sure to mean this prompt. */
export type ListedPrompt = Prompt & { readonly server: string; readonly qualified: string; readonly alias: string };

/** A subscription; it ends with its session too. */
export interface ResourceSubscription {
  readonly server: string;
  readonly uri: string;
  /** Takes it back. Idempotent. */
  close(): void;
}

/**
 * What servers have to read. Nothing is read that was not asked for, and what is read goes to whoever asked, and nowhere
 * else by itself. Where an address or a server cannot be told, methods reject with `ERR_SERVER_NOT_FOUND`,
 * `ERR_TOOL_NOT_FOUND` or `ERR_TOOL_AMBIGUOUS`; everything later is an outcome.
 */
export interface SessionResources {
  /** Resources as servers list them, scrubbed. Rejects with what the list of `server` failed with. */
  list(options?: OfferListOptions): Promise<ListedResource[]>;
  /** Families of resources; `expandTemplate` makes an address of one. */
  templates(options?: OfferListOptions): Promise<ListedTemplate[]>;
  /** Reads through the gate: without a rule somebody is asked, unless it is `by: "user"`. */
  read(uri: string, options?: ResourceOptions): Promise<ResourceOutcome>;
  /** Reads what a person has pointed at, which is allowed unless a rule says otherwise; see {@link ResourceOutcome.context}. */
  include(uri: string, options?: ResourceOptions): Promise<ResourceOutcome>;
  /**
   * Asks, through the gate, to be told of changes; read again to see them. Rejects with `ERR_DENIED`, with what the server
   * answered, and `ERR_UNSUPPORTED_HERE` where it does not tell.
   */
  subscribe(uri: string, options: SubscribeOptions): Promise<ResourceSubscription>;
}

/**
 * Texts that servers have to be filled in. A name is `mcp.<server>.<prompt>`, `mcp__<server>__<prompt>`, or bare where one
 * server alone has it; methods reject where it cannot be told, as {@link SessionResources} do.
 */
export interface SessionPrompts {
  list(options?: OfferListOptions): Promise<ListedPrompt[]>;
  /** Fills a prompt in, through the gate, to look at. Arguments are texts; missing and unknown ones are refused before anything is sent. */
  get(name: string, args?: Readonly<Record<string, unknown>>, options?: ReadingOptions): Promise<PromptOutcome>;
  /**
   * Fills a prompt in and says its messages: each becomes a `user.message` of this session, marked as the server's. By
   * default a person has typed it, which is the decision. For anybody else (`by`) the gate decides, and once more about the
   * messages themselves.
   */
  invoke(name: string, args?: Readonly<Record<string, unknown>>, options?: PromptOptions): Promise<PromptOutcome>;
}

/** At most 100 values that a server proposes. */
export interface CompleteAnswer {
  readonly values: readonly string[];
  readonly total?: number;
  readonly hasMore: boolean;
}

const MAX_COMPLETIONS = 20;
const WINDOW_MS = 1000;

/** What a session does with what its servers offer besides tools. */
export class SessionOffers {
  readonly resources: SessionResources;
  readonly prompts: SessionPrompts;
  readonly #finder: OfferFinder;
  readonly #readings: Readings;
  #windowStart = -Infinity;
  #inWindow = 0;

  constructor(view: RouterView<Supervisor>, context: ReadingContext) {
    this.#finder = new OfferFinder(view, (text) => context.output.scrubber.text(text), context.onError);
    this.#readings = new Readings(context);
    this.resources = Object.freeze<SessionResources>({
      list: (options = {}) => this.#list("resources", options, (found) => Promise.resolve(found)),
      templates: (options = {}) => this.#list("templates", options, (found) => Promise.resolve(found)),
      read: (uri, options = {}) => this.#read(uri, options, "read"),
      include: (uri, options = {}) => this.#read(uri, options, "include"),
      subscribe: (uri, options) => this.#subscribe(uri, options),
    });
    this.prompts = Object.freeze<SessionPrompts>({
      list: (options = {}) =>
        this.#list("prompts", options, async (found) => ({ ...found, ...await spellingsOf(found.server, found.name) })),
      get: (name, args = {}, options = {}) => this.#fill(name, args, options, false),
      invoke: (name, args = {}, options = {}) => this.#fill(name, args, options, true),
    });
  }

  /**
   * Values that a server proposes for an argument of a prompt or a variable of a template. Not gated and not logged; at
   * most 20 a second, beyond which it rejects with `ERR_DENIED`. Asking only when somebody has stopped typing is yours.
   */
  async complete(query: CompleteQuery, options: OfferListOptions = {}): Promise<CompleteAnswer> {
    checkUse("complete", query);
    checkUse("list", options);
    const { clock, output: { scrubber } } = this.#readings.context;
    return await this.#readings.run(options, async ({ signal }) => {
      const now = clock.monotonic();
      if (now - this.#windowStart >= WINDOW_MS) [this.#windowStart, this.#inWindow] = [now, 0];
      if (++this.#inWindow > MAX_COMPLETIONS) {
        throw new HostError("ERR_DENIED", `Cannot complete: more than ${MAX_COMPLETIONS} asked for in a second`);
      }
      const { of, argument, known } = query;
      const asking = { clock, signal, timeoutMs: options.timeoutMs };
      const more = { argument, ...(known === undefined ? {} : { known }) };
      if ("prompt" in of) {
        const { server, prompt } = await this.#finder.prompt(of.prompt, { ...asking, server: options.server });
        return scrubber.value(await completeOffered(server, { of: { prompt: prompt.name }, ...more }, asking));
      }
      const server = await this.#ofTemplate(of.template, { ...asking, server: of.server ?? options.server });
      return scrubber.value(await completeOffered(server, { of: { template: of.template }, ...more }, asking));
    });
  }

  /** Ends what is under way. Resolves once each read has its last event. */
  close(): Promise<void> {
    return this.#readings.close();
  }

  async #list<K extends OfferKind, T>(
    kind: K,
    options: OfferListOptions,
    show: (found: FoundOffer<K>["item"] & { readonly server: string }) => Promise<T>,
  ): Promise<T[]> {
    checkUse("list", options);
    const { server, signal, timeoutMs } = options;
    const { clock, output: { scrubber } } = this.#readings.context;
    return await this.#readings.run(signal === undefined ? {} : { signal }, async (reading) => {
      const found = await this.#finder.all(kind, { clock, signal: reading.signal, timeoutMs, server });
      // What goes by a name with a secret in it can neither be shown nor be asked for by another.
      const shown = found.filter(({ item }) => scrubber.text(idOf(item)) === idOf(item));
      return await Promise.all(
        shown.map(({ server: { name }, item }) => show({ ...scrubber.value(item), server: name })),
      );
    });
  }

  async #read(uri: string, options: ResourceOptions, action: "read" | "include"): Promise<ResourceOutcome> {
    checkUse("read", options);
    const { context } = this.#readings;
    return await this.#readings.run(options, async (reading) => {
      const { signal } = reading;
      const { server: named, timeoutMs } = options;
      const server = await this.#finder.resource(checkText(uri, "read a resource"), {
        clock: context.clock,
        signal,
        timeoutMs,
        server: named,
      });
      return await readResource(reading, { server, uri }, action, context);
    });
  }

  async #fill(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: PromptOptions,
    isUsed: boolean,
  ): Promise<PromptOutcome> {
    checkUse("prompt", options);
    const { by = isUsed ? "user" : "caller" } = options;
    const { context } = this.#readings;
    return await this.#readings.run(options, async (reading) => {
      const target = await this.#finder.prompt(checkText(name, "use a prompt"), {
        clock: context.clock,
        signal: reading.signal,
        timeoutMs: options.timeoutMs,
      });
      return await fillPrompt(reading, target, args, { isUsed, by, typed: options.typed }, context);
    });
  }

  async #subscribe(uri: string, options: SubscribeOptions): Promise<ResourceSubscription> {
    checkUse("subscribe", options);
    const { context } = this.#readings;
    const { clock, output: { scrubber }, onError } = context;
    return await this.#readings.run(options, async (reading) => {
      const { signal } = reading;
      const { server: named, timeoutMs, onUpdated } = options;
      const server = await this.#finder.resource(checkText(uri, "subscribe to a resource"), {
        clock,
        signal,
        timeoutMs,
        server: named,
      });
      const target: ResourceTarget = { server, uri };
      const passage = await passResource(reading, target, "subscribe");
      if (passage.kind === "denied") {
        const { failure } = passage;
        throw subscriptionFailed(
          await reading.append([...passage.events, resourceFailed(target, passage.requestId, failure)]) ?? failure,
        );
      }
      const unlogged = await reading.append([
        ...passage.events,
        resourceRequested(target, passage.requestId, "subscribe"),
      ]);
      if (unlogged !== undefined) throw subscriptionFailed(unlogged);
      try {
        const lease = server.tryAcquire() ??
          await server.acquire({ signal, timeoutMs: timeoutMs ?? server.config.timeoutMs });
        let leave: () => void;
        try {
          leave = await server.offers.watch.add(lease.client, uri, (updated) => {
            try {
              onUpdated(scrubber.text(updated));
            } catch (error) {
              onError(error);
            }
          });
        } finally {
          lease.release();
        }
        const takeBack = this.#readings.onClose(() => leave());
        const close = (): void => {
          takeBack();
          leave();
        };
        if (signal.aborted) close();
        return { server: server.name, uri: scrubber.text(uri), close };
      } catch (error) {
        const failure = reading.refusalOf(error);
        await reading.append([resourceFailed(target, passage.requestId, failure)]);
        throw error;
      }
    });
  }

  async #ofTemplate(template: string, options: Parameters<OfferFinder["resource"]>[1]): Promise<Supervisor> {
    if (options.server !== undefined) return this.#finder.server(options.server);
    const [found, ...others] = (await this.#finder.all("templates", options)).filter(({ item }) =>
      item.uriTemplate === template
    );
    if (found !== undefined && others.length === 0) return found.server;
    throw new HostError(
      found === undefined ? "ERR_TOOL_NOT_FOUND" : "ERR_TOOL_AMBIGUOUS",
      `Cannot complete: ${found === undefined ? "no server lists" : "more than one server lists"} that template`,
    );
  }
}

function subscriptionFailed({ code, message, reason }: Omit<ReadError, "code"> & { code: string | number }): HostError {
  return new HostError(code === "ERR_NOT_LOGGED" ? code : "ERR_DENIED", message, { facts: { reason } });
}

function checkText(value: unknown, action: string): string {
  if (typeof value === "string" && value !== "" && value.length <= 8192) return value;
  const found = typeof value === "string"
    ? `${value.length} characters`
    : value === null
    ? "null"
    : `a ${typeof value}`;
  throw new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot ${action}: found ${found}, wanted a text of 1 to 8192 characters`,
  );
}
