import type { Clock } from "../kernel/clock.ts";
import type { HostError } from "../kernel/errors.ts";
import type {
  ClientCapabilities,
  Implementation,
  JsonObject,
  Progress,
  ServerCapabilities,
  Tool,
} from "../protocol/model.ts";
import type { VerdictCache } from "../protocol/negotiate.ts";
import type { LogLevel } from "../protocol/request_meta.ts";
import type { Admission } from "../protocol/subscriptions.ts";
import type { CheckedTrace } from "../protocol/trace.ts";
import type { BeforeResend, Dialer, TransportEnd, WarningKind } from "../transport/transport.ts";
import type { AskAnswerer } from "../jsonrpc/peer_asks.ts";
import type { Asks } from "./asks.ts";
import type { ResponseCache } from "./cache.ts";
import type { Reply } from "./reply.ts";

/** A request that stands until somebody ends it. Other requests go on as if it were not there. */
export interface StandingRequest {
  /** Judges a notification that names it. */
  admit(method: string, params: JsonObject): Admission;
  /** The server was exchanged for another: what stands there is to be given up. */
  leave(reason: HostError): void;
}

/** How one request may be bounded and watched. */
export interface RequestOptions {
  /** Gives up on this request alone; the connection goes on. */
  readonly signal?: AbortSignal;
  /**
   * Silence after which the request fails with `ERR_TIMEOUT`; progress starts it again, and each further 64 KiB of a long
   * answer. Default 60,000.
   */
  readonly timeoutMs?: number;
  /** Total after which it fails whatever progress it reports. Default 600,000. */
  readonly maxTotalMs?: number;
  /**
   * Gets the reports that rise, at most 200 a second for all requests of a connection. What it throws fails its request
   * with `ERR_CANCELLED` and is kept as `cause`.
   */
  readonly onProgress?: (progress: Progress) => void;
  /**
   * Where a call becomes a task of 2025-11-25, its progress goes on after its answer: `onProgress` hears it until this
   * fires. Default: until the answer.
   */
  readonly progressUntil?: AbortSignal;
  /**
   * Take on the long strings of the answer that were put aside; the reply has them as `spills` then. Only a dialer that was
   * given `frames` puts any aside; where nobody takes them on, they are let go of and only their beginnings are left.
   */
  readonly takesSpills?: boolean;
  /**
   * Answers what the server asks for the sake of this request, in the place of the connection's
   * {@link ConnectOptions.asks}, without which it fails where servers ask on their own: handlers, see `answering`, or one function for all methods, which
   * answers unchecked parameters with the result that the method wants. What is asked inside a result is for `requestInRounds`.
   */
  readonly asks?: Asks | AskAnswerer;
  /** Where the request stands in a distributed trace: goes out in its metadata. */
  readonly trace?: CheckedTrace;
  /** Wants log messages of this level and above while it runs, where the revision lets each request say so. */
  readonly logLevel?: LogLevel;
  /** Take no answer out of {@link ConnectOptions.cache}; the one that comes is kept there all the same. */
  readonly fresh?: boolean;
  /**
   * Asked before the request goes out once more, with what the server has refused it with. What it resolves with stands in
   * the way, and the request fails with it. Must not reject.
   */
  readonly beforeResend?: BeforeResend;
  /** Of a request that is answered only when it ends, see `keepListening`. */
  readonly standing?: StandingRequest;
}

/** What negotiation found. */
export interface ServerFacts {
  /** The specification's word for the family of revisions: for display and events, never to branch on. */
  readonly era: string;
  /** The agreed protocol revision. */
  readonly protocolVersion: string;
  readonly serverInfo: Implementation | undefined;
  readonly capabilities: ServerCapabilities;
  readonly instructions: string | undefined;
  /** The request that asks whether the server is there. Absent: `ping`. */
  readonly ping?: string;
  /** Changes are told only to those who subscribe to them, see `keepListening`. Absent where they are told unasked. */
  readonly subscribes?: boolean;
}

/** Limits on listing. */
export interface ListLimits {
  /** Most tools taken; default 1,000. Beyond it the list is cut and `truncated` says so. */
  readonly maxTools?: number;
  /** Most pages asked for; default 100. */
  readonly maxPages?: number;
}

