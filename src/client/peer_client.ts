import { untilAborted } from "../kernel/abort.ts";
import { atMost, type Clock } from "../kernel/clock.ts";
import { HostError, isRemoteError } from "../kernel/errors.ts";
import type { JsonObject } from "../kernel/json.ts";
import { tell } from "../kernel/listener.ts";
import type { Peer } from "../jsonrpc/peer.ts";
import { timedOut } from "../jsonrpc/peer_errors.ts";
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
/** Longer than anything takes that a request waits for. */
const LONGEST_WAIT_MS = 1e9;

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
  /** Connections to a server that was exchanged, until the last request of each has settled. */
  readonly #left = new Set<Peer>();
  /** Requests that stand until they are given up, by their ids. */
  readonly #standing = new Map<unknown, StandingRequest>();
  #relisting: Promise<void> | undefined;
  /** Set while it is found out anew how the server speaks: what is asked meanwhile waits. */
  #following: Promise<void> | undefined;

  constructor({ negotiated, clock, options, asks }: ClientParts) {
    this.#negotiated = negotiated;
    this.#clock = clock;
    this.#options = options;
    this.#asks = asks;
    this.#cache = options.cache?.connection(options.dialer.key, options.identity);
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
    const send = (): void => void this.#negotiated.peer.notify(method, params);
    if (this.#following === undefined) return send();
    void this.#following.catch(() => {/* the server speaks as before */}).then(() => this.#tell(send));
  }

  async close(): Promise<void> {
    await Promise.all([this.#negotiated, ...this.#left].map((each) => each.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** `sent` is how many times the request went out before, each time refused by proof. */
  #send(
    method: string,
    params: JsonObject | undefined,
    options: RequestOptions,
    finish: (reply: Reply) => Reply,
    sent = 0,
  ): Promise<Reply> {
    const { timeoutMs = TIMEOUT_MS, maxTotalMs = MAX_TOTAL_MS, standing } = options;
    const deadline = this.#clock.monotonic() + maxTotalMs;
    const remainingMs = (): number => deadline - this.#clock.monotonic();
    /** Sends once `first` is over, with what that leaves of the time. What `first` rejects with stands in the way. */
    const sendAfter = async (first: Promise<void>, sent: number): Promise<Reply> => {
      try {
        const waiting = untilAborted(first.then(remainingMs), `Request ${method}`, options.signal);
        const waitMs = Math.min(timeoutMs, remainingMs(), LONGEST_WAIT_MS);
        const maxTotalMs = await atMost(this.#clock, waitMs, waiting) ?? 0;
        if (maxTotalMs > 0) return await this.#send(method, params, { ...options, maxTotalMs }, finish, sent);
        throw timedOut({ method, timeoutMs, deadline: 0, hardDeadline: remainingMs() });
      } catch (error) {
        return failed(error as FailedReply["error"], sent > 0, sent > 0, sent && sent - 1);
      }
    };
    if (this.#following !== undefined) return sendAfter(this.#following, sent);
    const negotiated = this.#negotiated;
    const { era, peer } = negotiated;
    let prepared: JsonObject | undefined;
    let standingId: number | undefined;
    try {
      prepared = this.#prepare(method, params, options);
    } catch (error) {
      return Promise.resolve(failed(error as HostError, false, false, 0));
    }
    const sending = peer.request(method, prepared, {
      signal: options.signal,
      timeoutMs,
      maxTotalMs,
      onProgress: options.onProgress,
      progressUntil: options.progressUntil,
      takesSpills: options.takesSpills,
      beforeResend: options.beforeResend,
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
      this.#letGo(peer);
      const reply = finish(readReply(era, method, settled));
      const resends = reply.resends + sent;
      const remedy = settled.ok || sent > 0
        ? undefined
        : this.#remedy(negotiated, method, settled, { fresh: true, timeoutMs, maxTotalMs: remainingMs() });
      if (settled.ok || remedy === undefined) return sent === 0 ? reply : { ...reply, resends };
      const asked = remedy.then(() => options.beforeResend?.(settled.error));
      return sendAfter(asked.then(rejectWith), resends + 1);
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
   * Rejects with what stands in the way. `from` is what the request was sent by, `listing` how tools are listed for it.
   */
  #remedy(
    from: Negotiated,
    method: string,
    settled: Settled & { readonly ok: false },
    listing: RequestOptions,
  ): Promise<void> | undefined {
    const { error } = settled;
    if (isOutdated(from.era, settled)) {
      return this.#following ??= this.#follow(from).finally(() => this.#following = undefined);
    }
    const isMismatch = method === "tools/call" && isRemoteError(error) && error.code === HEADER_MISMATCH;
    if (!isMismatch || this.#mirror(from.era) === undefined) return undefined;
    this.#relisting ??= this.#relist(listing).finally(() => this.#relisting = undefined);
    return this.#relisting.catch(() => {
      throw error;
    });
  }

  /** The list that is known is old: the headers are made by the one that holds now, and the owner learns of it. */
  async #relist(options: RequestOptions): Promise<void> {
    await this.listTools(options);
    this.#tell(() => this.#options.onNotification?.("notifications/tools/list_changed", undefined));
  }

  #tell(listener: () => unknown): void {
    tell(listener, (error) => this.#options.onError?.(error));
  }

  /** The server was exchanged for one that speaks otherwise: goes over to it, whoever still waits. */
  async #follow(from: Negotiated): Promise<void> {
    // Heard of late, by a request that went out before.
    if (this.#negotiated !== from) return;
    const next = this.#negotiated = await from.renegotiate();
    const gone = new HostError("ERR_CONNECTION_LOST", "Subscription has ended: the server was exchanged");
    for (const standing of this.#standing.values()) standing.leave(gone);
    if (from.peer !== next.peer) this.#left.add(from.peer);
    this.#letGo(from.peer);
    this.renewed(next);
  }

  #letGo(peer: Peer): void {
    if (this.#left.has(peer) && peer.inFlight === 0) void peer.close().then(() => this.#left.delete(peer));
  }

  /** Arguments are repeated in headers: only what goes over HTTP has any. */
  #mirror(era: Era): HeaderMirror | undefined {
    return this.#options.dialer.kind === "web" ? era.mirror : undefined;
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

function rejectWith(error: unknown): void {
  if (error !== undefined) throw error;
}
