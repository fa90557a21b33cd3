import type { JsonObject } from "./model.ts";
import { asObject } from "./results.ts";
import type { CheckedTrace } from "./trace.ts";

/** Levels of a server's log messages, from RFC 5424. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/**
 * The parameters with the trace of the request, and `more`, in their metadata. What the caller has put there himself stays;
 * where it is no object, nothing is added: whoever writes it out refuses it.
 */
export function withMeta(
  params: JsonObject | undefined,
  trace: CheckedTrace | undefined,
  more: JsonObject,
): JsonObject | undefined {
  const { _meta: given = {} } = params ?? {};
  const meta = asObject(given);
  return meta === undefined ? params : { ...params, _meta: { ...more, ...trace, ...meta } };
}
