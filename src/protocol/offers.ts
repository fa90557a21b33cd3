import { wholeText } from "../kernel/foreign_text.ts";
import type {
  ContentBlock,
  JsonObject,
  Prompt,
  PromptArgument,
  PromptMessage,
  Resource,
  ResourceContents,
  ResourceTemplate,
  ServerCapabilities,
} from "./model.ts";
import { asObject } from "./results.ts";
import { eraOf, FIRST_VERSION } from "./versions.ts";

// What a server offers besides tools: readers of the shapes, and what the revisions differ in.

/** An entry of a list that has no usable shape. */
export interface Malformed {
  readonly name: string | undefined;
  readonly why: string;
}

/** One page of a list. Entries without a usable shape are named, the others kept. An empty cursor is a cursor. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly malformed: readonly Malformed[];
  readonly nextCursor: string | undefined;
}

/** The answer to `prompts/get`. */
export interface FilledPrompt {
  readonly description?: string;
  readonly messages: readonly PromptMessage[];
}

/** The answer to `completion/complete`. */
export interface Completion {
  readonly values: readonly string[];
  /** How many there are in all, as the server says. */
  readonly total?: number;
  /** There are more than `values`. */
  readonly hasMore: boolean;
}

const MAX_URI_LENGTH = 8192;
const MAX_NAME_LENGTH = 256;
/** Most values of a completion (server/utilities/completion); what a server gives beyond it is left out. */
const MAX_VALUES = 100;
// deno-lint-ignore no-control-regex
const CONTROL = /[\x00-\x1f\x7f]/;

/** Reads a page of resources; `undefined` when it is none. */
export function readResourcePage(result: JsonObject): Page<Resource> | undefined {
  return readPage(result, "resources", "uri", MAX_URI_LENGTH);
}

/** Reads a page of resource templates; `undefined` when it is none. */
export function readTemplatePage(result: JsonObject): Page<ResourceTemplate> | undefined {
  return readPage(result, "resourceTemplates", "uriTemplate", MAX_URI_LENGTH);
}

/** Reads a page of prompts; `undefined` when it is none. */
export function readPromptPage(result: JsonObject): Page<Prompt> | undefined {
  return readPage(result, "prompts", "name", MAX_NAME_LENGTH);
}

/** Reads the answer to `resources/read`; `undefined` when it is none. An empty list is one. */
export function readContents(result: JsonObject): ResourceContents[] | undefined {
  const { contents } = result;
  if (!Array.isArray(contents)) return undefined;
  const isUsable = (contents as unknown[]).every((entry) => {
    const { uri, text, blob } = asObject(entry) ?? {};
    return typeof uri === "string" && (typeof text === "string") !== (typeof blob === "string");
  });
  return isUsable ? contents as ResourceContents[] : undefined;
}

/** Reads the answer to `prompts/get`, or says what is wrong with it. Only a user and an assistant may speak. */
export function readFilledPrompt(result: JsonObject): FilledPrompt | string {
  const { description, messages } = result;
  if (!Array.isArray(messages)) return "found no list of messages";
  for (const message of messages as unknown[]) {
    const { role, content } = asObject(message) ?? {};
    if (role !== "user" && role !== "assistant") {
      return `found a message of ${roleText(role)}, wanted "user" or "assistant"`;
    }
    if (typeof asObject(content)?.["type"] !== "string") return "found a message whose content is no content block";
  }
  return {
    ...(typeof description === "string" ? { description } : {}),
    messages: (messages as PromptMessage[]).map(({ role, content }) => ({ role, content: content as ContentBlock })),
  };
}

function roleText(role: unknown): string {
  return typeof role === "string" ? `role ${JSON.stringify(wholeText(role))}` : "no role";
}

/** Reads the answer to `completion/complete`; `undefined` when it is none. Values that are no texts are left out. */
export function readCompletion(result: JsonObject): Completion | undefined {
  const { values, total, hasMore } = asObject(result["completion"]) ?? {};
  if (!Array.isArray(values)) return undefined;
  const texts = (values as unknown[]).filter((value) => typeof value === "string") as string[];
  return {
    values: texts.slice(0, MAX_VALUES),
    ...(typeof total === "number" && total >= 0 ? { total } : {}),
    hasMore: hasMore === true || texts.length > MAX_VALUES,
  };
}

/** True where a server may be asked for completions. The first revision had no word for it: there one just tries. */
export function mayComplete(protocolVersion: string, capabilities: ServerCapabilities): boolean {
  return capabilities.completions !== undefined || protocolVersion === FIRST_VERSION;
}

/**
 * Where a server is told which of its log messages are wanted: once for a `connection` (`logging/setLevel`), or with each
 * `request`.
 */
export function logLevelGoesWith(protocolVersion: string): "connection" | "request" {
  return eraOf(protocolVersion) === "modern" ? "request" : "connection";
}

function readPage<T>(result: JsonObject, list: string, key: string, maxLength: number): Page<T> | undefined {
  const entries = result[list];
  if (!Array.isArray(entries)) return undefined;
  const items: T[] = [];
  const malformed: Malformed[] = [];
  for (const value of entries as unknown[]) {
    const entry = withoutNulls(asObject(value));
    const why = faultOfEntry(entry, key, maxLength);
    if (why === undefined) items.push(named(entry!, key) as T);
    else {
      const name = entry?.[key];
      malformed.push({ name: typeof name === "string" ? wholeText(name) : undefined, why });
    }
  }
  const { nextCursor } = result;
  return { items, malformed, nextCursor: typeof nextCursor === "string" ? nextCursor : undefined };
}

function faultOfEntry(entry: JsonObject | undefined, key: string, maxLength: number): string | undefined {
  if (entry === undefined) return "the entry is no object";
  const id = entry[key];
  if (typeof id !== "string" || id === "") return `its ${key} is no text`;
  if (id.length > maxLength) return `its ${key} has more than ${maxLength} characters`;
  if (CONTROL.test(id)) return `its ${key} has control characters`;
  for (const member of ["name", "title", "description", "mimeType"]) {
    if (entry[member] !== undefined && typeof entry[member] !== "string") return `its ${member} is no text`;
  }
  const { size, arguments: blanks } = entry;
  if (size !== undefined && typeof size !== "number") return "its size is no number";
  if (key === "name" && blanks !== undefined && !isListOfBlanks(blanks)) return "its arguments are no list of names";
  return undefined;
}

function isListOfBlanks(blanks: unknown): blanks is readonly PromptArgument[] {
  return Array.isArray(blanks) && blanks.every((blank) => typeof asObject(blank)?.["name"] === "string");
}

/** What has no name of its own goes by its address. */
function named(entry: JsonObject, key: string): JsonObject {
  return entry["name"] === undefined ? { ...entry, name: entry[key] } : entry;
}

/** Some servers write null for what they have not. */
function withoutNulls(entry: JsonObject | undefined): JsonObject | undefined {
  if (entry === undefined || !Object.values(entry).includes(null)) return entry;
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
}
