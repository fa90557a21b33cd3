import { untilAborted } from "../kernel/abort.ts";
import type { Clock } from "../kernel/clock.ts";
import { HostError, isRemoteError } from "../kernel/errors.ts";
import type { JsonObject } from "../kernel/json.ts";
import { tell } from "../kernel/listener.ts";
import type { Peer } from "../jsonrpc/peer.ts";
import type { Settled } from "../jsonrpc/pending.ts";
import { isOutdated } from "../protocol/classify_probe.ts";
import type { Era } from "../protocol/era.ts";
import { HEADER_MISMATCH, type HeaderMirror } from "../protocol/mirror.ts";
import type { Negotiated } from "../protocol/negotiate.ts";
import { withMeta } from "../protocol/request_meta.ts";
import { asObject, type Introduction } from "../protocol/results.ts";
import type { ConnectionAsks } from "./askees.ts";
import type { CachedConnection } from "./cache.ts";
import type {
  Client,
  ConnectOptions,
  ListLimits,
  RequestOptions,
  ServerFacts,
  StandingRequest,
  ToolList,
} from "./client.ts";
import { listAllTools } from "./list_tools.ts";
import { failed, readCall, readReply } from "./read_reply.ts";
import type { FailedReply, Reply } from "./reply.ts";

const TIMEOUT_MS = 60_000;
const MAX_TOTAL_MS = 600_000;

/** What a client is made of. */
export interface ClientParts {
  readonly negotiated: Negotiated;
  readonly clock: Clock;
  readonly options: ConnectOptions;
  /** Who answers what the server asks. */
  readonly asks: ConnectionAsks | undefined;
}

/** A client over one connection that stands. */
export class PeerClient implements Client {
  #facts: ServerFacts;
  #negotiated: Negotiated;
  readonly #clock: Clock;
  readonly #options: ConnectOptions;
  readonly #asks: ConnectionAsks | undefined;
  readonly #cache: CachedConnection | undefined;
  /** Arguments are repeated in headers: only what goes over HTTP has any. */
  readonly #hasHeaders: boolean;
  /** Connections to a server that was exchanged, on which requests were in flight. */
  readonly #left: Peer[] = [];
  /** Requests that stand until they are given up, by their ids. */
  readonly #standing = new Map<unknown, StandingRequest>();
  #relisting: Promise<void> | undefined;

  constructor({ negotiated, clock, options, asks }: ClientParts) {
    this.#negotiated = negotiated;
    this.#clock = clock;
    this.#options = options;
    this.#asks = asks;
    this.#cache = options.cache?.connection(options.dialer.key, options.identity);
    this.#hasHeaders = options.dialer.kind === "web";
    this.#facts = factsOf(negotiated.era, negotiated);
  }

  get facts(): ServerFacts {
    return this.#facts;
  }

  get isOpen(): boolean {
    return this.#negotiated.peer.isOpen;
  }

  /** The same connection, and another session. */
  renewed(introduction: Introduction): void {
    this.#facts = factsOf(this.#negotiated.era, introduction);
    this.#tell(() => this.#options.onRenewed?.());
  }

