import { HostError } from "../kernel/errors.ts";
import type { ContentBlock, JsonObject, Progress } from "../protocol/model.ts";
import { compileSchema, type Validation } from "./json_schema/compile.ts";
import { isRisk, type Risk } from "./risk.ts";

/**
 * A tool that the host's own code offers, beside those of servers. It is trusted as that code is, and its calls pass the
 * same gate and the same log.
 *
 * @example
 * ```ts
 * import type { LocalTool } from "portcullis";
 *
 * const clock: LocalTool = {
 *   name: "clock",
 *   description: "Tells the time",
 *   risk: "read",
 *   inputSchema: { type: "object" },
 *   run: () => new Date().toISOString(),
 * };
 * ```
 */
export interface LocalTool {
  /** 1 to 57 of `[A-Za-z0-9_-]`, so that `local__<name>` also fits the names of model APIs. */
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly risk: Risk;
  /**
   * A JSON Schema (2020-12, or draft-07 where it says so); a root without a `type` is taken to be an object. Arguments that
   * do not fit never reach the tool.
   */
  readonly inputSchema: JsonObject;
  /** Does the work. What it throws is the call's failure; a failure that the model should read is a result with `isError`. */
  run(args: Readonly<Record<string, unknown>>, context: LocalToolContext): LocalToolResult | Promise<LocalToolResult>;
}

/** What a running local tool is given beside its arguments. */
export interface LocalToolContext {
  /** Fires when the result is no longer wanted. */
  readonly signal: AbortSignal;
  readonly toolCallId: string;
  /** Reports progress; absent when nobody listens. */
  readonly onProgress?: (progress: Progress) => void;
}

/** What a local tool answers: a text, or what an MCP tool could answer. */
export type LocalToolResult = string | {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
};

/** A local tool as a host keeps it. */
export interface CheckedLocalTool extends LocalTool {
  /** Holds arguments against the tool's `inputSchema`. */
  checkArguments(args: unknown): Validation;
}

const NAME = /^[A-Za-z0-9_-]{1,57}$/;
const TAKEN = /^(?:mcp|local)(?:__|$)/;

/**
 * The local tools of a host by their names. The tools are copied: what becomes of the objects later changes nothing.
 * Throws `ERR_NAME_COLLISION` for a name that is used twice or that an exact spelling of another tool could have, and
 * `ERR_CONFIG` for everything else that is wrong.
 */
export function createLocalTools(tools: readonly LocalTool[]): ReadonlyMap<string, CheckedLocalTool> {
  const byName = new Map<string, CheckedLocalTool>();
  for (const tool of tools) {
    const { name, title, description, risk, inputSchema } = tool;
    const refuse = (found: string): HostError =>
      new HostError("ERR_CONFIG", `Cannot add local tool ${shown(name)}: ${found}`);
    if (typeof name !== "string" || !NAME.test(name)) throw refuse("its name is not 1 to 57 letters, digits, _ or -");
    if (TAKEN.test(name)) {
      throw new HostError(
        "ERR_NAME_COLLISION",
        `Cannot add local tool "${name}": "mcp", "local" and what begins with "mcp__" or "local__" are exact spellings of others`,
      );
    }
    if (byName.has(name)) {
      throw new HostError("ERR_NAME_COLLISION", `Cannot add local tool "${name}": another one has this name`);
    }
    if (!isRisk(risk)) {
      throw refuse(`its risk is ${shown(risk)}, wanted read, write, execute, network, credential or destructive`);
    }
    if (typeof tool.run !== "function") throw refuse("it has no run function");
    if (title !== undefined && typeof title !== "string") throw refuse("its title is not a string");
    if (description !== undefined && typeof description !== "string") throw refuse("its description is not a string");
    if (!isObjectSchema(inputSchema)) throw refuse("its inputSchema is not the schema of an object");
    const schema = compileSchema(inputSchema);
    if (!schema.usable) throw refuse(`its inputSchema ${schema.why}`);
    const { validator } = schema;
    byName.set(
      name,
      Object.freeze({
        name,
        ...(title === undefined ? {} : { title }),
        ...(description === undefined ? {} : { description }),
        risk,
        inputSchema,
        run: tool.run.bind(tool),
        checkArguments: (args: unknown) => validator.validate(args),
      }),
    );
  }
  return byName;
}

function isObjectSchema(schema: unknown): boolean {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) return false;
  const { type } = schema as { type?: unknown };
  return type === undefined || type === "object";
}

function shown(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : value === null ? "null" : typeof value;
}
