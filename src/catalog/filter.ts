import { matchesGlob } from "../kernel/glob.ts";
import { aliasName, qualifiedName, splitName } from "./names.ts";

/**
 * Which tools the user wants: globs that fit a tool by any spelling of its name. An empty `allow` lets all pass; `deny`
 * beats `allow`.
 */
export interface ToolFilter {
  readonly allow: readonly string[];
  readonly deny: readonly string[];
}

/** True where a filter lets a tool pass. What it does not let pass is treated as if its server did not offer it. */
export function passesFilter({ allow, deny }: ToolFilter, spellings: readonly string[]): boolean {
  const fits = (pattern: string): boolean => spellings.some((name) => matchesGlob(pattern, name));
  return !deny.some(fits) && (allow.length === 0 || allow.some(fits));
}

/** Every name of a server's tool, its own one first. */
export function spellingsOfTool(server: string, tool: string, alias: string = aliasName(server, tool)): string[] {
  return [tool, qualifiedName(server, tool), alias];
}

/** Every name of what has this full one, `mcp.<server>.<tool>` or `local.<name>`. */
export function spellingsOf(qualified: string, alias?: string): string[] {
  const parts = splitName(qualified);
  if (parts.kind === "mcp") return spellingsOfTool(parts.server, parts.tool, alias);
  if (parts.kind === "local") return [parts.tool, qualified, `local__${parts.tool}`];
  return [qualified];
}
