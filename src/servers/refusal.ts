import type { EventCursor } from "../events/event.ts";
import { HostError } from "../kernel/errors.ts";
import type { ServerState } from "./server.ts";

/** Why a start came to no end: its session or its host has closed. */
export function closedMeanwhile(name: string): HostError {
  return new HostError("ERR_CLOSED", `Cannot start server "${name}": what it belongs to was closed meanwhile`, {
    facts: { server: name, reason: "session_closed" },
  });
}

/**
 * Why a server in this state takes no call. `facts.reason` is a reason of `tool.failed`, `facts.cause` the crash that led
 * to it; `lastError` is what it last failed with, scrubbed.
 */
export function refusalOf(name: string, state: ServerState, cause?: EventCursor, lastError?: string): HostError {
  const facts = (reason: string): { readonly facts: Record<string, unknown> } => ({
    facts: { server: name, reason, ...(cause === undefined ? {} : { cause }) },
  });
  switch (state) {
    case "permanently_failed":
      return new HostError(
        "ERR_SERVER_NOT_CONNECTED",
        `MCP server given up after repeated crashes: ${name}${lastError === undefined ? "" : `: ${lastError}`}`,
        facts("mcp_server_permanently_failed"),
      );
    case "removed":
      return new HostError("ERR_SERVER_NOT_FOUND", `MCP server removed: ${name}`, facts("mcp_server_removed"));
    case "disabled":
      return new HostError("ERR_SERVER_DISABLED", `MCP server disabled: ${name}`, facts("mcp_server_not_connected"));
    case "pending":
      return new HostError("ERR_SERVER_PENDING", `MCP server waits for approval: ${name}`, facts("mcp_server_pending"));
    case "auth_required":
      return new HostError("ERR_AUTH_REQUIRED", `MCP server wants a login: ${name}`, facts("auth_required"));
    default:
      return new HostError(
        "ERR_SERVER_NOT_CONNECTED",
        `MCP server not connected: ${name}`,
        facts("mcp_server_not_connected"),
      );
  }
}
