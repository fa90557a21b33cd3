import {
  authorizationCodeGrantRequest,
  type AuthorizationServer,
  calculatePKCECodeChallenge,
  type ClientAuth,
  clientCredentialsGrantRequest,
  generateRandomCodeVerifier,
  generateRandomState,
  genericTokenEndpointRequest,
  isDPoPNonceError,
  modifyAssertion,
  PrivateKeyJwt,
  processAuthorizationCodeResponse,
  processClientCredentialsResponse,
  processGenericTokenEndpointResponse,
  processRefreshTokenResponse,
  refreshTokenGrantRequest,
  type TokenEndpointResponse,
  validateAuthResponse,
} from "oauth4webapi";
import { HostError } from "../../kernel/errors.ts";
import { type Calling, calling, loginError } from "./calling.ts";
import type { ClientRecord } from "./records.ts";

/** What every grant is asked with. */
export interface GrantRequest {
  readonly server: AuthorizationServer;
  readonly client: ClientRecord;
  readonly auth: ClientAuth;
  /** RFC 8707; absent where the server has no metadata of a resource. */
  readonly resource: string | undefined;
  /** Separated by spaces. */
  readonly scope: string | undefined;
  readonly by: Calling;
}

/** Where a person is to give consent. */
export interface LoginAsk {
  /** An https address, or an http one of this machine. Whoever opens it passes it on whole, never through a shell. */
  readonly url: URL;
  /** Where the authorization server sends the person back to. */
  readonly redirectUri: string;
  readonly issuer: string;
  readonly signal: AbortSignal;
}

/**
 * Shows an address to a person and resolves to the one that they were sent back to, whole or its query alone. What it
 * rejects with ends the login.
 */
export type OpenLogin = (ask: LoginAsk) => Promise<string | URL>;

/** The authorization code grant with PKCE (RFC 6749, RFC 7636, RFC 9207). State and verifier live for one attempt. */
export async function codeGrant(
  { server, client, auth, resource, scope, by }: GrantRequest,
  redirectUri: string,
  open: OpenLogin,
): Promise<TokenEndpointResponse> {
  if (server.code_challenge_methods_supported?.includes("S256") !== true) {
    throw new HostError("ERR_AUTH_FAILED", "Cannot log in: the authorization server does not offer PKCE with S256");
  }
  if (server.authorization_endpoint === undefined) {
    throw new HostError("ERR_AUTH_FAILED", "Cannot log in: the authorization server has no authorization endpoint");
  }
  const url = by.web.check(server.authorization_endpoint, "the authorization endpoint");
  const [verifier, state] = [generateRandomCodeVerifier(), generateRandomState()];
  const parameters: Record<string, string | undefined> = {
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: redirectUri,
    code_challenge: await calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    resource,
    scope,
    // Without it the scope is left out silently (OpenID Connect Core, section 11).
    prompt: scope?.split(" ").includes("offline_access") === true ? "consent" : undefined,
  };
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) url.searchParams.set(name, value);
  const back = await open({ url, redirectUri, issuer: server.issuer, signal: by.signal });
  try {
    const found = validateAuthResponse(server, { client_id: client.clientId }, queryOf(back), state);
    const more = resource === undefined ? {} : { additionalParameters: { resource } };
    return await withNonce(async () =>
      await processAuthorizationCodeResponse(
        server,
        { client_id: client.clientId },
        await authorizationCodeGrantRequest(
          server,
          { client_id: client.clientId },
          auth,
          found,
          redirectUri,
          verifier,
          { ...calling(by), ...more },
        ),
      )
    );
  } catch (cause) {
    throw loginError("log in", cause);
  }
}

/** A person may paste the whole address, or what stands behind its question mark. */
function queryOf(back: string | URL): URLSearchParams {
  const text = String(back);
  if (URL.canParse(text)) return new URL(text).searchParams;
  return new URLSearchParams(text.replace(/^[^?]*\?/, ""));
}

/** A new access token for a refresh token (RFC 6749, section 6). */
export async function refreshGrant(
  { server, client, auth, resource, by }: GrantRequest,
  refreshToken: string,
): Promise<TokenEndpointResponse> {
  try {
    const more = resource === undefined ? {} : { additionalParameters: { resource } };
    return await withNonce(async () =>
      await processRefreshTokenResponse(
        server,
        { client_id: client.clientId },
        await refreshTokenGrantRequest(server, { client_id: client.clientId }, auth, refreshToken, {
          ...calling(by),
          ...more,
        }),
      )
    );
  } catch (cause) {
    throw loginError("refresh a token", cause);
  }
}

