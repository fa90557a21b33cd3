import { HostError } from "../../kernel/errors.ts";
import {
  aFilledText,
  aFlag,
  aText,
  type CheckedUse,
  checkOptions,
  hasMethods,
  having,
  option,
  type OptionRules,
  texts,
} from "../../kernel/options.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { FetchFunction } from "../../kernel/runtime.ts";
import type { KeyValue } from "../../store/key_value.ts";
import { memoryKeyValue } from "../../store/memory_kv.ts";
import type { TokenSource } from "../token_source.ts";
import type { OpenLogin } from "./grants.ts";
import { type OAuthConnection, oauthFor, type OAuthGrant, type OAuthOptions } from "./part.ts";

/** Who asks a person for consent. */
export interface LoginInteraction {
  /** Where the authorization server sends the person back to. */
  readonly redirectUri: string;
  readonly open: OpenLogin;
}

export interface OAuthPartOptions {
  /**
   * Without it nobody is asked: a server that wants a person's consent is `auth_required`, and the event of that name has
   * the scopes. The login is a part of the server's start and has to be done within its `startTimeoutMs`; who has logged
   * in over the same `store` before is not asked again.
   */
  readonly interaction?: LoginInteraction;
  /** Where registrations and tokens are kept. Default: in memory. */
  readonly store?: KeyValue;
  /** As people see it when they give consent. Default `portcullis`. */
  readonly clientName?: string;
  readonly clientMetadataUrl?: string;
  /** Hosts in private networks that discovery may go to. */
  readonly privateHosts?: readonly string[];
}

/** A server's part of the configuration, as far as it is of interest here. */
interface Configured {
  readonly name: string;
  readonly transport: { readonly type: string; readonly url?: string };
  readonly auth: { readonly type: string; readonly [key: string]: unknown };
}

interface Surroundings {
  readonly fetch: FetchFunction;
  readonly clock: Clock;
  addSecret(label: string, value: string): void;
}

/** What `createHost({ auth })` takes. */
export interface OAuthPart {
  readonly types: readonly string[];
  authorise(config: Configured, context: Surroundings): { readonly tokens: TokenSource; readonly fetch: FetchFunction };
}

/** What stands in `auth` of a server. */
interface AuthSettings {
  readonly type: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly issuer: string;
  readonly scope: string;
  readonly dpop: boolean;
  /** PKCS #8 in PEM, for `client_credentials`. */
  readonly privateKey: string;
  /** Of the private key. Default `ES256`. */
  readonly algorithm: string;
}

const partRules: OptionRules<OAuthPartOptions> = Object.freeze({
  interaction: option(
    "a redirectUri and a function open",
    (value) => hasMethods(value, ["open"]) && typeof (value as { redirectUri?: unknown }).redirectUri === "string",
  ),
  store: having("a key-value store", "get", "compareAndSet"),
  clientName: aFilledText,
  clientMetadataUrl: aFilledText,
  privateHosts: texts,
});
const settingRules: OptionRules<AuthSettings> = Object.freeze({
  type: aText,
  clientId: aFilledText,
  clientSecret: aFilledText,
  issuer: aFilledText,
  scope: aText,
  dpop: aFlag,
  privateKey: aFilledText,
  algorithm: aFilledText,
});

/**
 * Logs in to the servers of a host whose `auth.type` is `oauth` (a person gives consent) or `client_credentials`. Throws
 * `ERR_CONFIG` for options that it does not know.
 *
 * @example
 * ```ts
 * import { createHost } from "portcullis";
 * import { oauth } from "portcullis/auth";
 * import { nodeRuntime } from "portcullis/node";
 *
 * const host = await createHost({
 *   runtime: nodeRuntime(),
 *   auth: [oauth()],
 *   servers: [{
 *     name: "reports",
 *     url: "https://mcp.example.com/mcp",
 *     auth: { type: "client_credentials", clientId: "host-1", clientSecret: "..." },
 *   }],
 * });
 * ```
 */
export function oauth(options: OAuthPartOptions = {}): OAuthPart {
  checkOptions(options, partRules, { action: "log in by OAuth", code: "ERR_CONFIG" });
  const store = options.store ?? memoryKeyValue();
  return Object.freeze({
    types: Object.freeze(["oauth", "client_credentials"]),
    authorise(config: Configured, context: Surroundings) {
      const given = optionsFor(config, { ...options, store }, context);
      let made: Promise<OAuthConnection> | undefined;
      const connection = (): Promise<OAuthConnection> => made ??= oauthFor(given);
      const tokens: TokenSource = {
        authorization: async (url) => await (await connection()).tokens.authorization(url),
        renew: async (challenge, signal) => await (await connection()).tokens.renew(challenge, signal),
      };
      return { tokens, fetch: async (input: string, init?: RequestInit) => (await connection()).fetch(input, init) };
    },
  });
}

function optionsFor(
  { name, transport, auth }: Configured,
  options: OAuthPartOptions,
  context: Surroundings,
): OAuthOptions {
  const use: CheckedUse = { action: `log in to server "${name}"`, code: "ERR_CONFIG" };
  checkOptions<AuthSettings>(auth, settingRules, use);
  const { clientId, clientSecret, issuer, scope, dpop } = auth as Partial<AuthSettings>;
  const { store, clientName, clientMetadataUrl, privateHosts } = options;
  return {
    url: transport.url!,
    fetch: context.fetch,
    clock: context.clock,
    addSecret: (label, value) => context.addSecret(`${name}.${label}`, value),
    grant: grantOf(name, auth as Partial<AuthSettings>, options.interaction),
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(issuer === undefined ? {} : { issuer }),
    ...(scope === undefined ? {} : { scope }),
    ...(dpop === undefined ? {} : { dpop }),
    ...(store === undefined ? {} : { store }),
    ...(clientName === undefined ? {} : { clientName }),
    ...(clientMetadataUrl === undefined ? {} : { clientMetadataUrl }),
    ...(privateHosts === undefined ? {} : { privateHosts }),
  };
}

function grantOf(
  name: string,
  { type, clientSecret, privateKey, algorithm = "ES256" }: Partial<AuthSettings>,
  interaction: LoginInteraction | undefined,
): OAuthGrant {
  if (type !== "client_credentials") {
    const { redirectUri, open } = interaction ?? { redirectUri: "http://127.0.0.1/callback", open: nobody(name) };
    return { type: "authorization_code", redirectUri, open };
  }
  if (privateKey === undefined && clientSecret === undefined) {
    throw new HostError(
      "ERR_CONFIG",
      `Cannot log in to server "${name}": "auth.clientSecret" and "auth.privateKey" are missing, wanted one of them`,
    );
  }
  return privateKey === undefined
    ? { type: "client_credentials" }
    : { type: "client_credentials", privateKey: { pem: privateKey, algorithm } };
}

/** Says what a person would have to do. */
function nobody(name: string): OpenLogin {
  return ({ url }) => {
    const scopes = url.searchParams.get("scope")?.split(" ") ?? [];
    return Promise.reject(
      new HostError(
        "ERR_AUTH_REQUIRED",
        `Cannot log in to server "${name}": ${url.host} wants the consent of a person, hand "interaction" to oauth()`,
        { facts: { scopes } },
      ),
    );
  };
}
