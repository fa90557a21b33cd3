import type { ConfiguredServer } from "../config/mod.ts";
import type { HostEvent } from "../events/event.ts";
import type { LogFactory } from "../events/store.ts";
import type { Runtime } from "../kernel/runtime.ts";
import type { KnownSecret } from "../kernel/secrets.ts";
import type { PermissionConfig } from "../permission/policy.ts";
import type { Approve } from "../permission/request.ts";

/** One server as the commands show it. */
export interface ServerRow {
  readonly name: string;
  readonly transport: string;
  readonly state: string;
  readonly toolCount: number;
  readonly era?: string;
  readonly version?: string;
  readonly error?: string;
}

/** One tool as the commands show it. */
export interface ToolRow {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** What a call ended as. */
export interface CallOutcome {
  readonly status: "completed" | "failed" | "denied" | "pending" | "cancelled" | "unknown";
  readonly output: string;
  readonly isError: boolean;
  readonly durationMs: number;
  readonly truncated?: boolean;
  readonly error?: { readonly code: string; readonly message: string; readonly reason?: string };
}

/** What the commands use of a session. */
export interface CliSession {
  /** Full names of all tools, in the order of `toolDefinitions`. */
  toolNames(options: { readonly spelling: "qualified" }): readonly string[];
  toolDefinitions(options: { readonly format: "mcp" }): readonly ToolRow[];
  tool(
    name: string,
    args: Readonly<Record<string, unknown>>,
    options: { readonly signal: AbortSignal; readonly onAsk: "wait" | "deny" },
  ): Promise<CallOutcome>;
  events(options: { readonly after: number; readonly signal: AbortSignal }): AsyncIterable<HostEvent>;
}

/** What the commands use of a host. The real one fits; tests hand in a small one. */
export interface CliHost {
  /** Waits until each server is ready or has failed to start. */
  ready(options: { readonly signal: AbortSignal }): Promise<unknown>;
  globalMcpStatus(): readonly ServerRow[];
  session(options: { readonly id: string }): Promise<CliSession>;
  events(options: { readonly after: number; readonly signal: AbortSignal }): AsyncIterable<HostEvent>;
  close(): Promise<void>;
}

/** How the commands open one. */
export type OpenHost = (options: {
  readonly runtime: Runtime;
  readonly servers: readonly ConfiguredServer[];
  readonly permission?: PermissionConfig;
  readonly secrets: readonly KnownSecret[];
  readonly log: LogFactory;
  readonly takeOver: boolean;
  readonly approve?: Approve;
}) => Promise<CliHost>;
