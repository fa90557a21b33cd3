import type { JSONPath } from "jsonc-parser";
import type { ErrorCode } from "../kernel/errors.ts";
import { formatPath } from "./locate.ts";

/** Something in a configuration file that its writer should know about. */
export interface ConfigProblem {
  /**
   * `fatal`: nothing may start, since what the file asks for as a whole is unknown. `error`: the named server, or the
   * named section, is left out and the rest goes on. `warning`: nothing is left out.
   */
  readonly severity: "fatal" | "error" | "warning";
  readonly code: ErrorCode;
  /** As the caller named it. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units. */
  readonly column: number;
  /** Such as `mcpServers.files.args[1]`; empty for the file as a whole. */
  readonly path: string;
  /** The entry under `mcpServers` that it is about. */
  readonly server?: string;
  /** What was found and what was wanted. Holds no value of the file that may be a secret. */
  readonly detail: string;
  /** All of it on one line: `mcp.config.json:4:5: mcpServers.files: unknown key "comand", did you mean "command"` */
  readonly message: string;
}

/** A problem before its place in the file is known. */
export interface Fault {
  readonly severity: ConfigProblem["severity"];
  readonly code: ErrorCode;
  readonly path: JSONPath;
  /** Points at the key instead of its value: the key itself is wrong. */
  readonly atKey?: boolean;
  /** Set where the path alone does not say where: broken text, and the second of two equal keys. */
  readonly offset?: number;
  readonly detail: string;
}

/** A fault that leaves out one server or one section. */
export function fault(path: JSONPath, detail: string, more: Partial<Fault> = {}): Fault {
  return { severity: "error", code: "ERR_CONFIG", path, detail, ...more };
}

/** The entry under `mcpServers` that a path leads into. */
export function serverOf(path: JSONPath): string | undefined {
  return path[0] === "mcpServers" && typeof path[1] === "string" ? path[1] : undefined;
}

/** A fault with its place. */
export function problem(
  of: Fault,
  file: string,
  place: { readonly line: number; readonly column: number },
): ConfigProblem {
  const path = formatPath(of.path);
  const server = serverOf(of.path);
  return {
    severity: of.severity,
    code: of.code,
    file,
    line: place.line,
    column: place.column,
    path,
    ...(server === undefined ? {} : { server }),
    detail: of.detail,
    message: `${file}:${place.line}:${place.column}: ${path === "" ? "" : `${path}: `}${of.detail}`,
  };
}
