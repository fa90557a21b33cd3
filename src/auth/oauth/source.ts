import type { AuthorizationServer, DPoPHandle, TokenEndpointResponse } from "oauth4webapi";
import { type Clock, sleep } from "../../kernel/clock.ts";
import { untilAborted } from "../../kernel/abort.ts";
import { HostError } from "../../kernel/errors.ts";
import type { Ids } from "../../kernel/ids.ts";
import type { Challenge, TokenSource } from "../token_source.ts";
import { type Calling, oauthErrorOf } from "./calling.ts";
import { readChallenge, type WantedCredentials } from "./challenge.ts";
import { checkIssuer, clientAuth, forgetClient, type Identity, isForgotten, type KnownClient } from "./client_id.ts";
import { discoverOwn, discoverResource, discoverServer, findServer } from "./discovery.ts";
import { type GrantRequest, refreshGrant } from "./grants.ts";
import { isExpired, recordKey, type Records, type Stored, type TokenRecord, unionOf } from "./records.ts";
import type { Web } from "./web.ts";

/** How a token is got where there is none, or none that suffices. */
export interface Login {
  /** Whoever the host is at this server; the grants that have a client of their own do without. */
  client?(server: AuthorizationServer, by: Calling): Promise<KnownClient>;
  grant(
    request: Omit<GrantRequest, "auth" | "client">,
    client: KnownClient | undefined,
  ): Promise<TokenEndpointResponse>;
  /** A wider scope can be asked for. */
  readonly widens: boolean;
  /** A person gives consent, who is not there when the token has run out. */
  readonly isPersons: boolean;
}

export interface SourceOptions {
  readonly endpoint: string;
  /** Keeps apart what several people have at one server. */
  readonly subject: string;
  readonly identity: Identity;
  readonly login: Login;
  /** In the place of what the server names. */
  readonly scope?: string | undefined;
  readonly web: Web;
  readonly records: Records;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly dpop?: DPoPHandle | undefined;
  readonly addSecret: (label: string, value: string) => void;
}

/** Which authorization server and resource an endpoint has turned out to have. */
interface Place {
  readonly issuer: string;
  readonly resource?: string;
}

/** Somebody is at it. */
interface Renewal {
  readonly controller: AbortController;
  readonly end: Promise<boolean>;
  /** It refreshes, and does not log in where that fails. */
  readonly isPartly: boolean;
  waiting: number;
}

/** The scope that brings a refresh token where a server lists it (OpenID Connect Core, section 11). */
const OFFLINE = "offline_access";
/** Attempts to log in that may follow one another without a request that was let through. */
const MAX_LOGINS = 3;
/** How long an exchange of a refresh token may take before others take it over, and how often they look meanwhile. */
const LEASE_MS = 45_000;
const LOOK_MS = 100;
/** Errors of a token endpoint that say nothing about the refresh token. */
const PASSING: ReadonlySet<string> = new Set(["temporarily_unavailable", "server_error", "slow_down"]);

/**
 * Credentials by OAuth 2.1 for one endpoint and one subject (basic/authorization). Logs in when it is refused, refreshes
 * before a token expires, and widens its scope when that is asked for. Whoever is refused while another call is at it waits
 * for that one; so do other processes on the same records while a refresh token is exchanged.
 */
export class OAuthSource implements TokenSource {
  readonly #options: SourceOptions;
  #token: TokenRecord | undefined;
  #renewal: Renewal | undefined;
  #logins = 0;
  /** What the last login has brought, until a request with it is let through. */
  #unproven: string | undefined;
  /** What the last refresh after a refusal has brought, until it is let through: another refresh would not help it. */
  #refreshedTo: string | undefined;

  constructor(options: SourceOptions) {
    this.#options = options;
  }

  async authorization(): Promise<string | undefined> {
    let token = this.#token ?? await this.#load();
    if (token !== undefined && token.refresh !== undefined && isExpired(token, this.#options.clock)) {
      const shown = shownBy(token);
      await this.#once((signal) => this.#refreshed(shown, signal), undefined, true);
      token = this.#token;
    }
    return token && shownBy(token);
  }

  async renew(challenge: Challenge, signal: AbortSignal): Promise<boolean> {
    // What was refused may not be what there is by now.
    const current = await this.#load();
    if (current !== undefined && shownBy(current) !== challenge.shown) return true;
    for (;;) {
      // One that was begun to refresh alone ends there, and may have to be followed by a login.
      const isPartly = this.#renewal?.isPartly === true;
      const isRenewed = await this.#once((shared) => this.#renewed(challenge, shared), signal);
      if (isRenewed || !isPartly) return isRenewed;
    }
  }

  /** A request was let through: whatever comes next is another matter. */
  accepted(): void {
    this.#logins = 0;
    this.#unproven = undefined;
    this.#refreshedTo = undefined;
  }

  /** One at a time; all who come meanwhile get its end. It is given up once nobody waits for it any more. */
  async #once(
    renewing: (signal: AbortSignal) => Promise<boolean>,
    signal: AbortSignal | undefined,
    isPartly = false,
  ): Promise<boolean> {
    const renewal = this.#renewal ??= this.#begin(renewing, isPartly);
    renewal.waiting++;
    try {
      return await untilAborted(renewal.end, "Login", signal);
    } finally {
      if (--renewal.waiting === 0) {
        if (this.#renewal === renewal) this.#renewal = undefined;
        renewal.controller.abort();
      }
    }
  }

  #begin(renewing: (signal: AbortSignal) => Promise<boolean>, isPartly: boolean): Renewal {
    const controller = new AbortController();
    const end = renewing(controller.signal);
    end.catch(() => {/* whoever waits is told */});
    return { controller, end, isPartly, waiting: 0 };
  }

