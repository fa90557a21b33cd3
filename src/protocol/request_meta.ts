import { HostError } from "../kernel/errors.ts";
import type { JsonObject } from "./model.ts";
import { asObject } from "./results.ts";

/**
 * Where a request stands in a distributed trace (W3C Trace Context, W3C Baggage; 2026-07-28, `_meta`). Servers get it as
 * it is given.
 */
export interface TraceContext {
  /** `00-<32 hex>-<16 hex>-<2 hex>` */
  readonly traceparent: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

/** Levels of a server's log messages, from RFC 5424. */
export type LogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** A name of metadata: an optional prefix of labels, then a name (basic, `_meta`). */
const LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
const NAME = "[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?";
const META_KEY = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*/(?:${NAME})?|${NAME})$`);
const EXTENSION_ID = new RegExp(`^${LABEL}(?:\\.${LABEL})*/${NAME}$`);

const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/;
const STATE_KEY = "(?:[a-z][\\w*/-]{0,255}|[a-z\\d][\\w*/-]{0,240}@[a-z][\\w*/-]{0,13})";
const STATE_MEMBER = new RegExp(
  `^(?:${STATE_KEY}=[\\x20-\\x2b\\x2d-\\x3c\\x3e-\\x7e]{0,255}[\\x21-\\x2b\\x2d-\\x3c\\x3e-\\x7e])?$`,
);
const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const OCTETS = "[\\x21\\x23-\\x2b\\x2d-\\x3a\\x3c-\\x5b\\x5d-\\x7e]*";
const BAGGAGE_MEMBER = new RegExp(`^${TOKEN} ?= ?${OCTETS}(?: ?; ?${TOKEN}(?: ?= ?${OCTETS})?)*$`);
const MAX_BAGGAGE = 8192;
const MAX_MEMBERS = 180;

const TRACE: Readonly<Record<string, (value: string) => boolean>> = Object.freeze({
  traceparent: (value) => TRACEPARENT.test(value),
  tracestate: (value) => listOf(value, STATE_MEMBER, 32),
  baggage: (value) => value.length <= MAX_BAGGAGE && listOf(value, BAGGAGE_MEMBER, MAX_MEMBERS),
});

/** What is wrong with metadata that goes out; nothing when it may. */
export function faultOfMeta(meta: JsonObject): string | undefined {
  for (const [key, value] of Object.entries(meta)) {
    if (!META_KEY.test(key)) {
      return `_meta has the key ${JSON.stringify(key.slice(0, 100))}, which is no name of metadata`;
    }
    const isFine = Object.hasOwn(TRACE, key) ? TRACE[key] : undefined;
    if (isFine !== undefined && value !== undefined && !(typeof value === "string" && isFine(value))) {
      return `${key} is not in the format of the W3C`;
    }
  }
  return undefined;
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
  trace: TraceContext | undefined,
  more: JsonObject,
): JsonObject {
  const given = params?.["_meta"];
  const { traceparent, tracestate, baggage } = trace ?? {};
  const meta: JsonObject = { ...more, traceparent, tracestate, baggage, ...asObject(given) };
  const fault = given !== undefined && asObject(given) === undefined ? "_meta is no object" : faultOfMeta(meta);
  if (fault !== undefined) {
    throw new HostError("ERR_INVALID_ARGUMENTS", `Cannot send metadata: ${fault}`);
  }
  return { ...params, _meta: meta };
}

/** The trace that received metadata names; without the parts of it that are in no format of the W3C. */
export function readTrace(meta: unknown): TraceContext | undefined {
  const found = Object.entries(asObject(meta) ?? {}).filter(([key, value]) =>
    Object.hasOwn(TRACE, key) && typeof value === "string" && TRACE[key]!(value)
  );
  const trace = Object.fromEntries(found) as Partial<TraceContext>;
  return trace.traceparent === undefined ? undefined : trace as TraceContext;
}

function listOf(value: string, member: RegExp, max: number): boolean {
  const members = value.split(",");
  return members.length <= max && members.every((each) => member.test(each.trim().replace(/[ \t]+/g, " ")));
}
