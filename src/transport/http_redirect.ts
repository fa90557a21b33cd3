import { HostError } from "../kernel/errors.ts";
import type { FetchFunction } from "../kernel/runtime.ts";
import { dropBody } from "./http_body.ts";

/** Where requests go; a permanent or temporary redirect within the origin is remembered for the connection. */
export interface RedirectTarget {
  url: string;
}

const MAX_HOPS = 5;

/**
 * Sends a request and follows 307 and 308 within the same origin with method, headers and body unchanged. Any other
 * redirect is an error that names its target: credentials never go to another origin, and no POST becomes a GET.
 */
export async function followRedirects(
  fetch: FetchFunction,
  target: RedirectTarget,
  init: RequestInit,
): Promise<Response> {
  let { url } = target;
  for (let hops = 0;; hops++) {
    const response = await fetch(url, init);
    const { status } = response;
    if (status < 300 || status > 399) {
      target.url = url;
      return response;
    }
    const { origin } = new URL(target.url);
    const location = response.headers.get("location");
    dropBody(response);
    const next = location !== null && URL.canParse(location, url) ? new URL(location, url) : undefined;
    const repeats = status === 307 || status === 308;
    // An address with a user in it begins otherwise: no fetch takes one.
    if (!repeats || !next?.href.startsWith(`${origin}/`) || hops >= MAX_HOPS) {
      const where = next === undefined ? "nowhere usable" : next.origin + next.pathname;
      throw new HostError(
        "ERR_PROTOCOL",
        `Cannot follow a redirect: found status ${status} to ${where}, wanted 307 or 308 within ${origin}, up to ${MAX_HOPS}`,
        { facts: { status, repeats } },
      );
    }
    url = next.href;
  }
}

/** Throws `ERR_INVALID_ARGUMENTS` for what is no address over HTTP. Quotes nothing: it may hold a secret. */
export function httpUrl(text: string): URL {
  if (/^https?:/i.test(text) && URL.canParse(text)) return new URL(text);
  throw new HostError("ERR_INVALID_ARGUMENTS", "Cannot reach the server: found no url of https: or http:");
}