export interface ToolList {
  readonly tools: readonly Tool[];
  /** Entries that have no usable shape, or annotations for headers that no call could obey. */
  readonly malformed: readonly { readonly name: string | undefined; readonly why: string }[];
  /** Set when a cap, a repeated cursor or the page limit ended the listing early. */
  readonly truncated?: "tools" | "pages" | "repeated_cursor" | "time";
}

/** One live connection to one server for one identity. */
export interface Client extends AsyncDisposable {
  readonly facts: ServerFacts;
  /** True until the connection has ended or `close` has been called. */
  readonly isOpen: boolean;
  /** Sends one request and reads one reply. Never rejects: a failure is a reply. */
  request(method: string, params: JsonObject | undefined, options?: RequestOptions): Promise<Reply>;
  /**
   * `tools/call`. Absent arguments go out as `{}`; `undefined` members are left out. Arguments that are no object, such as
   * the JSON text of one, fail with `ERR_INVALID_ARGUMENTS` and are not sent.
   */
  callTool(name: string, args: JsonObject | undefined, options?: RequestOptions): Promise<Reply>;
  /** `tools/list`, all pages within the limits. Rejects with what the failing page failed with. */
  listTools(options?: RequestOptions & ListLimits): Promise<ToolList>;
  /**
   * Sends a notification; one that cannot leave is dropped, since nobody waits for it. Throws `ERR_INVALID_ARGUMENTS`
   * when its parameters are no JSON object.
   */
  notify(method: string, params?: JsonObject): void;
  /** Ends the connection and waits until nothing of it is left. Idempotent; requests in flight fail. */
  close(): Promise<void>;
}

/** What a client tells its owner. */
export interface ClientHandlers {
  onNotification?(method: string, params: unknown): void;
  onWarning?(kind: WarningKind, excerpt: string | undefined): void;
  /**
   * The connection has ended. Requests in flight are settled once the returned promise has: an owner can make the end
   * durable before anybody acts on it.
   */
  onEnd?(end: TransportEnd): void | Promise<void>;
  /**
   * The connection goes on, but the server has forgotten what was set up on it: it has opened another session, or was
   * exchanged for another. Subscriptions, the level of its log and known lists are gone; `facts` may have changed.
   */
  onRenewed?(): void;
  /** Told what the others, and the handlers of asks, have thrown. Default: dropped. */
  onError?(error: unknown): void;
}

export interface ConnectOptions extends ClientHandlers {
  /**
   * Reaches the server: `httpDialer`, `stdioDialer`, or one of your own. What carries bytes both ways, a socket say, is best
   * handed to `stdioDialer` as `spawn`: the frames are those of a pipe then. A dialer of its own carries each message as the
   * text that it is given; handshake, metadata and what else the revisions want is in that text already.
   */
  readonly dialer: Dialer;
  readonly clock?: Clock;
  /** Ends the attempt, and everything it started. */
  readonly signal?: AbortSignal;
  /** Budget for connecting, probing and the handshake together. Default 30,000. */
  readonly startTimeoutMs?: number;
  /** How long a server may stay silent to the probe before the older handshake follows. Default 3,000. */
  readonly probeTimeoutMs?: number;
  /** Speak this revision and no other; no probe. */
  readonly pin?: string;
  /** Remembers which era a server speaks; the start fails with what it throws. Default: nothing is remembered. */
  readonly verdicts?: VerdictCache;
  /** Keeps answers for as long as servers say that they are good. Default: none is kept. */
  readonly cache?: Pick<ResponseCache, "connection">;
  /** Whose credentials the connection has: other connections with the same may share its private answers. Default: none. */
  readonly identity?: string;
  readonly clientInfo?: Implementation;
  /** What is declared to the server, beside what {@link asks} can answer. */
  readonly capabilities?: ClientCapabilities;
  /**
   * Answers what the server asks, made by `answering`: what has a handler is declared. A call, a read of a resource and a prompt take asks; one
   * that cannot be told to belong to a single request in flight is refused. Roots are given whenever they are asked for.
   */
  readonly asks?: Asks;
}
