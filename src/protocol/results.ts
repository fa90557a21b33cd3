import { wholeText } from "../kernel/foreign_text.ts";
import type { CallToolResult, Implementation, JsonObject, ServerCapabilities, Tool } from "./model.ts";

// Read by hand: the few shapes here are all that a client alone needs, and a schema library is a tenth of its bundle.

/** The value as an object, or `undefined` for anything else; arrays are no objects here. */
export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

/** What a server said of itself when it was opened. */
export interface Introduction {
  readonly capabilities: ServerCapabilities;
  readonly serverInfo: Implementation | undefined;
  readonly instructions: string | undefined;
}

/** Reads the answer to `initialize`; `undefined` when it is none. */
export function readInitialize(result: unknown): (Introduction & { readonly protocolVersion: string }) | undefined {
  const answer = asObject(result);
  const protocolVersion = answer?.["protocolVersion"];
  if (typeof protocolVersion !== "string") return undefined;
  return { protocolVersion, ...introductionOf(answer!, answer!["serverInfo"]) };
}

/** Reads the answer to `server/discover`; `undefined` when it is none. */
export function readDiscover(
  result: unknown,
): (Introduction & { readonly supportedVersions: readonly string[] }) | undefined {
  const answer = asObject(result);
  const supportedVersions: unknown = answer?.["supportedVersions"];
  if (!Array.isArray(supportedVersions) || supportedVersions.length === 0) return undefined;
  if (!supportedVersions.every((version) => typeof version === "string")) return undefined;
  const info = asObject(answer!["_meta"])?.["io.modelcontextprotocol/serverInfo"];
  return { supportedVersions, ...introductionOf(answer!, info) };
}

/** Servers in the field leave these out or get them wrong; nothing rests on them. */
function introductionOf({ capabilities, instructions }: JsonObject, info: unknown): Introduction {
  const { name, version } = asObject(info) ?? {};
  const isInfo = typeof name === "string" && typeof version === "string";
  return {
    capabilities: (asObject(capabilities) ?? {}) as ServerCapabilities,
    serverInfo: isInfo ? (info as Implementation) : undefined,
    instructions: typeof instructions === "string" ? instructions : undefined,
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
  for (const given of list as unknown[]) {
    const entry = withPlainSchema(given);
    const why = faultOfTool(asObject(entry));
    if (why === undefined) tools.push(withoutUnusable(entry as JsonObject) as unknown as Tool);
    else {
      const name = asObject(entry)?.["name"];
      malformed.push({ name: typeof name === "string" ? wholeText(name) : undefined, why });
    }
  }
  const nextCursor = result["nextCursor"];
  return { tools, malformed, nextCursor: typeof nextCursor === "string" ? nextCursor : undefined };
}

function faultOfTool(entry: JsonObject | undefined): string | undefined {
  if (entry === undefined) return "the entry is no object";
  if (typeof entry["name"] !== "string") return "its name is no text";
  if (asObject(entry["inputSchema"]) === undefined) return "its inputSchema is no object";
  return undefined;
}

/** A schema may be `true`, which takes everything, as the empty one does. */
function withPlainSchema(entry: unknown): unknown {
  const tool = asObject(entry);
  return tool?.["inputSchema"] === true ? { ...tool, inputSchema: {} } : entry;
}

/** Some servers write null, or an empty list, for what they have not. That is no reason to do without the tool. */
function withoutUnusable(entry: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(entry).filter(([name, value]) => {
      switch (name) {
        case "title":
        case "description":
          return typeof value === "string";
        case "annotations":
          return asObject(value);
        case "outputSchema":
          return value !== null;
      }
      return true;
    }),
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
