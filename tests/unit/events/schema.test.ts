import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { makeEvent } from "../../../src/events/encode.ts";
import type { EventPayloads, KnownEventInput } from "../../../src/events/payloads.ts";
import { eventSchema, payloadSchemas } from "../../../src/events/schema.ts";

const server = "files";
const call = { tool: "mcp.files.read", toolCallId: "tc_1" };
const remote = { server, toolCallId: "tc_1" };
const artifact = { sha256: "a".repeat(64), bytes: 3, mediaType: "text/plain" };

const samples: { readonly [T in keyof EventPayloads]: EventPayloads[T] } = {
  "host.opened": { level: "durable", sources: ["global"] },
  "host.closed": { reason: "closed" },
  "session.opened": { sources: [], level: undefined },
  "session.closed": {},
  "permission.requested": {
    requestId: "req_1",
    tool: call.tool,
    args: { path: "a" },
    riskAtDecision: "read",
    sourcedFrom: "default",
    by: "model",
  },
  "permission.resolved": { requestId: "req_1", decision: "allow", actor: "policy", sourcedFrom: "rule", rule: "1" },
  "tool.ambiguous_call": { name: "read", candidates: ["read", "mcp.files.read"] },
  "tool.not_found": { name: "raed", suggestions: ["mcp.files.read"] },
  "tool.started": call,
  "tool.completed": {
    ...call,
    isError: false,
    resultPreview: "ok",
    resultSize: 2,
    artifact,
    truncated: false,
    findings: 0,
    durationMs: 1.5,
  },
  "tool.failed": {
    ...call,
    reason: "timeout",
    outcome: "unknown",
    error: { code: "ERR_TIMEOUT", message: "Call timed out" },
  },
  "tool.cancelled": { ...call, outcome: "not_sent" },
  "mcp.server.pending": { server, fingerprint: "sha256:1", why: "import", requestId: "req_2" },
  "mcp.server.starting": { server, transport: "stdio", attempt: 1, sandbox: { memory: "cgroup" } },
  "mcp.server.ready": { server, protocolVersion: "2025-06-18", tools: 3, startMs: 20, capabilities: {} },
  "mcp.server.failed": { server, error: { message: "Cannot start" } },
  "mcp.server.warning": { server, kind: "noise", count: 1 },
  "mcp.server.crashed": { server, reason: "exit", exitCode: 1, inFlight: 2 },
  "mcp.server.restarting": { server, attempt: 1, delayMs: 500 },
  "mcp.server.permanently_failed": { server, crashes: 4, lastReason: "exit" },
  "mcp.server.shutdown": { server, reason: "closed", containment: "process_group" },
  "mcp.server.idle_disconnected": { server, idleMs: 60_000 },
  "mcp.server.auth_required": { server, scopes: ["read"] },
  "mcp.catalog.changed": { server, added: ["a"], removed: [], changed: [] },
  "mcp.resource.requested": { server, uri: "a:b", requestId: "req_1", action: "include" },
  "mcp.resource.fetched": {
    server,
    uri: "a:b",
    requestId: "req_1",
    sizeBytes: 3,
    contentHash: "sha256:1",
    mimeType: "text/plain",
    parts: 1,
    artifact,
    durationMs: 1,
  },
  "mcp.resource.failed": { server, uri: "a:b", reason: "not_found", error: { code: -32002, message: "no" } },
  "mcp.prompt.invoked": { server, prompt: "review", arguments: { pr: "1" }, actor: "user" },
  "mcp.prompt.expanded": { server, prompt: "review", messages: [], messageCount: 0, findings: 0, durationMs: 1 },
  "mcp.prompt.failed": { server, prompt: "review", reason: "cancelled" },
  "user.message": { role: "user", content: "hi", source: { mcp: { server, prompt: "review" } } },
  "mcp.tool.rejected": { server, tool: "x", why: "its schema is too deep" },
  "mcp.call.started": { ...remote, method: "tools/call", args: {}, round: 1 },
  "mcp.call.progress": { ...remote, progress: 1, total: 2 },
  "mcp.call.completed": { ...remote, durationMs: 3, bytes: 10, resends: 0 },
  "mcp.call.failed": { ...remote, code: -32603, message: "Remote error", outcome: "answered", resends: 0 },
  "mcp.input.requested": { ...remote, requestId: "req_1", kind: "form", message: "Sure?", schema: { type: "object" } },
  "mcp.input.resolved": { ...remote, requestId: "req_1", kind: "form", action: "accept" },
  "mcp.log": { server, level: "warning", data: "text" },
  "artifact.stored": { ...artifact, from: "tool" },
  "security.finding": { rule: "ansi", where: "result", severity: "low", count: 1 },
};

describe("event schemas", () => {
  it.each(Object.entries(samples))("accept %s as its writer makes it", (type, payload) => {
    const schema = payloadSchemas[type as keyof EventPayloads];
    expect(v.safeParse(schema, payload).issues).toBeUndefined();
    const event = makeEvent({ type, payload } as KnownEventInput, payload, {
      seq: 1,
      id: "e",
      at: 1,
      stream: "s",
      epoch: 1,
    });
    expect(v.parse(eventSchema, event)).toEqual(event);
  });

  it.each(Object.entries(samples))("refuse %s with a member of another type", (type, payload) => {
    const schema = payloadSchemas[type as keyof EventPayloads];
    for (
      const key of Object.keys(payload).filter((name) => !["args", "findings", "capabilities", "data"].includes(name))
    ) {
      if ((payload as Record<string, unknown>)[key] === undefined) continue;
      expect(v.safeParse(schema, { ...payload, [key]: Symbol("odd") }).success, key).toBe(false);
    }
  });

  it("let members through that they do not know", () => {
    const payload = { ...call, later: { added: true } };
    expect(v.parse(payloadSchemas["tool.started"], payload)).toEqual(payload);
    const event = {
      ...makeEvent({ type: "mcp.log", payload: {} }, {}, { seq: 1, id: "e", at: 1, stream: "s", epoch: 1 }),
      x: 1,
    };
    expect(v.parse(eventSchema, event)).toEqual(event);
  });

  it.each([
    ["a seq of 0", { seq: 0 }],
    ["a fractional seq", { seq: 1.5 }],
    ["no payload", { payload: undefined }],
    ["a payload that is a list", { payload: [1] }],
    ["no type", { type: undefined }],
    ["a text as version", { v: "1" }],
  ])("refuse an envelope with %s", (_, change) => {
    const event = makeEvent({ type: "mcp.log", payload: {} }, {}, { seq: 1, id: "e", at: 1, stream: "s", epoch: 1 });
    expect(v.safeParse(eventSchema, { ...event, ...change }).success).toBe(false);
  });
});
