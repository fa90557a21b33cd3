import * as v from "valibot";
import type { HostEvent } from "./event.ts";
import type { EventPayloads } from "./payloads.ts";
import * as words from "./vocabulary.ts";

/**
 * Schemas of what a host writes. Members that they do not know pass through, so that an event of a later version can
 * still be read. The log does not apply them: writers are typed, and readers choose.
 */

const text: v.GenericSchema<unknown, string> = v.string();
const count: v.GenericSchema<unknown, number> = v.pipe(v.number(), v.integer(), v.minValue(0));
const amount: v.GenericSchema<unknown, number> = v.pipe(v.number(), v.minValue(0));
const names: v.GenericSchema<unknown, string[]> = v.array(v.string());
const server = { server: text };
const call = { tool: text, toolCallId: text };
const remoteCall = { server: text, toolCallId: text };
const input = {
  requestId: text,
  toolCallId: v.optional(text),
  uri: v.optional(text),
  prompt: v.optional(text),
  server: text,
  kind: v.picklist(words.inputKinds),
};

const fault = v.looseObject({ code: v.optional(v.union([v.string(), v.number()])), message: text });
const artifact = { sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)), bytes: count, mediaType: text };
const resource = { server: text, uri: text, requestId: v.optional(text) };
const prompt = { server: text, prompt: text, requestId: v.optional(text) };
const offerFailed = {
  reason: v.picklist([...words.toolFailureReasons, "not_found", "cancelled"]),
  error: v.optional(fault),
};
const outcome = v.picklist(words.failureOutcomes);
const risk = v.picklist(words.risks);
const sourcedFrom = v.picklist(words.decisionSources);
const opened = v.looseObject({
  sources: v.optional(names),
  level: v.optional(v.picklist(words.levels)),
  reason: v.optional(text),
});
const closed = v.looseObject({ reason: v.optional(text) });

