import { HostError, isHostError } from "../kernel/errors.ts";
import type { Reply } from "./reply.ts";

/** What a server says by its status: the body, or the headers, are too large (RFC 9110, RFC 6585). */
const WHAT: ReadonlyMap<unknown, string> = new Map([[413, "the request is"], [431, "the headers of the request are"]]);
const MAX_NAMED = 10;

/**
 * A reply as it is, but that a refusal for size says so, and names the headers that repeat arguments of the call: they
 * are what a caller can make smaller.
 */
export function explained(reply: Reply, method: string, mirrored: () => Readonly<Record<string, string>>): Reply {
  if (reply.kind !== "failed" || !isHostError(reply.error, "ERR_PROTOCOL")) return reply;
  const { status } = reply.error.facts;
  const what = WHAT.get(status);
  if (what === undefined) return reply;
  const headers = Object.entries(mirrored());
  const named = headers.slice(0, MAX_NAMED).map(([name, value]) => `${name} (${value.length} characters)`);
  const message = `Server refused ${method}: status ${status}, ${what} too large${
    named.length === 0 ? "" : `; headers repeat arguments of the call: ${named.join(", ")}`
  }`;
  const facts = { ...reply.error.facts, mirrored: headers.map(([name]) => name) };
  return { ...reply, error: new HostError("ERR_TOO_LARGE", message, { cause: reply.error, facts }) };
}
