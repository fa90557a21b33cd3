import type { JsonObject } from "../kernel/json.ts";

export type { JsonObject, JsonValue } from "../kernel/json.ts";
export type { Progress } from "../jsonrpc/link.ts";

/**
 * Shapes of the Model Context Protocol that are the same in every revision we speak. Unknown members are kept: each
 * shape is what we read of an object, never all that it may hold.
 */

/** The name and version a client or server gives of itself. Unverified: for display only. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly [key: string]: unknown;
}

/** What a server says it offers. A present object means supported. */
export interface ServerCapabilities {
  readonly tools?: { readonly listChanged?: boolean };
  readonly resources?: { readonly subscribe?: boolean; readonly listChanged?: boolean };
  readonly prompts?: { readonly listChanged?: boolean };
  readonly logging?: JsonObject;
  readonly completions?: JsonObject;
  readonly [key: string]: unknown;
}

/** What our side declares. Empty until the host hands in handlers for what a server may ask. */
export interface ClientCapabilities {
  readonly roots?: JsonObject;
  readonly sampling?: JsonObject;
  readonly elicitation?: JsonObject;
  readonly extensions?: Readonly<Record<`${string}/${string}`, unknown>>;
  readonly [key: string]: unknown;
}

/** Hints about a tool. They come from the server and prove nothing. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
  readonly [key: string]: unknown;
}

/** A tool as `tools/list` gives it. */
export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: ToolAnnotations;
  readonly [key: string]: unknown;
}

/** One block of a result. Types we do not know pass through unread. */
export interface ContentBlock {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** The answer to `tools/call`. */
export interface CallToolResult {
  readonly content: readonly ContentBlock[];
  /** Present or not: test with `in`, since the value may be any JSON, also `null`. */
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly [key: string]: unknown;
}

/** Something that a server has to read, as `resources/list` gives it. */
export interface Resource {
  /** Sent back exactly as it came. */
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** Bytes, as the server says. */
  readonly size?: number;
  readonly [key: string]: unknown;
}

/** A family of resources, as `resources/templates/list` gives it. */
export interface ResourceTemplate {
  /** RFC 6570. */
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly [key: string]: unknown;
}

/** One part of what `resources/read` gives: text, or bytes in base64. */
export type ResourceContents =
  & { readonly uri: string; readonly mimeType?: string; readonly [key: string]: unknown }
  & ({ readonly text: string; readonly blob?: never } | { readonly blob: string; readonly text?: never });

/** A text to be filled in, as `prompts/list` gives it. */
export interface Prompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly PromptArgument[];
  readonly [key: string]: unknown;
}

/** One blank of a prompt. Its value is a text. */
export interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly [key: string]: unknown;
}

/** One message of a prompt that was filled in. */
export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlock;
}
