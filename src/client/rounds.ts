import { type Clock, sleep, systemClock } from "../kernel/clock.ts";
import { cancelled } from "../kernel/abort.ts";
import { HostError, isHostError } from "../kernel/errors.ts";
import type { JsonObject } from "../protocol/model.ts";
import type { AskAnswerer } from "../jsonrpc/peer_asks.ts";
import { answerInputs, type Asks } from "./asks.ts";
import type { Client, RequestOptions } from "./client.ts";
import type { FailedReply, Reply } from "./reply.ts";
import { isAgreed, urlsRequired } from "./url_ask.ts";

/** Rounds that one request may take, the first included. */
export const MAX_ROUNDS = 8;
/** First wait before a round for which the server wanted nothing but patience; it doubles. */
const PATIENCE_MS = 250;

/** How rounds are gone through. */
export interface RoundLimits {
  /** Default {@link MAX_ROUNDS}. */
  readonly maxRounds?: number;
  /** Default: the runtime's. */
  readonly clock?: Clock;
}

export interface RoundsOptions extends RoundLimits, Omit<RequestOptions, "asks"> {
  readonly asks: Asks;
}

/** Who answers what is asked for the sake of one request. */
export interface RoundAnswers {
  /** What stands in a result: all of it. Throws what cannot be answered, and a refusal that has no form of its own. */
  inputs(inputRequests: JsonObject): Promise<JsonObject>;
  /** What an older server asks on its own. Absent: nothing of it is answered. */
  readonly alone: Asks | AskAnswerer | undefined;
  /** Addresses can be shown to a person. */
  readonly takesUrls: boolean;
}

/**
 * Sends a request and goes on for as many rounds as the server asks for input (basic/utilities/mrtr): the same method
 * and parameters, the answers of this round alone, and `requestState` exactly as it came. A server of 2025-11-25 that
 * wants addresses to be visited first gets the request again once a person has agreed to each; what it asks on its own
 * meanwhile goes to the same handlers. Never rejects. `maxTotalMs` bounds all rounds together, the time that a person
 * takes to answer left out.
 */
export function requestInRounds(
  client: Client,
  method: string,
  params: JsonObject | undefined,
  { asks, ...options }: RoundsOptions,
): Promise<Reply> {
  const context = { signal: options.signal ?? new AbortController().signal };
  const answers: RoundAnswers = {
    inputs: (inputRequests) => answerInputs(asks.handlers, inputRequests, context),
    alone: asks,
    takesUrls: asks.handlers.url !== undefined,
  };
  return goInRounds(client, method, params, answers, options);
}

/** The same with answers of any making. */
export async function goInRounds(
  client: Client,
  method: string,
  params: JsonObject | undefined,
  { inputs, alone, takesUrls }: RoundAnswers,
  { maxRounds = MAX_ROUNDS, clock = systemClock, ...options }: RoundLimits & Omit<RequestOptions, "asks">,
): Promise<Reply> {
  let remainingMs = options.maxTotalMs ?? 600_000;
  let patienceMs = PATIENCE_MS;
  let resends = 0;
  let next: JsonObject = {};
  for (let round = 1;; round++) {
    const from = clock.monotonic();
    const reply = await client.request(method, round === 1 ? params : { ...params, ...next }, {
      ...options,
      ...(alone === undefined ? {} : { asks: alone }),
      maxTotalMs: remainingMs,
    });
    resends += reply.resends;
    const urls = reply.kind === "failed" && takesUrls ? urlsRequired(reply.error) : undefined;
    if (reply.kind !== "input_required" && urls === undefined) return { ...reply, resends };
    if (round >= maxRounds) return ended(tooManyRounds(method, maxRounds), resends);
    try {
      if (reply.kind !== "input_required") {
        remainingMs -= clock.monotonic() - from;
        if (!isAgreed(await inputs(urls!))) return { ...reply, resends };
        next = {};
        if (remainingMs <= 0) return ended(outOfTime(method), resends);
        continue;
      }
      const { inputRequests, requestState } = reply;
      if (inputRequests === undefined) {
        await sleep(clock, Math.min(patienceMs, Math.max(0, remainingMs - (clock.monotonic() - from))), options.signal);
        patienceMs *= 2;
      }
      remainingMs -= clock.monotonic() - from;
      next = {
        ...(inputRequests === undefined ? {} : { inputResponses: await inputs(inputRequests) }),
        ...(requestState === undefined ? {} : { requestState }),
      };
    } catch (error) {
      if (options.signal?.aborted) return ended(cancelled(`Request ${method}`, options.signal), resends);
      return ended(isHostError(error) ? error : handlerFailed(method, error), resends);
    }
    if (remainingMs <= 0) return ended(outOfTime(method), resends);
  }
}

/** The error for a server that asks without end. */
export function tooManyRounds(method: string, maxRounds: number): HostError {
  return new HostError(
    "ERR_PROTOCOL",
    `Cannot go on with ${method}: the server still asks for input after ${maxRounds} rounds`,
    {
      facts: { rounds: maxRounds },
    },
  );
}

/** The error for a request whose time is up before its next round. */
export function outOfTime(method: string): HostError {
  return new HostError("ERR_TIMEOUT", `Request ${method} timed out between two rounds`);
}

function handlerFailed(method: string, cause: unknown): HostError {
  return new HostError("ERR_CANCELLED", `Cannot go on with ${method}: the handler of an ask failed`, { cause });
}

function ended(error: HostError, resends: number): FailedReply {
  return { kind: "failed", error, sent: true, refused: false, resends };
}
