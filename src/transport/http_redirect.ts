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
    const next = location === null ? undefined : parse(location, url);
    const repeats = status === 307 || status === 308;
    if (next === undefined || !repeats || next.origin !== origin || hops >= MAX_HOPS) {
      const where = next === undefined ? "nowhere usable" : `${next.origin}${next.pathname}`;
      throw new HostError(
        "ERR_PROTOCOL",
        `Cannot follow a redirect: found status ${status} to ${where}, wanted 307 or 308 within ${origin} and at most ${MAX_HOPS} hops`,
        { facts: { status, repeats } },
      );
    }
    url = next.href;
  }
}

function parse(location: string, base: string): URL | undefined {
  try {
    return new URL(location, base);
  } catch {
    // A location that is no URL leads nowhere.
    return undefined;
  }
}
