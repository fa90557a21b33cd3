import type { Client } from "../client/client.ts";
import { keepListening } from "../client/listen.ts";
import { subscribeResource, unsubscribeResource, updatedResource } from "../client/resources.ts";
import type { Clock } from "../kernel/clock.ts";
import { HostError, unsupported } from "../kernel/errors.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import { faultOf } from "./fault.ts";
import type { Notices } from "./notices.ts";

/** Told of a change: of the resource that was asked for, or of one below it. Must not throw. */
export type OnUpdated = (uri: string) => void;

export interface ResourceWatchContext {
  readonly clock: Clock;
  readonly scrubber: Scrubber;
  /** A number from 0 to 1. Default: the runtime's. */
  readonly random?: () => number;
  readonly onError: (error: unknown) => void;
}

/** Most resources of one server that are watched at a time. */
const MAX_WATCHED = 1000;

/**
 * Who wants to know of changes of a server's resources. The server is asked again on each new connection; what may have
 * changed in between counts as changed.
 */
export class ResourceWatch {
  readonly #limits: { readonly timeoutMs: number; readonly maxTotalMs: number };
  readonly #notices: Notices;
  readonly #context: ResourceWatchContext;
  readonly #listeners = new Map<string, Set<OnUpdated>>();
  #client: Client | undefined;
  /** Ends the stream on which changes are told, where they are told on one. */
  #stream: AbortController | undefined;

  constructor(
    limits: { readonly timeoutMs: number; readonly maxTotalMs: number },
    notices: Notices,
    context: ResourceWatchContext,
  ) {
    this.#limits = limits;
    this.#notices = notices;
    this.#context = context;
  }

  /**
   * Asks the server to tell of changes from now on; what is returned takes it back. Rejects with what the request failed
   * with, `ERR_UNSUPPORTED_HERE` where the server does not tell, and `ERR_TOO_LARGE` for one resource too many.
   */
  async add(client: Client, uri: string, listener: OnUpdated): Promise<() => void> {
    const { capabilities, subscribes } = client.facts;
    if (capabilities.resources?.subscribe !== true) {
      throw unsupported("subscribe to a resource", "this server does not offer it; read it again");
    }
    const known = this.#listeners.get(uri);
    if (known !== undefined) known.add(listener);
    else {
      if (this.#listeners.size >= MAX_WATCHED) {
        throw new HostError(
          "ERR_TOO_LARGE",
          `Cannot watch a resource: ${MAX_WATCHED} of its server are watched already`,
        );
      }
      this.#listeners.set(uri, new Set([listener]));
    }
    if (subscribes === true) {
      if (known === undefined) this.#listen();
    } else {
      try {
        // A second listener asks again: whether the first one's asking goes well is not known yet.
        await subscribeResource(client, uri, this.#limits);
      } catch (error) {
        this.#remove(uri, listener);
        throw error;
      }
    }
    return () => {
      if (!this.#remove(uri, listener) || this.#client === undefined) return;
      if (this.#client.facts.subscribes === true) this.#listen();
      else unsubscribeResource(this.#client, uri, this.#limits).catch(this.#failed);
    };
  }

  /** A connection begins, or begins anew: the server knows of nobody who wants to be told. */
  connected(client: Client): void {
    this.#client = client;
    const { subscribes } = client.facts;
    if (subscribes === true) this.#listen();
    for (const uri of this.#listeners.keys()) {
      if (subscribes !== true) subscribeResource(client, uri, this.#limits).catch(this.#failed);
      this.#tell(uri);
    }
  }

  disconnected(): void {
    this.#client = undefined;
    this.#stream?.abort();
    this.#stream = undefined;
  }

  notified(method: string, params: unknown): void {
    const uri = updatedResource(method, params);
    if (uri !== undefined) this.#tell(uri);
  }

  /** One stream for all resources. What it asks for cannot be changed: the next one is opened before the last one ends. */
  #listen(): void {
    const client = this.#client;
    const last = this.#stream;
    this.#stream = undefined;
    if (client !== undefined && this.#listeners.size > 0) {
      const { clock, random = Math.random } = this.#context;
      const stream = this.#stream = new AbortController();
      const uris = [...this.#listeners.keys()];
      keepListening(client, { resourceSubscriptions: uris }, {
        clock,
        random,
        signal: stream.signal,
        onListening: ({ resourceSubscriptions = [] }, isAgain) => {
          const missing = uris.filter((uri) => !resourceSubscriptions.includes(uri)).length;
          if (missing > 0) this.#notices.warn("not_subscribed", `${missing} resources`);
          if (isAgain) { for (const uri of resourceSubscriptions) this.#tell(uri); }
        },
      }).then((end) => end.kind === "refused" && this.#failed(end.error), this.#failed);
    }
    last?.abort();
  }

  #tell(uri: string): void {
    for (const [watched, listeners] of this.#listeners) {
      if (uri !== watched && !uri.startsWith(watched.endsWith("/") ? watched : `${watched}/`)) continue;
      for (const listener of listeners) {
        try {
          listener(uri);
        } catch (error) {
          this.#context.onError(error);
        }
      }
    }
  }

  /** True when nobody is left who wants to know. */
  #remove(uri: string, listener: OnUpdated): boolean {
    const listeners = this.#listeners.get(uri);
    if (listeners === undefined || !listeners.delete(listener) || listeners.size > 0) return false;
    return this.#listeners.delete(uri);
  }

  /** With the connection gone its crash says all there is to say. */
  readonly #failed = (error: unknown): void => {
    if (this.#client?.isOpen) this.#notices.warn("subscribe_failed", faultOf(error, this.#context.scrubber).message);
  };
}
