import { whenAborted } from "../kernel/abort.ts";
import { isThenable } from "../kernel/listener.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Allowed, Denied, GateVerdict } from "../permission/request.ts";

/** What a gate may take to say itself that a call was cut off. */
const GRACE_MS = 1000;

/**
 * What a gate answers; `undefined` where it stays silent for a second after the call is over. A gate may be the user's
 * own and never answer: its silence must not keep a caller waiting or a session from closing.
 */
export function untilOver<T>(
  answer: T | Promise<T>,
  signal: AbortSignal,
  clock: Clock,
): T | undefined | Promise<T | undefined> {
  if (!isThenable(answer)) return answer;
  return new Promise((resolve, reject) => {
    let leave: (() => void) | undefined;
    const giveUp = (): void => {
      const timer = clock.after(GRACE_MS, () => resolve(undefined));
      leave = () => timer.cancel();
    };
    if (signal.aborted) giveUp();
    else leave = whenAborted(signal, giveUp);
    Promise.resolve(answer).then((value) => {
      leave?.();
      resolve(value);
    }, (error: unknown) => {
      leave?.();
      reject(error);
    });
  });
}

/** True for what a gate may answer. What is none of it must not be taken for an allow. */
export function isVerdict(value: unknown): value is GateVerdict {
  if (typeof value !== "object" || value === null) return false;
  const { kind, events, outcome, wait } = value as Record<string, unknown>;
  if (kind === "ask") return areEvents(events, "permission.requested") && typeof wait === "function";
  return kind === "decided" && areEvents(events, "permission.requested", "permission.resolved") && isOutcome(outcome);
}

/** The same for what an ask ends with. */
export function isSettled(value: unknown): value is Awaited<ReturnType<Extract<GateVerdict, { kind: "ask" }>["wait"]>> {
  if (typeof value !== "object" || value === null) return false;
  const { events, outcome } = value as Record<string, unknown>;
  return areEvents(events, "permission.resolved") && isOutcome(outcome);
}

/** What rests on a decision must have the decision before it in the log: events of these types are among them. */
function areEvents(events: unknown, ...types: readonly string[]): boolean {
  if (!Array.isArray(events)) return false;
  const found = new Set<unknown>();
  for (
    const event of events as readonly ({ readonly type?: unknown; readonly payload?: unknown } | null | undefined)[]
  ) {
    if (typeof event?.type !== "string" || typeof event.payload !== "object" || event.payload === null) return false;
    found.add(event.type);
  }
  return types.every((type) => found.has(type));
}

function isOutcome(value: unknown): value is Allowed | Denied {
  const { decision, reason } = (value ?? {}) as { readonly decision?: unknown; readonly reason?: unknown };
  return decision === "allow" || (decision === "deny" && typeof reason === "string");
}
