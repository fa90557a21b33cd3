import { HostError } from "../../src/kernel/errors.ts";
import type { FileSystem } from "../../src/kernel/runtime.ts";

/** Deno's refusal as an error that names the flag; any other error as it is. */
export function refusalOf(error: unknown, action: string): unknown {
  if (!(error instanceof Error) || error.name !== "NotCapable") return error;
  const flag = /--allow-[a-z]+/.exec(error.message)?.[0] ?? "--allow-all";
  const found = `Deno does not permit it; start it with ${flag}`;
  // `repeats`: nothing has been sent, so that whoever waits is told as if it had been refused.
  return new HostError("ERR_UNSUPPORTED_HERE", `Cannot ${action}: ${found}`, {
    cause: error,
    facts: { found, repeats: true },
  });
}

/** The same files, whose refusals name the flag. */
export function filesWithin(files: FileSystem): FileSystem {
  const named = <A extends readonly [string, ...unknown[]], R>(use: (...args: A) => Promise<R>) =>
  async (
    ...args: A
  ): Promise<R> => {
    try {
      return await use(...args);
    } catch (error) {
      throw refusalOf(error, `use ${JSON.stringify(args[0])}`);
    }
  };
  return Object.freeze({
    makeDirectory: named(files.makeDirectory),
    list: named(files.list),
    readText: named(files.readText),
    open: named(files.open),
    rename: named(files.rename),
    remove: named(files.remove),
    syncDirectory: named(files.syncDirectory),
    join: files.join,
  });
}
