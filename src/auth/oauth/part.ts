import { type ClientAuth, DPoP, generateKeyPair } from "oauth4webapi";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { HostError } from "../../kernel/errors.ts";
import { type Ids, randomIds } from "../../kernel/ids.ts";
import type { FetchFunction } from "../../kernel/runtime.ts";
import type { KeyValue } from "../../store/key_value.ts";
import { memoryKeyValue } from "../../store/memory_kv.ts";
import type { TokenSource } from "../token_source.ts";
import { clientAuth, type Identity, knownClient } from "./client_id.ts";
import {
  assertionGrant,
  clientCredentialsGrant,
  codeGrant,
  identityAssertion,
  type IdentityProvider,
  type OpenLogin,
  signedAuth,
} from "./grants.ts";
import { Records } from "./records.ts";
import { showing } from "./shown.ts";
import { type Login, OAuthSource } from "./source.ts";
import { webFor } from "./web.ts";

/** A text, or what gives one each time that it is needed: a secret manager, a file that somebody rotates. */
export type TextSource = string | (() => string | Promise<string>);

/** How tokens are got. */
export type OAuthGrant =
  /** A person gives consent (default). */
  | { readonly type: "authorization_code"; readonly open: OpenLogin; readonly redirectUri: string }
  /** The client's own credentials: a secret, or a key that it signs assertions with. */
  | {
    readonly type: "client_credentials";
    readonly clientSecret?: TextSource;
    /** PKCS #8 in PEM, and its algorithm, such as `ES256`. */
    readonly privateKey?: { readonly pem: TextSource; readonly algorithm: string };
  }
  /** A JWT of the platform that the host runs on vouches for it (RFC 7523). Each one is shown once. */
  | { readonly type: "jwt_bearer"; readonly assertion: () => string | Promise<string> }
  /** The identity provider of an enterprise vouches for a person who has logged in there. */
  | {
    readonly type: "enterprise";
    readonly provider: IdentityProvider;
    readonly idToken: () => string | Promise<string>;
    readonly clientSecret?: TextSource;
  };

/** What a login at one MCP server rests on. */
export interface OAuthOptions {
  /** The address of the MCP server. */
  readonly url: string;
  readonly fetch: FetchFunction;
  readonly grant: OAuthGrant;
  /** Registered beforehand, at `issuer`. Default: by metadata document, else by registering. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly issuer?: string;
  readonly clientMetadataUrl?: string;
  /** As people see it when they give consent. Default `portcullis`. */
  readonly clientName?: string;
  /** In the place of the scopes that the server's metadata names. */
  readonly scope?: string;
  /** Whose login it is, where several share one store. */
  readonly subject?: string;
  /** Where registrations and tokens are kept. Default: in memory. */
  readonly store?: KeyValue;
  /** Binds tokens to a key of this process (RFC 9449). Default false. */
  readonly dpop?: boolean;
  /** Hosts in private networks that discovery may go to. */
  readonly privateHosts?: readonly string[];
  readonly clock?: Clock;
  readonly ids?: Ids;
  /** Told of each credential, so that it never shows. */
  readonly addSecret?: (label: string, value: string) => void;
}

/** What a dialer is given: `httpDialer({ url, ...await oauthFor(options) })`. */
export interface OAuthConnection {
  readonly tokens: TokenSource;
  readonly fetch: FetchFunction;
}

/**
 * Logs in to one MCP server by OAuth 2.1, whenever it wants that (basic/authorization): finds its authorization server,
 * registers where it must, and keeps tokens fresh. Nothing is sent before the first request is refused. What fails throws
 * `ERR_AUTH_FAILED` out of the request that needed it, or `ERR_AUTH_REQUIRED` with what a person has to do.
 */
export async function oauthFor(options: OAuthOptions): Promise<OAuthConnection> {
  const { url, fetch, clock = systemClock, ids = randomIds, grant } = options;
  const addSecret = options.addSecret ?? (() => {});
  const dpop = options.dpop === true ? DPoP({}, await generateKeyPair("ES256")) : undefined;
  const identity: Identity = {
    clientId: options.clientId,
    clientSecret: options.clientSecret,
    issuer: options.issuer,
    clientMetadataUrl: options.clientMetadataUrl,
    clientName: options.clientName ?? "portcullis",
    redirectUri: grant.type === "authorization_code" ? grant.redirectUri : "http://127.0.0.1/",
  };
  const records = new Records(options.store ?? memoryKeyValue());
  const source = new OAuthSource({
    endpoint: url,
    subject: options.subject ?? "",
    identity,
    login: loginBy(grant, identity, records),
    scope: options.scope,
    web: webFor(url, { fetch, clock, privateHosts: options.privateHosts ?? [] }),
    records,
    clock,
    ids,
    dpop,
    addSecret,
  });
  return { tokens: source, fetch: showing(fetch, () => source.accepted(), dpop) };
}

function loginBy(grant: OAuthGrant, identity: Identity, records: Records): Login {
  const configured = (): string => {
    if (identity.clientId !== undefined) return identity.clientId;
    throw new HostError("ERR_CONFIG", `Cannot log in by ${grant.type}: "clientId" is missing`);
  };
  switch (grant.type) {
    case "authorization_code":
      return {
        widens: true,
        isPersons: true,
        client: (server, by) => knownClient(server, identity, records, by),
        grant: (request, client) =>
          codeGrant(
            { ...request, client: client!, auth: clientAuth(request.server, client!) },
            grant.redirectUri,
            grant.open,
          ),
      };
    case "client_credentials":
      return {
        widens: true,
        isPersons: false,
        grant: async (request) => {
          const client = { clientId: configured() };
          const { privateKey } = grant;
          const auth = privateKey === undefined
            ? await secretAuth(request.server, grant.clientSecret ?? identity.clientSecret, client.clientId)
            : await signedAuth(await textOf(privateKey.pem), privateKey.algorithm, request.server.issuer);
          return await clientCredentialsGrant({ ...request, client, auth });
        },
      };
    case "jwt_bearer":
      return {
        widens: false,
        isPersons: false,
        grant: async (request) => {
          const client = { clientId: configured() };
          const auth = clientAuth(request.server, client);
          return await assertionGrant({ ...request, client, auth }, await grant.assertion());
        },
      };
    case "enterprise":
      return {
        widens: true,
        isPersons: false,
        grant: async (request) => {
          const client = { clientId: configured() };
          const auth = await secretAuth(request.server, grant.clientSecret ?? identity.clientSecret, client.clientId);
          const { provider } = grant;
          const own = clientAuth({ issuer: provider.issuer }, provider);
          const assertion = await identityAssertion(provider, own, await grant.idToken(), request);
          return await assertionGrant({ ...request, client, auth }, assertion);
        },
      };
  }
}

async function secretAuth(
  server: Parameters<typeof clientAuth>[0],
  secret: TextSource | undefined,
  clientId: string,
): Promise<ClientAuth> {
  return clientAuth(server, secret === undefined ? { clientId } : { clientId, clientSecret: await textOf(secret) });
}

async function textOf(source: TextSource): Promise<string> {
  return typeof source === "string" ? source : await source();
}
