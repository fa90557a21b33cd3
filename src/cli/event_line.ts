import type { HostEvent } from "../events/event.ts";
import type { Colours } from "./colours.ts";
import { oneLine } from "./safe_text.ts";
import { shorten } from "./table.ts";

/** The members of a payload that a line shows. Other types show all their plain members. */
const SHOWN: Readonly<Record<string, readonly string[]>> = Object.freeze({
  "host.closed": ["reason"],
  "session.closed": ["reason"],
  "permission.requested": ["tool", "server", "uri", "prompt", "riskAtDecision", "risk", "by", "sourcedFrom"],
  "permission.resolved": ["decision", "actor", "sourcedFrom", "rule", "reason"],
  "tool.ambiguous_call": ["name"],
  "tool.not_found": ["name"],
  "tool.started": ["tool"],
  "tool.completed": ["tool", "isError", "durationMs", "resultSize", "truncated"],
  "tool.failed": ["tool", "reason", "outcome"],
  "tool.cancelled": ["tool", "outcome"],
  "mcp.server.starting": ["server", "transport", "attempt"],
  "mcp.server.ready": ["server", "protocolVersion", "tools", "resources", "prompts", "startMs"],
  "mcp.server.warning": ["server", "kind", "count", "excerpt"],
  "mcp.server.crashed": ["server", "reason", "exitCode", "signal", "inFlight", "stderrTail"],
  "mcp.call.started": ["server", "method", "round"],
  "mcp.call.progress": ["server", "progress", "total", "message"],
  "mcp.call.completed": ["server", "durationMs", "bytes", "resends"],
  "mcp.call.failed": ["server", "code", "message", "outcome"],
  "mcp.resource.requested": ["server", "uri", "action"],
  "mcp.resource.fetched": ["server", "uri", "sizeBytes", "durationMs"],
  "mcp.resource.failed": ["server", "uri", "reason"],
  "mcp.prompt.invoked": ["server", "prompt", "actor", "arguments"],
  "mcp.prompt.expanded": ["server", "prompt", "messageCount", "durationMs"],
  "mcp.prompt.failed": ["server", "prompt", "reason"],
  "user.message": ["role", "content"],
  "mcp.log": ["server", "level", "logger", "data"],
  "artifact.stored": ["from", "bytes", "mediaType"],
});

/** Members whose values say by themselves what they are. */
const BARE = new Set([
  "tool",
  "uri",
  "prompt",
  "server",
  "name",
  "riskAtDecision",
  "risk",
  "decision",
  "kind",
  "state",
  "level",
]);

/** Longest value of one member. */
const VALUE_LENGTH = 80;
/** Longest line where no width is known. */
const LINE_LENGTH = 400;

/**
 * One event on one line: time of day (UTC), stream, seq, type and what matters of its payload. Nothing in it can move
 * the cursor, change colours or hide text, whatever a server wrote.
 */
export function eventLine(
  event: HostEvent,
  options: { readonly colours: Colours; readonly columns?: number | undefined },
): string {
  const { colours } = options;
  const time = new Date(event.at).toISOString().slice(11, 23);
  const place = `${oneLine(event.stream)} ${event.seq}`;
  const type = oneLine(event.type);
  const head = `${time}  ${place}  ${type}`;
  const text = shorten(summary(event), Math.max(16, (options.columns ?? LINE_LENGTH) - head.length - 2));
  return `${colours.dim(`${time}  ${place}`)}  ${paintType(type, event, colours)}${text === "" ? "" : `  ${text}`}`;
}

function summary({ type, payload }: HostEvent): string {
  const shown = SHOWN[type];
  const keys = shown ?? Object.keys(payload).filter((key) => !key.endsWith("Id"));
  const parts: string[] = [];
  for (const key of keys) {
    const value = Object.hasOwn(payload, key) ? payload[key] : undefined;
    if (value === undefined || value === null || value === false) continue;
    // Other members may hold whole lists; a line has no room for them.
    if (shown === undefined && typeof value === "object") continue;
    const text = shorten(oneLine(typeof value === "string" ? value : JSON.stringify(value)), VALUE_LENGTH);
    parts.push(BARE.has(key) ? text : `${oneLine(key)}=${text}`);
  }
  return parts.join(" ");
}

function paintType(type: string, { payload }: HostEvent, colours: Colours): string {
  if (type === "permission.resolved") return payload["decision"] === "deny" ? colours.red(type) : colours.green(type);
  if (type === "tool.completed") return payload["isError"] === true ? colours.yellow(type) : colours.green(type);
  if (/failed|crashed|not_found|ambiguous|rejected/.test(type)) return colours.red(type);
  if (/warning|restarting|finding|pending|auth_required|changed|requested/.test(type)) return colours.yellow(type);
  return /ready|completed/.test(type) ? colours.green(type) : type;
}
