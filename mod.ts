/**
 * The gatehouse between an agent and every MCP server it talks to: every call passes a gate, every step lands in a log.
 *
 * @module
 */
export { createHost } from "./src/host.ts";
export { Host, type HostApprovals, type HostArtifacts, type ReadyReport } from "./src/host_owner.ts";
export type { HostOptions } from "./src/host_options.ts";
export { Session, type SessionApprovals, type ToolFilterOptions } from "./src/session/session.ts";
export type {
  CompleteAnswer,
  ListedPrompt,
  ListedResource,
  ListedTemplate,
  ResourceSubscription,
  SessionPrompts,
  SessionResources,
} from "./src/session/session_offers.ts";
export type {
  ChildOptions,
  CompleteQuery,
  OfferListOptions,
  ResourceOptions,
  SubscribeOptions,
} from "./src/session/session_options.ts";
export type { PromptOptions, PromptOutcome, PromptOutcomeMessage } from "./src/call/prompts.ts";
export type { ReadError, ResourceOutcome } from "./src/call/resources.ts";
export type { ReadingOptions } from "./src/call/reading.ts";
export type { ReadingReason } from "./src/call/reading_failure.ts";
export { expandTemplate, type TemplateValues, templateVariables } from "./src/client/templates.ts";
export type { TraceContext } from "./src/protocol/trace.ts";
export type { CallOptions } from "./src/call/call.ts";
export type { HostAskContext, HostAsks } from "./src/call/host_asks.ts";
export type { FormAnswer, FormAsk, Root, UrlAnswer } from "./src/client/asks.ts";
export type { UrlAsk, UrlDoubt } from "./src/client/url_ask.ts";
export type { Finding, Outcome, OutcomeError, OutcomeReason, OutcomeStatus } from "./src/call/outcome.ts";
export type { LocalTool, LocalToolContext, LocalToolResult } from "./src/catalog/local_tool.ts";
export type { ToolDefinitions, ToolFormat } from "./src/catalog/formats.ts";
export type { ServerConfigInput } from "./src/servers/config_input.ts";
export type { ServerState, ServerStatus } from "./src/servers/server.ts";
export type { ServerManager } from "./src/servers/manager.ts";
export type { SyncReport } from "./src/servers/sync.ts";
export type { RestartPolicy } from "./src/servers/restart_policy.ts";
export type { AuthPart, SandboxPart } from "./src/servers/dial.ts";
export {
  EVENT_VERSION,
  type EventCursor,
  type EventInput,
  type EventType,
  type HostEvent,
} from "./src/events/event.ts";
export type { EventPayloads, KnownEvent } from "./src/events/payloads.ts";
export { eventSchema, payloadSchemas } from "./src/events/schema.ts";
export type { EventStore, LogFactory, StreamHead, StreamWriter } from "./src/events/store.ts";
export { memoryLog } from "./src/events/memory_store.ts";
export { fileLog, type FileLogOptions } from "./src/events/file_store.ts";
export { kvLog } from "./src/events/kv_store.ts";
export type { ArtifactRef, ArtifactStore, ArtifactWriter } from "./src/store/artifacts.ts";
export { memoryArtifacts } from "./src/store/memory_artifacts.ts";
export { fileArtifacts } from "./src/store/file_artifacts.ts";
export type { KeyValue, KeyValueEntry } from "./src/store/key_value.ts";
export { memoryKeyValue } from "./src/store/memory_kv.ts";
export type { DeskAsk, DeskDecision } from "./src/permission/desk.ts";
export type { PermissionConfig, Rule } from "./src/permission/policy.ts";
export type {
  Approval,
  ApprovalRequest,
  Approve,
  Gate,
  GateRequest,
  GateVerdict,
  Risk,
} from "./src/permission/request.ts";
export type { Scrubber, TextScrub } from "./src/scrub/scrubber.ts";
export type { Clock, Timer } from "./src/kernel/clock.ts";
export type { Ids } from "./src/kernel/ids.ts";
export type { KnownSecret } from "./src/kernel/secrets.ts";
export { type ErrorCode, HostError, isHostError, isRemoteError, RemoteError } from "./src/kernel/errors.ts";
export type { ChildProcess, FileSystem, Runtime, SpawnFunction } from "./src/kernel/runtime.ts";
export { LimitedBytesTransformStream, TextLineStream } from "./src/streams/text_line_stream.ts";
export { toText } from "./src/streams/to_text.ts";
export type { TurnEvent, TurnEventType, TurnPort } from "./src/session/turn_port.ts";
