import { canonicalJson, sha256Text } from "../kernel/canonical.ts";
import type { Tool } from "../protocol/model.ts";
import { nameOf, readDefinition } from "./definition.ts";
import type { Validation } from "./json_schema/compile.ts";
import { aliasName, aliasTail, isPlainTail, qualifiedName } from "./names.ts";
import { outputUnusable, readSchemas, type SchemaConcern, SchemaValidators } from "./tool_schemas.ts";

/** One tool of one server under both of its spellings. Its members are computed: read them, do not spread it. */
export interface CatalogEntry {
  readonly server: string;
  /** The name that its server knows it by. */
  readonly name: string;
  /** `mcp.<server>.<tool>` */
  readonly qualified: string;
  /** `mcp__<server>__<tool>`: at most 64 of `[A-Za-z0-9_-]`. */
  readonly alias: string;
  /** A frozen copy of what the server sent. */
  readonly definition: Tool;
  /** Holds arguments against the tool's `inputSchema`. */
  checkArguments(args: unknown): Validation;
  /** Holds structured content against its `outputSchema`; `undefined` without one, or where it cannot be used. */
  checkStructured(value: unknown): Validation | undefined;
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

/** A definition that is not used. */
export interface RejectedTool {
  /** The name that was sent, cut and without what cannot be seen; empty when there was none. */
  readonly tool: string;
  readonly why: string;
}

export interface CatalogOptions {
  /** Most bytes of JSON that one definition may have. Default 64 KiB. */
  readonly maxDefinitionBytes?: number;
  /** Most tools that are taken; the rest is rejected. Default 1,000. */
  readonly maxTools?: number;
  /** Most subschemas and characters of patterns in the schemas of all tools; what is past it is rejected. Default 100 a tool. */
  readonly maxSchemaEffort?: number;
}

/** A catalog, and what is to be told of the list that it was made from. */
export interface BuiltCatalog {
  readonly catalog: Catalog;
  readonly rejected: readonly RejectedTool[];
  /** Three a tool at most. */
  readonly concerns: readonly SchemaConcern[];
}

/** Most rejections that are named one by one; a last one counts the rest. */
const MAX_REJECTED = 1000;

/**
 * Makes the catalog of a server from the list that it sent. Nothing about the list is trusted: a definition that is
 * unusable is rejected alone, and of two tools that meet in their names the first one stays. Never rejects as a whole.
 */
export async function buildCatalog(
  server: string,
  tools: readonly unknown[],
  options: CatalogOptions = {},
): Promise<BuiltCatalog> {
  const { maxDefinitionBytes = 64 * 1024, maxTools = 1000 } = options;
  const { maxSchemaEffort = 100 * maxTools } = options;
  const entries = new Map<string, Entry>();
  const hashed = new Map<string, Entry>();
  const validators = new SchemaValidators();
  const rejected: RejectedTool[] = [];
  const concerns: SchemaConcern[] = [];
  let unnamed = 0;
  let effort = 0;
  const reject = (tool: string, why: string): void => {
    if (rejected.length < MAX_REJECTED) rejected.push({ tool, why });
    else unnamed++;
  };
  for (const value of tools) {
    if (entries.size >= maxTools) {
      reject(nameOf(value), `the server has more than ${maxTools} tools`);
      continue;
    }
    if (effort >= maxSchemaEffort) {
      reject(nameOf(value), "the schemas of the tools before it take up what a server may have of them");
      continue;
    }
    const reading = readDefinition(value, maxDefinitionBytes);
    if (!reading.ok) {
      reject(reading.name, reading.why);
      continue;
    }
    const { tool } = reading;
    if (entries.has(tool.name)) {
      reject(tool.name, "a tool of the same name comes before it");
      continue;
    }
    const schemas = readSchemas(tool);
    effort += schemas.effort;
    if (schemas.fault !== undefined) {
      reject(tool.name, schemas.fault);
      continue;
    }
    if (isPlainTail(server, tool.name)) entries.set(tool.name, new Entry(server, tool, undefined, validators));
    else {
      const tail = await aliasTail(server, tool.name);
      const entry = new Entry(server, tool, tail, validators);
      if (hashed.has(tail)) {
        reject(tool.name, `its alias is that of "${hashed.get(tail)!.name}", which comes before it`);
        continue;
      }
      entries.set(tool.name, entry);
      hashed.set(tail, entry);
    }
    concerns.push(...schemas.concerns);
    if (reading.outputFault !== undefined) concerns.push(outputUnusable(tool.name, reading.outputFault));
  }
  if (unnamed > 0) rejected.push({ tool: "", why: `${unnamed} more definitions are not used` });
  return { catalog: new ToolCatalog(server, entries, hashed), rejected, concerns };
}

/** Keeps no text of its own that can be put together when it is asked for: a host may hold a hundred thousand of these. */
class Entry implements CatalogEntry {
  readonly server: string;
  readonly definition: Tool;
  readonly #hashedTail: string | undefined;
  readonly #validators: SchemaValidators;

  constructor(server: string, definition: Tool, hashedTail: string | undefined, validators: SchemaValidators) {
    this.server = server;
    this.definition = definition;
    this.#hashedTail = hashedTail;
    this.#validators = validators;
  }

  get hasPlainTail(): boolean {
    return this.#hashedTail === undefined;
  }

  get name(): string {
    return this.definition.name;
  }

  get qualified(): string {
    return qualifiedName(this.server, this.definition.name);
  }

  get alias(): string {
    return aliasName(this.server, this.#hashedTail ?? this.definition.name);
  }

  checkArguments(args: unknown): Validation {
    // A tool whose input schema cannot be used is in no catalog.
    return this.#validators.of(this.definition.inputSchema)?.validate(args) ?? { valid: true };
  }

  checkStructured(value: unknown): Validation | undefined {
    const { outputSchema } = this.definition;
    return outputSchema === undefined ? undefined : this.#validators.of(outputSchema)?.validate(value);
  }
}

class ToolCatalog implements Catalog {
  readonly server: string;
  readonly #entries: ReadonlyMap<string, Entry>;
  /** Only tools whose own name cannot be the tail of their alias. */
  readonly #hashed: ReadonlyMap<string, Entry>;
  readonly #fingerprints = new Map<string, Promise<string>>();

  constructor(server: string, entries: ReadonlyMap<string, Entry>, hashed: ReadonlyMap<string, Entry>) {
    this.server = server;
    this.#entries = entries;
    this.#hashed = hashed;
  }

  get size(): number {
    return this.#entries.size;
  }

  entries(): Iterable<CatalogEntry> {
    return this.#entries.values();
  }

  byName(name: string): CatalogEntry | undefined {
    return this.#entries.get(name);
  }

  byAliasTail(tail: string): CatalogEntry | undefined {
    const entry = this.#entries.get(tail);
    return entry?.hasPlainTail ? entry : this.#hashed.get(tail);
  }

  fingerprint(name: string): Promise<string | undefined> {
    const entry = this.#entries.get(name);
    if (entry === undefined) return Promise.resolve(undefined);
    let fingerprint = this.#fingerprints.get(name);
    if (fingerprint === undefined) {
      const { title, description, inputSchema, outputSchema, annotations } = entry.definition;
      fingerprint = sha256Text(canonicalJson({ name, title, description, inputSchema, outputSchema, annotations }));
      this.#fingerprints.set(name, fingerprint);
    }
    return fingerprint;
  }
}
