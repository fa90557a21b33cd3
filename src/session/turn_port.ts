import type { CallOptions } from "../call/call.ts";
import type { Outcome } from "../call/outcome.ts";
import type { EventInput, HostEvent } from "../events/event.ts";
import { HostError } from "../kernel/errors.ts";

/** The events that a turn writes itself; those of its calls are the executor's. */
export type TurnEventType =
  | "user.message"
  | "context.built"
  | "model.delta"
  | "model.tool_call_requested"
  | "turn.suspended"
  | "turn.completed";

/** One event of a turn. */
export interface TurnEvent {
  readonly type: TurnEventType;
  readonly payload: EventInput["payload"];
}

/** What a turn needs of a session: a loop over a model stands behind this, and there may be more than one kind. */
export interface TurnPort {
  readonly turnId: string;
  /**
   * Writes events of the turn, in order; resolves once they are as durable as the log promises. Rejects with
   * `ERR_INVALID_ARGUMENTS` for types that are not a turn's, `ERR_NOT_LOGGED`, and `ERR_SESSION_CLOSED` once the session is closed.
   */
  record(events: readonly TurnEvent[]): Promise<readonly HostEvent[]>;
  /** Calls a tool as the model: the same gate and log as any call, marked with the turn. */
  tool(name: string, args: unknown, options?: Omit<CallOptions, "by" | "turnId">): Promise<Outcome>;
}

const TYPES: ReadonlySet<string> = new Set<TurnEventType>([
  "user.message",
  "context.built",
  "model.delta",
  "model.tool_call_requested",
  "turn.suspended",
  "turn.completed",
]);

/** Makes the port of one turn over a session's append and call. */
export function createTurnPort(
  turnId: string,
  append: (events: readonly EventInput[]) => Promise<readonly HostEvent[]>,
  call: (name: string, args: unknown, options: CallOptions) => Promise<Outcome>,
): TurnPort {
  return {
    turnId,
    async record(events): Promise<readonly HostEvent[]> {
      const foreign = events.find(({ type }) => !TYPES.has(type));
      if (foreign !== undefined) {
        throw new HostError(
          "ERR_INVALID_ARGUMENTS",
          `Cannot record ${JSON.stringify(String(foreign.type).slice(0, 80))}: wanted one of ${[...TYPES].join(", ")}`,
        );
      }
      return await append(events.map(({ type, payload }) => ({ type, payload, turnId })));
    },
    tool: (name, args, options) => call(name, args, { ...options, by: "model", turnId }),
  };
}
