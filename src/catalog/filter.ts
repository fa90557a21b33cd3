import { matchesGlob } from "../kernel/glob.ts";

/**
 * Which tools of a server the user wants: globs over the server's own names of its tools. An empty `allow` lets all
 * pass; `deny` beats `allow`.
 */
export interface ToolFilter {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** True where a filter lets a tool pass. What it does not let pass is treated as if its server did not offer it. */
export function passesFilter(filter: ToolFilter, tool: string): boolean {
  if (filter.deny.some((pattern) => matchesGlob(pattern, tool))) return false;
  return filter.allow.length === 0 || filter.allow.some((pattern) => matchesGlob(pattern, tool));
}