  /** A notification of the server; the owner is told of what anybody here may believe. */
  hear(method: string, params: unknown): void {
    const bound = this.#negotiated.era.subscriptionOf?.(method, params);
    const admission = bound && (this.#standing.get(bound.id)?.admit(method, asObject(params) ?? {}) ?? "foreign");
    if (admission === "foreign") return this.#options.onWarning?.("unknown_subscription", method);
    this.#cache?.hear(method, params);
    if (admission !== "acknowledged") return this.#options.onNotification?.(method, params);
  }

  request(method: string, params: JsonObject | undefined, options: RequestOptions = {}): Promise<Reply> {
    const cached = this.#cache?.find(this.#negotiated.era, method, params);
    if (cached?.found !== undefined && options.fresh !== true) {
      return Promise.resolve({ kind: "done", result: cached.found, bytes: 0, resends: 0 });
    }
    const sending = this.#send(method, params, options, (reply) => reply);
    return cached === undefined ? sending : sending.then((reply) => {
      cached.keep(reply);
      return reply;
    });
  }

  callTool(name: string, args: JsonObject | undefined, options: RequestOptions = {}): Promise<Reply> {
    // Many servers refuse a call without the member, none an empty object.
    const given: unknown = args ?? {};
    if (asObject(given) === undefined) return Promise.resolve(failed(notAnObject(given), false, false, 0));
    return this.#send("tools/call", { name, arguments: given }, options, readCall);
  }

  async listTools(options: RequestOptions & ListLimits = {}): Promise<ToolList> {
    const list = await listAllTools(this, this.#clock, options);
    const mirror = this.#mirror(this.#negotiated.era);
    if (mirror === undefined) return list;
    const { tools, malformed } = mirror.sift(list.tools);
    return malformed.length === 0 ? list : { ...list, tools, malformed: [...list.malformed, ...malformed] };
  }

  notify(method: string, params?: JsonObject): void {
    void this.#negotiated.peer.notify(method, params);
  }

  async close(): Promise<void> {
    await Promise.all([this.#negotiated.peer, ...this.#left].map((peer) => peer.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #send(
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
    finish: (reply: Reply) => Reply,
    again = false,
  ): Promise<Reply> {
    const negotiated = this.#negotiated;
    const { era, peer } = negotiated;
    const { timeoutMs = TIMEOUT_MS, maxTotalMs = MAX_TOTAL_MS, standing } = options;
    let prepared: JsonObject | undefined;
    let standingId: number | undefined;
    try {
      prepared = this.#prepare(method, params, options);
    } catch (error) {
      return Promise.resolve(failed(error as HostError, false, false, 0));
    }
    const sentAt = this.#hasHeaders ? this.#clock.monotonic() : 0;
    const sending = peer.request(method, prepared, {
      signal: options.signal,
      timeoutMs,
      maxTotalMs,
      onProgress: options.onProgress,
      progressUntil: options.progressUntil,
      takesSpills: options.takesSpills,
      answerAsk: options.asks === undefined
        ? this.#asks?.ofRequest(method)
        : typeof options.asks === "function"
        ? options.asks
        : options.asks.answer,
      ...(standing === undefined ? {} : {
        isStanding: true,
        onId: (id) => void this.#standing.set(standingId = id, standing),
      }),
    });
    return sending.then((settled) => {
      // Another connection counts from one, too.
      if (standing !== undefined && this.#standing.get(standingId) === standing) this.#standing.delete(standingId);
      const reply = finish(readReply(era, method, settled));
      if (settled.ok) return reply;
      const remainingMs = maxTotalMs - (this.#hasHeaders ? this.#clock.monotonic() - sentAt : 0);
      const remedy = again || remainingMs <= 0
        ? undefined
        : this.#remedy(negotiated, method, settled, options, remainingMs);
      if (remedy === undefined) return reply;
      return remedy.then(async (error) => {
        if (error !== undefined) return failed(error, true, true, reply.resends);
        const next = await this.#send(method, params, { ...options, maxTotalMs: remainingMs }, finish, true);
        return { ...next, resends: next.resends + reply.resends + 1 };
      });
    });
  }

  #prepare(
    method: string,
    params: JsonObject | undefined,
    { trace, logLevel, asks }: RequestOptions,
  ): JsonObject | undefined {
    const { answerer, logLevelKey } = this.#negotiated.era;
    if (asks !== undefined && this.#asks === undefined && answerer !== undefined) {
      throw new HostError(
        "ERR_INVALID_ARGUMENTS",
        `Cannot answer asks of ${method}: the connection was opened without asks`,
      );
    }
    if (trace === undefined && logLevel === undefined) return params;
    return withMeta(
      params,
      trace,
      logLevel === undefined || logLevelKey === undefined ? {} : { [logLevelKey]: logLevel },
    );
  }

  /**
   * What to do before a request that the server has proved not to have executed is sent once more; nothing for any other.
   * Resolves with what stands in the way, and never rejects. `from` is what the request was sent by.
   */
  #remedy(
    from: Negotiated,
    method: string,
    settled: Settled & { readonly ok: false },
    { signal, timeoutMs = TIMEOUT_MS }: RequestOptions,
    maxTotalMs: number,
  ): Promise<FailedReply["error"] | undefined> | undefined {
    const { error } = settled;
    if (isOutdated(from.era, settled)) return this.#follow(from, signal);
    const isMismatch = method === "tools/call" && isRemoteError(error) && error.code === HEADER_MISMATCH;
    if (!isMismatch || this.#mirror(from.era) === undefined) return undefined;
    this.#relisting ??= this.#relist({ fresh: true, timeoutMs, maxTotalMs }).finally(() => this.#relisting = undefined);
    return untilAborted(this.#relisting, `Request ${method}`, signal).then(
      () => undefined,
      (cause: HostError) => signal?.aborted === true ? cause : error,
    );
  }

  /** The list that is known is old: the headers are made by the one that holds now, and the owner learns of it. */
  async #relist(options: RequestOptions): Promise<void> {
    await this.listTools(options);
    this.#tell(() => this.#options.onNotification?.("notifications/tools/list_changed", undefined));
  }

  #tell(listener: () => unknown): void {
    tell(listener, (error) => this.#options.onError?.(error));
  }

  /** The server was exchanged for one that speaks otherwise: goes over to it. Gives what came in between; never rejects. */
  async #follow(from: Negotiated, signal: AbortSignal | undefined): Promise<FailedReply["error"] | undefined> {
    if (this.#negotiated !== from) return undefined;
    try {
      const next = await untilAborted(from.renegotiate(), "Request", signal);
      if (this.#negotiated !== from) return undefined;
      this.#negotiated = next;
      const gone = new HostError("ERR_CONNECTION_LOST", "Subscription has ended: the server was exchanged");
      for (const standing of this.#standing.values()) standing.leave(gone);
      if (from.peer !== next.peer && from.peer.inFlight > 0) this.#left.push(from.peer);
      this.renewed(next);
      return undefined;
    } catch (error) {
      return error as FailedReply["error"];
    }
  }

  #mirror(era: Era): HeaderMirror | undefined {
    return this.#hasHeaders ? era.mirror : undefined;
  }
}

function factsOf({ name, protocolVersion, subscriptionOf, ping }: Era, introduction: Introduction): ServerFacts {
  const { serverInfo, capabilities, instructions } = introduction;
  return Object.freeze({
    era: name,
    protocolVersion,
    serverInfo,
    capabilities,
    instructions,
    ...(subscriptionOf === undefined ? {} : { subscribes: true }),
    ...(ping === undefined ? {} : { ping }),
  });
}

function notAnObject(args: unknown): HostError {
  const found = Array.isArray(args) ? "an array" : `a ${typeof args}`;
  return new HostError("ERR_INVALID_ARGUMENTS", `Cannot call a tool: its arguments are ${found}, wanted an object`);
}
