import type { Client } from "../client/client.ts";
import type { CompletionQuery } from "../client/completion.ts";
import { filledOf } from "../client/prompts.ts";
import { contentsOf, isResourceNotFound } from "../client/resources.ts";
import type { FailedReply, Reply } from "../client/reply.ts";
import { HostError, isHostError, unsupported } from "../kernel/errors.ts";
import type { Prompt, PromptMessage, ResourceContents } from "../protocol/model.ts";
import { type AskingRequest, askServer, type AskServerOptions } from "./ask_server.ts";
import type { Loss } from "./connection.ts";
import type { Server } from "./server.ts";

/** Long strings that were put aside: each has to be closed or aborted. */
export type Spills = Extract<Reply, { kind: "done" }>["spills"];

/** What became of a request for something that a server offers. */
export type Offered<T> =
  | { readonly kind: "done"; readonly value: T; readonly spills: Spills }
  | {
    readonly kind: "failed";
    readonly reply: FailedReply;
    readonly loss: Loss | undefined;
    /** The server says that there is no such thing. */
    readonly isNotFound: boolean;
  };

export { promptArguments } from "../client/prompts.ts";

/** Reads a resource. Rejects, with nothing sent, where the server cannot be had. */
export function readOffered(
  server: Server,
  uri: string,
  options: AskServerOptions,
): Promise<Offered<ResourceContents[]>> {
  const ask = ({ facts }: Client, request: AskingRequest): Promise<Reply> =>
    facts.capabilities.resources === undefined
      ? Promise.resolve(notOffered("read a resource", server))
      : request("resources/read", { uri });
  return offered(askServer(server, options, ask), contentsOf);
}

/** What `prompts/get` gives. */
export interface FilledOffer {
  readonly description?: string;
  readonly messages: readonly PromptMessage[];
}

/** Fills a prompt in, with arguments that {@link promptArguments} has checked. Rejects where the server cannot be had. */
export function fillOffered(
  server: Server,
  prompt: Prompt,
  args: Readonly<Record<string, string>>,
  options: AskServerOptions,
): Promise<Offered<FilledOffer>> {
  const ask = ({ facts }: Client, request: AskingRequest): Promise<Reply> =>
    facts.capabilities.prompts === undefined
      ? Promise.resolve(notOffered("get a prompt", server))
      : request("prompts/get", { name: prompt.name, arguments: args });
  return offered(askServer(server, options, ask), (reply) => {
    if (reply.kind === "done" && reply.spills !== undefined && reply.spills.length > 0) {
      throw new HostError(
        "ERR_TOO_LARGE",
        "Cannot use the answer to prompts/get: a text in it is too long for a prompt",
      );
    }
    return filledOf(reply);
  });
}

/** Values for an argument or a variable; none where the server has no completions. Rejects with what it failed with. */
export async function completeOffered(
  server: Server,
  query: CompletionQuery,
  { signal, timeoutMs = server.config.timeoutMs }: Omit<AskServerOptions, "clock">,
): Promise<{ readonly values: readonly string[]; readonly total?: number; readonly hasMore: boolean }> {
  const lease = server.tryAcquire() ?? await server.acquire({ signal, timeoutMs });
  try {
    return await server.offers.complete(lease.client, query, { signal, timeoutMs });
  } finally {
    lease.release();
  }
}

async function offered<T>(asking: ReturnType<typeof askServer>, read: (reply: Reply) => T): Promise<Offered<T>> {
  const { reply, loss } = await asking;
  const failed = (failure: FailedReply): Offered<T> => ({
    kind: "failed",
    reply: failure,
    loss,
    isNotFound: isResourceNotFound(failure.error),
  });
  if (reply.kind === "failed") return failed(reply);
  try {
    return { kind: "done", value: read(reply), spills: reply.kind === "done" ? reply.spills : undefined };
  } catch (error) {
    if (reply.kind === "done") { for (const { writer } of reply.spills ?? []) void writer.abort(); }
    const why = isHostError(error) ? error : new HostError("ERR_PROTOCOL", "Cannot use an answer", { cause: error });
    return failed({ kind: "failed", error: why, sent: true, refused: false, resends: reply.resends });
  }
}

function notOffered(action: string, { name }: Server): FailedReply {
  const error = unsupported(`${action} of server "${name}"`, "it declares none");
  return { kind: "failed", error, sent: false, refused: false, resends: 0 };
}
