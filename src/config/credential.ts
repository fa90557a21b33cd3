import { isSecretName, MIN_SECRET_LENGTH } from "../kernel/secrets.ts";

/** What well-known issuers begin their tokens with, and as many characters as no ordinary word has. */
const TOKEN =
  /(?<![A-Za-z0-9])(?:sk[-_]|gh[opsur]_|github_pat_|glpat-|xox[abeoprs]-|npm_|hf_|AKIA|AIza|ya29\.|eyJ)[A-Za-z0-9_.-]{16}/;

/**
 * True for a text that should not stand in a file that people share: it begins like a token, its name says that it is a
 * secret, or it is a URL that carries one. A warning rests on it and nothing else, so it need not be right each time.
 */
export function looksLikeCredential(text: string, name: string | undefined): boolean {
  if (TOKEN.test(text)) return true;
  if (/^https?:\/\//i.test(text)) return hasCredential(text);
  const [, option, value] = /^--?([A-Za-z][\w-]*)=([^]+)$/.exec(text) ?? [];
  if (option !== undefined) return isNamedSecret(option, value!);
  return name !== undefined && isNamedSecret(name, text);
}

/** `["--token", "abc"]`: the option that names the second. */
export function flagBefore(args: readonly unknown[], index: number): string | undefined {
  const before = args[index - 1];
  return typeof before === "string" ? /^--?([^=]+)$/.exec(before)?.[1] : undefined;
}

function isNamedSecret(name: string, value: string): boolean {
  return value.length >= MIN_SECRET_LENGTH && isSecretName(name);
}

function hasCredential(text: string): boolean {
  try {
    const url = new URL(text);
    return url.password !== "" || [...url.searchParams].some(([name, value]) => isNamedSecret(name, value));
  } catch {
    // Not a URL: whoever uses it says so.
    return false;
  }
}
