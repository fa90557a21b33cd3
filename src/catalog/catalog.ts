import type { Tool } from "../protocol/model.ts";

/** One tool of one server under both of its spellings. */
export interface CatalogEntry {
  readonly server: string;
  /** The name that its server knows it by. */
  readonly name: string;
  /** `mcp.<server>.<tool>` */
  readonly qualified: string;
  /** `mcp__<server>__<tool>`: at most 64 of `[A-Za-z0-9_-]`. */
  readonly alias: string;
  readonly definition: Tool;
}

/** The tools of one server as of its last list. Immutable. */
export interface Catalog {
  readonly server: string;
  readonly size: number;
  /** In the order the server listed them. */
  entries(): Iterable<CatalogEntry>;
  /** By the server's own name of the tool. */
  byName(name: string): CatalogEntry | undefined;
  /** By the part of the alias after `mcp__<server>__`. */
  byAliasTail(tail: string): CatalogEntry | undefined;
  /** `sha256:...` over name, title, description, schemas and annotations; computed at first use. */
  fingerprint(name: string): Promise<string | undefined>;
}
