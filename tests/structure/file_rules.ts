import type { SourceText, Violation } from "./source_text.ts";

/** Past this many lines a file of the product is refused. */
export const MAX_LINES = 400;
/** Past this many it is named, so that somebody looks for the second responsibility. */
export const LONG_LINES = 250;

const vague = new Set(["util", "utils", "helper", "helpers", "common", "misc"]);

/** Refuses names that are not snake_case, and names that say nothing. */
export function goodName({ path }: SourceText): Violation[] {
  const parts = path.split("/");
  const file = parts.pop()!;
  const stem = file.replace(/(\.(test|config))?\.(tsx?|mjs)$/, "");
  const at = (message: string): Violation[] => [{ path, line: 0, message }];
  const odd = [...parts.filter((part) => part !== ".ci"), stem].find((part) => !/^[a-z0-9]+(_[a-z0-9]+)*$/.test(part));
  if (odd !== undefined) return at(`"${odd}" is not snake_case`);
  return vague.has(stem) ? at(`"${stem}" does not say what is inside`) : [];
}

export function countLines(text: string): number {
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

/** Refuses files that want to be two. */
export function goodLength({ path, text }: SourceText): Violation[] {
  const lines = countLines(text);
  return lines > MAX_LINES
    ? [{ path, line: lines, message: `has ${lines} lines, at most ${MAX_LINES} are allowed` }]
    : [];
}

/** Refuses words that mark unfinished work. */
export function finished(file: SourceText): Violation[] {
  return byLine(file, /\b(TODO|FIXME|XXX|HACK)\b|\bfor now\b|\bnot implemented\b/, (word) => `says "${word}"`);
}

/** Refuses a focused test, which would silence all others. */
export function notFocused(file: SourceText): Violation[] {
  return byLine(file, /\b(it|test|describe|bench)(\.\w+)*\.only\(/, (call) => `focuses on one test with ${call}`);
}

/**
 * Makes the rule that refuses paths of the machine that the files were written on: the folders given, and any home
 * folder that is not a made-up one.
 */
export function noMachinePaths(folders: readonly string[]): (file: SourceText) => Violation[] {
  const here = folders.map((folder) => folder.replace(/[.+?^${}()|[\]\\]/g, "\\$&")).join("|");
  const own = here === "" ? "" : `(?<![\\w.~-])(?:${here})(?:/|(?![\\w.-]))|`;
  const home =
    "(?<![\\w.~-])/(?:home|Users)/(?!(?:me|you|user|someone|somebody|nobody|alice|bob|ada|dev)\\b)[a-z]\\w*|[A-Z]:\\\\+Users\\\\+(?!(?:me|you|user|ada)\\b)\\w+";
  const pattern = new RegExp(own + home);
  return (file) => byLine(file, pattern, (found) => `names the machine's path ${found}`);
}

/** Refuses hosts of package registries: packages come from wherever the user's own client is told to look. */
export function noRegistryHosts(file: SourceText): Violation[] {
  const host =
    /https?:\/\/[\w.-]*\b(?:registry|npmjs|yarnpkg|npmmirror|verdaccio|artifactory|jsr)\b[\w.-]*|\bregistry\.[a-z]+\.(?:org|com|io|dev)\b/;
  return byLine(file, host, (found) => `names the registry host ${found}`);
}

function byLine({ path, text }: SourceText, pattern: RegExp, message: (found: string) => string): Violation[] {
  return text.split("\n").flatMap((line, index) => {
    const match = pattern.exec(line);
    return match === null ? [] : [{ path, line: index + 1, message: message(match[0]) }];
  });
}
