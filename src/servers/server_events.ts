import type { Catalog, RejectedTool } from "../catalog/catalog.ts";
import { qualifiedName } from "../catalog/names.ts";
import type { SchemaConcern } from "../catalog/tool_schemas.ts";
import type { ServerFacts } from "../client/client.ts";
import type { EventInput } from "../events/event.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { wholeText } from "../kernel/foreign_text.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import type { Crash } from "./crash.ts";
import { faultOf, scrubbedExcerpt, scrubbedTail } from "./fault.ts";

// Events of a server's life. Whatever a server says of itself is cut before it enters one.

/** Entries of a list that an event shows; the whole number stands beside it. */
const MAX_LISTED = 50;
const MAX_STDERR = 4 << 10;
const MAX_NAME = 256;
const MAX_CAPABILITIES = 2048;

export function startingEvent(
  server: string,
  transport: string,
  attempt: number,
  sandbox: Readonly<Record<string, string>>,
): EventInput {
  return { type: "mcp.server.starting", payload: { server, transport, attempt, sandbox } };
}

/** How much a server offers; `undefined` for what it does not offer, or has not told in time. */
export interface ReadyCounts {
  readonly tools: number;
  readonly resources: number | undefined;
  readonly prompts: number | undefined;
}

export function readyEvent(
  server: string,
  facts: ServerFacts,
  counts: ReadyCounts,
  startMs: number,
  scrubber: Scrubber,
): EventInput {
  const info = facts.serverInfo;
  const short = (text: string): string => scrubbedExcerpt(text, scrubber, MAX_NAME);
  const { tools, resources, prompts } = counts;
  return {
    type: "mcp.server.ready",
    payload: {
      server,
      protocolVersion: facts.protocolVersion,
      serverInfo: info === undefined ? undefined : { name: short(info.name), version: short(info.version) },
      capabilities: shortCapabilities(facts.capabilities, scrubber),
      tools,
      resources,
      prompts,
      startMs,
    },
  };
}

export function crashedEvent(server: string, crash: Crash, inFlight: number, scrubber: Scrubber): EventInput {
  const { reason, exitCode, signal, stderrTail, error } = crash;
  return {
    type: "mcp.server.crashed",
    payload: {
      server,
      reason,
      exitCode,
      signal,
      stderrTail: stderrTail === undefined ? undefined : scrubbedTail(stderrTail, scrubber, MAX_STDERR),
      error: error === undefined ? undefined : faultOf(error, scrubber),
      inFlight,
    },
  };
}

export function restartingEvent(server: string, attempt: number, delayMs: number): EventInput {
  return { type: "mcp.server.restarting", payload: { server, attempt, delayMs } };
}

export function permanentlyFailedEvent(server: string, crashes: number, lastReason: string): EventInput {
  return { type: "mcp.server.permanently_failed", payload: { server, crashes, lastReason } };
}

export function failedEvent(server: string, error: unknown, scrubber: Scrubber): EventInput {
  return { type: "mcp.server.failed", payload: { server, error: faultOf(error, scrubber) } };
}

export function shutdownEvent(server: string, reason: string, containment: string): EventInput {
  return { type: "mcp.server.shutdown", payload: { server, reason, containment } };
}

export function idleDisconnectedEvent(server: string, idleMs: number): EventInput {
  return { type: "mcp.server.idle_disconnected", payload: { server, idleMs } };
}

export function authRequiredEvent(
  server: string,
  facts: Readonly<Record<string, unknown>>,
  scrubber: Scrubber,
): EventInput {
  const { authorizationUrl, scopes } = facts;
  return {
    type: "mcp.server.auth_required",
    payload: {
      server,
      authorizationUrl: typeof authorizationUrl === "string"
        ? scrubbedExcerpt(authorizationUrl, scrubber, 2048)
        : undefined,
      scopes: Array.isArray(scopes)
        ? scopes.slice(0, MAX_LISTED).map((scope) => scrubbedExcerpt(String(scope), scrubber, MAX_NAME))
        : [],
    },
  };
}

export function warningEvent(
  server: string,
  kind: string,
  count: number,
  excerpt: string | undefined,
  scrubber: Scrubber,
): EventInput {
  return {
    type: "mcp.server.warning",
    payload: {
      server,
      kind,
      count,
      excerpt: excerpt === undefined ? undefined : scrubbedExcerpt(excerpt, scrubber, MAX_NAME),
    },
  };
}

