import { HostError } from "../kernel/errors.ts";
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

declare const CHECKED: unique symbol;

/** A trace in the formats of the W3C, made by {@link traceContext}: a bundle that sends none does not pay for them. */
export interface CheckedTrace extends TraceContext {
  readonly [CHECKED]: true;
}

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

/**
 * A trace as requests take it. Throws `ERR_INVALID_ARGUMENTS` for one that is not in the formats of the W3C.
 *
 * @example
 * ```ts
 * import { type CheckedTrace, traceContext } from "portcullis/client";
 *
 * export function traceOf(headers: Headers): CheckedTrace | undefined {
 *   const traceparent = headers.get("traceparent");
 *   return traceparent === null ? undefined : traceContext({ traceparent });
 * }
 * ```
 */
export function traceContext({ traceparent, tracestate, baggage }: TraceContext): CheckedTrace {
  const given = {
    traceparent,
    ...(tracestate === undefined ? {} : { tracestate }),
    ...(baggage === undefined ? {} : { baggage }),
  };
  const wrong = Object.entries(given).find(([part, value]) => !isFine(part, value));
  if (wrong !== undefined) {
    throw new HostError("ERR_INVALID_ARGUMENTS", `Cannot send a trace: ${wrong[0]} is not in the format of the W3C`);
  }
  return Object.freeze(given) as CheckedTrace;
}

/** The trace that received metadata names; without the parts of it that are in no format of the W3C. */
export function readTrace(meta: unknown): CheckedTrace | undefined {
  const found = Object.entries(asObject(meta) ?? {}).filter(([part, value]) => isFine(part, value));
  const trace = Object.fromEntries(found) as Partial<CheckedTrace>;
  return trace.traceparent === undefined ? undefined : trace as CheckedTrace;
}

function isFine(part: string, value: unknown): boolean {
  return Object.hasOwn(TRACE, part) && typeof value === "string" && TRACE[part]!(value);
}

function listOf(value: string, member: RegExp, max: number): boolean {
  const members = value.split(",");
  return members.length <= max && members.every((each) => member.test(each.trim().replace(/[ \t]+/g, " ")));
}
