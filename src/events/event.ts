/** Version of the meaning of events. It rises only when a meaning changes. */
export const EVENT_VERSION = 1;

/** Every type of event that this package writes. Readers keep types they do not know. */
export type EventType =
  | "host.opened"
  | "host.closed"
  | "session.opened"
  | "session.closed"
  | "session.recovered"
  | "user.message"
  | "context.built"
  | "model.delta"
  | "model.tool_call_requested"
  | "turn.suspended"
  | "turn.completed"
  | "permission.requested"
  | "permission.resolved"
  | "tool.ambiguous_call"
  | "tool.not_found"
  | "tool.started"
  | "tool.completed"
  | "tool.failed"
  | "tool.cancelled"
  | "mcp.server.pending"
  | "mcp.server.starting"
  | "mcp.server.ready"
  | "mcp.server.failed"
  | "mcp.server.warning"
  | "mcp.server.crashed"
  | "mcp.server.restarting"
  | "mcp.server.permanently_failed"
  | "mcp.server.shutdown"
  | "mcp.server.idle_disconnected"
  | "mcp.server.auth_required"
  | "mcp.catalog.changed"
  | "mcp.tool.changed"
  | "mcp.tool.rejected"
  | "mcp.call.started"
  | "mcp.call.progress"
  | "mcp.call.completed"
  | "mcp.call.failed"
  | "mcp.resource.requested"
  | "mcp.resource.fetched"
  | "mcp.resource.failed"
  | "mcp.prompt.invoked"
  | "mcp.prompt.expanded"
  | "mcp.prompt.failed"
  | "mcp.input.requested"
  | "mcp.input.resolved"
  | "mcp.log"
  | "artifact.stored"
  | "security.finding";

/** A place in a stream of the log. */
export interface EventCursor {
  readonly stream: string;
  readonly seq: number;
}

/** What a payload may hold: JSON. Members that are `undefined` are left out when the event is made. */
export type EventPayload = { readonly [key: string]: unknown };

/** Levels of an event, its own included: what its payload may hold, and some. */
export const MAX_EVENT_DEPTH = 70;

/** An event as its writer hands it over; the log adds the rest of the envelope. */
export interface EventInput {
  readonly type: EventType;
  readonly payload: EventPayload;
  readonly turnId?: string;
  readonly cause?: EventCursor;
}

/** One record of the log. Key order is fixed, so that equal events are equal bytes. `KnownEvent` is its type by its `type`. */
export interface HostEvent {
  /** See {@link EVENT_VERSION}. */
  readonly v: number;
  /** Rises by exactly 1 in its stream, from 1. */
  readonly seq: number;
  readonly id: string;
  /** Epoch milliseconds, from the host's clock. */
  readonly at: number;
  /** `host:<name>`, `session:<id>` or `gateway:<instance>`. */
  readonly stream: string;
  /** Raised each time the stream is opened; fences earlier owners. */
  readonly epoch: number;
  readonly turnId?: string;
  readonly cause?: EventCursor;
  readonly type: EventType | (string & Record<never, never>);
  readonly payload: EventPayload;
}
