import { untilAborted } from "../kernel/abort.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { HostError, isRemoteError } from "../kernel/errors.ts";
import { type Completion, mayComplete, readCompletion } from "../protocol/offers.ts";
import type { RequestOptions } from "./client.ts";
import type { Requester } from "./pages.ts";
import { resultOf } from "./resources.ts";

/** What a value is wanted for. */
export interface CompletionQuery {
  /** The prompt's name, or the resource template. */
  readonly of: { readonly prompt: string } | { readonly template: string };
  /** The argument or variable, and what there is of its value. */
  readonly argument: { readonly name: string; readonly value: string };
  /** The values of others that are known already. */
  readonly known?: Readonly<Record<string, string>>;
}

const METHOD_NOT_FOUND = -32601;
const NOTHING: Completion = Object.freeze({ values: Object.freeze([]), hasMore: false });

/**
 * `completion/complete`: at most 100 values, none where the server has no completions. Rejects with what the request
 * failed with. Asking only when somebody has stopped typing is the caller's.
 */
export async function complete(
  client: Requester,
  { of, argument, known }: CompletionQuery,
  options: RequestOptions = {},
): Promise<Completion> {
  const { protocolVersion, capabilities } = client.facts;
  if (!mayComplete(protocolVersion, capabilities)) return NOTHING;
  const ref = "prompt" in of ? { type: "ref/prompt", name: of.prompt } : { type: "ref/resource", uri: of.template };
  const reply = await client.request("completion/complete", {
    ref,
    argument: { name: argument.name, value: argument.value },
    ...(known === undefined ? {} : { context: { arguments: known } }),
  }, options);
  if (reply.kind === "failed" && isRemoteError(reply.error) && reply.error.code === METHOD_NOT_FOUND) return NOTHING;
  const completion = readCompletion(resultOf(reply, "completion/complete"));
  if (completion !== undefined) return completion;
  throw new HostError("ERR_PROTOCOL", "Cannot use the answer to completion/complete: found no list of values");
}

export interface CompleterOptions {
  /** Default: the runtime's. */
  readonly clock?: Clock;
  /** How long an answer is good for, ms. Default 30,000. */
  readonly keepMs?: number;
  /** Answers kept; default 200. The oldest goes first. */
  readonly maxKept?: number;
}

/**
 * Completes like {@link complete} and keeps the answers for a while, so that going back a letter asks nobody. Who asks the
 * same meanwhile shares the request; a signal ends the waiting of its caller alone.
 */
export function createCompleter(
  client: Requester,
  { clock = systemClock, keepMs = 30_000, maxKept = 200 }: CompleterOptions = {},
): (query: CompletionQuery, options?: RequestOptions) => Promise<Completion> {
  const kept = new Map<string, { readonly at: number; readonly answer: Promise<Completion> }>();
  return (query, { signal, ...options } = {}) => {
    const key = canonicalJson(query);
    const known = kept.get(key);
    if (known !== undefined && clock.monotonic() - known.at < keepMs) {
      return untilAborted(known.answer, "Completion", signal);
    }
    const answer = complete(client, query, options);
    const entry = { at: clock.monotonic(), answer };
    kept.delete(key);
    kept.set(key, entry);
    if (kept.size > maxKept) kept.delete(kept.keys().next().value!);
    // A failure is nobody's answer but that of who waited for it.
    answer.catch(() => kept.get(key) === entry && kept.delete(key));
    return untilAborted(answer, "Completion", signal);
  };
}
