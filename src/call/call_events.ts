import type { EventCursor, EventInput } from "../events/event.ts";
import type { FailureOutcome, Fault, KnownEventInput, ToolFailureReason } from "../events/payloads.ts";
import type { Output } from "./output.ts";

/** What all events of one call have in common. */
export interface CallFacts {
  /** The full name, or the bare name of a local tool. */
  readonly tool: string;
  readonly toolCallId: string;
  readonly turnId: string | undefined;
}

const MAX_NAME = 300;

export function toolStarted(call: CallFacts): EventInput {
  return stamped({ type: "tool.started", payload: { tool: call.tool, toolCallId: call.toolCallId } }, call);
}

export function toolCompleted(call: CallFacts, output: Output, durationMs: number): EventInput {
  return stamped({
    type: "tool.completed",
    payload: {
      tool: call.tool,
      toolCallId: call.toolCallId,
      isError: output.isError,
      resultPreview: output.preview,
      resultSize: output.resultSize,
      artifact: output.artifact,
      truncated: output.isPreviewCut,
      findings: output.findings.length,
      durationMs,
    },
  }, call);
}

export function toolFailed(
  call: CallFacts,
  reason: ToolFailureReason,
  outcome: FailureOutcome,
  error: Fault | undefined,
  cause?: EventCursor,
): EventInput {
  return stamped(
    { type: "tool.failed", payload: { tool: call.tool, toolCallId: call.toolCallId, reason, outcome, error } },
    call,
    cause,
  );
}

export function toolCancelled(call: CallFacts, outcome: FailureOutcome): EventInput {
  return stamped({ type: "tool.cancelled", payload: { tool: call.tool, toolCallId: call.toolCallId, outcome } }, call);
}

export function ambiguousCall(name: string, candidates: readonly string[], turnId: string | undefined): EventInput {
  return stamped({ type: "tool.ambiguous_call", payload: { name: name.slice(0, MAX_NAME), candidates } }, { turnId });
}

export function toolNotFound(name: string, suggestions: readonly string[], turnId: string | undefined): EventInput {
  return stamped({ type: "tool.not_found", payload: { name: name.slice(0, MAX_NAME), suggestions } }, { turnId });
}

export function artifactStored(call: CallFacts, artifact: NonNullable<Output["artifact"]>): EventInput {
  const { sha256, bytes, mediaType } = artifact;
  return stamped({ type: "artifact.stored", payload: { sha256, bytes, mediaType, from: call.toolCallId } }, call);
}

/** `args` is a preview that was scrubbed before it was cut. */
export function callStarted(
  call: CallFacts,
  server: string,
  toolName: string,
  args: unknown,
  round: number,
): EventInput {
  return stamped({
    type: "mcp.call.started",
    payload: {
      server,
      toolCallId: call.toolCallId,
      method: "tools/call",
      args: { name: toolName, arguments: args },
      round,
    },
  }, call);
}

export function callCompleted(
  call: CallFacts,
  server: string,
  durationMs: number,
  bytes: number,
  resends: number,
): EventInput {
  return stamped({
    type: "mcp.call.completed",
    payload: { server, toolCallId: call.toolCallId, durationMs, bytes, resends },
  }, call);
}

export function callFailed(
  call: CallFacts,
  server: string,
  fault: Fault,
  outcome: FailureOutcome,
  resends: number,
  cause?: EventCursor,
): EventInput {
  return stamped(
    {
      type: "mcp.call.failed",
      payload: { server, toolCallId: call.toolCallId, code: fault.code, message: fault.message, outcome, resends },
    },
    call,
    cause,
  );
}

function stamped(
  event: KnownEventInput,
  call: { readonly turnId: string | undefined },
  cause?: EventCursor,
): EventInput {
  if (call.turnId === undefined && cause === undefined) return event;
  return {
    ...event,
    ...(call.turnId === undefined ? {} : { turnId: call.turnId }),
    ...(cause === undefined ? {} : { cause }),
  };
}
