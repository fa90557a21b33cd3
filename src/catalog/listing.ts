import type { CatalogEntry } from "./catalog.ts";
import type { CheckedLocalTool } from "./local_tool.ts";
import { isShared } from "./router.ts";
import { type RoutedServer, type RouterView, STANDINGS, toolOf } from "./router_view.ts";

/** A tool that a session sees, under the two spellings that are sure to resolve to it. */
export type ListedTool<S extends RoutedServer = RoutedServer> =
  & {
    /** `mcp.<server>.<tool>`; of a local tool its bare name, or `local.<name>` where the bare one would be refused. */
    readonly qualified: string;
    /** `mcp__<server>__<tool>`; of a local tool its bare name, or `local__<name>` where the bare one would be refused. */
    readonly alias: string;
  }
  & (
    | { readonly kind: "mcp"; readonly source: string; readonly server: S; readonly entry: CatalogEntry }
    | { readonly kind: "local"; readonly tool: CheckedLocalTool }
  );

/**
 * What a session sees at this moment: local tools first, then those of each source in order, without what a later
 * source hides, what the user's filters leave out and what a server's state takes off the list.
 */
export function* listTools<S extends RoutedServer>(view: RouterView<S>): Generator<ListedTool<S>> {
  for (const [name, tool] of view.localTools) {
    if (view.isVisible?.(`local.${name}`) === false) continue;
    const exact = isShared(name, view);
    yield { kind: "local", tool, qualified: exact ? `local.${name}` : name, alias: exact ? `local__${name}` : name };
  }
  for (const [at, { source, servers }] of view.sources.entries()) {
    for (const server of servers.values()) {
      if (server.catalog === undefined || !STANDINGS[server.state].listed) continue;
      const later = view.sources.slice(at + 1).flatMap((above) => above.servers.get(server.name) ?? []);
      for (const entry of server.catalog.entries()) {
        if (toolOf(server, entry.name) === undefined) continue;
        if (later.some((other) => toolOf(other, entry.name) !== undefined)) continue;
        const { qualified, alias } = entry;
        if (view.isVisible?.(qualified, alias) === false) continue;
        yield { kind: "mcp", source, server, entry, qualified, alias };
      }
    }
  }
}
