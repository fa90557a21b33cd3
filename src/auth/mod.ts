/**
 * Credentials of connections: the interface, and a fixed token.
 *
 * @module
 */
export { bearerToken, type Challenge, type TokenSource } from "./token_source.ts";
