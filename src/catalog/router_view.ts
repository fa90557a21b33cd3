import type { Catalog, CatalogEntry } from "./catalog.ts";
import { passesFilter, spellingsOfTool, type ToolFilter } from "./filter.ts";
import type { CheckedLocalTool } from "./local_tool.ts";
import type { ServerState } from "./server_state.ts";

/** What the router needs to know of a server. It reads this at the moment of each question and keeps nothing of it. */
export interface RoutedServer {
  readonly name: string;
  readonly state: ServerState;
  /** The last list it gave. Undefined before the first. */
  readonly catalog: Catalog | undefined;
  readonly config: { readonly tools: ToolFilter; readonly reconnect: "never" | "lazy" };
}

/** A set of servers by their names; a `Map` is one. Live: servers may come and go between two questions. */
export interface RoutedServers<S extends RoutedServer> {
  get(name: string): S | undefined;
  values(): Iterable<S>;
}

/** One place that a session gets servers from. */
export interface RoutedSource<S extends RoutedServer = RoutedServer> {
  /** `global`, the name of a manager that was handed in, `private`. */
  readonly source: string;
  readonly servers: RoutedServers<S>;
  /**
   * Changes whenever a server is added or removed, or the state or the catalog of one changes. Where it is absent, the
   * bare name of a local tool costs a look at every server.
   */
  readonly version?: number;
}

/** All that one session can call. */
export interface RouterView<S extends RoutedServer = RoutedServer> {
  /** The later one wins for the same full name. */
  readonly sources: readonly RoutedSource<S>[];
  readonly localTools: ReadonlyMap<string, CheckedLocalTool>;
  /**
   * Hides tools from this view, also from calls: false for what does not exist in it. Asked with the full name, or
   * `local.<name>`, and with the alias where it is known. Default: all are visible.
   */
  readonly isVisible?: (name: string, alias?: string) => boolean;
}

/** Why a tool that exists cannot be called: reasons of `tool.failed`. */
export type GoneReason =
  | "mcp_server_not_connected"
  | "auth_required"
  | "mcp_server_pending"
  | "mcp_server_permanently_failed";

/** What the state of a server means for its tools. */
export interface Standing {
  /** Its tools are shown. */
  readonly listed: boolean;
  /** A tool in its catalog exists for whoever calls it by its full name. */
  readonly known: boolean;
  /** So may any tool of it while it has no catalog. */
  readonly unknown: boolean;
  /** Why a call fails; absent where it runs, at once or after a wait. */
  readonly reason?: GoneReason;
  /** A call may start the server, if its configuration lets calls do so; then it does not fail. */
  readonly lazy?: true;
}

/** The one table that listing and dispatch are both derived from. */
export const STANDINGS: Readonly<Record<ServerState, Standing>> = Object.freeze({
  starting: { listed: true, known: true, unknown: true },
  ready: { listed: true, known: true, unknown: false },
  restarting: { listed: false, known: true, unknown: true },
  idle_disconnected: { listed: true, known: true, unknown: true, lazy: true, reason: "mcp_server_not_connected" },
  not_started: { listed: true, known: true, unknown: false, lazy: true, reason: "mcp_server_not_connected" },
  auth_required: { listed: false, known: true, unknown: true, reason: "auth_required" },
  pending: { listed: false, known: true, unknown: true, reason: "mcp_server_pending" },
  permanently_failed: { listed: false, known: true, unknown: true, reason: "mcp_server_permanently_failed" },
  removed: { listed: false, known: false, unknown: false },
  disabled: { listed: false, known: false, unknown: false },
});

/** Why a call to this server would fail now; `undefined` where it would run. */
export function refusalOf(server: RoutedServer): GoneReason | undefined {
  const { reason, lazy } = STANDINGS[server.state];
  return lazy && server.config.reconnect === "lazy" ? undefined : reason;
}

/** A server's tool as calls see it: `undefined` where the state or the user's filter makes it not exist. */
export function toolOf(server: RoutedServer, name: string): CatalogEntry | undefined {
  if (!STANDINGS[server.state].known) return undefined;
  const entry = server.catalog?.byName(name);
  const { tools } = server.config;
  if (entry === undefined || tools.allow.length + tools.deny.length === 0) return entry;
  return passesFilter(tools, spellingsOfTool(server.name, name, entry.alias)) ? entry : undefined;
}
