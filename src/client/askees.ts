import { type AskAnswerer, type AskDesk, OpenAsks } from "../jsonrpc/peer_asks.ts";
import type { ClientCapabilities, JsonObject } from "../protocol/model.ts";
import { asObject } from "../protocol/results.ts";

/** Handlers as one connection has them. */
export interface ConnectionAsks extends AskDesk {
  /** What is declared: what there are handlers for, and what was declared by hand. */
  readonly capabilities: ClientCapabilities;
  /** Who answers what is asked for the sake of a request that brings no handlers of its own. */
  ofRequest(method: string): AskAnswerer | undefined;
}

/** Requests for whose sake a server may ask. */
const ASKING: ReadonlySet<string> = new Set(["tools/call", "resources/read", "prompts/get", "tasks/result"]);

/** Handlers for which `own` is declared, on a connection that declares more by hand. */
export function onConnection(
  answer: AskAnswerer,
  own: ClientCapabilities,
  byHand: ClientCapabilities,
): ConnectionAsks {
  const all: Record<string, unknown> = { ...byHand };
  for (const [name, found] of Object.entries(own)) {
    all[name] = { ...(found as JsonObject), ...asObject(all[name]) };
  }
  const capabilities: ClientCapabilities = all;
  return {
    capabilities,
    ofRequest: (method) => ASKING.has(method) ? answer : undefined,
    open: (options) =>
      new OpenAsks(options, (method) => {
        const capability = capabilityFor(method);
        if (capability === undefined || capabilities[capability] === undefined) return undefined;
        // It names no request: the user has said what it gives, and common servers ask for it right after the handshake.
        return capability === "roots" ? answer : "request";
      }),
  };
}

/** What a server has to be told of, so that it may ask by a method; `undefined` for a method that asks nothing. */
function capabilityFor(method: string): "elicitation" | "sampling" | "roots" | undefined {
  switch (method) {
    case "elicitation/create":
      return "elicitation";
    case "sampling/createMessage":
      return "sampling";
    case "roots/list":
      return "roots";
  }
  return undefined;
}