/** The schema of each payload, by the type of its event. */
export const payloadSchemas: { readonly [T in keyof EventPayloads]: v.GenericSchema<unknown, EventPayloads[T]> } =
  Object
    .freeze({
      "host.opened": opened,
      "host.closed": closed,
      "session.opened": opened,
      "session.closed": closed,
      "permission.requested": v.looseObject({
        requestId: text,
        toolCallId: v.optional(text),
        tool: v.optional(text),
        server: v.optional(text),
        uri: v.optional(text),
        prompt: v.optional(text),
        args: v.optional(v.unknown()),
        argsHash: v.optional(text),
        fingerprint: v.optional(text),
        riskAtDecision: v.optional(risk),
        risk: v.optional(risk),
        sourcedFrom,
        by: v.picklist(words.callers),
      }),
      "permission.resolved": v.looseObject({
        requestId: text,
        decision: v.picklist(["allow", "deny"]),
        actor: v.picklist(words.actors),
        sourcedFrom,
        scope: v.optional(text),
        reason: v.optional(text),
        rule: v.optional(text),
      }),
      "tool.ambiguous_call": v.looseObject({ name: text, candidates: names }),
      "tool.not_found": v.looseObject({ name: text, suggestions: names }),
      "tool.started": v.looseObject(call),
      "tool.completed": v.looseObject({
        ...call,
        isError: v.boolean(),
        resultPreview: text,
        resultSize: count,
        artifact: v.optional(v.looseObject(artifact)),
        truncated: v.boolean(),
        findings: v.optional(v.unknown()),
        durationMs: amount,
      }),
      "tool.failed": v.looseObject({
        ...call,
        reason: v.picklist(words.toolFailureReasons),
        outcome,
        error: v.optional(fault),
      }),
      "tool.cancelled": v.looseObject({ ...call, outcome }),
      "mcp.server.pending": v.looseObject({ ...server, fingerprint: text, why: text, requestId: text }),
      "mcp.server.starting": v.looseObject({
        ...server,
        transport: text,
        attempt: count,
        sandbox: v.optional(v.record(v.string(), v.string())),
      }),
      "mcp.server.ready": v.looseObject({
        ...server,
        protocolVersion: text,
        serverInfo: v.optional(v.looseObject({ name: text, version: text })),
        capabilities: v.optional(v.unknown()),
        tools: count,
        resources: v.optional(count),
        prompts: v.optional(count),
        startMs: amount,
      }),
      "mcp.server.failed": v.looseObject({ ...server, error: fault }),
      "mcp.server.warning": v.looseObject({ ...server, kind: text, count, excerpt: v.optional(text) }),
      "mcp.server.crashed": v.looseObject({
        ...server,
        reason: v.picklist(words.crashReasons),
        exitCode: v.optional(v.number()),
        signal: v.optional(text),
        stderrTail: v.optional(text),
        error: v.optional(fault),
        inFlight: count,
      }),
      "mcp.server.restarting": v.looseObject({ ...server, attempt: count, delayMs: amount }),
      "mcp.server.permanently_failed": v.looseObject({ ...server, crashes: count, lastReason: text }),
      "mcp.server.shutdown": v.looseObject({
        ...server,
        reason: v.picklist(words.shutdownReasons),
        containment: v.picklist(words.containments),
      }),
      "mcp.server.idle_disconnected": v.looseObject({ ...server, idleMs: amount }),
      "mcp.server.auth_required": v.looseObject({ ...server, authorizationUrl: v.optional(text), scopes: names }),
      "mcp.catalog.changed": v.looseObject({
        ...server,
        kind: v.optional(v.picklist(words.offerKinds)),
        added: names,
        removed: names,
        changed: names,
      }),
      "mcp.tool.rejected": v.looseObject({ ...server, tool: text, why: text }),
      "mcp.call.started": v.looseObject({ ...remoteCall, method: text, args: v.optional(v.unknown()), round: count }),
      "mcp.call.progress": v.looseObject({
        ...remoteCall,
        progress: v.number(),
        total: v.optional(v.number()),
        message: v.optional(text),
      }),
      "mcp.call.completed": v.looseObject({
        ...remoteCall,
        durationMs: amount,
        bytes: count,
        resends: count,
        inputRequired: v.optional(v.unknown()),
        task: v.optional(v.unknown()),
      }),
      "mcp.call.failed": v.looseObject({
        ...remoteCall,
        code: v.optional(v.union([v.string(), v.number()])),
        message: text,
        outcome,
        resends: count,
      }),
      "mcp.input.requested": v.looseObject({
        ...input,
        message: v.optional(text),
        schema: v.optional(v.union([v.string(), v.record(v.string(), v.unknown())])),
        urlHost: v.optional(text),
      }),
      "mcp.input.resolved": v.looseObject({
        ...input,
        action: v.picklist(words.inputActions),
        reason: v.optional(text),
      }),
      "mcp.resource.requested": v.looseObject({ ...resource, action: v.picklist(words.resourceActions) }),
      "mcp.resource.fetched": v.looseObject({
        ...resource,
        sizeBytes: count,
        contentHash: text,
        mimeType: v.optional(text),
        parts: count,
        artifact: v.optional(v.looseObject(artifact)),
        durationMs: amount,
      }),
      "mcp.resource.failed": v.looseObject({ ...resource, ...offerFailed }),
      "mcp.prompt.invoked": v.looseObject({
        ...prompt,
        arguments: v.union([v.string(), v.record(v.string(), v.unknown())]),
        actor: v.picklist(words.callers),
      }),
      "mcp.prompt.expanded": v.looseObject({
        ...prompt,
        messages: v.array(v.looseObject({ role: text, content: text })),
        messageCount: count,
        findings: count,
        durationMs: amount,
      }),
      "mcp.prompt.failed": v.looseObject({ ...prompt, ...offerFailed }),
      "user.message": v.looseObject({
        role: text,
        content: text,
        source: v.optional(v.looseObject({ mcp: v.looseObject({ server: text, prompt: text }) })),
        artifact: v.optional(v.looseObject(artifact)),
      }),
      "mcp.log": v.looseObject({
        ...server,
        level: text,
        logger: v.optional(text),
        data: v.optional(v.unknown()),
        dropped: v.optional(count),
      }),
      "artifact.stored": v.looseObject({ ...artifact, from: text }),
      "security.finding": v.looseObject({ rule: text, where: text, severity: text, count, preview: v.optional(text) }),
    });

/** The schema of the envelope around every payload. */
export const eventSchema: v.GenericSchema<unknown, HostEvent> = v.looseObject({
  v: v.pipe(v.number(), v.integer(), v.minValue(1)),
  seq: v.pipe(v.number(), v.integer(), v.minValue(1)),
  id: v.pipe(v.string(), v.nonEmpty()),
  at: v.number(),
  stream: v.pipe(v.string(), v.nonEmpty()),
  epoch: v.pipe(v.number(), v.integer(), v.minValue(1)),
  turnId: v.exactOptional(text),
  cause: v.exactOptional(v.looseObject({ stream: text, seq: count })),
  type: text,
  payload: v.pipe(v.unknown(), v.check((payload) => !Array.isArray(payload)), v.record(v.string(), v.unknown())),
});
