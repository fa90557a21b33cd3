import { untilAborted } from "../kernel/abort.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";
import { VERSION } from "../kernel/version.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { Peer, PeerHandlers } from "../jsonrpc/peer.ts";
import { isOutdated } from "../protocol/classify_probe.ts";
import type { Era } from "../protocol/era.ts";
import { negotiate, type Negotiated } from "../protocol/negotiate.ts";
import { asObject, type Introduction } from "../protocol/results.ts";
import type { AskAnswerer } from "../jsonrpc/peer_asks.ts";
import { answererOf, askeesOf, declared } from "./asks.ts";
import type { Client, ConnectOptions, ListLimits, RequestOptions, ServerFacts, ToolList } from "./client.ts";
import { listAllTools } from "./list_tools.ts";
import { failed, readCall, readReply } from "./read_reply.ts";
import type { FailedReply, Reply } from "./reply.ts";

const DEFAULTS = Object.freeze({
  startTimeoutMs: 30_000,
  probeTimeoutMs: 3000,
  timeoutMs: 60_000,
  maxTotalMs: 600_000,
});

const CLIENT_INFO: JsonObject = Object.freeze({ name: "portcullis", version: VERSION });

/**
 * Opens a connection to one server, whatever revision of the protocol it speaks.
 *
 * Throws `ERR_START_FAILED`, `ERR_START_TIMEOUT`, `ERR_VERSION`, `ERR_AUTH_REQUIRED`, `ERR_CONNECTION_LOST`, `ERR_PROTOCOL`
 * or `ERR_CANCELLED`; nothing of the attempt is left then.
 *
 * @example
 * ```ts
 * import { connectClient, httpDialer, systemClock } from "portcullis/client";
 *
 * export async function tools(url: string): Promise<string[]> {
 *   await using client = await connectClient({ dialer: httpDialer({ url, fetch, clock: systemClock }) });
 *   return (await client.listTools()).tools.map((tool) => tool.name);
 * }
 * ```
 */
export async function connectClient(options: ConnectOptions): Promise<Client> {
  const clock = options.clock ?? systemClock;
  const capabilities = declared(options.asks, options.capabilities);
  const { askee, ofRequest } = askeesOf(options.asks, capabilities);
  const handlers: PeerHandlers = {
    onNotification: (method, params) => options.onNotification?.(method, params),
    onWarning: (kind, excerpt) => options.onWarning?.(kind, excerpt),
    onEnd: (end) => options.onEnd?.(end),
    onError: (error) => options.onError?.(error),
    askee,
  };
  let client: PeerClient | undefined;
  const negotiated = await negotiate({
    dialer: options.dialer,
    clock,
    handlers,
    signal: options.signal,
    startTimeoutMs: options.startTimeoutMs ?? DEFAULTS.startTimeoutMs,
    probeTimeoutMs: options.probeTimeoutMs ?? DEFAULTS.probeTimeoutMs,
    pin: options.pin,
    verdicts: options.verdicts,
    clientInfo: options.clientInfo ?? CLIENT_INFO,
    capabilities,
    onRenewed: (introduction) => client?.renewed(introduction),
  });
  client = new PeerClient(negotiated, clock, () => options.onRenewed?.(), ofRequest);
  return client;
}

class PeerClient implements Client {
  #facts: ServerFacts;
  #negotiated: Negotiated;
  readonly #clock: Clock;
  readonly #onRenewed: () => void;
  /** Who answers what is asked for the sake of a request that brings no handlers of its own. */
  readonly #answererFor: (method: string) => AskAnswerer | undefined;
  /** Connections to a server that was exchanged, on which requests were in flight. */
  readonly #left: Peer[] = [];

  constructor(
    negotiated: Negotiated,
    clock: Clock,
    onRenewed: () => void,
    answererFor: (method: string) => AskAnswerer | undefined,
  ) {
    this.#negotiated = negotiated;
    this.#clock = clock;
    this.#onRenewed = onRenewed;
    this.#answererFor = answererFor;
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
    this.#onRenewed();
  }

  request(method: string, params: JsonObject | undefined, options: RequestOptions = {}): Promise<Reply> {
    return this.#send(method, params, options, (reply) => reply);
  }

  callTool(name: string, args: JsonObject | undefined, options: RequestOptions = {}): Promise<Reply> {
    // Many servers refuse a call without the member, none an empty object.
    const given: unknown = args ?? {};
    if (asObject(given) === undefined) return Promise.resolve(failed(notAnObject(given), false, false, 0));
    return this.#send("tools/call", { name, arguments: given }, options, readCall);
  }

  listTools(options: RequestOptions & ListLimits = {}): Promise<ToolList> {
    return listAllTools(this, this.#clock, options);
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
    const sending = negotiated.peer.request(method, params, {
      signal: options.signal,
      timeoutMs: options.timeoutMs ?? DEFAULTS.timeoutMs,
      maxTotalMs: options.maxTotalMs ?? DEFAULTS.maxTotalMs,
      onProgress: options.onProgress,
      takesSpills: options.takesSpills,
      answerAsk: options.asks === undefined ? this.#answererFor(method) : answererOf(options.asks),
    });
    return sending.then((settled) => {
      const reply = finish(readReply(negotiated.era, method, settled));
      if (again || !isOutdated(negotiated.era, settled)) return reply;
      return this.#follow(negotiated, options.signal).then(async (error) => {
        if (error !== undefined) return failed(error, true, true, reply.resends);
        const next = await this.#send(method, params, options, finish, true);
        return { ...next, resends: next.resends + reply.resends + 1 };
      });
    });
  }

  /** The server was exchanged for one that speaks otherwise: goes over to it. Gives what came in between; never rejects. */
  async #follow(from: Negotiated, signal: AbortSignal | undefined): Promise<FailedReply["error"] | undefined> {
    if (this.#negotiated !== from) return undefined;
    try {
      const next = await untilAborted(from.renegotiate(), "Request", signal);
      if (this.#negotiated !== from) return undefined;
      this.#negotiated = next;
      if (from.peer !== next.peer && from.peer.inFlight > 0) this.#left.push(from.peer);
      this.renewed(next);
      return undefined;
    } catch (error) {
      return error as FailedReply["error"];
    }
  }
}

function factsOf({ name, protocolVersion }: Era, introduction: Introduction): ServerFacts {
  const { serverInfo, capabilities, instructions } = introduction;
  return Object.freeze({ era: name, protocolVersion, serverInfo, capabilities, instructions });
}

function notAnObject(args: unknown): HostError {
  const found = Array.isArray(args) ? "an array" : `a ${typeof args}`;
  return new HostError("ERR_INVALID_ARGUMENTS", `Cannot call a tool: its arguments are ${found}, wanted an object`);
}
