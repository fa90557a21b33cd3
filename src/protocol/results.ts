import * as v from "valibot";
import type { CallToolResult, Implementation, JsonObject, ServerCapabilities, Tool } from "./model.ts";

/** The value as an object, or `undefined` for anything else; arrays are no objects here. */
export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

const implementation = v.looseObject({ name: v.string(), version: v.string() });

const initializeResult = v.looseObject({
  protocolVersion: v.string(),
  // Servers in the field leave these out or get them wrong; nothing rests on them.
  capabilities: v.fallback(v.record(v.string(), v.unknown()), {}),
  serverInfo: v.fallback(v.optional(implementation), undefined),
  instructions: v.fallback(v.optional(v.string()), undefined),
});

const discoverResult = v.looseObject({
  supportedVersions: v.pipe(v.array(v.string()), v.minLength(1)),
  capabilities: v.fallback(v.record(v.string(), v.unknown()), {}),
  instructions: v.fallback(v.optional(v.string()), undefined),
  _meta: v.fallback(v.optional(v.record(v.string(), v.unknown())), undefined),
});

/** `looseObject` takes arrays too. */
const object = v.custom<JsonObject>((value) => asObject(value) !== undefined, "Object");

const tool = v.looseObject({
  name: v.string(),
  inputSchema: object,
  title: v.nullish(v.string()),
  description: v.nullish(v.string()),
  outputSchema: v.nullish(object),
  annotations: v.nullish(object),
});

/** What a server said of itself when it was opened. */
export interface Introduction {
  readonly capabilities: ServerCapabilities;
  readonly serverInfo: Implementation | undefined;
  readonly instructions: string | undefined;
}

/** Reads the answer to `initialize`; `undefined` when it is none. */
export function readInitialize(result: unknown): (Introduction & { readonly protocolVersion: string }) | undefined {
  const parsed = v.safeParse(initializeResult, result);
  if (!parsed.success) return undefined;
  const { protocolVersion, capabilities, serverInfo, instructions } = parsed.output;
  return {
    protocolVersion,
    capabilities: capabilities as ServerCapabilities,
    serverInfo: serverInfo as Implementation | undefined,
    instructions,
  };
}

/** Reads the answer to `server/discover`; `undefined` when it is none. */
export function readDiscover(
  result: unknown,
): (Introduction & { readonly supportedVersions: readonly string[] }) | undefined {
  const parsed = v.safeParse(discoverResult, result);
  if (!parsed.success) return undefined;
  const { supportedVersions, capabilities, instructions, _meta } = parsed.output;
  const info = v.safeParse(implementation, _meta?.["io.modelcontextprotocol/serverInfo"]);
  return {
    supportedVersions,
    capabilities: capabilities as ServerCapabilities,
    serverInfo: info.success ? (info.output as Implementation) : undefined,
    instructions,
  };
}

/** One page of `tools/list`. Entries without a usable shape are named, the others kept. */
export interface ToolPage {
  readonly tools: readonly Tool[];
  readonly malformed: readonly { readonly name: string | undefined; readonly why: string }[];
  readonly nextCursor: string | undefined;
}

/** Reads a page of tools; `undefined` when it is none. An empty cursor is a cursor. */
export function readToolPage(result: JsonObject): ToolPage | undefined {
  const list = result["tools"];
  if (!Array.isArray(list)) return undefined;
  const tools: Tool[] = [];
  const malformed: { name: string | undefined; why: string }[] = [];
  for (const entry of list as unknown[]) {
    const parsed = v.safeParse(tool, entry);
    if (parsed.success) tools.push(withoutNulls(entry as JsonObject) as unknown as Tool);
    else {
      const name = asObject(entry)?.["name"];
      const issue = parsed.issues[0];
      malformed.push({
        name: typeof name === "string" ? name.slice(0, 256) : undefined,
        why: `${v.getDotPath(issue) ?? "the entry"} is ${issue.received}, wanted ${
          issue.type === "custom" ? issue.message : issue.expected
        }`
          .slice(0, 300),
      });
    }
  }
  const nextCursor = result["nextCursor"];
  return { tools, malformed, nextCursor: typeof nextCursor === "string" ? nextCursor : undefined };
}

const OPTIONAL = Object.freeze(["title", "description", "outputSchema", "annotations"]);

/** Some servers write null for what they have not. That is no reason to do without the tool. */
function withoutNulls(entry: JsonObject): JsonObject {
  if (OPTIONAL.every((name) => entry[name] !== null)) return entry;
  return Object.fromEntries(
    Object.entries(entry).filter(([name, value]) => value !== null || !OPTIONAL.includes(name)),
  );
}

/**
 * Reads the answer to `tools/call`; `undefined` when it is none. Checked by hand: it is the one shape on the hot path,
 * and a schema library costs more than the call's own parsing. Blocks of unknown types pass.
 */
export function readCallResult(result: JsonObject): CallToolResult | undefined {
  const content = result["content"];
  if (!Array.isArray(content)) {
    // Structured content alone is a usable answer; the specification wants the list, the field forgets it.
    return content === undefined && "structuredContent" in result ? { ...result, content: [] } : undefined;
  }
  for (const block of content as unknown[]) {
    if (typeof block !== "object" || block === null || typeof (block as { type?: unknown }).type !== "string") {
      return undefined;
    }
  }
  const isError = result["isError"];
  if (isError !== undefined && typeof isError !== "boolean") return undefined;
  return result as CallToolResult;
}
