import { type ErrorCode, HostError } from "../kernel/errors.ts";
import { wholeText } from "../kernel/foreign_text.ts";
import type { JsonObject } from "./model.ts";
import { encodeNotification, encodeRequest } from "./encode.ts";
import type { Era, Meaning } from "./era.ts";
import { nameHeader } from "./headers.ts";
import { HeaderMirror } from "./mirror.ts";
import { notAnObject } from "./legacy.ts";
import { asObject } from "./results.ts";
import { subscriptionOf } from "./subscriptions.ts";

const INPUT_METHODS: ReadonlySet<string> = new Set(["tools/call", "resources/read", "prompts/get"]);
const MAX_STATE_LENGTH = 64 << 10;

/** Revision 2026-07-28: no handshake and no session; every request says who asks and what they can do. */
export function createModernEra(protocolVersion: string, clientInfo: JsonObject, capabilities: JsonObject): Era {
  const meta = JSON.stringify({
    "io.modelcontextprotocol/protocolVersion": protocolVersion,
    "io.modelcontextprotocol/clientInfo": clientInfo,
    // That roots change is not told any more, and so not declared.
    "io.modelcontextprotocol/clientCapabilities": { ...capabilities, roots: capabilities["roots"] && {} },
  }).slice(1, -1);
  const mirror = new HeaderMirror();
  const takesTasks = "io.modelcontextprotocol/tasks" in (asObject(capabilities["extensions"]) ?? {});
  return {
    name: "modern",
    protocolVersion,
    encoder: {
      request: (id, method, params) => encodeRequest(id, method, params, `${meta},"progressToken":${id}`),
      notification: (method, params) => encodeNotification(method, params, ""),
    },
    profile: {
      sessions: false,
      cancelsByClosing: true,
      batches: false,
      headers({ method, params }): Record<string, string> {
        const headers: Record<string, string> = { "mcp-protocol-version": protocolVersion, "mcp-method": method };
        const name = nameHeader(method, params);
        if (name !== undefined) headers["mcp-name"] = name;
        return method === "tools/call" && !mirror.isEmpty ? { ...headers, ...mirror.headersOf(params) } : headers;
      },
    },
    answerer: undefined,
    mirror,
    ping: "server/discover",
    caches: true,
    subscriptionOf,
    logLevelKey: "io.modelcontextprotocol/logLevel",
    read: (method, result) => read(method, result, takesTasks),
  };
}

function read(method: string, result: unknown, takesTasks: boolean): Meaning {
  const object = asObject(result);
  if (object === undefined) return { kind: "invalid", error: notAnObject(method) };
  const type = object["resultType"];
  if (type === undefined || type === "complete") return { kind: "done", result: object };
  if (type === "input_required" && INPUT_METHODS.has(method)) return readInputRequired(method, object);
  // Two examples of the extension give the word also to a look at a task, where "complete" belongs.
  if (type === "task" && takesTasks && (method === "tools/call" || method === "tasks/get")) {
    return { kind: "task", task: object };
  }
  const found = typeof type === "string" ? JSON.stringify(wholeText(type)) : `a ${typeof type}`;
  return invalid("ERR_PROTOCOL", `Cannot use the answer to ${method}: found resultType ${found}, wanted "complete"`);
}

function readInputRequired(method: string, object: JsonObject): Meaning {
  const inputRequests = (object["inputRequests"] ?? undefined) as JsonObject | undefined;
  const requestState = (object["requestState"] ?? undefined) as string | undefined;
  const isAsk = asObject(inputRequests) === inputRequests && typeof (requestState ?? "") === "string";
  if (!isAsk || (inputRequests ?? requestState) === undefined) {
    return invalid(
      "ERR_PROTOCOL",
      `Cannot go on with ${method}: found no inputRequests or requestState of the right type`,
    );
  }
  if (requestState !== undefined && requestState.length > MAX_STATE_LENGTH) {
    return invalid(
      "ERR_TOO_LARGE",
      `Cannot go on with ${method}: its requestState has ${requestState.length} characters, at most ${MAX_STATE_LENGTH} allowed`,
    );
  }
  return { kind: "input_required", inputRequests, requestState };
}

function invalid(code: ErrorCode, message: string): Meaning {
  return { kind: "invalid", error: new HostError(code, message) };
}
