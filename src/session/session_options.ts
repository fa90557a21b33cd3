import type { ReadingOptions } from "../call/reading.ts";

/** What a child may see of what its parent sees. */
export interface ChildOptions {
  /** Names the child's stream in the log, `session:<id>`. Default: a fresh one. */
  readonly id?: string;
  /** Patterns that fit a tool by any spelling of its name, also by its own one; `*` stands for any run. Default: all. */
  readonly allow?: readonly string[];
  /** Patterns of what it may not see; stronger than `allow`. */
  readonly deny?: readonly string[];
}

/** Which lists are asked for, and for how long. */
export interface OfferListOptions {
  /** One server, which is waited for. Default: all that are ready. */
  readonly server?: string;
  readonly signal?: AbortSignal;
  /** Default: the server's `timeoutMs`. */
  readonly timeoutMs?: number;
}

/** How a resource is read. */
export interface ResourceOptions extends ReadingOptions {
  /** The server that has it. Default: the one that lists it, else the only one that has resources. */
  readonly server?: string;
}

export interface SubscribeOptions extends ResourceOptions {
  /** Told of each change, with the address of what has changed: the resource itself, or one below it. */
  readonly onUpdated: (uri: string) => void;
}

/** What a value is wanted for. */
export interface CompleteQuery {
  /** A prompt by any of its names, or a template and its server. */
  readonly of: { readonly prompt: string } | { readonly template: string; readonly server?: string };
  readonly argument: { readonly name: string; readonly value: string };
  /** The values of others that are known already. */
  readonly known?: Readonly<Record<string, string>>;
}
