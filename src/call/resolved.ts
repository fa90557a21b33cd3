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

/** Finds what a call names, or ends the call: nothing that is ambiguous, unknown or gone is ever sent anywhere. */
export async function resolveCall(
  call: Call,
  name: string,
  view: RouterView<Server>,
  context: CallContext,
): Promise<{ readonly route: Route } | { readonly outcome: Outcome }> {
  for (let waits = 0; waits < MAX_WAITS; waits++) {
    const resolution = resolveTool(name, view);
    if (resolution.kind === "wait") {
      try {
        const lease = await resolution.server.acquire({
          signal: call.signal,
          timeoutMs: call.options.timeoutMs ?? WAIT_MS,
        });
        lease.release();
      } catch (error) {
        return { outcome: await refuse(call, error, context) };
      }
    } else if (resolution.kind === "mcp") {
      call.tool = resolution.entry.qualified;
      return { route: resolution };
    } else if (resolution.kind === "local") {
      call.tool = resolution.tool.name;
      return { route: resolution };
    } else {
      return { outcome: await endUnresolved(call, resolution, context) };
    }
  }
  const error = new HostError("ERR_SERVER_NOT_CONNECTED", `Cannot call ${call.tool}: its server does not stay up`);
  return { outcome: await refuse(call, error, context) };
}

async function endUnresolved(
  call: Call,
  resolution: Extract<Resolution<Server>, { kind: "ambiguous" | "not_found" | "gone" }>,
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
      const fault = faultOf(refusalOf(server.name, state, undefined, server.status().error), context.scrubber);
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
