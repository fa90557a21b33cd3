import { causeCode, HostError, isHostError } from "./errors.ts";

/** What the codes of systems and runtimes mean to the person who named a file. */
const WORDS: Readonly<Record<string, string>> = Object.freeze({
  ENOENT: "no such file",
  ENOTDIR: "no such file",
  EISDIR: "it is a directory",
  EACCES: "reading it is not permitted",
  EPERM: "reading it is not permitted",
});

/** Why a file could not be read, in words that are the same on every runtime. */
export function fileFault(cause: unknown): string {
  // An adapter that knows better says what it found.
  const found = isHostError(cause) ? cause.facts["found"] : undefined;
  if (typeof found === "string") return found;
  const code = causeCode(cause);
  return WORDS[code] ?? `the system answered ${code}`;
}

/** The same for the place that files are to be kept in. */
const PLACE_WORDS: Readonly<Record<string, string>> = Object.freeze({
  ENOTDIR: "lies in a file, wanted a directory",
  EEXIST: "is a file, wanted a directory",
  EACCES: "may not be used, wanted the permission to read and write there",
  EPERM: "may not be used, wanted the permission to read and write there",
  EROFS: "lies on a file system that is read-only",
  ENAMETOOLONG: "has too long a name",
});

/**
 * Which place cannot hold files, as far as the system says, and why: `"/x/log" is a file, wanted a directory`. Looks at the
 * causes of an error too; `undefined` where another place would not help.
 */
export function placeFault(error: unknown): string | undefined {
  for (let at = error, depth = 0; typeof at === "object" && at !== null && depth < 4; depth++) {
    const { code, path, cause } = at as { readonly code?: unknown; readonly path?: unknown; readonly cause?: unknown };
    const why = typeof code === "string" && Object.hasOwn(PLACE_WORDS, code) ? PLACE_WORDS[code] : undefined;
    if (why !== undefined) return `${typeof path === "string" ? JSON.stringify(path) : "its place"} ${why}`;
    at = cause;
  }
  return undefined;
}

/** The same error of ours, with the place at the end of its message. */
export function withPlace(error: unknown): unknown {
  const place = placeFault(error);
  if (place === undefined || !isHostError(error)) return error;
  return new HostError(error.code, `${error.message}: ${place}`, { cause: error.cause, facts: error.facts });
}
