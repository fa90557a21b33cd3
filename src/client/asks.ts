import { HostError, isRemoteError, RemoteError } from "../kernel/errors.ts";
import type { AskAnswerer } from "../jsonrpc/peer_asks.ts";
import type { ClientCapabilities, JsonObject } from "../protocol/model.ts";
import { asObject } from "../protocol/results.ts";
import { type ConnectionAsks, onConnection } from "./askees.ts";
import { faultOfForm, fillForm } from "./form.ts";
import { faultOfRoot, type Root } from "./roots.ts";
import { faultOfUrl, lookOf, type UrlAsk } from "./url_ask.ts";

export type { AskAnswerer } from "../jsonrpc/peer_asks.ts";
export type { Root } from "./roots.ts";

/** A server wants a form filled in (client/elicitation, mode `form`). Its texts are the server's: show who asks. */
export interface FormAsk {
  readonly message: string;
  /** An object schema of flat fields, with titles, defaults and choices. */
  readonly schema: JsonObject;
}

/** How a person answers. Accepting an address is consent to open it, not word that all was done there. */
export type FormAnswer =
  /** Untouched fields may be left out: their defaults are filled in. */
  | { readonly action: "accept"; readonly content?: JsonObject }
  | { readonly action: "decline" | "cancel" };
export interface UrlAnswer {
  readonly action: "accept" | "decline" | "cancel";
}

