import type { EventCursor, HostEvent } from "./event.ts";
import type {
  actors,
  callers,
  containments,
  crashReasons,
  decisionSources,
  failureOutcomes,
  inputActions,
  inputKinds,
  levels,
  offerKinds,
  resourceActions,
  risks,
  shutdownReasons,
  toolFailureReasons,
} from "./vocabulary.ts";

/**
 * The payload of each type of event that a host writes by itself. Optional members may be given as `undefined`; they
 * are left out when the event is made. `schema.ts` checks the same shapes.
 */
export type EventPayloads = {
  "host.opened": Opened;
  "host.closed": Closed;
  "session.opened": Opened;
  "session.closed": Closed;
  "permission.requested": PermissionRequested;
  "permission.resolved": PermissionResolved;
  "tool.ambiguous_call": { readonly name: string; readonly candidates: readonly string[] };
  "tool.not_found": { readonly name: string; readonly suggestions: readonly string[] };
  "tool.started": { readonly tool: string; readonly toolCallId: string };
  "tool.completed": ToolCompleted;
  "tool.failed": {
    readonly tool: string;
    readonly toolCallId: string;
    readonly reason: ToolFailureReason;
    readonly outcome: FailureOutcome;
    readonly error?: Fault | undefined;
  };
  "tool.cancelled": { readonly tool: string; readonly toolCallId: string; readonly outcome: FailureOutcome };
  "mcp.server.pending": {
    readonly server: string;
    readonly fingerprint: string;
    readonly why: string;
    readonly requestId: string;
  };
  "mcp.server.starting": {
    readonly server: string;
    readonly transport: string;
    readonly attempt: number;
    /** What each item is enforced by. */
    readonly sandbox?: Readonly<Record<string, string>> | undefined;
  };
  "mcp.server.ready": ServerReady;
  "mcp.server.failed": { readonly server: string; readonly error: Fault };
  "mcp.server.warning": {
    readonly server: string;
    readonly kind: string;
    readonly count: number;
    readonly excerpt?: string | undefined;
  };
  "mcp.server.crashed": ServerCrashed;
  "mcp.server.restarting": { readonly server: string; readonly attempt: number; readonly delayMs: number };
  "mcp.server.permanently_failed": { readonly server: string; readonly crashes: number; readonly lastReason: string };
  "mcp.server.shutdown": {
    readonly server: string;
    readonly reason: (typeof shutdownReasons)[number];
    readonly containment: (typeof containments)[number];
  };
  "mcp.server.idle_disconnected": { readonly server: string; readonly idleMs: number };
  "mcp.server.auth_required": {
    readonly server: string;
    readonly authorizationUrl?: string | undefined;
    readonly scopes: readonly string[];
  };
  "mcp.catalog.changed": {
    readonly server: string;
    /** What of it has changed; tools where it says nothing. */
    readonly kind?: (typeof offerKinds)[number] | undefined;
    readonly added: readonly string[];
    readonly removed: readonly string[];
    readonly changed: readonly string[];
  };
  "mcp.tool.rejected": { readonly server: string; readonly tool: string; readonly why: string };
  "mcp.call.started": {
    readonly server: string;
    readonly toolCallId: string;
    readonly method: string;
    readonly args?: unknown;
    readonly round: number;
  };
  "mcp.call.progress": {
    readonly server: string;
    readonly toolCallId: string;
    readonly progress: number;
    readonly total?: number | undefined;
    readonly message?: string | undefined;
  };
  "mcp.call.completed": {
    readonly server: string;
    readonly toolCallId: string;
    readonly durationMs: number;
    readonly bytes: number;
    readonly resends: number;
    readonly inputRequired?: unknown;
    readonly task?: unknown;
  };
  "mcp.call.failed": {
    readonly server: string;
    readonly toolCallId: string;
    readonly code?: string | number | undefined;
    readonly message: string;
    readonly outcome: FailureOutcome;
    readonly resends: number;
  };
  "mcp.input.requested": {
    readonly requestId: string;
    /** For whose sake it is asked: a call, the read of a resource, or a prompt. */
    readonly toolCallId?: string | undefined;
    readonly uri?: string | undefined;
    readonly prompt?: string | undefined;
    readonly server: string;
    readonly kind: InputKind;
    readonly message?: string | undefined;
    /** Of a form; the beginning of its text where it is long. */
    readonly schema?: unknown;
    /** Of an address. */
    readonly urlHost?: string | undefined;
  };
  "mcp.input.resolved": {
    readonly requestId: string;
    readonly toolCallId?: string | undefined;
    readonly uri?: string | undefined;
    readonly prompt?: string | undefined;
    readonly server: string;
    readonly kind: InputKind;
    readonly action: InputAction;
    readonly reason?: string | undefined;
  };
  "mcp.resource.requested": ResourceEvent & { readonly action: (typeof resourceActions)[number] };
  "mcp.resource.fetched": ResourceEvent & {
    /** Of all its parts, bytes of blobs decoded. */
    readonly sizeBytes: number;
    /** Of what is shown of it. */
    readonly contentHash: string;
    readonly mimeType?: string | undefined;
    readonly parts: number;
    readonly artifact?: Artifact | undefined;
    readonly durationMs: number;
  };
  "mcp.resource.failed": ResourceEvent & OfferFailed;
  "mcp.prompt.invoked": PromptEvent & {
    readonly arguments: string | Readonly<Record<string, unknown>>;
    readonly actor: (typeof callers)[number];
  };
  "mcp.prompt.expanded": PromptEvent & {
    readonly messages: readonly { readonly role: string; readonly content: string }[];
    readonly messageCount: number;
    readonly findings: number;
    readonly durationMs: number;
  };
  "mcp.prompt.failed": PromptEvent & OfferFailed;
  "user.message": {
    readonly role: string;
    readonly content: string;
    /** Whose words they are, where a server gave them. */
    readonly source?: { readonly mcp: { readonly server: string; readonly prompt: string } } | undefined;
    /** Where all of it is, where `content` is only its beginning and end. */
    readonly artifact?: Artifact | undefined;
  };
  "mcp.log": {
    readonly server: string;
    readonly level: string;
    readonly logger?: string | undefined;
    readonly data?: unknown;
    readonly dropped?: number | undefined;
  };
  "artifact.stored": Artifact & { readonly from: string };
  "security.finding": {
    readonly rule: string;
    readonly where: string;
    readonly severity: string;
    readonly count: number;
    readonly preview?: string | undefined;
  };
};

