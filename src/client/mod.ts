/**
 * One server, no host: connect, list, call. Nothing here is governed or logged; that is what the main entry is for.
 *
 * @module
 */
export { connectClient } from "./connect.ts";
export type {
  Client,
  ClientHandlers,
  ConnectOptions,
  ListLimits,
  RequestOptions,
  ServerFacts,
  ToolList,
} from "./client.ts";
export {
  answering,
  type AskContext,
  type AskHandlers,
  type Asks,
  type FormAnswer,
  type FormAsk,
  type UrlAnswer,
} from "./asks.ts";
export { type Root, type RootsTeller, tellRootsChanged } from "./roots.ts";
export type { UrlAsk, UrlDoubt } from "./url_ask.ts";
export { requestInRounds, type RoundsOptions } from "./rounds.ts";
export {
  awaitTask,
  type TaskAnswers,
  taskOf,
  type TaskOptions,
  taskParamsFor,
  type TaskRef,
  TASKS_EXTENSION,
} from "./tasks.ts";
export type { FailedReply, Reply } from "./reply.ts";
export type { FullList, PageLimits, Requester } from "./pages.ts";
export {
  isResourceNotFound,
  type ListOptions,
  listResources,
  listResourceTemplates,
  readResource,
  subscribeResource,
  unsubscribeResource,
  updatedResource,
} from "./resources.ts";
export { expandTemplate, type TemplateValues, templateVariables } from "./templates.ts";
export { getPrompt, listPrompts, promptArguments } from "./prompts.ts";
export { complete, type CompleterOptions, type CompletionQuery, createCompleter } from "./completion.ts";
export { askForLogs } from "./logging.ts";
export type { Completion, FilledPrompt, Malformed } from "../protocol/offers.ts";
export { keepListening, type ListenEnd, type ListenOptions, type SubscriptionFilter } from "./listen.ts";
export { checkedExtensions, checkedMeta } from "../protocol/meta_names.ts";
export type { LogLevel } from "../protocol/request_meta.ts";
export { type CheckedTrace, type TraceContext, traceContext } from "../protocol/trace.ts";
export { httpDialer, type HttpDialerOptions } from "../transport/http.ts";
export { stdioDialer, type StdioDialerOptions } from "../transport/stdio.ts";
export type { AskAnswerer } from "../jsonrpc/peer_asks.ts";
export type { BeforeResend, Dialer, TransportEnd, WarningKind } from "../transport/transport.ts";
export { type Clock, systemClock, type Timer } from "../kernel/clock.ts";
export { type ErrorCode, HostError, isHostError, isRemoteError, RemoteError } from "../kernel/errors.ts";
export type { FetchFunction, SpawnFunction } from "../kernel/runtime.ts";
export type {
  CallToolResult,
  ClientCapabilities,
  ContentBlock,
  Implementation,
  JsonObject,
  Progress,
  Prompt,
  PromptArgument,
  PromptMessage,
  Resource,
  ResourceContents,
  ResourceTemplate,
  ServerCapabilities,
  Tool,
  ToolAnnotations,
} from "../protocol/model.ts";
export type { Verdict, VerdictCache } from "../protocol/negotiate.ts";
