import type { Outgoing, Transport, TransportHandlers } from "../jsonrpc/link.ts";

export type {
  BeforeResend,
  LostRequest,
  Outgoing,
  Transport,
  TransportEnd,
  TransportHandlers,
  WarningKind,
} from "../jsonrpc/link.ts";

/**
 * The facts of an era that a transport obeys. The transport never asks which era or revision it serves; it is born
 * with one profile and keeps it.
 */
export interface WireProfile {
  /**
   * The server keeps something between requests (Streamable HTTP, 2025-03-26 to 2025-11-25): it may hand out a session id,
   * which is sent from then on, let streams be resumed, and speak on a stream that belongs to no request.
   */
  readonly sessions: boolean;
  /** Closing a response stream tells the server that its request is cancelled; otherwise a notification does. */
  readonly cancelsByClosing: boolean;
  /** A message may be an array of messages (2025-03-26 alone). */
  readonly batches: boolean;
  /** Further HTTP headers for one message. */
  headers(message: Pick<Outgoing, "method" | "params">): Record<string, string>;
}

/** Knows how to reach one server; makes a connection each time it is asked. */
export interface Dialer {
  /** A `pipe` carries both eras over the same frames; a `web` transport is born for one. */
  readonly kind: "pipe" | "web";
  /** `stdio`, `http`, `sse` or `memory`, for events. */
  readonly name: string;
  /**
   * What an era verdict and answers that are good for all are remembered under: the endpoint with its query, or the
   * command with its arguments. It may hold whatever the configuration holds there: keep it in memory, or store a hash of it.
   */
  readonly key: string;
  /** The transport belongs to revisions that begin with a handshake: no other is looked for. */
  readonly handshakeOnly?: boolean;
  /** The older transport of the same server, for when nothing at the address takes the handshake. */
  readonly older?: Dialer;
  dial(profile: WireProfile, handlers: TransportHandlers, signal?: AbortSignal): Promise<Transport>;
}
