import { sha256Text } from "../kernel/canonical.ts";

/** Most characters in the name of a server. */
export const MAX_SERVER_NAME_LENGTH = 32;
/** Most characters in a tool's own name. */
export const MAX_TOOL_NAME_LENGTH = 256;
/** Most characters in an alias: what the strictest model APIs take. */
export const MAX_ALIAS_LENGTH = 64;

/** A tool's name, taken apart. `tool` is a name as its owner knows it, `tail` the part of an alias after the server. */
export type NameParts =
  | { readonly kind: "mcp"; readonly server: string; readonly tool: string }
  | { readonly kind: "alias"; readonly server: string; readonly tail: string }
  | { readonly kind: "local"; readonly tool: string }
  | { readonly kind: "bare"; readonly tool: string };

const PORTABLE = /^[A-Za-z0-9_-]+$/;
const RESERVED: ReadonlySet<string> = new Set(["mcp", "local"]);
const BASE_32 = "0123456789abcdefghjkmnpqrstvwxyz";
const HASH_SUFFIX = /_h[0-9a-hjkmnp-tv-z]{10}$/;
/** Controls, format characters, lone surrogates, line and paragraph separators: nothing of it can be seen in a name. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/**
 * What is wrong with the name of a server, as the end of a sentence that begins with the name; `undefined` for a good
 * one. A name has 1 to 32 of `[A-Za-z0-9_-]`, no `__` and no `_` at its end, so that both spellings of its tools can be
 * taken apart in one way only. `mcp` and `local` are taken.
 */
export function checkServerName(name: unknown): string | undefined {
  if (typeof name !== "string") return `is ${name === null ? "null" : typeof name}, wanted a string`;
  if (name === "") return `is empty, wanted 1 to ${MAX_SERVER_NAME_LENGTH} characters`;
  if (name.length > MAX_SERVER_NAME_LENGTH) {
    return `has ${name.length} characters, wanted at most ${MAX_SERVER_NAME_LENGTH}`;
  }
  if (!PORTABLE.test(name)) {
    const [found] = /[^A-Za-z0-9_-]/u.exec(name)!;
    return `contains ${visible(found)}, wanted only letters, digits, "_" and "-"`;
  }
  if (name.includes("__")) return `contains "__", which divides the parts of an alias`;
  if (name.endsWith("_")) return `ends in "_", which would hide where its tools begin`;
  if (RESERVED.has(name)) return `is taken, wanted any name but "mcp" and "local"`;
  return undefined;
}

/**
 * What is wrong with a tool's own name, as {@link checkServerName} says it. A tool may have any printable character in
 * its name, up to 256.
 */
export function checkToolName(name: unknown): string | undefined {
  if (typeof name !== "string") return `is ${name === null ? "null" : typeof name}, wanted a string`;
  if (name === "") return `is empty, wanted 1 to ${MAX_TOOL_NAME_LENGTH} characters`;
  if (name.length > MAX_TOOL_NAME_LENGTH) {
    return `has ${name.length} characters, wanted at most ${MAX_TOOL_NAME_LENGTH}`;
  }
  const found = UNPRINTABLE.exec(name);
  return found === null ? undefined : `contains ${visible(found[0])}, wanted printable characters only`;
}

/** The name that identifies a tool everywhere: `mcp.<server>.<tool>`. */
export function qualifiedName(server: string, tool: string): string {
  return `mcp.${server}.${tool}`;
}

/** The name of a tool for model APIs: `mcp__<server>__<tail>`. */
export function aliasName(server: string, tail: string): string {
  return `mcp__${server}__${tail}`;
}

/**
 * The part of a tool's alias after its server: the tool's own name where an alias can carry it, else a readable rest of
 * it and ten characters of its hash. A name that already ends like our suffix gets one too, so no name can be chosen to
 * meet the alias of another. Depends on nothing but its arguments.
 */
export async function aliasTail(server: string, tool: string): Promise<string> {
  if (isPlainTail(server, tool)) return tool;
  const digest = (await sha256Text(tool)).slice("sha256:".length);
  let suffix = "_h";
  for (let at = 0; at < 20; at += 2) suffix += BASE_32[parseInt(digest.slice(at, at + 2), 16) & 31]!;
  const readable = tool.replace(/[^A-Za-z0-9_-]/gu, "_");
  return readable.slice(0, tailRoom(server) - suffix.length) + suffix;
}

/** True where a tool's own name is the tail of its alias. */
export function isPlainTail(server: string, tool: string): boolean {
  return tool.length <= tailRoom(server) && PORTABLE.test(tool) && !HASH_SUFFIX.test(tool);
}

function tailRoom(server: string): number {
  return MAX_ALIAS_LENGTH - aliasName(server, "").length;
}

/**
 * Takes a name apart by its form alone; whether such a tool exists is another question. What has none of the exact
 * forms is a bare name.
 */
export function splitName(name: string): NameParts {
  if (name.startsWith("mcp.")) {
    const dot = name.indexOf(".", 4);
    const server = name.slice(4, dot);
    if (dot > 0 && dot + 1 < name.length && isServerName(server)) {
      return { kind: "mcp", server, tool: name.slice(dot + 1) };
    }
  } else if (name.startsWith("mcp__")) {
    const bar = name.indexOf("__", 5);
    const server = name.slice(5, bar);
    if (bar > 0 && bar + 2 < name.length && isServerName(server)) {
      return { kind: "alias", server, tail: name.slice(bar + 2) };
    }
  } else if (name.startsWith("local.") || name.startsWith("local__")) {
    const tool = name.slice(name[5] === "." ? 6 : 7);
    if (tool !== "") return { kind: "local", tool };
  }
  return { kind: "bare", tool: name };
}

function isServerName(name: string): boolean {
  return name.length <= MAX_SERVER_NAME_LENGTH && PORTABLE.test(name);
}

/** A character as a message may show it: quoted, or its code point where it cannot be seen. */
function visible(character: string): string {
  if (!UNPRINTABLE.test(character) && character !== " ") return `"${character}"`;
  return `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** A name that is not good, as a report may show it: short, and with a mark for what cannot be seen. */
export function shownName(name: unknown): string {
  if (typeof name !== "string") return "";
  return name.slice(0, 128).replace(new RegExp(UNPRINTABLE, "gu"), "\ufffd");
}
