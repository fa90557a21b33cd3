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

/** One resource as the commands show it. */
export interface ResourceRow {
  readonly server: string;
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
}

/** One family of resources as the commands show it. */
export interface TemplateRow {
  readonly server: string;
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
}

/** One prompt as the commands show it. */
export interface PromptRow {
  readonly qualified: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly { readonly name: string; readonly required?: boolean }[];
}

/** What a read ended as. */
export interface ReadOutcome {
  readonly status: "completed" | "failed" | "denied" | "cancelled";
  readonly durationMs: number;
  readonly error?: { readonly code: string; readonly message: string; readonly reason: string };
}

/** How a command reads. */
export interface ReadOptions {
  readonly signal: AbortSignal;
  readonly onAsk: "wait" | "deny";
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
  readonly resources: {
    list(options: { readonly signal: AbortSignal }): Promise<readonly ResourceRow[]>;
    templates(options: { readonly signal: AbortSignal }): Promise<readonly TemplateRow[]>;
    include(
      uri: string,
      options: ReadOptions & { readonly server?: string },
    ): Promise<ReadOutcome & { readonly output: string }>;
  };
  readonly prompts: {
    list(options: { readonly signal: AbortSignal }): Promise<readonly PromptRow[]>;
    invoke(
      name: string,
      args: Readonly<Record<string, string>>,
      options: ReadOptions & { readonly typed: string },
    ): Promise<
      ReadOutcome & {
        readonly messages: readonly {
          readonly role: string;
          readonly content: { readonly type: string; readonly [key: string]: unknown };
        }[];
      }
    >;
  };
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
