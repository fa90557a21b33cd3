import type { Client } from "../client/client.ts";
import type { Reply } from "../client/reply.ts";
import type { AskAnswerer } from "../client/asks.ts";
import type { Clock } from "../kernel/clock.ts";
import { isHostError, RemoteError } from "../kernel/errors.ts";

/** How long a server may still be at what was given up, ms: as long as a person may take to answer. */
const DOUBT_MS = 5 * 60_000;
const INVALID_REQUEST = -32600;
/** What a request fails with that this side gives up. */
const GIVEN_UP: ReadonlySet<string> = new Set(["ERR_TIMEOUT", "ERR_CANCELLED", "ERR_SESSION_CLOSED"]);

/** When a request was last given up on a connection, by the session that it belonged to. */
const givenUp = new WeakMap<Client, Map<string, number>>();

/**
 * Answers asks of a request of this session, but none that may belong to what another session has given up: where all
 * requests share one stream, a server that goes on with a request that nobody waits for asks, as it seems, for the sake of
 * the one that is left. One session must not see, let alone answer, what is asked of another.
 */
export function ownAsks(client: Client, session: string, clock: Clock, answer: AskAnswerer): AskAnswerer {
  return (method, params, signal, isOwn) => {
    if (isOwn !== true && isDoubtful(client, session, clock)) {
      const text = "Invalid Request: it may belong to a request that was given up";
      return Promise.reject(new RemoteError(INVALID_REQUEST, text));
    }
    return answer(method, params, signal, isOwn);
  };
}

/** Notes a request of this session that was given up and may still be worked on. */
export function noteGivenUp(client: Client, session: string, clock: Clock, reply: Reply): void {
  if (reply.kind !== "failed" || !reply.sent) return;
  if (!isHostError(reply.error) || !GIVEN_UP.has(reply.error.code)) return;
  const sessions = givenUp.get(client) ?? new Map<string, number>();
  givenUp.set(client, sessions);
  for (const [each, at] of sessions) if (clock.monotonic() - at >= DOUBT_MS) sessions.delete(each);
  sessions.set(session, clock.monotonic());
}

function isDoubtful(client: Client, session: string, clock: Clock): boolean {
  for (const [each, at] of givenUp.get(client) ?? []) {
    if (each !== session && clock.monotonic() - at < DOUBT_MS) return true;
  }
  return false;
}
