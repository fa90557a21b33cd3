import type { Catalog } from "../catalog/catalog.ts";
import type { ServerState } from "../catalog/server_state.ts";
import type { Client } from "../client/client.ts";
import type { EventCursor } from "../events/event.ts";
import type { ServerConfig } from "./config.ts";
import type { Offers } from "./offers.ts";

export type { ServerState } from "../catalog/server_state.ts";

/** A server as `mcpStatus()` shows it. */
export interface ServerStatus {
  readonly name: string;
  /** `global`, the name of a handed-in manager, or `private`. */
  readonly source: string;
  readonly transport: "stdio" | "http" | "sse";
  readonly state: ServerState;
  readonly connected: boolean;
  readonly toolCount: number;
  /** As of the last lists; absent where it offers none or has not told. */
  readonly resourceCount?: number;
  readonly promptCount?: number;
  /** The last failure, scrubbed: of a start, how far it came. */
  readonly error?: string;
  /** What it wrote last to standard error before that failure: scrubbed, at most five lines of 200 characters. */
  readonly stderrTail?: string;
  /** Epoch milliseconds. */
  readonly lastActivityAt?: number;
  readonly era?: string;
  /** The agreed protocol revision. */
  readonly version?: string;
  readonly serverInfo?: { readonly name: string; readonly version: string };
}

/** A server as a call sees it. A route names a server and asks for this at the moment of the call; it never keeps a client. */
export interface Server {
  readonly name: string;
  readonly source: string;
  readonly config: ServerConfig;
  readonly state: ServerState;
  /** The last list it gave, also while it restarts. Undefined before the first. */
  readonly catalog: Catalog | undefined;
  /** What it offers besides tools. */
  readonly offers: Offers;
  /** Changes with the configuration; part of what a grant binds to. */
  readonly fingerprint: string;
  /** In `permanently_failed`, when it was given up, as the end of a sentence: `after 4 failed starts`. */
  readonly givenUp: string | undefined;
  status(): ServerStatus;
  /**
   * Waits, within the caller's signal and deadline, until the server can take a call. Rejects with a `HostError` whose
   * `facts.reason` is a reason of `tool.failed` (`mcp_server_not_connected`, `mcp_server_permanently_failed`,
   * `mcp_server_removed`, `mcp_server_pending`, `auth_required`, `timeout`).
   */
  acquire(options: { readonly signal?: AbortSignal; readonly timeoutMs: number }): Promise<ServerLease>;
  /**
   * Lists its tools at once. Resolves when {@link catalog} is what it has now, with false where no list could be had.
   * Never rejects.
   */
  relist(): Promise<boolean>;
  /** A lease at once if the server is ready, else `undefined`. */
  tryAcquire(): ServerLease | undefined;
}

/** Permission to use a server's connection for one call. Keeps the server from being reaped as idle. */
export interface ServerLease {
  readonly client: Client;
  /**
   * Set once the connection has ended under this lease: the reason that calls in flight settle with, and the crash
   * event that is already durable.
   */
  readonly loss: { readonly reason: string; readonly cause?: EventCursor } | undefined;
  /** Resolves once `loss` is set, or at once while the connection lives. For calls that find it dead before it says why. */
  whenLost(): Promise<void>;
  /** Must be called once, when the call has ended however it ended. */
  release(): void;
}
