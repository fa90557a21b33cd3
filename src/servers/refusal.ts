import type { EventCursor } from "../events/event.ts";
import { HostError } from "../kernel/errors.ts";
import type { ServerState } from "./server.ts";

/** Why a start came to no end: its session or its host has closed. */
export function closedMeanwhile(name: string): HostError {
  return new HostError("ERR_CLOSED", `Cannot start server "${name}": what it belongs to was closed meanwhile`, {
    facts: { server: name, reason: "session_closed" },
  });
}

/** What is known of a server that takes no call, beside its state. */
export interface RefusalDetails {
  /** See `Server.source`. */
  readonly source?: string;
  /** The crash that led to it. */
  readonly cause?: EventCursor | undefined;
  /** What it last failed with, scrubbed. */
  readonly lastError?: string | undefined;
  /** See `Server.givenUp`. */
  readonly givenUp?: string | undefined;
}

/** Why a server in this state takes no call. `facts.reason` is a reason of `tool.failed`, `facts.cause` the crash. */
export function refusalOf(name: string, state: ServerState, details: RefusalDetails = {}): HostError {
  const { cause } = details;
  const facts = (reason: string): { readonly facts: Record<string, unknown> } => ({
    facts: { server: name, reason, ...(cause === undefined ? {} : { cause }) },
  });
  switch (state) {
    case "permanently_failed":
      return new HostError(
        "ERR_SERVER_NOT_CONNECTED",
        givenUpText(name, details),
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

/**
 * See `Server.givenUp`. `final`: trying again cannot help; `auto`: it is tried again at all; of the crashes in a row,
 * `failedStarts` at the end were starts that failed.
 */
export function whyGivenUp(final: boolean, auto: boolean, crashes: number, failedStarts: number): string {
  if (final) return "without another try";
  if (!auto) return `as ${failedStarts === 0 ? "it crashed" : "its start failed"} and restart.auto is false`;
  if (crashes === failedStarts) return `after ${crashes} failed start${crashes === 1 ? "" : "s"}`;
  return crashes === 1 ? "after a crash" : `after ${crashes} crashes in a row`;
}

/** The way back comes before the last error, which may be long. */
function givenUpText(name: string, { source, lastError, givenUp }: RefusalDetails): string {
  const how = givenUp === undefined ? "" : ` ${givenUp}`;
  const last = lastError === undefined ? "" : `; its last error: ${lastError}`;
  return `MCP server given up${how}: ${name}; ${restartOf(source)}(${JSON.stringify(name)}) starts it again${last}`;
}

function restartOf(source: string | undefined): string {
  if (source === "global") return "host.restartMcpServer";
  return source === "private" ? "session.restartMcpServer" : "manager.restart";
}
