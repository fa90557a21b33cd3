import type { HostError, RemoteError } from "../kernel/errors.ts";
import type { Incoming, MalformedReason, RequestId } from "./message.ts";

/** A report on a running request (basic/utilities/progress). */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** One message on its way out. */
export interface Outgoing {
  /** The JSON text, one line. */
  readonly text: string;
  readonly method: string;
  /** Set for requests. */
  readonly id?: number;
  /** The parameters that `text` was made from; headers mirror some of them. */
  readonly params?: unknown;
  /** It stands as long as the connection does: that it fails says nothing about requests that somebody waits for. */
  readonly isStanding?: boolean | undefined;
  /**
   * Asked, with why it was refused, before a request is sent once more in another session; what it resolves with, if
   * anything, is what the request fails with instead.
   */
  readonly beforeResend?: BeforeResend | undefined;
}

/** See {@link Outgoing.beforeResend}. Never rejects. */
export type BeforeResend = (refusal: HostError | RemoteError) => Promise<HostError | RemoteError | undefined>;

/** A live connection to one server. */
export interface Transport {
  /**
   * Hands one message over. Never throws and never rejects: a message that cannot leave is reported by `onLost` or
   * `onClosed`. A promise resolves when the message has left this process, for callers that want to pace themselves.
   */
  send(message: Outgoing): void | Promise<void>;
  /** Lets go of a request: its response stream is closed where it has one. What still arrives for it is dropped. */
  abandon(id: number): void;
  /**
   * Opens the stream on which the server may send what belongs to no request, where the transport and the server have
   * one; opens it anew for a session that was renewed. To be called once the conversation stands.
   */
  listen?(): void;
  /** Ends the connection and everything it started. Idempotent; resolves when nothing is left. */
  close(): Promise<void>;
}

/** Why a request will get no answer, and what is known about its execution. */
export interface LostRequest {
  readonly error: HostError | RemoteError;
  /** False only when it is certain that no byte of it left. */
  readonly sent: boolean;
  /** True only on proof that the server did not execute it (an HTTP status that says so). */
  readonly refused: boolean;
}

/** What a transport tells its owner. Handlers must not throw. */
export interface TransportHandlers {
  /**
   * A message has arrived; `bytes` is its size on the wire. `of` is the request whose own response stream carried it;
   * a shared pipe cannot tell. A promise pauses the source. Long strings that were put aside are the taker's from now on.
   */
  onMessage(message: Incoming, bytes: number, of: number | undefined): void | Promise<void>;
  /** What arrived in the place of a message cannot be used. `id` is the request it claims to answer, as far as can be told. */
  onMalformed(reason: MalformedReason, id: RequestId | undefined, of: number | undefined): void;
  /**
   * A long message goes on arriving. `of` is the request whose own response it is; on a shared pipe it may be anybody's, and
   * no other can be heard behind it.
   */
  onArriving?(of: number | undefined): void;
  /** A request was sent again on proof that the server had not executed it. */
  onResent(id: number): void;
  /** One request is lost while the connection lives (HTTP). */
  onLost(id: number, lost: LostRequest): void;
  /**
   * The server no longer knows the session. Opens another one by way of the same transport, which holds back everything
   * but the handshake meanwhile, and sends once more what was refused when the promise has settled. A rejection ends the
   * connection, as does the absence of this handler.
   */
  onSessionLost?(): Promise<void>;
  /** Something odd that does no harm by itself, such as noise on standard output. */
  onWarning(kind: WarningKind, excerpt?: string): void;
  /** The connection has ended; called exactly once, also after `close()`. `unsent` are requests that never left. */
  onClosed(end: TransportEnd, unsent: ReadonlySet<number>): void;
}

/** Kinds of harmless oddities, as they are counted and reported. */
export type WarningKind =
  | "noise"
  | "malformed"
  | "unknown_id"
  | "duplicate_id"
  | "twin_id"
  | "unknown_progress"
  | "unexpected_request"
  /** What a server asks belongs to no request, or it cannot be told to which. */
  | "misdirected_ask"
  | "unexpected_batch"
  /** A change was told under no subscription that is open, or under one that has not asked for it. */
  | "unknown_subscription"
  /** A notification or an answer of ours was refused or could not leave. */
  | "undelivered"
  /** What a server offers as its stream of messages is none, or cannot be read. */
  | "no_stream"
  /** A server of the older HTTP transport names another address in the middle of a connection. */
  | "second_endpoint"
  | "flood";

/** How a connection ended. `error` is absent when we closed it ourselves. */
export interface TransportEnd {
  readonly reason: "closed" | "exit" | "signal" | "frame_too_large" | "noise" | "flood" | "unreachable";
  readonly error?: HostError;
  readonly exitCode?: number;
  readonly signal?: string;
  /** The last of standard error, at most 16 KiB, unredacted: scrub before showing, and cut afterwards. */
  readonly stderrTail?: string;
}
