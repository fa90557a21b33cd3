/**
 * Credentials of connections: the interface, and a fixed token.
 *
 * @module
 */
export { bearerToken, type Challenge, type TokenSource } from "./token_source.ts";
export { type OAuthConnection, oauthFor, type OAuthGrant, type OAuthOptions, type TextSource } from "./oauth/part.ts";
export type { IdentityProvider, LoginAsk, OpenLogin } from "./oauth/grants.ts";
export { type LoginInteraction, oauth, type OAuthPart, type OAuthPartOptions } from "./oauth/host_part.ts";