/** The client's own credentials (RFC 6749, section 4.4). */
export async function clientCredentialsGrant(
  { server, client, auth, resource, scope, by }: GrantRequest,
): Promise<TokenEndpointResponse> {
  try {
    return await withNonce(async () =>
      await processClientCredentialsResponse(
        server,
        { client_id: client.clientId },
        await clientCredentialsGrantRequest(
          server,
          { client_id: client.clientId },
          auth,
          present({ resource, scope }),
          calling(by),
        ),
      )
    );
  } catch (cause) {
    throw loginError("log in with client credentials", cause);
  }
}

/** An assertion of somebody else's (RFC 7523, section 2.1). */
export async function assertionGrant(
  { server, client, auth, resource, scope, by }: GrantRequest,
  assertion: string,
): Promise<TokenEndpointResponse> {
  try {
    const grant = "urn:ietf:params:oauth:grant-type:jwt-bearer";
    return await withNonce(async () =>
      await processGenericTokenEndpointResponse(
        server,
        { client_id: client.clientId },
        await genericTokenEndpointRequest(
          server,
          { client_id: client.clientId },
          auth,
          grant,
          present({ assertion, resource, scope }),
          calling(by),
        ),
      )
    );
  } catch (cause) {
    throw loginError("log in with an assertion", cause);
  }
}

/** What is needed to have an enterprise's identity provider vouch for a person. */
export interface IdentityProvider {
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly clientId: string;
  readonly clientSecret?: string;
}

/** Exchanges an ID token for an assertion that the MCP server's authorization server takes (ID-JAG). */
export async function identityAssertion(
  provider: IdentityProvider,
  auth: ClientAuth,
  idToken: string,
  { server, resource, scope, by }: Pick<GrantRequest, "server" | "resource" | "scope" | "by">,
): Promise<string> {
  const idp: AuthorizationServer = { issuer: provider.issuer, token_endpoint: provider.tokenEndpoint };
  const type = "urn:ietf:params:oauth:token-type:";
  try {
    const answer = await withNonce(async () =>
      await processGenericTokenEndpointResponse(
        idp,
        { client_id: provider.clientId },
        await genericTokenEndpointRequest(
          idp,
          { client_id: provider.clientId },
          auth,
          "urn:ietf:params:oauth:grant-type:token-exchange",
          present({
            subject_token: idToken,
            subject_token_type: `${type}id_token`,
            requested_token_type: `${type}id-jag`,
            audience: server.issuer,
            resource,
            scope,
          }),
          calling(by),
        ),
        { recognizedTokenTypes: { n_a: () => {} } },
      )
    );
    return answer.access_token;
  } catch (cause) {
    throw loginError("have the identity provider vouch", cause);
  }
}

/** A key that the client signs its own assertions with. */
export async function signedAuth(pem: string, algorithm: string, issuer: string): Promise<ClientAuth> {
  const der = Uint8Array.from(atob(pem.replace(/-----[^-]*-----|\s/g, "")), (char) => char.charCodeAt(0));
  const parameters = ALGORITHMS[algorithm];
  if (parameters === undefined) {
    throw new HostError("ERR_CONFIG", `Cannot sign as a client: wanted ${Object.keys(ALGORITHMS).join(", ")}`);
  }
  const key = await crypto.subtle.importKey("pkcs8", der, parameters, false, ["sign"]);
  return PrivateKeyJwt(key, {
    [modifyAssertion]: (_header, payload) => {
      payload["aud"] = issuer;
    },
  });
}

const ALGORITHMS: Readonly<Record<string, { readonly name: string; readonly [member: string]: string }>> = {
  ES256: { name: "ECDSA", namedCurve: "P-256" },
  ES384: { name: "ECDSA", namedCurve: "P-384" },
  RS256: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
  PS256: { name: "RSA-PSS", hash: "SHA-256" },
  EdDSA: { name: "Ed25519" },
};

/** Asks again where the server wants a nonce of its own in the proof (RFC 9449, section 8): nothing was granted then. */
async function withNonce<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!isDPoPNonceError(error)) throw error;
    return await ask();
  }
}

function present(members: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
