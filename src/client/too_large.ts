import { HostError, isHostError } from "../kernel/errors.ts";
import type { Reply } from "./reply.ts";

const MAX_NAMED = 10;

/**
 * A reply as it is, but that a refusal for size says so (RFC 9110, RFC 6585), and names the headers that repeat arguments
 * of the call, with their lengths: they are what a caller can make smaller.
 */
export function explained(reply: Reply, method: string, mirrored: () => Readonly<Record<string, string>>): Reply {
  if (reply.kind !== "failed" || !isHostError(reply.error, "ERR_PROTOCOL")) return reply;
  const { status } = reply.error.facts;
  if (status !== 413 && status !== 431) return reply;
  const lengths = Object.entries(mirrored()).map(([name, value]) => [name, value.length] as const);
  const named = lengths.slice(0, MAX_NAMED).map(([name, length]) => ` (${name}: ${length} characters)`).join("");
  const found = `status ${status}, its ${status === 413 ? "body is" : `headers are`} too large${named}`;
  const facts = { ...reply.error.facts, mirrored: lengths.map(([name]) => name) };
  const error = new HostError("ERR_TOO_LARGE", `Server refused ${method}: ${found}`, { cause: reply.error, facts });
  return { ...reply, error };
}
