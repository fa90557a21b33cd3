import process from "node:process";

/** A copy of this process's environment variables. */
export function processEnvironment(): Record<string, string> {
  const copy: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined) copy[name] = value;
  }
  return copy;
}
