import type { HostError } from "../kernel/errors.ts";
import { unusable } from "./peer_errors.ts";
import type { PendingRequest, Settled } from "./pending.ts";
import { abortSpills, wholeOf } from "./spill_sink.ts";

/** Tells whoever made a request how it ended. What was put aside of its answer goes where nobody takes it on. */
export function settle(request: PendingRequest, settled: Settled): void {
  if (settled.ok && !request.takesSpills) {
    abortSpills(settled.spills);
    // Nothing of a result that was put aside as a whole is at hand.
    if (wholeOf(settled.spills) !== undefined) settled = failed(unusable(request.method, "too_large"));
  }
  request.resolve(request.resends === 0 ? settled : { ...settled, resends: request.resends });
}

/** Of what was sent, nobody knows whether the other end has acted on it. */
export function failed(error: HostError, sent = true): Settled {
  return { ok: false, error, sent, refused: false };
}