/**
 * An event of a type that a host of this version writes by itself: its `type` tells what its `payload` is. A log may hold
 * others too, of other versions and of turns, so that what is read from it is a {@link HostEvent} first.
 *
 * @example
 * ```ts
 * import type { HostEvent, KnownEvent } from "portcullis";
 *
 * export function describe(read: HostEvent): string {
 *   const event = read as KnownEvent;
 *   switch (event.type) {
 *     case "permission.resolved":
 *       return `${event.payload.requestId}: ${event.payload.decision}`;
 *     case "tool.completed":
 *       return `${event.payload.tool} took ${event.payload.durationMs} ms`;
 *     default:
 *       return read.type;
 *   }
 * }
 * ```
 */
export type KnownEvent = {
  readonly [T in keyof EventPayloads]: Omit<HostEvent, "type" | "payload"> & {
    readonly type: T;
    readonly payload: EventPayloads[T];
  };
}[keyof EventPayloads];

/**
 * An event as its writer makes it, with its payload checked:
 * `{ type: "tool.started", payload: { tool, toolCallId } } satisfies KnownEventInput`.
 */
export type KnownEventInput = {
  [T in keyof EventPayloads]: {
    readonly type: T;
    readonly payload: EventPayloads[T];
    readonly turnId?: string;
    readonly cause?: EventCursor;
  };
}[keyof EventPayloads];

export type InputKind = (typeof inputKinds)[number];
export type InputAction = (typeof inputActions)[number];
export type FailureOutcome = (typeof failureOutcomes)[number];
export type ToolFailureReason = (typeof toolFailureReasons)[number];

/** A failure as events tell it: a code, and a text that has been scrubbed. */
export type Fault = { readonly code?: string | number | undefined; readonly message: string };

/** Content that is stored whole. */
export type Artifact = { readonly sha256: string; readonly bytes: number; readonly mediaType: string };

type Opened = {
  readonly sources?: readonly string[] | undefined;
  readonly level?: (typeof levels)[number] | undefined;
  readonly reason?: string | undefined;
};

type Closed = { readonly reason?: string | undefined };

type Risk = (typeof risks)[number];
type DecisionSource = (typeof decisionSources)[number];

/** A tool, or a resource, prompt or definition of a server. */
type PermissionRequested = {
  readonly requestId: string;
  readonly toolCallId?: string | undefined;
  readonly tool?: string | undefined;
  readonly server?: string | undefined;
  readonly uri?: string | undefined;
  readonly prompt?: string | undefined;
  readonly args?: unknown;
  readonly argsHash?: string | undefined;
  readonly fingerprint?: string | undefined;
  readonly riskAtDecision?: Risk | undefined;
  readonly risk?: Risk | undefined;
  readonly sourcedFrom: DecisionSource;
  readonly by: (typeof callers)[number];
};

type PermissionResolved = {
  readonly requestId: string;
  readonly decision: "allow" | "deny";
  readonly actor: (typeof actors)[number];
  readonly sourcedFrom: DecisionSource;
  readonly scope?: string | undefined;
  readonly reason?: string | undefined;
  readonly rule?: string | undefined;
};

type ResourceEvent = {
  readonly server: string;
  readonly uri: string;
  /** The permission that it rests on. */
  readonly requestId?: string | undefined;
};
type PromptEvent = {
  readonly server: string;
  readonly prompt: string;
  /** Absent where a person has typed it: that is the decision. */
  readonly requestId?: string | undefined;
};
type OfferFailed = {
  readonly reason: ToolFailureReason | "not_found" | "cancelled";
  readonly error?: Fault | undefined;
};

type ToolCompleted = {
  readonly tool: string;
  readonly toolCallId: string;
  readonly isError: boolean;
  readonly resultPreview: string;
  readonly resultSize: number;
  readonly artifact?: Artifact | undefined;
  readonly truncated: boolean;
  readonly findings?: unknown;
  readonly durationMs: number;
};

type ServerReady = {
  readonly server: string;
  readonly protocolVersion: string;
  readonly serverInfo?: { readonly name: string; readonly version: string } | undefined;
  readonly capabilities?: unknown;
  readonly tools: number;
  readonly resources?: number | undefined;
  readonly prompts?: number | undefined;
  readonly startMs: number;
};

type ServerCrashed = {
  readonly server: string;
  readonly reason: (typeof crashReasons)[number];
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly stderrTail?: string | undefined;
  readonly error?: Fault | undefined;
  /** Calls that it took with it. */
  readonly inFlight: number;
};