  async #renewed(challenge: Challenge, signal: AbortSignal): Promise<boolean> {
    const wanted = await readChallenge(challenge.header);
    if (challenge.status === 403 && wanted?.error !== "insufficient_scope") return false;
    // A token that nobody has taken since it was given out: another would fare no better.
    if (challenge.status === 401 && challenge.shown !== undefined && challenge.shown === this.#unproven) return false;
    if (challenge.status === 401 && this.#token?.refresh !== undefined && challenge.shown !== this.#refreshedTo) {
      if (await this.#refreshed(shownBy(this.#token), signal)) {
        this.#refreshedTo = shownBy(this.#token);
        return true;
      }
    }
    await this.#logIn(challenge, wanted, signal);
    return true;
  }

  async #logIn(challenge: Challenge, wanted: WantedCredentials | undefined, signal: AbortSignal): Promise<void> {
    const { endpoint, web, login, scope: configured } = this.#options;
    const before = this.#token;
    const found = await discoverResource(endpoint, wanted?.resourceMetadata, web, signal);
    const server = found === undefined
      ? await discoverOwn(endpoint, web, signal)
      : await discoverServer(this.#issuerOf(found.issuers), web, signal);
    const isSame = before !== undefined && before.issuer === server.issuer;
    const scope = unionOf(
      ...(isSame ? [before.scope] : []),
      wanted?.scope ?? configured ?? (found === undefined ? undefined : unionOf(...found.scopes)),
      ...(login.isPersons && server.scopes_supported?.includes(OFFLINE) === true ? [OFFLINE] : []),
    );
    if (challenge.status === 403) this.#checkStepUp(wanted?.scope);
    if (++this.#logins > MAX_LOGINS) {
      throw new HostError(
        "ERR_AUTH_FAILED",
        `Cannot log in: the server still refuses after ${MAX_LOGINS} logins`,
      );
    }
    await checkIssuer(server, this.#options.identity, endpoint, this.#options.records);
    const by: Calling = { web, signal, dpop: this.#options.dpop };
    const request = { server, resource: found?.resource, scope, by };
    let client = await login.client?.(server, by);
    let answer: TokenEndpointResponse;
    try {
      answer = await login.grant(request, client);
    } catch (error) {
      if (!isForgotten(client, error)) throw error;
      // The registration is gone: servers forget those that were not used for long.
      await forgetClient(server, this.#options.identity, this.#options.records);
      client = await login.client?.(server, by);
      answer = await login.grant(request, client);
    }
    const place: Place = { issuer: server.issuer, ...(found === undefined ? {} : { resource: found.resource }) };
    await this.#keep(place, answer, { clientId: client?.clientId ?? "", scope });
  }

  /** The one that is known already, if the server still names it; else the one that the user has configured, or the first. */
  #issuerOf(issuers: readonly string[]): string {
    const known = [this.#token?.issuer, this.#options.identity.issuer].find((each) =>
      each !== undefined && issuers.includes(each)
    );
    return known ?? issuers[0]!;
  }

  /** What was asked for once and not granted is not asked for again: the record of a token has both. */
  #checkStepUp(wanted: string | undefined): void {
    const has = new Set(unionOf(this.#token?.scope, this.#token?.asked)?.split(" "));
    if (!this.#options.login.widens || wanted === undefined || wanted.split(" ").every((scope) => has.has(scope))) {
      throw new HostError(
        "ERR_AUTH_FAILED",
        `Cannot widen what the token is good for: insufficient scope${
          wanted === undefined ? "" : `: ${wanted.slice(0, 200)}`
        }`,
        { facts: { scope: wanted?.slice(0, 200) } },
      );
    }
  }

  /** Exchanges the refresh token, unless somebody else has by now; false where that cannot be done. */
  async #refreshed(shown: string, signal: AbortSignal): Promise<boolean> {
    const { records, clock, ids, login } = this.#options;
    const lease = ids.next("lease");
    for (;;) {
      const key = await this.#tokenKey();
      const stored = key === undefined ? undefined : await records.get<TokenRecord>(key);
      if (key === undefined || stored === undefined) return false;
      const { value } = stored;
      if (shownBy(value) !== shown) return this.#take(value);
      if (value.refresh === undefined) return false;
      if (value.lease !== undefined && value.lease.until > clock.now()) {
        await sleep(clock, LOOK_MS, signal);
        continue;
      }
      const leased: TokenRecord = { ...value, lease: { by: lease, until: clock.now() + LEASE_MS } };
      if (!await records.replace(key, stored, leased)) continue;
      const { lease: _, ...free } = value;
      const letGo = async (record: TokenRecord): Promise<boolean> => {
        const now = await records.get<TokenRecord>(key);
        return now?.value.lease?.by === lease && await records.replace(key, now, record);
      };
      try {
        const by: Calling = { web: this.#options.web, signal: new AbortController().signal, dpop: this.#options.dpop };
        const server = await this.#serverOf(value, by);
        const client = await login.client?.(server, by);
        if (client === undefined || client.clientId !== value.clientId) throw new Useless();
        const auth = clientAuth(server, client);
        const request = { server, client, auth, resource: value.resource, scope: undefined, by };
        const answer = await refreshGrant(request, value.refresh).catch(async (error: unknown) => {
          if (isForgotten(client, error)) await forgetClient(server, this.#options.identity, records);
          throw error;
        });
        await letGo(this.#recordOf(value, answer, value.refresh));
        return this.#take((await records.get<TokenRecord>(key))?.value ?? value);
      } catch (error) {
        const code = oauthErrorOf(error);
        const isOver = error instanceof Useless || (code !== undefined && !PASSING.has(code));
        const { refresh: _refresh, ...spent } = free;
        const isOurs = await letGo(isOver ? spent : free);
        if (!isOver) throw error;
        if (!isOurs) continue; // whoever has taken over may have brought a token by now
        this.#token = undefined;
        return false;
      }
    }
  }

  async #serverOf({ issuer, resource }: TokenRecord, { web, signal }: Calling): Promise<AuthorizationServer> {
    if (resource === undefined) return await discoverOwn(this.#options.endpoint, web, signal);
    const found = await findServer(issuer, web, signal);
    if (found === undefined) throw new Useless();
    return found;
  }

  #take(record: TokenRecord): boolean {
    this.#remember(record);
    return true;
  }

  async #keep(
    place: Place,
    answer: TokenEndpointResponse,
    asked: { readonly clientId: string; readonly scope: string | undefined },
  ): Promise<void> {
    const { records, endpoint, subject } = this.#options;
    const base = { ...place, clientId: asked.clientId, ...(asked.scope === undefined ? {} : { asked: asked.scope }) };
    const record = this.#recordOf(base, answer, undefined);
    await records.put(await keyOfToken(place, subject), record);
    await records.put(await recordKey("place", endpoint, subject), place);
    this.#remember(record);
    this.#unproven = shownBy(record);
  }

  #recordOf(
    { issuer, resource, clientId, scope, asked }: Omit<TokenRecord, "type" | "access">,
    answer: TokenEndpointResponse,
    refreshBefore: string | undefined,
  ): TokenRecord {
    const refresh = answer.refresh_token ?? refreshBefore;
    const granted = answer.scope ?? scope ?? asked;
    return {
      issuer,
      ...(resource === undefined ? {} : { resource }),
      clientId,
      type: answer.token_type.toLowerCase() === "dpop" ? "DPoP" : "Bearer",
      access: answer.access_token,
      ...(refresh === undefined ? {} : { refresh }),
      ...(answer.expires_in === undefined ? {} : { expiresAt: this.#options.clock.now() + answer.expires_in * 1000 }),
      ...(granted === undefined ? {} : { scope: granted }),
      ...(asked === undefined ? {} : { asked }),
    };
  }

  #remember(record: TokenRecord): void {
    this.#token = record;
    this.#options.addSecret("oauth.access", record.access);
    if (record.refresh !== undefined) this.#options.addSecret("oauth.refresh", record.refresh);
  }

  /** What the records hold for this endpoint and subject. */
  async #load(): Promise<TokenRecord | undefined> {
    const key = await this.#tokenKey();
    const stored: Stored<TokenRecord> | undefined = key === undefined
      ? undefined
      : await this.#options.records.get<TokenRecord>(key);
    if (stored === undefined) this.#token = undefined;
    else this.#remember(stored.value);
    return this.#token;
  }

  async #tokenKey(): Promise<string | undefined> {
    const { records, endpoint, subject } = this.#options;
    const place = await records.get<Place>(await recordKey("place", endpoint, subject));
    return place && keyOfToken(place.value, subject);
  }
}

/** A refresh token is of a client that we no longer are, or of a server that is gone. */
class Useless extends Error {}

function keyOfToken({ issuer, resource }: Place, subject: string): Promise<string> {
  return recordKey("token", issuer, resource ?? "", subject);
}

/** The value of the header. */
function shownBy({ type, access }: TokenRecord): string {
  return `${type} ${access}`;
}
