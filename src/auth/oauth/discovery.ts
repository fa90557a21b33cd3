import type { AuthorizationServer } from "oauth4webapi";
import { HostError } from "../../kernel/errors.ts";
import type { Web } from "./web.ts";

/** A protected resource, and who gives out tokens for it (RFC 9728). */
export interface Resource {
  /** As its metadata writes it, byte for byte: what `resource` is in every request (RFC 8707). */
  readonly resource: string;
  /** In the order of the metadata; at least one. */
  readonly issuers: readonly string[];
  readonly scopes: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Finds the metadata of an MCP server: where its refusal says, else at the first well-known place that has it. `undefined` where there is
 * none. Throws `ERR_AUTH_FAILED` for metadata of another resource, and for one that names no authorization server.
 */
export async function discoverResource(
  endpoint: string,
  named: string | undefined,
  web: Web,
  signal: AbortSignal,
): Promise<Resource | undefined> {
  const { origin, pathname, search } = new URL(endpoint);
  const path = pathname === "/" ? "" : pathname.replace(/\/$/, "");
  const wellKnown = [`${origin}${WELL_KNOWN}${path}${search}`, `${origin}${WELL_KNOWN}`];
  const places = new Set(named === undefined ? wellKnown : [named, ...wellKnown]);
  for (const place of places) {
    const found = await documentAt(place, web, signal);
    if (found === undefined) continue;
    const { resource, authorization_servers: issuers, scopes_supported: scopes } = found;
    if (typeof resource !== "string" || !isOf(resource, endpoint)) {
      throw new HostError(
        "ERR_AUTH_FAILED",
        `Cannot log in: the metadata at ${new URL(place).host} is of another resource, wanted one of ${origin}`,
      );
    }
    if (!isTexts(issuers) || issuers.length === 0) {
      throw new HostError("ERR_AUTH_FAILED", `Cannot log in: the metadata of ${origin} names no authorization server`);
    }
    return { resource, issuers, scopes: isTexts(scopes) ? scopes : [] };
  }
  return undefined;
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** Exactly it, or a part of the same origin that it lies in, cut where a segment ends. */
function isOf(resource: string, endpoint: string): boolean {
  if (!URL.canParse(resource)) return false;
  const [its, our] = [new URL(resource), new URL(endpoint)];
  if (its.hash !== "" || its.origin !== our.origin) return false;
  if (its.search !== "" && its.search !== our.search) return false;
  const prefix = its.pathname.replace(/\/$/, "");
  return our.pathname === its.pathname || our.pathname === prefix || our.pathname.startsWith(`${prefix}/`);
}

/**
 * The metadata of an authorization server (RFC 8414, OpenID Connect Discovery), at each of the places where its issuer may
 * have it. Throws `ERR_AUTH_FAILED` where there is none, or where the first that is found calls itself otherwise.
 */
export async function discoverServer(issuer: string, web: Web, signal: AbortSignal): Promise<AuthorizationServer> {
  const found = await findServer(issuer, web, signal);
  if (found !== undefined) return found;
  const { origin } = new URL(issuer);
  throw new HostError("ERR_AUTH_FAILED", `Cannot log in: ${origin} has no metadata of an authorization server`);
}

/** As {@link discoverServer}, but `undefined` where there is none. */
export async function findServer(
  issuer: string,
  web: Web,
  signal: AbortSignal,
): Promise<AuthorizationServer | undefined> {
  const { origin, pathname } = web.check(issuer, "the authorization server");
  const path = pathname === "/" ? "" : pathname.replace(/\/$/, "");
  const places = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path === "" ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
  ];
  for (const place of places) {
    const found = await documentAt(place, web, signal);
    if (found === undefined) continue;
    // The same characters, not the same address: what is compared later is compared so too (RFC 9207).
    if (found["issuer"] !== issuer) {
      throw new HostError(
        "ERR_AUTH_FAILED",
        `Cannot log in: the metadata at ${origin} is of another issuer, wanted exactly the one that the resource names`,
      );
    }
    return found as unknown as AuthorizationServer;
  }
  return undefined;
}

/**
 * The authorization server of a resource without metadata: the server's own origin (2025-03-26, authorization), with the
 * endpoints that its metadata names or that every server of that revision has.
 */
export async function discoverOwn(endpoint: string, web: Web, signal: AbortSignal): Promise<AuthorizationServer> {
  const { origin } = new URL(endpoint);
  const found = await documentAt(`${origin}/.well-known/oauth-authorization-server`, web, signal);
  if (found !== undefined) {
    if (typeof found["issuer"] !== "string" || new URL(origin).origin !== originOf(found["issuer"])) {
      throw new HostError("ERR_AUTH_FAILED", `Cannot log in: the metadata at ${origin} is of another issuer`);
    }
    return found as unknown as AuthorizationServer;
  }
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ["S256"],
  };
}

function originOf(text: string): string | undefined {
  return URL.canParse(text) ? new URL(text).origin : undefined;
}

/** The JSON object there; `undefined` where there is none. */
async function documentAt(place: string, web: Web, signal: AbortSignal): Promise<Json | undefined> {
  const answer = await web.fetch(place, { method: "GET", headers: { accept: "application/json" } }, signal);
  if (answer.status >= 500) {
    throw new HostError(
      "ERR_AUTH_FAILED",
      `Cannot log in: ${new URL(place).host} answered its metadata with status ${answer.status}`,
    );
  }
  if (answer.status !== 200) return undefined;
  try {
    const value: unknown = await answer.json();
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value as Json : undefined;
  } catch {
    return undefined; // a page for people, at a place that is none of these
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
