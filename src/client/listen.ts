import { whenAborted } from "../kernel/abort.ts";
import { type Clock, sleep } from "../kernel/clock.ts";
import { HostError, isHostError, isRemoteError } from "../kernel/errors.ts";
import { admission, LISTEN, type SubscriptionFilter } from "../protocol/subscriptions.ts";
import type { Client } from "./client.ts";
import type { FailedReply, Reply } from "./reply.ts";

export type { SubscriptionFilter } from "../protocol/subscriptions.ts";

export interface ListenOptions {
  readonly clock: Clock;
  /** A number from 0 to 1; what keeps many clients of a server from coming back at the same moment. */
  readonly random: () => number;
  /** Ends the subscription. */
  readonly signal: AbortSignal;
  /**
   * The server tells of changes from now on, of these kinds: what is missing has to be looked at now and then. `again`
   * after a gap: what changed in between was not told, so look at all of it.
   */
  onListening?(honoured: SubscriptionFilter, again: boolean): void;
}

/** Why a subscription is over for good. */
export type ListenEnd =
  /** Its signal fired, or the connection has ended. */
  | { readonly kind: "ended" }
  /** The server does not offer it, or not to us. */
  | { readonly kind: "refused"; readonly error: FailedReply["error"] };

const FIRST_PAUSE_MS = 1000;
const MAX_PAUSE_MS = 60_000;
/** A subscription that stood as long as this was a good one: the pauses begin anew. */
const STEADY_MS = 60_000;
/** Answers by which a server says that it has no such thing, or not for this request. */
const REFUSALS: ReadonlySet<number> = new Set([-32601, -32602, -32021]);

/**
 * Keeps a subscription to changes open (`subscriptions/listen`, 2026-07-28) until its signal fires, the connection ends or
 * the server refuses it. Whichever way it ends, by a result, a cancellation or without a word, another one follows after a
 * pause that grows. What the server tells arrives where all notifications do, `ConnectOptions.onNotification`. Never
 * rejects. Only for servers that tell of changes to whoever subscribes, see `ServerFacts.subscribes`.
 */
export async function keepListening(
  client: Client,
  filter: SubscriptionFilter,
  { clock, random, signal, onListening }: ListenOptions,
): Promise<ListenEnd> {
  let isAgain = false;
  for (let failures = 0; !signal.aborted;) {
    const openedAt = clock.monotonic();
    if (client.facts.subscribes !== true) {
      const text = "Cannot subscribe to changes: this server tells of them unasked";
      return { kind: "refused", error: new HostError("ERR_UNSUPPORTED_HERE", text) };
    }
    const controller = new AbortController();
    const drop = whenAborted(signal, () => controller.abort(signal.reason));
    const reply = await client.request(LISTEN, { notifications: filter }, {
      signal: controller.signal,
      timeoutMs: Infinity,
      maxTotalMs: Infinity,
      standing: {
        admit: (method, params) =>
          admission(filter, method, params, (honoured) => {
            onListening?.(honoured, isAgain);
            isAgain = true;
          }),
        leave: (reason) => controller.abort(reason),
      },
    });
    drop();
    if (signal.aborted || !client.isOpen) return { kind: "ended" };
    if (isRefused(reply)) return { kind: "refused", error: reply.error };
    if (clock.monotonic() - openedAt >= STEADY_MS) failures = 0;
    const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures++);
    try {
      await sleep(clock, pause * (0.5 + random() / 2), signal);
    } catch {
      // Only its signal cuts a pause short.
      return { kind: "ended" };
    }
    if (!client.isOpen) return { kind: "ended" };
  }
  return { kind: "ended" };
}

/** An outage passes; what the server says of the request itself does not. */
function isRefused(reply: Reply): reply is FailedReply {
  if (reply.kind !== "failed") return false;
  const { error } = reply;
  if (isRemoteError(error)) return REFUSALS.has(error.code);
  if (error.code === "ERR_CONNECTION_LOST" || error.code === "ERR_CANCELLED") return false;
  const { status } = error.facts;
  return !(isHostError(error, "ERR_PROTOCOL") && typeof status === "number" && (status >= 500 || status === 429));
}
