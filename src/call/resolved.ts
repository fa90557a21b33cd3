import type { CatalogEntry } from "../catalog/catalog.ts";
import type { CheckedLocalTool } from "../catalog/local_tool.ts";
import { type Resolution, resolveTool } from "../catalog/router.ts";
import type { RouterView } from "../catalog/router_view.ts";
import { HostError } from "../kernel/errors.ts";
import { faultOf } from "../servers/fault.ts";
import { refusalOf } from "../servers/refusal.ts";
import type { Server } from "../servers/server.ts";
import type { Call, CallContext } from "./call.ts";
import { ambiguousCall, toolFailed, toolNotFound } from "./call_events.ts";
import type { Outcome } from "./outcome.ts";
import { refuse } from "./ending.ts";

/** What a name has been resolved to. It names a server and never holds its connection. */
export type Route =
  | { readonly kind: "mcp"; readonly source: string; readonly server: Server; readonly entry: CatalogEntry }
  | { readonly kind: "local"; readonly tool: CheckedLocalTool };

/** What a call waits for at most where its server says nothing, since it is not known yet. */
const WAIT_MS = 60_000;
/** A name that still leads to a server without a list after so many waits leads nowhere. */
const MAX_WAITS = 8;

/** What a call names, or its end. */
export type Resolved = { readonly route: Route } | { readonly outcome: Outcome };

/**
 * Finds what a call names, or ends the call: nothing that is ambiguous, unknown or gone is ever sent anywhere. At once
 * where the list that the name is in is there.
 */
export function resolveCall(
  call: Call,
  name: string,
  view: RouterView<Server>,
  context: CallContext,
): Resolved | Promise<Resolved> {
  const resolution = resolveTool(name, view);
  return routed(call, resolution) ?? resolveLater(call, name, resolution, view, context);
}

function routed(call: Call, resolution: Resolution<Server>): { readonly route: Route } | undefined {
  if (resolution.kind !== "mcp" && resolution.kind !== "local") return undefined;
  call.tool = resolution.kind === "mcp" ? resolution.entry.qualified : resolution.tool.name;
  return { route: resolution };
}

/** Waits for the list of a server that has none yet, as often as it takes. */
async function resolveLater(
  call: Call,
  name: string,
  first: Resolution<Server>,
  view: RouterView<Server>,
  context: CallContext,
): Promise<Resolved> {
  let resolution = first;
  for (let waits = 0; waits < MAX_WAITS; waits++) {
    const found = routed(call, resolution);
    if (found !== undefined) return found;
    if (resolution.kind !== "wait") return { outcome: await endUnresolved(call, resolution as Unresolved, context) };
    try {
      const lease = await resolution.server.acquire({
        signal: call.signal,
        timeoutMs: call.options.timeoutMs ?? WAIT_MS,
      });
      lease.release();
    } catch (error) {
      return { outcome: await refuse(call, error, context) };
    }
    resolution = resolveTool(name, view);
  }
  const error = new HostError("ERR_SERVER_NOT_CONNECTED", `Cannot call ${call.tool}: its server does not stay up`);
  return { outcome: await refuse(call, error, context) };
}

type Unresolved = Extract<Resolution<Server>, { kind: "ambiguous" | "not_found" | "gone" }>;

async function endUnresolved(
  call: Call,
  resolution: Unresolved,
  context: CallContext,
): Promise<Outcome> {
  switch (resolution.kind) {
    case "ambiguous": {
      const { candidates } = resolution;
      const message = `Cannot call ${shown(call)}: more than one tool has this name, wanted one of ${
        candidates.join(", ")
      }`;
      return await call.end(
        [ambiguousCall(call.tool, candidates)],
        false,
        () => call.failed("failed", "ambiguous", { code: "ERR_TOOL_AMBIGUOUS", message }),
      );
    }
    case "not_found": {
      const { suggestions } = resolution;
      const hint = suggestions.length === 0 ? "" : `, did you mean ${suggestions.join(" or ")}`;
      const fault = {
        code: "ERR_TOOL_NOT_FOUND",
        message: context.scrubber.text(`Cannot call ${shown(call)}: no tool has this name${hint}`),
      };
      return await call.end(
        [toolNotFound(call.tool, suggestions)],
        false,
        () => call.failed("failed", "not_found", fault),
      );
    }
    case "gone": {
      const { server, state, reason, entry } = resolution;
      if (entry !== undefined) call.tool = entry.qualified;
      const { name, source, givenUp } = server;
      const details = { source, givenUp, lastError: server.status().error };
      const fault = faultOf(refusalOf(name, state, details), context.scrubber);
      return await call.end(
        [toolFailed(call, reason, "not_sent", fault)],
        false,
        () => call.failed("failed", reason, fault),
      );
    }
  }
}

function shown(call: Call): string {
  return JSON.stringify(call.tool.slice(0, 100));
}
