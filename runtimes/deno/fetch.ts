import type { FetchFunction } from "../../src/kernel/runtime.ts";
import { blockedPort } from "../node/blocked_port.ts";
import { refusalOf } from "./permission.ts";

/**
 * Deno (2.9) sends a request again by itself when the kept connection that it went out on breaks, whether or not the
 * server has acted on it. A body that can be read only once keeps it from doing so; that of a blob still has a length.
 * Where Deno may not reach the server, a blob keeps the process alive for good: there a text fails as it should.
 */
export const fetchOnce: FetchFunction = async (url, init) => {
  try {
    return await fetch(
      url,
      typeof init?.body === "string" && isGranted(url) ? { ...init, body: new Blob([init.body]) } : init,
    );
  } catch (error) {
    throw blockedPort(error, url) ?? withCode(refusalOf(error, `send a request to ${new URL(url).host}`));
  }
};

function isGranted(url: string): boolean {
  const { protocol, hostname, port } = new URL(url);
  const host = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
  return Deno.permissions.querySync({ name: "net", host }).state === "granted";
}

/** Deno (2.9) says in words alone what the system answered. */
const CODES: readonly (readonly [words: RegExp, code: string])[] = Object.freeze([
  [/Connection refused|\(os error 111\)/, "ECONNREFUSED"],
  [/dns error/, "ENOTFOUND"],
]);

function withCode(error: unknown): unknown {
  if (!(error instanceof TypeError) || !(error.cause instanceof Error)) return error;
  const { message } = error.cause;
  // The request may have left by the time that any other connection breaks: only what fails to connect is told apart.
  const known = message.includes("client error (Connect)") ? CODES.find(([words]) => words.test(message)) : undefined;
  return known === undefined ? error : Object.assign(error, { code: known[1] });
}
