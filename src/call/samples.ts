import { HostError } from "../kernel/errors.ts";
import type { JsonObject } from "../protocol/model.ts";

/** Turns of a model that uses tools, in one history: a loop of them has to end (client/sampling). */
export const MAX_TOOL_TURNS = 32;

/** How often the model has used tools in the history that a server gives it. */
export function toolTurnsOf({ messages }: JsonObject): number {
  return Array.isArray(messages) ? messages.filter(usesTools).length : 0;
}

/** Throws `ERR_INVALID_ARGUMENTS` for what is no result of `sampling/createMessage`: the server could only refuse it. */
export function checkSample({ role, content, model }: JsonObject): void {
  const isRole = role === "assistant" || role === "user";
  const isContent = typeof content === "object" && content !== null;
  if (isRole && isContent && typeof model === "string") return;
  const missing = !isRole ? "role" : isContent ? "model" : "content";
  throw new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot send a sample: found no ${missing}, wanted role, content and model`,
  );
}

function usesTools(message: unknown): boolean {
  const { content } = (message ?? {}) as { readonly content?: unknown };
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content];
  return blocks.some((block) => (block as { readonly type?: unknown } | null | undefined)?.type === "tool_use");
}
