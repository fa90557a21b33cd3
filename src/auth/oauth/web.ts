import { untilAborted } from "../../kernel/abort.ts";
import type { Clock } from "../../kernel/clock.ts";
import { causeCode, HostError, isHostError } from "../../kernel/errors.ts";
import type { FetchFunction } from "../../kernel/runtime.ts";

/** Most bytes of one document or answer. */
const MAX_BYTES = 1 << 20;
const TIMEOUT_MS = 30_000;

/** How authorization servers and metadata are reached. */
export interface WebOptions {
  readonly fetch: FetchFunction;
  readonly clock: Clock;
  /** Hosts that may be in a private network though a server names them: `auth.internal`, `10.0.0.8:8443`. */
  readonly privateHosts: readonly string[];
}

/** A fetch for addresses that others name: bounded, without redirects, and not into private networks. */
export interface Web {
  /** Throws `ERR_AUTH_FAILED` with what was refused, or what the network said. The whole body is there. */
  fetch(url: string, init: WebRequest, signal: AbortSignal): Promise<Response>;
  /** Throws `ERR_AUTH_FAILED` for an address that nothing is sent to. */
  check(url: string, what: string): URL;
}

export interface WebRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * Makes a {@link Web} for one MCP server. Its own host is one that the user has configured: discovery may go there even if
 * it is a private one.
 */
export function webFor(endpoint: string, { fetch, clock, privateHosts }: WebOptions): Web {
  const own = new URL(endpoint);
  const check = (text: string, what: string): URL => {
    if (!URL.canParse(text)) throw refused(what, "it is no URL");
    const url = new URL(text);
    if (url.username !== "" || url.password !== "") throw refused(what, "it carries credentials");
    const isKnown = url.hostname === own.hostname || privateHosts.includes(url.host) ||
      privateHosts.includes(url.hostname);
    if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname) && isKnownLoopback(own))) {
      throw refused(what, `it is ${url.protocol} at ${url.host}, wanted https:`);
    }
    if (!isKnown && isPrivate(url.hostname) && !(isLoopback(url.hostname) && isKnownLoopback(own))) {
      throw refused(what, `${url.host} is in a private network; name it in "privateHosts" if that is meant`);
    }
    return url;
  };
  return {
    check,
    async fetch(text, init, signal) {
      const url = check(text, "the address");
      const controller = new AbortController();
      const timer = clock.after(TIMEOUT_MS, () => controller.abort());
      const leave = (): void => controller.abort(signal.reason);
      signal.addEventListener("abort", leave);
      if (signal.aborted) leave();
      try {
        // Whoever made the fetch may not look at its signal.
        return await untilAborted(exchange(fetch, url, init, controller.signal), "Login", controller.signal);
      } catch (cause) {
        if (isHostError(cause, "ERR_AUTH_FAILED")) throw cause;
        const why = signal.aborted
          ? "its caller has given up"
          : controller.signal.aborted
          ? `no answer within ${TIMEOUT_MS} ms`
          : `the network answered ${causeCode(cause)}`;
        throw new HostError("ERR_AUTH_FAILED", `Cannot log in: ${url.host} was not reached, ${why}`, { cause });
      } finally {
        timer.cancel();
        signal.removeEventListener("abort", leave);
      }
    },
  };
}

async function exchange(
  fetch: FetchFunction,
  url: URL,
  { method, headers, body }: WebRequest,
  signal: AbortSignal,
): Promise<Response> {
  const answer = await fetch(url.href, { method, headers, body: body ?? null, redirect: "manual", signal });
  if (answer.status >= 300 && answer.status < 400 || answer.type === "opaqueredirect") {
    await answer.body?.cancel();
    throw new HostError("ERR_AUTH_FAILED", `Cannot log in: ${url.host} redirects, which is not followed`);
  }
  const bytes = await bodyOf(answer, url);
  return new Response(bytes.byteLength === 0 ? null : bytes, { status: answer.status, headers: answer.headers });
}

async function bodyOf(answer: Response, url: URL): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = answer.body?.getReader();
  for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
    length += part.value.byteLength;
    if (length > MAX_BYTES) {
      await reader?.cancel();
      throw new HostError("ERR_AUTH_FAILED", `Cannot log in: ${url.host} sends more than ${MAX_BYTES} bytes`);
    }
    parts.push(part.value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.byteLength;
  }
  return bytes;
}

function isKnownLoopback(own: URL): boolean {
  return isLoopback(own.hostname);
}

/** This machine itself. */
export function isLoopback(hostname: string): boolean {
  const name = hostname.replace(/\.$/, "");
  return name === "localhost" || name.endsWith(".localhost") || name === "[::1]" ||
    /^127(?:\.\d+){3}$/.test(name);
}

/** True for addresses that nobody outside reaches, and for those that clouds keep their secrets at. */
export function isPrivate(given: string): boolean {
  const hostname = given.replace(/\.$/, "");
  if (isLoopback(hostname) || /(?:^|\.)(?:internal|local|localdomain|home\.arpa)$/.test(hostname)) return true;
  if (!hostname.includes(".") && !hostname.startsWith("[")) return true;
  if (hostname.startsWith("[")) return isPrivateV6(hostname.slice(1, -1));
  // A URL writes every IPv4 address in this form, whatever form it was given in.
  const parts = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(hostname);
  return parts !== null && isPrivateV4(Number(parts[1]), Number(parts[2]), Number(parts[3]));
}

function isPrivateV4(a: number, b: number, c: number): boolean {
  return a === 0 || a === 10 || a === 127 || (a === 100 && b >= 64 && b < 128) || (a === 169 && b === 254) ||
    (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168) || (a === 192 && b === 0 && c === 0) ||
    (a === 198 && (b === 18 || b === 19)) || a >= 224;
}

function isPrivateV6(address: string): boolean {
  const mapped = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(address);
  if (mapped !== null) {
    const [high, low] = [Number.parseInt(mapped[1]!, 16), Number.parseInt(mapped[2]!, 16)];
    return isPrivateV4(high >> 8, high & 255, low >> 8);
  }
  return address === "::" || address === "::1" || /^f[cd]|^fe[89a-f]|^ff/.test(address);
}

function refused(what: string, why: string): HostError {
  return new HostError("ERR_AUTH_FAILED", `Cannot log in: ${what} is not used, ${why}`);
}
