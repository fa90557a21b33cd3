import type { Client } from "../client/client.ts";
import type { Reply } from "../client/reply.ts";
import { goInRounds, type RoundAnswers } from "../client/rounds.ts";
import type { Clock } from "../kernel/clock.ts";
import { isHostError, unsupported } from "../kernel/errors.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { Loss } from "./connection.ts";
import { noteGivenUp, ownAsks } from "./given_up.ts";
import type { Server } from "./server.ts";

export interface AskServerOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Silence after which it fails, ms, waiting for the server included. Default: the server's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Whose request it is; wanted beside `answers`. */
  readonly session?: string;
  /** Answers what the server asks for the sake of the request. Absent: a server that asks gets nothing, and it fails. */
  readonly answers?: RoundAnswers;
}

/** Sends one request, in as many rounds as the server asks for. */
export type AskingRequest = (method: string, params: JsonObject) => Promise<Reply>;

/** A reply, and why the connection ended under it, if it did. */
export interface Asked {
  readonly reply: Reply;
  readonly loss: Loss | undefined;
}

/** What a person or the log has refused is not asked for again, whatever became of the connection meanwhile. */
const REFUSALS: ReadonlySet<unknown> = new Set(["ERR_DENIED", "ERR_NOT_LOGGED"]);

/**
 * Makes a request that only reads, as soon as its server can take it. One whose connection was lost under it is made once
 * more, from its first round on. Rejects, with nothing sent, where the server cannot be had, as {@link Server.acquire} has it.
 */
export async function askServer(
  server: Server,
  { clock, signal, timeoutMs = server.config.timeoutMs, session = "", answers }: AskServerOptions,
  ask: (client: Client, request: AskingRequest) => Promise<Reply>,
): Promise<Asked> {
  let until = clock.monotonic() + timeoutMs;
  const counted = answers && notCounted(answers, clock, (ms) => until += ms);
  for (let isAgain = false;; isAgain = true) {
    const remainingMs = Math.max(1, until - clock.monotonic());
    const lease = server.tryAcquire() ?? await server.acquire({ signal, timeoutMs: remainingMs });
    try {
      const { client } = lease;
      const answering = counted && ownAnswers(counted, client, session, clock);
      const options = {
        signal,
        clock,
        timeoutMs: Math.max(1, until - clock.monotonic()),
        maxTotalMs: Math.max(server.config.maxTotalMs, timeoutMs),
        takesSpills: true,
        ...(server.config.logLevel === undefined ? {} : { logLevel: server.config.logLevel }),
      };
      const reply = await ask(
        client,
        (method, params) => goInRounds(client, method, params, answering ?? nobodyAnswers(method), options),
      );
      noteGivenUp(client, session, clock, reply);
      if (reply.kind === "failed" && !lease.client.isOpen) await lease.whenLost();
      const { loss } = lease;
      const isLost = reply.kind === "failed" && !REFUSALS.has(reply.error.code) &&
        (isHostError(reply.error, "ERR_CONNECTION_LOST") || (loss !== undefined && isHostError(reply.error)));
      if (!isLost || isAgain || signal.aborted) return { reply, loss };
    } finally {
      lease.release();
    }
  }
}

/** The same answers, to what can be nobody else's. */
function ownAnswers(answers: RoundAnswers, client: Client, session: string, clock: Clock): RoundAnswers {
  const { alone } = answers;
  if (alone === undefined) return answers;
  return { ...answers, alone: ownAsks(client, session, clock, typeof alone === "function" ? alone : alone.answer) };
}

/** The same answers; `add` gets the time that each took, which does not count. */
function notCounted({ inputs, alone, takesUrls }: RoundAnswers, clock: Clock, add: (ms: number) => void): RoundAnswers {
  const timed = async <T>(answer: () => Promise<T>): Promise<T> => {
    const from = clock.monotonic();
    try {
      return await answer();
    } finally {
      add(clock.monotonic() - from);
    }
  };
  return {
    inputs: (inputRequests) => timed(() => inputs(inputRequests)),
    alone: typeof alone === "function"
      ? (method, params, askSignal) => timed(() => alone(method, params, askSignal))
      : alone,
    takesUrls,
  };
}

function nobodyAnswers(method: string): RoundAnswers {
  return {
    inputs: () => Promise.reject(unsupported(`answer what ${method} is asked for`, `hand "asks" to the host`)),
    alone: undefined,
    takesUrls: false,
  };
}
