import { causeCode, HostError, isHostError } from "../kernel/errors.ts";

/** Failures before a connection stood: not a byte of the request can have left. */
export const NOT_SENT: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ConnectionRefused",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "FailedToOpenSocket",
]);

/** The error for what the network did not let through. */
export function lost(what: string, cause: unknown): HostError {
  const code = causeCode(cause);
  return new HostError("ERR_CONNECTION_LOST", `${what}: the network answered ${code}`, {
    cause,
    facts: { cause: code },
  });
}

/** The error for an answer whose reading failed. */
export function broken(method: string, cause: unknown): HostError {
  if (isHostError(cause)) return cause;
  return lost(`Answer to ${method} was lost: the connection broke while it arrived`, cause);
}

const MAX_NAMED = 10;

/**
 * What a refusal for size fails with (RFC 9110, RFC 6585), instead of `wrong`. Headers that repeat arguments of the call
 * are named: a caller can make them smaller.
 */
export function tooLarge(wrong: HostError, method: string, headers: Readonly<Record<string, string>>): HostError {
  const mirrored = Object.keys(headers).filter((name) => name.startsWith("mcp-param-"));
  const lengths = mirrored.slice(0, MAX_NAMED).map((name) => `; ${name} has ${headers[name]!.length} characters`);
  const { status } = wrong.facts;
  const found = `status ${status}, its ${status === 413 ? "body is" : "headers are"} too large${lengths.join("")}`;
  const facts = { ...wrong.facts, mirrored };
  return new HostError("ERR_TOO_LARGE", `Server refused ${method}: ${found}`, { cause: wrong, facts });
}

/** The error for a response that asks for credentials. */
export function notAuthorized(method: string, response: Response): HostError {
  const { status } = response;
  const challenge = challengeOf(response);
  return new HostError(
    "ERR_AUTH_REQUIRED",
    `Server refused ${method}: status ${status}, wanted other credentials`,
    { facts: { status, ...(challenge === undefined ? {} : { challenge }) } },
  );
}

const MAX_CHALLENGE = 4096;

/** What a server says of the credentials that it wants. */
export function challengeOf(response: Response): string | undefined {
  const challenge = response.headers.get("www-authenticate") ?? undefined;
  // Cut, it could end in half a secret, which no scrubber knows.
  return challenge === undefined || challenge.length > MAX_CHALLENGE ? undefined : challenge;
}

/** True for a status by which a server asks for credentials. */
export function wantsCredentials({ status }: Response): boolean {
  return status === 401 || status === 403;
}
