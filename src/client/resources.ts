import { type Clock, systemClock } from "../kernel/clock.ts";
import { HostError, isRemoteError, unsupported } from "../kernel/errors.ts";
import type { Resource, ResourceContents, ResourceTemplate } from "../protocol/model.ts";
import { readContents, readResourcePage, readTemplatePage } from "../protocol/offers.ts";
import { asObject } from "../protocol/results.ts";
import type { RequestOptions } from "./client.ts";
import { type FullList, listAllPages, type PageLimits, type Requester } from "./pages.ts";
import type { Reply } from "./reply.ts";

/** How a list is asked for. */
export interface ListOptions extends RequestOptions, PageLimits {
  /** Default: the runtime's. */
  readonly clock?: Clock;
}

const NOT_FOUND = -32002;
const INVALID_PARAMS = -32602;

/** `resources/list`, all pages within the limits; empty where the server declares no resources. Rejects with what a page failed with. */
export async function listResources(client: Requester, options: ListOptions = {}): Promise<FullList<Resource>> {
  if (client.facts.capabilities.resources === undefined) return { items: [], malformed: [] };
  return await listAllPages(client, options.clock ?? systemClock, "resources/list", readResourcePage, options);
}

/** `resources/templates/list`, like {@link listResources}. */
export async function listResourceTemplates(
  client: Requester,
  options: ListOptions = {},
): Promise<FullList<ResourceTemplate>> {
  if (client.facts.capabilities.resources === undefined) return { items: [], malformed: [] };
  return await listAllPages(
    client,
    options.clock ?? systemClock,
    "resources/templates/list",
    readTemplatePage,
    options,
  );
}

/**
 * `resources/read`. The parts may be none, and may have other addresses than the one asked for. Rejects with what the
 * request failed with (see {@link isResourceNotFound}), `ERR_PROTOCOL` for an answer that is none, and
 * `ERR_UNSUPPORTED_HERE` where the server declares no resources or asks for input first.
 *
 * @example
 * ```ts
 * import { type Client, isResourceNotFound, readResource } from "portcullis/client";
 *
 * export async function textOf(client: Client, uri: string): Promise<string | undefined> {
 *   try {
 *     return (await readResource(client, uri)).map((part) => part.text ?? "").join("");
 *   } catch (error) {
 *     if (isResourceNotFound(error)) return undefined;
 *     throw error;
 *   }
 * }
 * ```
 */
export async function readResource(
  client: Requester,
  uri: string,
  options: RequestOptions = {},
): Promise<readonly ResourceContents[]> {
  checkDeclared(client, "read a resource");
  return contentsOf(await client.request("resources/read", { uri }, options));
}

/** The parts in a reply to `resources/read`. Throws as {@link readResource} rejects. */
export function contentsOf(reply: Reply): ResourceContents[] {
  const contents = readContents(resultOf(reply, "resources/read"));
  if (contents !== undefined) return contents;
  throw new HostError(
    "ERR_PROTOCOL",
    "Cannot use the answer to resources/read: found no list of texts and blobs",
  );
}

/** The result in a reply. Throws what it failed with, and `ERR_UNSUPPORTED_HERE` for one that is not the last. */
export function resultOf(reply: Reply, method: string): Readonly<Record<string, unknown>> {
  if (reply.kind === "done") return reply.result;
  if (reply.kind === "failed") throw reply.error;
  throw unsupported(
    `finish ${method}, for which the server wants ${reply.kind === "task" ? "a task" : "input"} first`,
    "hand in a client whose request goes through requestInRounds",
  );
}

/** What servers of the official TypeScript package answer, without the `data` that tells it from other bad parameters. */
const NOT_FOUND_TEXT = /\bResource \S+ not found$/;

/** True where a server says that it has no such resource, in the words of any revision or of the official packages. */
export function isResourceNotFound(error: unknown): boolean {
  if (!isRemoteError(error)) return false;
  const { code, data, message } = error;
  return code === NOT_FOUND ||
    (code === INVALID_PARAMS && (typeof asObject(data)?.["uri"] === "string" || NOT_FOUND_TEXT.test(message)));
}

/**
 * Asks to be told of changes of a resource, by `notifications/resources/updated` (see {@link updatedResource}). Rejects
 * with `ERR_UNSUPPORTED_HERE` where the server does not declare it, or takes it only on a stream that stays open.
 */
export async function subscribeResource(client: Requester, uri: string, options: RequestOptions = {}): Promise<void> {
  await changeSubscription(client, "resources/subscribe", uri, options);
}

/** Takes a subscription back. Rejects like {@link subscribeResource}. */
export async function unsubscribeResource(client: Requester, uri: string, options: RequestOptions = {}): Promise<void> {
  await changeSubscription(client, "resources/unsubscribe", uri, options);
}

/** The address that a notification says has changed: the one subscribed to, or one below it. `undefined` for any other. */
export function updatedResource(method: string, params: unknown): string | undefined {
  const uri = method === "notifications/resources/updated" ? asObject(params)?.["uri"] : undefined;
  return typeof uri === "string" ? uri : undefined;
}

async function changeSubscription(
  client: Requester,
  method: string,
  uri: string,
  options: RequestOptions,
): Promise<void> {
  const { capabilities, subscribes } = client.facts;
  if (capabilities.resources?.subscribe !== true) {
    throw unsupported("subscribe to a resource", "this server does not offer it; read it again");
  }
  if (subscribes === true) throw unsupported("subscribe to a resource by a request", "keepListening does it here");
  resultOf(await client.request(method, { uri }, options), method);
}

function checkDeclared(client: Requester, action: string): void {
  if (client.facts.capabilities.resources === undefined) {
    throw unsupported(action, "this server does not declare any");
  }
}
