/** A server's refusal for want of credentials (specification, basic/authorization). */
export interface Challenge {
  readonly status: 401 | 403;
  /** The `www-authenticate` header as received; untrusted, at most 4 KiB. */
  readonly header: string | undefined;
  /** The endpoint that refused. */
  readonly url: string;
  /** What `authorization` had given for the request that was refused; there may be another by now. */
  readonly shown: string | undefined;
}

/**
 * Where a connection gets its credentials from. A second implementation may stand behind this: a fixed token, OAuth,
 * a secret manager.
 *
 * What an implementation promises: `authorization` is cheap, it is asked before every request; concurrent calls of
 * `renew` for one refusal share one renewal; neither ever writes a credential anywhere but into its result.
 */
export interface TokenSource {
  /** The value of the `authorization` header, or `undefined` to send none. */
  authorization(url: string): string | undefined | Promise<string | undefined>;
  /**
   * The server has refused what `authorization` gave. True when another attempt has new credentials to show; the refused
   * request is then sent once more, which is safe: a refusal proves that it was not executed. Of one request at most three
   * refusals are told.
   */
  renew(challenge: Challenge, signal: AbortSignal): Promise<boolean>;
}

/** A token that never changes. A refusal of it is final. */
export function bearerToken(token: string): TokenSource {
  const value = `Bearer ${token}`;
  return { authorization: () => value, renew: () => Promise.resolve(false) };
}
