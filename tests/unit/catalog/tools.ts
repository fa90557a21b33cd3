import { buildCatalog, type Catalog } from "../../../src/catalog/catalog.ts";
import { type CheckedLocalTool, createLocalTools } from "../../../src/catalog/local_tool.ts";
import type { RoutedServer, RoutedSource, RouterView } from "../../../src/catalog/router_view.ts";

/** A tool's definition that has nothing but what it must have. */
export function definition(name: string): { name: string; inputSchema: { type: string } } {
  return { name, inputSchema: { type: "object" } };
}

export async function catalogOf(server: string, ...tools: readonly string[]): Promise<Catalog> {
  const { catalog, rejected } = await buildCatalog(server, tools.map(definition));
  if (rejected.length > 0) throw new Error(JSON.stringify(rejected));
  return catalog;
}

type ServerParts = Partial<{
  state: RoutedServer["state"];
  catalog: Catalog | undefined;
  reconnect: "never" | "lazy";
  allow: readonly string[];
  deny: readonly string[];
}>;

/** A server as the router sees it, ready unless it is said otherwise. */
export function server(name: string, parts: ServerParts = {}): RoutedServer {
  const { state = "ready", catalog, reconnect = "never", allow = [], deny = [] } = parts;
  return { name, state, catalog, config: { tools: { allow, deny }, reconnect } };
}

export function source(name: string, ...servers: readonly RoutedServer[]): RoutedSource {
  return { source: name, servers: new Map(servers.map((each) => [each.name, each])) };
}

export function localTools(...names: readonly string[]): ReadonlyMap<string, CheckedLocalTool> {
  return createLocalTools(
    names.map((name) => ({ name, risk: "read", inputSchema: { type: "object" }, run: () => name })),
  );
}

export function view(sources: readonly RoutedSource[], ...locals: readonly string[]): RouterView {
  return { sources, localTools: localTools(...locals) };
}
