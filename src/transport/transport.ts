import type { HostError } from "../kernel/errors.ts";
import type { Incoming } from "../jsonrpc/message.ts";

/**
 * The facts of an era that a transport obeys. The transport never asks which era or revision it serves; it is born
 * with one profile and keeps it.
 */
export interface WireProfile {
  /** Keep the session id that the server hands out and send it from then on (Streamable HTTP, 2025-03-26 to 2025-11-25). */
  readonly sessions: boolean;
  /** Closing a response stream tells the server that its request is cancelled; otherwise a notification does. */
  readonly cancelsByClosing: boolean;
  /** A message may be an array of messages (2025-03-26 alone). */
  readonly batches: boolean;
  /** Further HTTP headers for one message. */
  headers(message: Outgoing): Record<string, string>;
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
}

/** Why a request will get no answer, and what is known about its execution. */
export interface LostRequest {
  readonly error: HostError;
  /** False only when it is certain that no byte of it left. */
  readonly sent: boolean;
  /** True only on proof that the server did not execute it (an HTTP status that says so). */
  readonly refused: boolean;
}

/** What a transport tells its owner. Handlers must not throw. */
export interface TransportHandlers {
  /**
   * A message has arrived; `bytes` is its size on the wire. `of` is the request whose own response stream carried it;
   * a shared pipe cannot tell. A promise pauses the source.
   */
  onMessage(message: Incoming, bytes: number, of: number | undefined): void | Promise<void>;
  /** One request is lost while the connection lives (HTTP). */
  onLost(id: number, lost: LostRequest): void;
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
  | "unexpected_batch"
  | "late_probe_answer";

/** How a connection ended. `error` is absent when we closed it ourselves. */
export interface TransportEnd {
  readonly reason: "closed" | "exit" | "signal" | "frame_too_large" | "noise" | "flood" | "unreachable";
  readonly error?: HostError;
  readonly exitCode?: number;
  readonly signal?: string;
  /** The last of standard error, at most 4 KiB, unredacted: scrub before showing. */
  readonly stderrTail?: string;
}

/** A live connection to one server. */
export interface Transport {
  /**
   * Hands one message over. Never throws and never rejects: a message that cannot leave is reported by `onLost` or
   * `onClosed`. A promise resolves when the message has left this process, for callers that want to pace themselves.
   */
  send(message: Outgoing): void | Promise<void>;
  /** Lets go of a request: its response stream is closed where it has one. What still arrives for it is dropped. */
  abandon(id: number): void;
  /** Ends the connection and everything it started. Idempotent; resolves when nothing is left. */
  close(): Promise<void>;
}

/** Knows how to reach one server; makes a connection each time it is asked. */
export interface Dialer {
  /** A `pipe` carries both eras over the same frames; a `web` transport is born for one. */
  readonly kind: "pipe" | "web";
  /** `stdio`, `http` or `memory`, for events. */
  readonly name: string;
  /** What an era verdict is remembered under: the endpoint or the command, never a secret. */
  readonly key: string;
  dial(profile: WireProfile, handlers: TransportHandlers, signal?: AbortSignal): Promise<Transport>;
}