/** A server has asked for something that cannot be told to belong to one call; `excerpt` is by what method. */
export function misdirectedEvent(
  server: string,
  count: number,
  excerpt: string | undefined,
  scrubber: Scrubber,
): EventInput {
  return {
    type: "security.finding",
    payload: {
      rule: "misdirected_ask",
      where: `server ${server}`,
      severity: "high",
      count,
      preview: excerpt === undefined ? undefined : scrubbedExcerpt(excerpt, scrubber, MAX_NAME),
    },
  };
}

/** One event a refused definition, for the first few; a warning with the count for the rest. */
export function rejectedEvents(
  server: string,
  rejected: readonly RejectedTool[],
  scrubber: Scrubber,
): EventInput[] {
  const events = rejected.slice(0, MAX_LISTED).map(({ tool, why }): EventInput => ({
    type: "mcp.tool.rejected",
    payload: { server, tool: scrubbedExcerpt(tool, scrubber, MAX_NAME), why: scrubbedExcerpt(why, scrubber, 300) },
  }));
  if (rejected.length > MAX_LISTED) {
    events.push(warningEvent(server, "tools_rejected", rejected.length, undefined, scrubber));
  }
  return events;
}

/** What of the schemas of tools is not checked: one event for each tool, for the first few; a warning for the rest. */
export function concernEvents(
  server: string,
  concerns: readonly SchemaConcern[],
  scrubber: Scrubber,
): EventInput[] {
  const events = concerns.slice(0, MAX_LISTED).map(({ tool, rule, count, detail }): EventInput => ({
    type: "security.finding",
    payload: {
      rule,
      where: qualifiedName(server, tool),
      severity: "low",
      count,
      preview: scrubbedExcerpt(detail, scrubber, 300),
    },
  }));
  if (concerns.length > MAX_LISTED) {
    events.push(warningEvent(server, "schemas_not_checked", concerns.length, undefined, scrubber));
  }
  return events;
}

/** `undefined` when the two hold the same tools with the same definitions. */
export function catalogChangedEvent(server: string, before: Catalog, after: Catalog): EventInput | undefined {
  const added: string[] = [];
  const changed: string[] = [];
  for (const { name, definition } of after.entries()) {
    const old = before.byName(name);
    if (old === undefined) added.push(name);
    else if (old.definition !== definition && canonicalJson(old.definition) !== canonicalJson(definition)) {
      changed.push(name);
    }
  }
  const removed: string[] = [];
  for (const { name } of before.entries()) if (after.byName(name) === undefined) removed.push(name);
  if (added.length + changed.length + removed.length === 0) return undefined;
  return {
    type: "mcp.catalog.changed",
    payload: { server, ...listed("added", added), ...listed("removed", removed), ...listed("changed", changed) },
  };
}

/** Like {@link catalogChangedEvent}, for what a server offers besides tools; entries by what they go by. */
export function offersChangedEvent(
  server: string,
  kind: "resources" | "templates" | "prompts",
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): EventInput {
  const added = [...after.keys()].filter((key) => !before.has(key));
  const removed = [...before.keys()].filter((key) => !after.has(key));
  const changed = [...after].filter(([key, item]) =>
    before.has(key) && canonicalJson(before.get(key)) !== canonicalJson(item)
  ).map(([key]) => key);
  const shown = (keys: readonly string[]): string[] => keys.map((key) => wholeText(key));
  return {
    type: "mcp.catalog.changed",
    payload: {
      server,
      kind,
      ...listed("added", shown(added)),
      ...listed("removed", shown(removed)),
      ...listed("changed", shown(changed)),
    },
  };
}

function listed(key: string, names: readonly string[]): Record<string, unknown> {
  if (names.length <= MAX_LISTED) return { [key]: names };
  return { [key]: names.slice(0, MAX_LISTED), [`${key}Count`]: names.length };
}

function shortCapabilities(capabilities: Readonly<Record<string, unknown>>, scrubber: Scrubber): unknown {
  if (canonicalJson(capabilities).length <= MAX_CAPABILITIES) return capabilities;
  const names = Object.keys(capabilities).slice(0, MAX_LISTED);
  return Object.fromEntries(names.map((name) => [scrubbedExcerpt(name, scrubber, 64), {}]));
}
