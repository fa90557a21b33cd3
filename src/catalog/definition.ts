import { freezeAll } from "../kernel/freeze.ts";
import type { JsonObject, Tool } from "../protocol/model.ts";
import { withSafeIcons } from "./icons.ts";
import { checkToolName, shownName } from "./names.ts";

/** JSON nested deeper than this is nobody's honest schema, and recursive readers of it would overflow. */
const MAX_DEPTH = 64;

/** A definition as we keep it, or what is wrong with it. */
export type DefinitionReading =
  | {
    readonly ok: true;
    readonly tool: Tool;
    /** What is wrong with its output schema, which is left out. */
    readonly outputFault?: string;
  }
  | { readonly ok: false; readonly name: string; readonly why: string };

/**
 * Reads a tool's definition as it came from a server, who may have sent anything. What comes back is a frozen copy that
 * holds nothing but JSON; members we do not know are kept, known ones that are `null` are left out.
 */
export function readDefinition(value: unknown, maxBytes: number): DefinitionReading {
  const reject = (why: string): DefinitionReading => ({ ok: false, name: nameOf(value), why });
  if (!isObject(value)) return reject("the definition is not an object");
  const fault = checkToolName(value["name"]);
  if (fault !== undefined) return reject(`the name ${fault}`);

  const text = jsonOf(value);
  if (text === undefined) return reject("the definition is not JSON");
  if (exceeds(text, maxBytes)) return reject(`the definition has more than ${maxBytes} bytes`);
  const copy = withSafeIcons(JSON.parse(text) as { [key: string]: unknown });
  for (const member of ["title", "description", "outputSchema", "annotations"]) {
    if (copy[member] === null) delete copy[member];
  }
  const hasOutput = copy["outputSchema"] === undefined || isObject(copy["outputSchema"]);
  if (!hasOutput) delete copy["outputSchema"];
  const wrong = shapeFault(copy);
  if (wrong !== undefined) return reject(wrong);
  if (!freezeAll(copy, MAX_DEPTH)) return reject(`the definition is nested deeper than ${MAX_DEPTH} levels`);
  const tool = copy as JsonObject as Tool;
  return hasOutput ? { ok: true, tool } : { ok: true, tool, outputFault: "is not an object" };
}

function shapeFault(tool: JsonObject): string | undefined {
  for (const member of ["title", "description"]) {
    if (tool[member] !== undefined && typeof tool[member] !== "string") return `${member} is not a string`;
  }
  if (tool["annotations"] !== undefined && !isObject(tool["annotations"])) return "annotations is not an object";
  const schema = tool["inputSchema"];
  if (!isObject(schema)) return "inputSchema is not an object";
  // Many servers leave the type out; arguments are an object all the same.
  return schema["type"] === undefined || schema["type"] === "object"
    ? undefined
    : `inputSchema does not have the type "object" at its root`;
}

/** The name in a definition for reports about it, whatever else it holds; empty where there is none. */
export function nameOf(definition: unknown): string {
  return isObject(definition) ? shownName(definition["name"]) : "";
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The JSON text of a value; `undefined` for what has none: cycles, big integers, more nesting than the stack holds. */
function jsonOf(value: JsonObject): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    // What the engine says differs and may quote the definition; that there is no text is the whole finding.
    return undefined;
  }
}

function exceeds(text: string, maxBytes: number): boolean {
  if (text.length > maxBytes) return true;
  return text.length * 3 > maxBytes && new TextEncoder().encode(text).byteLength > maxBytes;
}
