import type { EventCursor, EventInput } from "../events/event.ts";
import type { FailureOutcome, Fault, KnownEventInput, ToolFailureReason } from "../events/payloads.ts";
import type { Finding } from "./outcome.ts";
import type { Output } from "./output.ts";

/** What all events of one call have in common. Its turn is added where they are appended. */
export interface CallFacts {
  /** The full name, or the bare name of a local tool. */
  readonly tool: string;
  readonly toolCallId: string;
}

const MAX_NAME = 300;

export function toolStarted(call: CallFacts): EventInput {
  return known({ type: "tool.started", payload: { tool: call.tool, toolCallId: call.toolCallId } });
}

export function toolCompleted(call: CallFacts, output: Output, durationMs: number): EventInput {
  return known({
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
  });
}

export function toolFailed(
  call: CallFacts,
  reason: ToolFailureReason,
  outcome: FailureOutcome,
  error: Fault | undefined,
  cause?: EventCursor,
): EventInput {
  return known(
    { type: "tool.failed", payload: { tool: call.tool, toolCallId: call.toolCallId, reason, outcome, error } },
    cause,
  );
}

export function toolCancelled(call: CallFacts, outcome: FailureOutcome): EventInput {
  return known({ type: "tool.cancelled", payload: { tool: call.tool, toolCallId: call.toolCallId, outcome } });
}

export function ambiguousCall(name: string, candidates: readonly string[]): EventInput {
  return known({ type: "tool.ambiguous_call", payload: { name: name.slice(0, MAX_NAME), candidates } });
}

export function toolNotFound(name: string, suggestions: readonly string[]): EventInput {
  return known({ type: "tool.not_found", payload: { name: name.slice(0, MAX_NAME), suggestions } });
}

export function artifactStored(call: CallFacts, artifact: NonNullable<Output["artifact"]>): EventInput {
  const { sha256, bytes, mediaType } = artifact;
  return known({ type: "artifact.stored", payload: { sha256, bytes, mediaType, from: call.toolCallId } });
}

/** Something in the result of a call; beside the event that closes it. */
export function securityFinding(
  call: Pick<CallFacts, "tool">,
  { rule, where, severity, count, preview }: Finding,
): EventInput {
  return known({
    type: "security.finding",
    payload: { rule, where: `${where} of ${call.tool}`, severity, count, preview },
  });
}

/** `args` is a preview that was scrubbed before it was cut. */
export function callStarted(
  call: CallFacts,
  server: string,
  toolName: string,
  args: unknown,
  round: number,
): EventInput {
  return known({
    type: "mcp.call.started",
    payload: {
      server,
      toolCallId: call.toolCallId,
      method: "tools/call",
      args: { name: toolName, arguments: args },
      round,
    },
  });
}

export function callCompleted(
  call: CallFacts,
  server: string,
  durationMs: number,
  bytes: number,
  resends: number,
): EventInput {
  return known({
    type: "mcp.call.completed",
    payload: { server, toolCallId: call.toolCallId, durationMs, bytes, resends },
  });
}

/** The same for an answer that is none yet: what the server asks for follows, or the task that it has made of the call. */
export function callSuspended(
  call: CallFacts,
  { server, durationMs, resends }: { readonly server: string; readonly durationMs: number; readonly resends: number },
  bytes: number,
  because: { readonly inputRequired: { readonly asks: number } } | { readonly task: { readonly taskId: string } },
): EventInput {
  return known({
    type: "mcp.call.completed",
    payload: { server, toolCallId: call.toolCallId, durationMs, bytes, resends, ...because },
  });
}

export function callFailed(
  call: CallFacts,
  server: string,
  fault: Fault,
  outcome: FailureOutcome,
  resends: number,
  cause?: EventCursor,
): EventInput {
  return known(
    {
      type: "mcp.call.failed",
      payload: { server, toolCallId: call.toolCallId, code: fault.code, message: fault.message, outcome, resends },
    },
    cause,
  );
}

/** Holds an event against its payload's type. */
function known(event: KnownEventInput, cause?: EventCursor): EventInput {
  return cause === undefined ? event : { ...event, cause };
}