export interface AskContext {
  /** Fires when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/**
 * What a server may ask while it works on a request, in both shapes that the revisions know: as a request of its own
 * (2024-11-05 to 2025-11-25) and inside a result (2026-07-28). Only what has a handler is declared to servers.
 */
export interface AskHandlers {
  readonly form?: (ask: FormAsk, context: AskContext) => FormAnswer | Promise<FormAnswer>;
  readonly url?: (ask: UrlAsk, context: AskContext) => UrlAnswer | Promise<UrlAnswer>;
  /**
   * Gets the parameters of `sampling/createMessage` and gives its result; `undefined` refuses. Show a person both, who may
   * change either.
   */
  readonly sample?: (
    params: JsonObject,
    context: AskContext,
  ) => JsonObject | undefined | Promise<JsonObject | undefined>;
  /** Declares that sampling may use tools. Default false. */
  readonly sampleTools?: boolean;
  readonly roots?: (context: AskContext) => readonly Root[] | Promise<readonly Root[]>;
  /** Declares that a change of roots is told, by `tellRootsChanged`: tell each. Default false. */
  readonly rootsListChanged?: boolean;
}

/** The methods by which a server asks. */
export type AskMethod = "elicitation/create" | "sampling/createMessage" | "roots/list";

/** For which kinds of asks there is a handler. */
export type AskKinds = { readonly [K in keyof AskHandlers]?: unknown };

const RELATED_TASK = "io.modelcontextprotocol/related-task";
const MAX_ASKS = 32;
const INVALID_PARAMS = -32602;
const METHOD_NOT_FOUND = -32601;
/** What a user's refusal of sampling is answered with (client/sampling, error handling). */
const REJECTED = -1;

/** What to declare for these handlers. */
export function capabilitiesOf(kinds: AskKinds): ClientCapabilities {
  const { form, url, sample, sampleTools, roots, rootsListChanged } = kinds;
  return {
    ...(form === undefined && url === undefined
      ? {}
      : { elicitation: { ...(form === undefined ? {} : { form: {} }), ...(url === undefined ? {} : { url: {} }) } }),
    ...(sample === undefined ? {} : { sampling: sampleTools === true ? { tools: {} } : {} }),
    ...(roots === undefined ? {} : { roots: rootsListChanged === true ? { listChanged: true } : {} }),
  };
}

/** Handlers as a connection takes them, made by {@link answering}: a bundle that answers nothing does not pay for it. */
export interface Asks {
  readonly handlers: AskHandlers;
  /** What is declared for them. */
  readonly capabilities: ClientCapabilities;
  readonly answer: AskAnswerer;
  /** Them, on a connection that declares more by hand. */
  on(byHand: ClientCapabilities): ConnectionAsks;
}

/**
 * Handlers for what a server asks, as `connectClient` and `requestInRounds` take them.
 *
 * @example
 * ```ts
 * import { answering } from "portcullis/client";
 *
 * export const asks = answering({ form: ({ message }) => (console.log(message), { action: "decline" }) });
 * ```
 */
export function answering(handlers: AskHandlers): Asks {
  const answer: AskAnswerer = (method, params, signal) => answerAsk(handlers, method, params, { signal });
  const capabilities = capabilitiesOf(handlers);
  return Object.freeze({
    handlers,
    capabilities,
    answer,
    on: (byHand: ClientCapabilities) => onConnection(answer, capabilities, byHand),
  });
}

/**
 * Answers one ask with the result that its method wants. Throws a {@link RemoteError} with the code to answer with for
 * what is not declared, has no usable shape or was refused, and whatever a handler throws.
 */
export async function answerAsk(
  handlers: AskHandlers,
  method: string,
  params: unknown,
  context: AskContext,
): Promise<JsonObject> {
  const given = asObject(params) ?? {};
  return relatedTo(given, await resultOf(handlers, method, given, context));
}

/** The answer to an ask. What belongs to a task says so, answers too (2025-11-25, tasks). */
export function relatedTo(params: JsonObject, result: JsonObject): JsonObject {
  const task = asObject(params["_meta"])?.[RELATED_TASK];
  return task === undefined ? result : { ...result, _meta: { ...asObject(result["_meta"]), [RELATED_TASK]: task } };
}

async function resultOf(
  handlers: AskHandlers,
  method: string,
  given: JsonObject,
  context: AskContext,
): Promise<JsonObject> {
  if (method === "elicitation/create") return await elicit(handlers, given, context);
  if (method === "sampling/createMessage" && handlers.sample !== undefined) {
    return await sample(handlers, handlers.sample, given, context);
  }
  if (method === "roots/list" && handlers.roots !== undefined) {
    const roots = await handlers.roots(context);
    for (const root of roots) {
      const fault = faultOfRoot(root);
      if (fault !== undefined) throw new HostError("ERR_INVALID_ARGUMENTS", `Cannot name a root: ${fault}`);
    }
    return { roots };
  }
  throw new RemoteError(METHOD_NOT_FOUND, "Method not found");
}

/** One thing that a result asks for. */
export interface InputAsk {
  readonly key: string;
  readonly method: string;
  readonly params: unknown;
}

/**
 * Reads what a result of the kind `input_required` asks for. Throws `ERR_PROTOCOL` for what was not declared or has no
 * usable shape: nobody is asked then, not even for the rest.
 */
export function readInputs(handlers: AskKinds, inputRequests: JsonObject): InputAsk[] {
  const entries = Object.entries(inputRequests);
  if (entries.length > MAX_ASKS) throw unanswerable(`${entries.length} asks at once, at most ${MAX_ASKS} allowed`);
  return entries.map(([key, entry]) => {
    const { method, params } = asObject(entry) ?? {};
    const fault = typeof method === "string" ? faultOfAsk(handlers, method, params) : "it names no method";
    if (fault !== undefined) throw unanswerable(`${JSON.stringify(key.slice(0, 100))}: ${fault}`);
    return { key, method: method as string, params };
  });
}

/**
 * Answers all of it, and gives the `inputResponses` of the next round. Throws what {@link readInputs} throws, and
 * `ERR_DENIED` for a refusal that has no form of its own.
 */
export async function answerInputs(
  handlers: AskHandlers,
  inputRequests: JsonObject,
  context: AskContext,
): Promise<JsonObject> {
  const asks = readInputs(handlers, inputRequests);
  const answers = await Promise.all(asks.map(async ({ key, method, params }) => {
    try {
      return [key, await answerAsk(handlers, method, params, context)] as const;
    } catch (cause) {
      throw isRemoteError(cause) ? refusedInput(method, cause) : cause;
    }
  }));
  return Object.fromEntries(answers);
}

/** The error for an ask that was refused and whose refusal has no form of its own. */
export function refusedInput(method: string, cause: unknown): HostError {
  return new HostError("ERR_DENIED", `Cannot go on: ${method} was refused`, { cause, facts: { method } });
}

/** Why an ask cannot be put to its handler; nothing when it can. */
export function faultOfAsk(handlers: AskKinds, method: string, params: unknown): string | undefined {
  const given = asObject(params) ?? {};
  switch (method) {
    case "elicitation/create":
      return faultOfElicitation(handlers, given);
    case "sampling/createMessage":
      if (handlers.sample === undefined) return "sampling was not declared";
      return faultOfSampling(handlers, given);
    case "roots/list":
      return handlers.roots === undefined ? "roots were not declared" : undefined;
  }
  return `${JSON.stringify(method.slice(0, 100))} is nothing that a server may ask`;
}

function faultOfElicitation({ form, url }: AskKinds, params: JsonObject): string | undefined {
  if (typeof params["message"] !== "string") return "it has no message";
  const mode = params["mode"] ?? "form";
  if (mode === "form") {
    return form === undefined ? "forms were not declared" : faultOfForm(params["requestedSchema"]);
  }
  if (mode !== "url") return `mode ${JSON.stringify(String(mode).slice(0, 40))} is not known`;
  return url === undefined ? "addresses were not declared" : faultOfUrl(params["url"]);
}

/** The rules for messages with tools (client/sampling): results alone in their message, each use answered by the next. */
function faultOfSampling({ sampleTools }: AskKinds, params: JsonObject): string | undefined {
  const { messages, maxTokens, tools, toolChoice } = params;
  if (!Array.isArray(messages)) return "it has no messages";
  if (typeof maxTokens !== "number") return "it has no maxTokens";
  if ((tools !== undefined || toolChoice !== undefined) && sampleTools !== true) {
    return "tools in sampling were not declared";
  }
  let open: ReadonlySet<unknown> = new Set();
  for (const message of messages) {
    const { role, content } = asObject(message) ?? {};
    const blocks = (Array.isArray(content) ? content : [content]).map((block) => asObject(block) ?? {});
    const results = blocks.filter((block) => block["type"] === "tool_result");
    if (results.length > 0 && (role !== "user" || results.length < blocks.length)) {
      return "a message mixes tool results with other content";
    }
    const answered = new Set(results.map((block) => block["toolUseId"]));
    if (open.size !== answered.size || [...open].some((id) => !answered.has(id))) {
      return "a use of a tool is not answered by the message after it";
    }
    open = new Set(blocks.filter((block) => block["type"] === "tool_use").map((block) => block["id"]));
  }
  return undefined;
}

async function elicit(handlers: AskHandlers, params: JsonObject, context: AskContext): Promise<JsonObject> {
  const { form, url } = handlers;
  if (form === undefined && url === undefined) throw new RemoteError(METHOD_NOT_FOUND, "Method not found");
  const fault = faultOfElicitation(handlers, params);
  if (fault !== undefined) throw new RemoteError(INVALID_PARAMS, `Invalid params: ${fault}`);
  const message = params["message"] as string;
  if (params["mode"] === "url") {
    const { elicitationId } = params;
    const address = params["url"] as string;
    const { action } = await url!({
      message,
      url: address,
      ...lookOf(address),
      elicitationId: typeof elicitationId === "string" ? elicitationId : undefined,
    }, context);
    return { action };
  }
  const schema = params["requestedSchema"] as JsonObject;
  const answer = await form!({ message, schema }, context);
  return answer.action === "accept"
    ? { action: "accept", content: fillForm(schema, answer.content ?? {}) }
    : { action: answer.action };
}

async function sample(
  handlers: AskHandlers,
  handler: NonNullable<AskHandlers["sample"]>,
  params: JsonObject,
  context: AskContext,
): Promise<JsonObject> {
  const fault = faultOfSampling(handlers, params);
  if (fault !== undefined) throw new RemoteError(INVALID_PARAMS, `Invalid params: ${fault}`);
  const result = await handler(params, context);
  if (result === undefined) throw new RemoteError(REJECTED, "User rejected sampling request");
  return result;
}

function unanswerable(why: string): HostError {
  return new HostError("ERR_PROTOCOL", `Cannot answer what the server asks for: ${why}`);
}
