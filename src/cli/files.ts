import { HostError, unsupported } from "../kernel/errors.ts";
import { fileFault, placeFault } from "../kernel/file_fault.ts";
import type { FileSystem } from "../kernel/runtime.ts";
import type { Terminal } from "./terminal.ts";

/** The files of this runtime. Throws `ERR_UNSUPPORTED_HERE` where there are none. */
export function filesOf({ runtime }: Terminal): FileSystem {
  if (runtime.files === undefined) throw unsupported("read files", "this runtime has no disk; use the library instead");
  return runtime.files;
}

/** Reads a file that the person named. Throws `ERR_CONFIG` when it cannot be read; `what` says what it was to be. */
export async function readTextFile(terminal: Terminal, path: string, what: string): Promise<string> {
  try {
    return await filesOf(terminal).readText(path);
  } catch (cause) {
    throw new HostError("ERR_CONFIG", `Cannot read ${what} "${path}": ${fileFault(cause)}`, { cause });
  }
}

/** A path as it is meant inside a file: relative to the directory of that file. */
export function besideFile(terminal: Terminal, file: string, ...names: readonly string[]): string {
  if (/^(?:[/\\]|[A-Za-z]:[/\\])/.test(names[0] ?? "")) return filesOf(terminal).join(...names);
  const end = Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\"));
  return end < 0
    ? filesOf(terminal).join(...names)
    : filesOf(terminal).join(end === 0 ? file[0]! : file.slice(0, end), ...names);
}

/** The error for a log that stands where none can be, which is a mistake of whoever typed its directory. */
export function logFault(action: string, cause: unknown): unknown {
  const place = placeFault(cause);
  return place === undefined ? cause : new HostError("ERR_CONFIG", `${action}: ${place}`, { cause });
}
