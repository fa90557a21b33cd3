import {
  allowInsecureRequests,
  customFetch,
  type DPoPHandle,
  protectedResourceRequest,
  WWWAuthenticateChallengeError,
} from "oauth4webapi";
import type { FetchFunction } from "../../kernel/runtime.ts";

/**
 * A fetch that tells of requests that were let through and, where the token is bound to a key, proves for each request that
 * it has the key (RFC 9449): with a proof of its own, and once more where the server wants another nonce in it.
 */
export function showing(fetch: FetchFunction, accepted: () => void, dpop: DPoPHandle | undefined): FetchFunction {
  return async (input, init) => {
    const response = await proved(fetch, dpop)(input, init);
    if (response.status < 400) accepted();
    return response;
  };
}

function proved(fetch: FetchFunction, dpop: DPoPHandle | undefined): FetchFunction {
  if (dpop === undefined) return fetch;
  return async (input, init) => {
    const { authorization, ...headers } = (init?.headers ?? {}) as Record<string, string>;
    const token = authorization === undefined ? undefined : /^DPoP (.+)$/.exec(authorization)?.[1];
    if (token === undefined) return await fetch(input, init);
    const send = async (): Promise<Response> => {
      try {
        return await protectedResourceRequest(
          token,
          init?.method ?? "GET",
          new URL(input),
          new Headers(headers),
          null,
          {
            DPoP: dpop,
            [allowInsecureRequests]: true, // the endpoint is the user's own word
            [customFetch]: (url, made) => fetch(url, { ...init, headers: made.headers }),
          },
        );
      } catch (error) {
        if (error instanceof WWWAuthenticateChallengeError) return error.response;
        throw error;
      }
    };
    const response = await send();
    if (!/\buse_dpop_nonce\b/.test(response.headers.get("www-authenticate") ?? "")) return response;
    // It was refused for its proof alone; the library has kept the nonce that the next one needs.
    await response.body?.cancel();
    return await send();
  };
}
