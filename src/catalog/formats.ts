import { HostError } from "../kernel/errors.ts";
import type { JsonObject, Tool, ToolAnnotations } from "../protocol/model.ts";
import type { ListedTool } from "./listing.ts";
import type { LocalTool } from "./local_tool.ts";
import { type DefinitionScrubber, shownSchema } from "./shown_schema.ts";

/** A tool as MCP clients take it, with all that its server says of it: icons, metadata, members that nobody knows here. */
export interface McpToolDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: ToolAnnotations;
  readonly [key: string]: unknown;
}

/** An entry of `tools` in OpenAI's Chat Completions API and those modelled on it. */
export interface OpenAiToolDefinition {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description?: string; readonly parameters: JsonObject };
}

/** An entry of `tools` in Anthropic's Messages API. */
export interface AnthropicToolDefinition {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: JsonObject;
}

/** A member of the tool set that the AI SDK's functions take; it has no `execute`, so calls come back to the caller. */
export interface AiSdkToolDefinition {
  readonly description?: string;
  readonly inputSchema: { readonly jsonSchema: JsonObject; readonly validate: undefined };
}

/** What {@link toolDefinitions} gives in each format. */
export interface ToolDefinitions {
  readonly mcp: readonly McpToolDefinition[];
  readonly openai: readonly OpenAiToolDefinition[];
  readonly anthropic: readonly AnthropicToolDefinition[];
  readonly "ai-sdk": Readonly<Record<string, AiSdkToolDefinition>>;
}

export type ToolFormat = keyof ToolDefinitions;

export interface ToolDefinitionOptions {
  /** What stands as the description of a tool, which is text of its server. Default: the text as it came. */
  readonly describe?: (tool: ListedTool) => string | undefined;
  /** Takes secrets of the host out of what servers say of their tools. Default: nothing is taken out. */
  readonly scrubber?: DefinitionScrubber;
}

/** The AI SDK knows its own schemas by this registered symbol, so that it need not be imported here. */
const AI_SDK_SCHEMA = Symbol.for("vercel.ai.schema");

const converters: { readonly [F in ToolFormat]: (tools: readonly McpToolDefinition[]) => ToolDefinitions[F] } = {
  mcp: (tools) => tools,
  openai: (tools) =>
    tools.map(({ name, description, inputSchema }) => ({
      type: "function",
      function: { name, ...described(description), parameters: inputSchema },
    })),
  anthropic: (tools) =>
    tools.map(({ name, description, inputSchema }) => ({ name, ...described(description), input_schema: inputSchema })),
  "ai-sdk": (tools) =>
    Object.fromEntries(tools.map(({ name, description, inputSchema }) => [name, {
      ...described(description),
      inputSchema: { [AI_SDK_SCHEMA]: true, jsonSchema: inputSchema, validate: undefined },
    }])),
};

/**
 * The definitions of tools as an API takes them, under names that resolve to them. Schemas without secrets are passed
 * on as they are, and shared: do not change them. Throws `ERR_INVALID_ARGUMENTS` for a format that is none.
 */
export function toolDefinitions<F extends ToolFormat>(
  tools: Iterable<ListedTool>,
  format: F,
  options: ToolDefinitionOptions = {},
): ToolDefinitions[F] {
  if (!Object.hasOwn(converters, format)) {
    const wanted = Object.keys(converters).join(", ");
    const found = typeof format === "string" ? JSON.stringify(format.slice(0, 64)) : typeof format;
    throw new HostError("ERR_INVALID_ARGUMENTS", `Cannot define tools in format ${found}, wanted one of ${wanted}`);
  }
  return converters[format](Array.from(tools, (tool) => define(tool, options)));
}

function define(tool: ListedTool, options: ToolDefinitionOptions): McpToolDefinition {
  const given: Partial<Tool> & { readonly inputSchema: JsonObject } = tool.kind === "mcp"
    ? tool.entry.definition
    : localMembers(tool.tool);
  const { name: _, title, description, inputSchema, outputSchema, annotations, ...others } = given;
  const described = options.describe === undefined ? description : options.describe(tool);
  const { scrubber } = options;
  const text = (found: string): string => scrubber === undefined ? found : scrubber.text(found);
  const schema = (found: JsonObject): JsonObject => scrubber === undefined ? found : shownSchema(found, scrubber);
  const input = schema(inputSchema);
  const value = <T>(found: T): T => scrubber === undefined ? found : scrubber.value(found);
  return {
    ...value(others),
    name: tool.alias,
    ...(title === undefined ? {} : { title: text(title) }),
    ...(described === undefined ? {} : { description: text(described) }),
    inputSchema: input["type"] === "object" ? input : { type: "object", ...input },
    ...(outputSchema === undefined ? {} : { outputSchema: schema(outputSchema) }),
    ...(annotations === undefined ? {} : { annotations: value(annotations) }),
  };
}

/** The rest of a local tool is code. */
function localMembers({ title, description, inputSchema }: LocalTool): Pick<LocalTool, "inputSchema"> {
  return { ...(title === undefined ? {} : { title }), ...described(description), inputSchema };
}

function described(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description };
}
