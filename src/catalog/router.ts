import type { CatalogEntry } from "./catalog.ts";
import type { CheckedLocalTool } from "./local_tool.ts";
import { type NameParts, splitName } from "./names.ts";
import { holdersOf, suggestNames } from "./nearest_tools.ts";
import {
  type GoneReason,
  refusalOf,
  type RoutedServer,
  type RoutedSource,
  type RouterView,
  STANDINGS,
  toolOf,
} from "./router_view.ts";

/** What a name means to a session at this moment. A server in it is asked for at the moment of the call, never kept. */
export type Resolution<S extends RoutedServer = RoutedServer> =
  | { readonly kind: "mcp"; readonly source: string; readonly server: S; readonly entry: CatalogEntry }
  | { readonly kind: "local"; readonly tool: CheckedLocalTool }
  /** A bare name that a local tool and MCP tools share. `candidates` are exact names, at most ten. */
  | { readonly kind: "ambiguous"; readonly candidates: readonly string[] }
  /** `suggestions` are exact names, at most five. */
  | { readonly kind: "not_found"; readonly suggestions: readonly string[] }
  /** The tool exists, or may exist, and its server cannot take a call. `entry` is absent while the server has no list. */
  | {
    readonly kind: "gone";
    readonly source: string;
    readonly server: S;
    readonly state: S["state"];
    readonly reason: GoneReason;
    readonly entry?: CatalogEntry;
  }
  /** A full name at a server that has not given its list yet: wait for it and resolve again. `tool` is the name as given. */
  | { readonly kind: "wait"; readonly source: string; readonly server: S; readonly tool: string };

const MAX_CANDIDATES = 10;

/**
 * What a name means in a view. Names match exactly; a bare one is never the name of an MCP tool. The work does not
 * depend on the number of servers or tools, except where nothing has that name and others are suggested.
 */
export function resolveTool<S extends RoutedServer>(name: string, view: RouterView<S>): Resolution<S> {
  const parts = splitName(name);
  switch (parts.kind) {
    case "mcp":
    case "alias":
      return resolveFull(name, parts, view);
    case "local": {
      const tool = visibleLocal(parts.tool, view);
      return tool === undefined ? notFound(parts, view) : { kind: "local", tool };
    }
    case "bare": {
      const tool = visibleLocal(parts.tool, view);
      if (tool === undefined) return notFound(parts, view);
      if (!isShared(parts.tool, view)) return { kind: "local", tool };
      const candidates = [`local.${parts.tool}`];
      for (const holder of holdersOf(parts.tool, view)) {
        if (candidates.push(holder) === MAX_CANDIDATES) break;
      }
      return { kind: "ambiguous", candidates };
    }
  }
}

/**
 * The last source whose server has the tool wins, whatever that server's state is: while it restarts, or after it was
 * given up, its tool still hides that of an earlier source, and no call goes elsewhere without a word. A server without
 * a list hides nothing, except while it starts: then it may turn out to have the tool.
 */
function resolveFull<S extends RoutedServer>(
  name: string,
  parts: NameParts & { kind: "mcp" | "alias" },
  view: RouterView<S>,
): Resolution<S> {
  let gone: Resolution<S> | undefined;
  for (let at = view.sources.length - 1; at >= 0; at--) {
    const { source, servers } = view.sources[at]!;
    const server = servers.get(parts.server);
    if (server === undefined) continue;
    const { catalog, state } = server;
    const reason = refusalOf(server);
    if (catalog === undefined) {
      if (!STANDINGS[state].unknown) continue;
      if (reason === undefined) return { kind: "wait", source, server, tool: name };
      gone ??= { kind: "gone", source, server, state, reason };
      continue;
    }
    const tool = parts.kind === "mcp" ? parts.tool : catalog.byAliasTail(parts.tail)?.name;
    const entry = tool === undefined ? undefined : toolOf(server, tool);
    if (entry === undefined || view.isVisible?.(entry.qualified, entry.alias) === false) continue;
    if (reason === undefined) return { kind: "mcp", source, server, entry };
    return { kind: "gone", source, server, state, reason, entry };
  }
  return gone ?? notFound(parts, view);
}

function visibleLocal(name: string, view: RouterView): CheckedLocalTool | undefined {
  const tool = view.localTools.get(name);
  return tool === undefined || view.isVisible?.(`local.${name}`) === false ? undefined : tool;
}

function notFound(parts: NameParts, view: RouterView): { kind: "not_found"; suggestions: readonly string[] } {
  return { kind: "not_found", suggestions: suggestNames(parts, view) };
}

/**
 * True for the bare name of a local tool that an MCP tool of the view has too, whatever the state of its server: a name
 * must not change its meaning because a server restarts.
 */
export function isShared(name: string, view: RouterView): boolean {
  const maybe = view.sources.some((source) =>
    source.version === undefined || sharedNames(source, source.version, view.localTools).has(name)
  );
  return maybe && !holdersOf(name, view).next().done;
}

interface SharedNames {
  readonly version: number;
  readonly localTools: ReadonlyMap<string, CheckedLocalTool>;
  readonly names: ReadonlySet<string>;
}
const sharedBySource = new WeakMap<RoutedSource, SharedNames>();

/** The names of local tools that some catalog of a source has too; worked out once for each version of the source. */
function sharedNames(
  source: RoutedSource,
  version: number,
  localTools: ReadonlyMap<string, CheckedLocalTool>,
): ReadonlySet<string> {
  const kept = sharedBySource.get(source);
  if (kept !== undefined && kept.version === version && kept.localTools === localTools) return kept.names;
  const names = new Set<string>();
  for (const { catalog } of source.servers.values()) {
    if (catalog === undefined) continue;
    for (const name of localTools.keys()) {
      if (catalog.byName(name) !== undefined) names.add(name);
    }
  }
  sharedBySource.set(source, { version, localTools, names });
  return names;
}
