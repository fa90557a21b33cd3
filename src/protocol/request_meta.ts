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

/** What is wrong with metadata that goes out; nothing when it may. */
export function faultOfMeta(meta: JsonObject): string | undefined {
  const wrong = Object.keys(meta).find((key) => !META_KEY.test(key));
  return wrong === undefined ? undefined : `found the name ${JSON.stringify(wrong.slice(0, 100))}`;
}

/** True for the name of an extension: with a prefix, unlike other metadata. */
export function isExtensionId(id: string): boolean {
  return EXTENSION_ID.test(id);
}

/** Throws `ERR_INVALID_ARGUMENTS` when an extension is declared under a name that is none. */
export function checkExtensions(capabilities: JsonObject): void {
  const wrong = Object.keys(asObject(capabilities["extensions"]) ?? {}).find((id) => !isExtensionId(id));
  if (wrong === undefined) return;
  const found = JSON.stringify(wrong.slice(0, 100));
  throw new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot declare an extension: found the name ${found}, wanted one with a prefix, such as "com.example/name"`,
  );
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
  const fault = meta === undefined ? `found a ${typeof given}, wanted an object` : faultOfMeta(meta);
  if (fault !== undefined) {
    throw new HostError("ERR_INVALID_ARGUMENTS", `Cannot send metadata: ${fault}`);
  }
  return { ...params, _meta: { ...more, ...trace, ...meta } };
}
