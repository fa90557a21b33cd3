import { HostError } from "../kernel/errors.ts";
import type { JsonObject } from "./model.ts";
import { encodeNotification, encodeRequest } from "./encode.ts";
import type { Era, Meaning } from "./era.ts";
import { asObject } from "./results.ts";
import { BATCH_VERSION } from "./versions.ts";

/** A legacy era before and after its handshake: the revision is agreed on the way. */
export interface LegacyEra extends Era {
  agree(protocolVersion: string): void;
}

/** Revisions 2024-11-05 to 2025-11-25: a handshake, a connection or session, requests in both directions. */
export function createLegacyEra(): LegacyEra {
  let version = "";
  return {
    name: "legacy",
    get protocolVersion() {
      return version;
    },
    agree(protocolVersion: string): void {
      version = protocolVersion;
    },
    encoder: {
      request: (id, method, params) => encodeRequest(id, method, params, `"progressToken":${id}`),
      notification: (method, params) => encodeNotification(method, params, ""),
    },
    profile: {
      sessions: true,
      cancelsByClosing: false,
      get batches() {
        return version === BATCH_VERSION;
      },
      // A handshake may come again, for a session that the server has forgotten.
      headers: ({ method }): Record<string, string> =>
        version === "" || method === "initialize" ? {} : { "mcp-protocol-version": version },
    },
    // Nothing is declared, so all that a server may ask is whether we are there.
    answerer: (method) => (method === "ping" ? {} : undefined),
    read,
  };
}

function read(method: string, result: unknown): Meaning {
  const object = asObject(result);
  if (object !== undefined) return { kind: "done", result: object };
  return { kind: "invalid", error: notAnObject(method) };
}

/** The error for a result that is no object (JSON-RPC messages, `Result`). */
export function notAnObject(method: string): HostError {
  return new HostError("ERR_PROTOCOL", `Cannot use the answer to ${method}: its result is no object`);
}

/** What `initialize` is asked with. */
export function initializeParams(
  protocolVersion: string,
  clientInfo: JsonObject,
  capabilities: JsonObject,
): JsonObject {
  return { protocolVersion, capabilities, clientInfo };
}
