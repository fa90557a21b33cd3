import { HostError } from "../../src/kernel/errors.ts";

/** What `fetch` says of a port that it lets nobody reach (WHATWG Fetch, bad port): Node (20, 22), then Deno (2.9). */
const WORDS = /^bad port$|Requests to port \d+ are blocked/;

/** The error for a port that `fetch` blocks, which comes without a code; nothing for any other error. */
export function blockedPort(error: unknown, url: string): HostError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { message } = error.cause instanceof Error ? error.cause : error;
  if (!WORDS.test(message)) return undefined;
  const found = "fetch blocks this port; let the server listen on another one";
  // `repeats`: nothing has been sent, so that whoever waits is told as if it had been refused.
  return new HostError("ERR_UNSUPPORTED_HERE", `Cannot send a request to ${new URL(url).host}: ${found}`, {
    cause: error,
    facts: { found, repeats: true },
  });
}
