import { isRemoteError } from "../kernel/errors.ts";
import type { JsonObject } from "../protocol/model.ts";
import { asObject } from "../protocol/results.ts";

/**
 * A server wants a person to visit an address (client/elicitation, mode `url`). Show all of it before opening it, and
 * open it where neither a model nor this program can read what is entered there.
 */
export interface UrlAsk {
  readonly message: string;
  /** `http:` or `https:`; nothing has been fetched from it. */
  readonly url: string;
  /** The host that the address really leads to, for showing it by itself. */
  readonly host: string;
  /** What makes the address look like another one than it is, or unsafe. */
  readonly doubts: readonly UrlDoubt[];
  /** What `notifications/elicitation/complete` will name; only servers of 2025-11-25 give it. */
  readonly elicitationId: string | undefined;
}

/** A name before the host, a host in punycode, a way that others can listen on. */
export type UrlDoubt = "userinfo" | "punycode" | "not_https";

const MAX_URL_LENGTH = 8192;
/** A request cannot go on before addresses have been visited (2025-11-25, client/elicitation). */
const URL_REQUIRED = -32042;

/** What keeps an address from being shown to anybody; nothing when it can be. */
export function faultOfUrl(url: unknown): string | undefined {
  if (typeof url !== "string" || url.length > MAX_URL_LENGTH || !URL.canParse(url)) return "it has no usable url";
  const { protocol } = new URL(url);
  return /^https?:$/.test(protocol) ? undefined : `its url is ${protocol}, wanted https:`;
}

/** Where an address really leads, and what about it may deceive. */
export function lookOf(address: string): Pick<UrlAsk, "host" | "doubts"> {
  const { protocol, username, password, host, hostname } = new URL(address);
  const doubts: UrlDoubt[] = [];
  if (username !== "" || password !== "") doubts.push("userinfo");
  if (/(?:^|\.)xn--/.test(hostname)) doubts.push("punycode");
  if (protocol !== "https:") doubts.push("not_https");
  return { host, doubts };
}

/**
 * The addresses that an error wants to be visited first, in the words of an input round; `undefined` for any other error.
 * The request may be sent again, as it was, once a person has agreed to all of them.
 */
export function urlsRequired(error: unknown): JsonObject | undefined {
  if (!isRemoteError(error) || error.code !== URL_REQUIRED) return undefined;
  const asked = asObject(error.data)?.["elicitations"];
  if (!Array.isArray(asked) || asked.length === 0) return undefined;
  return Object.fromEntries(
    asked.map((
      params: unknown,
      at,
    ) => [String(at), { method: "elicitation/create", params: { ...asObject(params), mode: "url" } }]),
  );
}

/** True when a person has agreed to everything. */
export function isAgreed(responses: JsonObject): boolean {
  return Object.values(responses).every((answer) => asObject(answer)?.["action"] === "accept");
}
