import {
  type AuthorizationServer,
  type ClientAuth,
  ClientSecretPost,
  dynamicClientRegistrationRequest,
  None,
  processDynamicClientRegistrationResponse,
} from "oauth4webapi";
import { HostError } from "../../kernel/errors.ts";
import { type Calling, calling, loginError, oauthErrorOf } from "./calling.ts";
import { type ClientRecord, recordKey, type Records } from "./records.ts";

/** As whom a host logs in. */
export interface Identity {
  /** Registered beforehand, at this issuer; without `issuer` at the first that it is used with. */
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  readonly issuer?: string | undefined;
  /** An https address that holds the client's own metadata and is its id. */
  readonly clientMetadataUrl?: string | undefined;
  readonly clientName: string;
  readonly redirectUri: string;
}

/** A client as one authorization server knows it. */
export interface KnownClient extends ClientRecord {
  /** `new`: registered just now. */
  readonly source: "configured" | "metadata" | "registered" | "new";
}

/**
 * Who the host is at this authorization server: as configured, by its metadata document, or as registered there before or
 * now. What another issuer has given is never shown to this one.
 */
export async function knownClient(
  server: AuthorizationServer,
  identity: Identity,
  records: Records,
  by: Calling,
): Promise<KnownClient> {
  const { clientId, clientSecret, clientMetadataUrl } = identity;
  if (clientId !== undefined) {
    return { source: "configured", clientId, ...(clientSecret === undefined ? {} : { clientSecret }) };
  }
  if (clientMetadataUrl !== undefined && server["client_id_metadata_document_supported"] === true) {
    return { source: "metadata", clientId: clientMetadataUrl, method: "none" };
  }
  const key = await keyOf(server, identity);
  const known = await records.get<ClientRecord>(key);
  if (known !== undefined) return { source: "registered", ...known.value };
  if (server.registration_endpoint === undefined) {
    throw new HostError(
      "ERR_AUTH_REQUIRED",
      `Cannot log in: ${new URL(server.issuer).host} registers no clients, wanted a client id in the configuration`,
    );
  }
  const registered = await register(server, identity, by);
  await records.put(key, registered);
  return { source: "new", ...registered };
}

/**
 * Throws `ERR_AUTH_FAILED` before a configured client is shown to another issuer than its own: the configured one, else the
 * first that it was used with at this endpoint.
 */
export async function checkIssuer(
  { issuer }: AuthorizationServer,
  identity: Identity,
  endpoint: string,
  records: Records,
): Promise<void> {
  if (identity.clientId === undefined) return;
  const key = await recordKey("client", "configured", endpoint, identity.clientId);
  const its = identity.issuer ?? (await records.get<{ readonly issuer: string }>(key))?.value.issuer;
  if (its === undefined) return await records.put(key, { issuer });
  if (its !== issuer) {
    throw new HostError(
      "ERR_AUTH_FAILED",
      "Cannot log in: the server names another authorization server than the one that the configured client id is of",
    );
  }
}

/** True for an error by which a server says that it no longer knows a client that was registered there before. */
export function isForgotten(client: KnownClient | undefined, error: unknown): boolean {
  const code = oauthErrorOf(error);
  return client?.source === "registered" && (code === "invalid_client" || code === "unauthorized_client");
}

/** Forgets a registration that its server no longer knows. */
export async function forgetClient(server: AuthorizationServer, identity: Identity, records: Records): Promise<void> {
  await records.delete(await keyOf(server, identity));
}

function keyOf({ issuer }: AuthorizationServer, { redirectUri }: Identity): Promise<string> {
  return recordKey("client", issuer, redirectUri);
}

async function register(server: AuthorizationServer, identity: Identity, by: Calling): Promise<ClientRecord> {
  const { clientName, redirectUri } = identity;
  const isWeb = redirectUri.startsWith("https:");
  const method = supportedMethods(server).find((each) => METHODS.includes(each)) ?? "none";
  try {
    const answer = await dynamicClientRegistrationRequest(server, {
      client_name: clientName,
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: method,
      application_type: isWeb ? "web" : "native",
    }, calling(by));
    const { client_id, client_secret, token_endpoint_auth_method } = await processDynamicClientRegistrationResponse(
      await withExpiry(answer),
    );
    return {
      clientId: client_id,
      ...(typeof client_secret === "string" ? { clientSecret: client_secret } : {}),
      ...(typeof token_endpoint_auth_method === "string" ? { method: token_endpoint_auth_method } : { method }),
    };
  } catch (cause) {
    throw loginError("register a client", cause);
  }
}

/** In the order that they are preferred in when a client is to be registered. */
const METHODS: readonly string[] = ["none", "client_secret_basic", "client_secret_post"];

/** RFC 8414, section 2: basic where nothing is said. */
function supportedMethods(server: AuthorizationServer): readonly string[] {
  const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  return METHODS.filter((each) => methods.includes(each));
}

/** How this client proves itself at the token endpoint of this server. */
export function clientAuth(server: AuthorizationServer, { clientSecret, method }: ClientRecord): ClientAuth {
  const supported = supportedMethods(server);
  const chosen = method !== undefined && METHODS.includes(method)
    ? method
    : clientSecret === undefined
    ? "none"
    : supported.find((each) => each !== "none") ?? supported[0] ?? "client_secret_basic";
  if (chosen === "none" || clientSecret === undefined) return None();
  return chosen === "client_secret_post" ? ClientSecretPost(clientSecret) : secretBasic(clientSecret);
}

/**
 * RFC 6749, section 2.3.1, with no more escaped than a form escapes: servers that do not undo it take ids and secrets of
 * letters, digits and `*-._` as they are.
 */
function secretBasic(secret: string): ClientAuth {
  return (_server, { client_id }, _body, headers) => {
    headers.set("authorization", `Basic ${btoa(`${formEncoded(client_id)}:${formEncoded(secret)}`)}`);
  };
}

function formEncoded(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

/** Servers in the field leave out when a secret ends where it does not (RFC 7591, section 3.2.1). */
async function withExpiry(answer: Response): Promise<Response> {
  const text = await answer.text();
  const { status, headers } = answer;
  try {
    const { client_secret_expires_at: expiry = 0, ...others } = JSON.parse(text) as Record<string, unknown>;
    return new Response(JSON.stringify({ ...others, client_secret_expires_at: expiry }), { status, headers });
  } catch {
    return new Response(text, { status, headers }); // whoever reads it says what is wrong with it
  }
}
