import type { AskAnswerer, Askee } from "../jsonrpc/peer_asks.ts";
import type { ClientCapabilities, JsonObject } from "../protocol/model.ts";
import { asObject } from "../protocol/results.ts";
import type { AskMethod, Asks } from "./asks.ts";

/** Requests for whose sake a server may ask. */
const ASKING: ReadonlySet<string> = new Set(["tools/call", "resources/read", "prompts/get", "tasks/result"]);

/** What a server has to be told of, so that it may ask by a method; `undefined` for a method that asks nothing. */
function capabilityFor(method: string): "elicitation" | "sampling" | "roots" | undefined {
  switch (method as AskMethod) {
    case "elicitation/create":
      return "elicitation";
    case "sampling/createMessage":
      return "sampling";
    case "roots/list":
      return "roots";
  }
  return undefined;
}

/** What is declared: what there are handlers for, and what was declared by hand. */
export function declared(asks: Asks | undefined, by: ClientCapabilities = {}): ClientCapabilities {
  if (asks === undefined) return by;
  const all: Record<string, unknown> = { ...by };
  for (const [name, found] of Object.entries(asks.capabilities)) {
    all[name] = { ...(found as JsonObject), ...asObject(all[name]) };
  }
  return all;
}

/** Who answers what a server asks, on a connection that declares these capabilities. */
export function askeesOf(
  answerer: AskAnswerer | undefined,
  capabilities: ClientCapabilities,
): { askee(method: string): Askee | undefined; ofRequest(method: string): AskAnswerer | undefined } {
  return {
    askee(method) {
      const capability = capabilityFor(method);
      if (capability === undefined || capabilities[capability] === undefined) return undefined;
      // It names no request: the user has said what it gives, and common servers ask for it right after the handshake.
      return capability === "roots" ? answerer : "request";
    },
    ofRequest: (method) => ASKING.has(method) ? answerer : undefined,
  };
}
