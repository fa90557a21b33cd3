import { HostError } from "../kernel/errors.ts";
import type { JsonObject } from "./model.ts";
import { asObject } from "./results.ts";
import type { CheckedTrace } from "./trace.ts";

/** Levels of a server's log messages, from RFC 5424. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** A name of metadata: an optional prefix of labels, then a name (basic, `_meta`). */
const LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
const NAME = "[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?";
const META_KEY = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*/(?:${NAME})?|${NAME})$`);
const EXTENSION_ID = new RegExp(`^${LABEL}(?:\\.${LABEL})*/${NAME}$`);

/** Throws `ERR_INVALID_ARGUMENTS` when an extension is declared under a name that is none: it wants a prefix. */
export function checkExtensions(capabilities: JsonObject): void {
  checkNames("declare an extension", asObject(capabilities["extensions"]) ?? {}, EXTENSION_ID);
}

/**
 * The parameters with the trace of the request, and `more`, in their metadata. What the caller has put there himself stays.
 * Throws `ERR_INVALID_ARGUMENTS` for metadata that must not go out.
 */
export function withMeta(
  params: JsonObject | undefined,
  trace: CheckedTrace | undefined,
  more: JsonObject,
): JsonObject {
  const { _meta: given = {} } = params ?? {};
  const meta = asObject(given);
  if (meta === undefined) throw unusable("send metadata", `a ${typeof given}`);
  checkNames("send metadata", meta, META_KEY);
  return { ...params, _meta: { ...more, ...trace, ...meta } };
}

function checkNames(action: string, named: JsonObject, pattern: RegExp): void {
  const wrong = Object.keys(named).find((name) => !pattern.test(name));
  if (wrong !== undefined) throw unusable(action, `the name ${JSON.stringify(wrong.slice(0, 100))}`);
}

function unusable(action: string, found: string): HostError {
  const wanted = 'an object with names such as "com.example/name"';
  return new HostError("ERR_INVALID_ARGUMENTS", `Cannot ${action}: found ${found}, wanted ${wanted}`);
}
