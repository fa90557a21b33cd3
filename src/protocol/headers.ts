import { HostError } from "../kernel/errors.ts";
import { asObject } from "./results.ts";

/** The member of the parameters that `Mcp-Name` repeats, by method (2026-07-28, basic/transports, standard headers). */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** The value for `Mcp-Name`, or `undefined` where the method has none. */
export function nameHeader(method: string, params: unknown): string | undefined {
  const member = NAMED_BY.get(method);
  const value = member === undefined ? undefined : asObject(params)?.[member];
  return typeof value === "string" ? encodeHeaderValue(value) : undefined;
}

/**
 * A text as a header value: as it is when it is plain visible ASCII, else its UTF-8 in base64 between the markers
 * `=?base64?` and `?=` (2026-07-28, basic/transports, value encoding). A text that looks like the marked form is wrapped too.
 * Throws `ERR_INVALID_ARGUMENTS` for a text with half a surrogate pair: it has no UTF-8, and header and body would differ.
 */
export function encodeHeaderValue(text: string): string {
  if (/\p{Cs}/u.test(text)) {
    throw new HostError("ERR_INVALID_ARGUMENTS", "Cannot repeat a text in a header: found half a surrogate pair");
  }
  const plain = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/.test(text);
  if (plain && !(text.startsWith("=?base64?") && text.endsWith("?="))) return text;
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return `=?base64?${btoa(binary)}?=`;
}
