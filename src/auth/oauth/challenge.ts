import { customFetch, protectedResourceRequest, WWWAuthenticateChallengeError } from "oauth4webapi";

/** What a server wants of whoever calls it, as far as its refusal says (RFC 6750, RFC 9449, RFC 9728). */
export interface WantedCredentials {
  readonly scheme: "bearer" | "dpop";
  /** `insufficient_scope`, `invalid_token`, `use_dpop_nonce` and others. */
  readonly error: string | undefined;
  /** Scopes, separated by spaces. */
  readonly scope: string | undefined;
  /** Where the metadata of the protected resource is. */
  readonly resourceMetadata: string | undefined;
}

/**
 * Reads a `www-authenticate` header. Of several challenges the first one counts that a token can answer. `undefined` where
 * there is none, or where the header is no list of challenges.
 */
export async function readChallenge(header: string | undefined): Promise<WantedCredentials | undefined> {
  if (header === undefined) return undefined;
  for (const { scheme, parameters } of await challengesIn(header)) {
    const name = scheme.toLowerCase();
    if (name !== "bearer" && name !== "dpop") continue;
    const { error, scope, resource_metadata: resourceMetadata } = parameters;
    return { scheme: name, error, scope, resourceMetadata };
  }
  return undefined;
}

/** The library reads challenges in answers alone, so it is given one. */
async function challengesIn(header: string): Promise<WWWAuthenticateChallengeError["cause"]> {
  let answer: Response;
  try {
    answer = new Response(null, { status: 401, headers: { "www-authenticate": header } });
  } catch {
    return []; // nothing that a header may hold
  }
  try {
    await protectedResourceRequest("none", "GET", new URL("https://localhost/"), undefined, undefined, {
      [customFetch]: () => Promise.resolve(answer),
    });
  } catch (error) {
    if (error instanceof WWWAuthenticateChallengeError) return error.cause;
    throw error;
  }
  return [];
}
