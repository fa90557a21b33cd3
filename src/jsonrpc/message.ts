import { boundedParse, type ParseLimits } from "./bounded_parse.ts";
import type { Spill } from "./spill_sink.ts";

/** Codes of JSON-RPC 2.0, section 5.1. */
export const INVALID_REQUEST = -32600;
export const INTERNAL_ERROR = -32603;

/** JSON-RPC 2.0 request id as a peer may send it. We ourselves send positive safe integers only. */
export type RequestId = number | string;

/** The error member of a response (JSON-RPC 2.0, section 5.1). */
export interface ErrorShape {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** What is answered to a method that nobody here knows. */
export const UNKNOWN_METHOD: ErrorShape = Object.freeze({ code: -32601, message: "Method not found" });

/** A well-formed message, sorted by what it is. Its values are the peer's: unchecked beyond the envelope. */
export type Incoming =
  | {
    readonly kind: "result";
    readonly id: RequestId;
    readonly result: unknown;
    /** Long strings that were put aside; whoever takes the message on has to close or abort each. */
    readonly spills?: readonly Spill[];
  }
  | { readonly kind: "error"; readonly id: RequestId | undefined; readonly error: ErrorShape }
  | { readonly kind: "request"; readonly id: RequestId; readonly method: string; readonly params: unknown }
  | { readonly kind: "notification"; readonly method: string; readonly params: unknown };

/** Why a text is no message. `not_json` and `not_rpc` are noise; the others are a peer that speaks wrongly. */
export type MalformedReason =
  | "not_json"
  | "not_rpc"
  | "too_large"
  | "too_deep"
  | "too_many_nodes"
  /** The place where its long strings go has failed. */
  | "sink"
  | "envelope"
  | "id"
  /** An array of messages where the revision knows none, or of too many. */
  | "batch";

export type ParsedMessage =
  | Incoming
  | { readonly kind: "batch"; readonly members: readonly unknown[] }
  | { readonly kind: "malformed"; readonly reason: MalformedReason; readonly id?: RequestId };

/** Reads one frame. Never throws. */
export function readMessage(text: string, limits: ParseLimits, parse?: (text: string) => unknown): ParsedMessage {
  const parsed = boundedParse(text, limits, parse);
  if (parsed.ok) return messageOf(parsed.value);
  const { id, method } = (parsed.value ?? {}) as Record<string, unknown>;
  // What asks or tells something is no answer to anything, however it was refused.
  return method === undefined
    ? { kind: "malformed", reason: parsed.reason, id: id as RequestId }
    : { kind: "malformed", reason: "envelope" };
}

/** Sorts what a frame was parsed to. */
export function messageOf(value: unknown): ParsedMessage {
  if (!Array.isArray(value)) return classify(value);
  return value.length === 0 ? { kind: "malformed", reason: "not_rpc" } : { kind: "batch", members: value };
}

/**
 * Sorts one parsed value by its envelope. What decides between question and answer is the presence of `method`, never
 * the id: both directions count their own ids.
 */
export function classify(
  value: unknown,
): Incoming | { readonly kind: "malformed"; readonly reason: MalformedReason; readonly id?: RequestId } {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { kind: "malformed", reason: "not_rpc" };
  }
  const message = value as Record<string, unknown>;
  if (message["jsonrpc"] !== "2.0") return { kind: "malformed", reason: "not_rpc" };
  const id = message["id"];
  const method = message["method"];
  if (method !== undefined) {
    if (typeof method !== "string") return { kind: "malformed", reason: "envelope" };
    if (id === undefined) return { kind: "notification", method, params: message["params"] };
    if (!isRequestId(id)) return { kind: "malformed", reason: "id" };
    return { kind: "request", id, method, params: message["params"] };
  }
  const hasResult = "result" in message;
  const error = message["error"];
  if (hasResult === (error !== undefined && error !== null)) {
    return isRequestId(id) ? { kind: "malformed", reason: "envelope", id } : { kind: "malformed", reason: "envelope" };
  }
  if (hasResult) {
    return isRequestId(id) ? { kind: "result", id, result: message["result"] } : { kind: "malformed", reason: "id" };
  }
  const shape = error as Partial<ErrorShape>;
  if (typeof error !== "object" || !Number.isSafeInteger(shape.code)) {
    return isRequestId(id) ? { kind: "malformed", reason: "envelope", id } : { kind: "malformed", reason: "envelope" };
  }
  if (id !== undefined && id !== null && !isRequestId(id)) return { kind: "malformed", reason: "id" };
  return {
    kind: "error",
    id: id ?? undefined,
    error: {
      code: shape.code!,
      message: typeof shape.message === "string" ? shape.message : "",
      ...("data" in shape ? { data: shape.data } : {}),
    },
  };
}

/** Ids outside the safe integers, fractions and other types could merge or never match: they are no ids. */
function isRequestId(id: unknown): id is RequestId {
  return typeof id === "string" ? id.length <= 256 : Number.isSafeInteger(id);
}

/** True for a frame that was refused unread: whose it is cannot be told from its envelope. */
export function isUnread(reason: MalformedReason): boolean {
  return reason === "too_large" || reason === "too_deep" || reason === "too_many_nodes" || reason === "sink";
}

/** A request of ours as an id names it: the number itself, or its twin, the same number as a text. */
export function ownId(id: unknown): number | undefined {
  if (typeof id === "number") return id;
  return typeof id === "string" && /^[1-9]\d{0,15}$/.test(id) ? Number(id) : undefined;
}

/** The request that the first response among the members of a batch names, if any does. */
export function batchId(members: readonly unknown[]): RequestId | undefined {
  for (const member of members) {
    const message = classify(member);
    if (message.kind === "result" || message.kind === "error") return message.id;
  }
  return undefined;
}
