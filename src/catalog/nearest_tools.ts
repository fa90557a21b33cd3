import type { NameParts } from "./names.ts";
import { type RouterView, toolOf } from "./router_view.ts";

/** Names that are suggested for one that does not exist. */
const MAX_SUGGESTIONS = 5;
/** Tools that are compared with it: a wrong name must not cost more than a right one by the size of all catalogs. */
const MAX_COMPARED = 2000;
const MAX_TYPED_LENGTH = 96;
/** No more letters than this are wrong in a typing error. */
const MAX_DISTANCE = 6;

/**
 * Exact names for one that nothing has: those of the tools that have it as their own name at some server, and where it
 * is no bare name or nobody has it, those that are nearest to it. Best first, at most five, the same every time.
 */
export function suggestNames(given: NameParts, view: RouterView): readonly string[] {
  const parts = given.kind === "bare" ? asFull(given.tool) ?? given : given;
  const found = [...holdersOf(toolPart(parts), view)].slice(0, MAX_SUGGESTIONS);
  if (parts.kind === "bare" && found.length > 0) return found;
  for (const name of nearest(parts, view)) {
    if (found.length === MAX_SUGGESTIONS) break;
    if (!found.includes(name)) found.push(name);
  }
  return found;
}

/** A name that others spell `server/tool`, `server.tool` or `server:tool`. */
function asFull(name: string): NameParts | undefined {
  const [, server, tool] = /^(?:mcp[./:])?([A-Za-z0-9_-]{1,32})[./:](.{1,256})$/.exec(name) ?? [];
  return server === undefined || tool === undefined ? undefined : { kind: "mcp", server, tool };
}

/** Full names of the MCP tools whose own name this is, in the order of the sources. Walks all servers. */
export function* holdersOf(tool: string, view: RouterView): Generator<string> {
  const seen = new Set<string>();
  for (const source of view.sources) {
    for (const server of source.servers.values()) {
      const entry = toolOf(server, tool);
      const name = entry?.qualified;
      if (name === undefined || seen.has(name) || view.isVisible?.(name, entry?.alias) === false) continue;
      seen.add(name);
      yield name;
    }
  }
}

function nearest(parts: NameParts, view: RouterView): string[] {
  const isFull = parts.kind === "mcp" || parts.kind === "alias";
  const typed = (isFull ? `${parts.server}.${toolPart(parts)}` : parts.tool).toLowerCase();
  if (typed.length > MAX_TYPED_LENGTH) return [];
  const limit = Math.min(MAX_DISTANCE, Math.max(2, Math.floor(typed.length / 3)));
  const close = new Map<string, number>();
  for (const [candidate, name] of comparable(isFull, view)) {
    const distance = editDistance(typed, candidate.toLowerCase(), limit);
    if (distance <= limit && view.isVisible?.(name) !== false) close.set(name, distance);
  }
  return [...close].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1)).map(([name]) => name);
}

/** What a mistyped name is compared with, and the exact name that goes with it. */
function* comparable(isFull: boolean, view: RouterView): Generator<readonly [candidate: string, name: string]> {
  let left = MAX_COMPARED;
  if (!isFull) {
    for (const name of view.localTools.keys()) {
      if (left-- > 0) yield [name, `local.${name}`];
    }
  }
  for (const source of view.sources) {
    for (const server of source.servers.values()) {
      for (const { name, qualified } of server.catalog?.entries() ?? []) {
        if (left-- <= 0) return;
        if (toolOf(server, name) !== undefined) yield [isFull ? `${server.name}.${name}` : name, qualified];
      }
    }
  }
}

function toolPart(parts: NameParts): string {
  return parts.kind === "alias" ? parts.tail : parts.tool;
}

/**
 * Insertions, deletions and replacements that turn one text into the other; more than `limit` counts as `limit + 1`.
 * Only the cells are worked out that a distance within the limit can pass through.
 */
function editDistance(a: string, b: string, limit: number): number {
  const beyond = limit + 1;
  if (Math.abs(a.length - b.length) > limit) return beyond;
  let row = new Uint8Array(b.length + 1).fill(beyond);
  let next = new Uint8Array(b.length + 1);
  for (let j = 0; j <= Math.min(limit, b.length); j++) row[j] = j;
  for (let i = 1; i <= a.length; i++) {
    const first = Math.max(1, i - limit);
    let least = next.fill(beyond)[0] = Math.min(i, beyond);
    for (let j = first; j <= Math.min(b.length, i + limit); j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const cost = Math.min(replaced, row[j]! + 1, next[j - 1]! + 1, beyond);
      next[j] = cost;
      if (cost < least) least = cost;
    }
    if (least === beyond) return beyond;
    [row, next] = [next, row];
  }
  return row[b.length]!;
}
