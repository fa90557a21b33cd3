import {
  allowInsecureRequests,
  AuthorizationResponseError,
  customFetch,
  type DPoPHandle,
  ResponseBodyError,
} from "oauth4webapi";
import { causeCode, HostError, isHostError } from "../../kernel/errors.ts";
import type { Web } from "./web.ts";

/** Through what requests to an authorization server go. */
export interface Calling {
  readonly web: Web;
  readonly signal: AbortSignal;
  readonly dpop?: DPoPHandle | undefined;
}

/** The options of a request that the library makes: through our own bounded fetch, which also decides about plain HTTP. */
export function calling({ web, signal, dpop }: Calling): {
  readonly [customFetch]: (url: string, init: {
    readonly method: string;
    readonly headers: Record<string, string>;
    readonly body?: unknown;
  }) => Promise<Response>;
  readonly [allowInsecureRequests]: true;
  readonly DPoP?: DPoPHandle;
} {
  return {
    [customFetch]: (url, { method, headers, body }) =>
      web.fetch(
        url,
        { method, headers, ...(body === undefined || body === null ? {} : { body: String(body) }) },
        signal,
      ),
    [allowInsecureRequests]: true,
    ...(dpop === undefined ? {} : { DPoP: dpop }),
  };
}

/** The error of an OAuth answer, such as `invalid_grant`; `undefined` for any other failure. */
export function oauthErrorOf(error: unknown): string | undefined {
  const cause = isHostError(error) ? error.cause : error;
  if (cause instanceof ResponseBodyError) return cause.error;
  if (cause instanceof AuthorizationResponseError) return cause.error;
  return undefined;
}

/** Whatever went wrong, as one of our errors. What the server has written is not in it, save a code of known form. */
export function loginError(action: string, cause: unknown): HostError {
  if (isHostError(cause)) return cause;
  const code = oauthErrorOf(cause);
  const isKnownForm = code !== undefined && /^[a-z_]{1,64}$/.test(code);
  return new HostError(
    "ERR_AUTH_FAILED",
    `Cannot ${action}: ${isKnownForm ? `the server answered ${code}` : causeCode(cause)}`,
    { cause, facts: isKnownForm ? { error: code } : {} },
  );
}
