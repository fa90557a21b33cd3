import { causeCode, isHostError } from "./errors.ts";

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
