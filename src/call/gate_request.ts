import type { CatalogEntry } from "../catalog/catalog.ts";
import type { GateRequest, Risk } from "../permission/request.ts";
import type { Server } from "../servers/server.ts";
import type { Call } from "./call.ts";
import type { Route } from "./resolved.ts";

export interface GateRequestOptions {
  readonly session: string;
  readonly stream: string;
  /** What happens where somebody has to be asked and the call does not say. */
  readonly onAsk: "wait" | "deny";
}

/** Puts calls into the words of the gate. */
export class GateRequests {
  readonly #options: GateRequestOptions;
  /** What grants are bound to, for the definitions that were called: a call after the first need not wait for a hash. */
  readonly #fingerprints = new WeakMap<CatalogEntry, string>();

  constructor(options: GateRequestOptions) {
    this.#options = options;
  }

  of(call: Call, route: Route): GateRequest | Promise<GateRequest> {
    if (route.kind === "local") return this.#ofLocal(call, route.tool.risk);
    const { server, entry } = route;
    const known = this.#fingerprints.get(entry);
    if (known !== undefined) return this.#ofServer(call, route, known);
    // The catalog that the route was just read from.
    const fingerprint = server.catalog?.fingerprint(entry.name) ?? Promise.resolve(undefined);
    return fingerprint.then((definition) => this.#ofServer(call, route, this.#remember(server, entry, definition)));
  }

  #ofLocal(call: Call, configuredRisk: Risk): GateRequest {
    const { session, stream, onAsk } = this.#options;
    const { toolCallId, tool, args, signal, options } = call;
    const by = options.by ?? "caller";
    return {
      stream,
      session,
      by,
      toolCallId,
      tool,
      toolName: tool,
      source: "local",
      args,
      configuredRisk,
      signal,
      onAsk: options.onAsk ?? onAsk,
    };
  }

  // Written out: spreading objects together would cost more than the rest of this file.
  #ofServer(call: Call, { server, entry, source }: Extract<Route, { kind: "mcp" }>, fingerprint: string): GateRequest {
    const { session, stream, onAsk } = this.#options;
    const { toolCallId, tool, args, signal, options } = call;
    const { tools, trustAnnotations } = server.config;
    const { annotations } = entry.definition;
    const request: { -readonly [K in keyof GateRequest]: GateRequest[K] } = {
      stream,
      session,
      by: options.by ?? "caller",
      toolCallId,
      tool,
      alias: entry.alias,
      server: server.name,
      toolName: entry.name,
      source,
      args,
      trustAnnotations,
      fingerprint,
      signal,
      onAsk: options.onAsk ?? onAsk,
    };
    if (annotations !== undefined) request.annotations = annotations;
    // A tool may be called like a member that every object has.
    if (Object.hasOwn(tools.risk, entry.name)) request.configuredRisk = tools.risk[entry.name]!;
    return request;
  }

  #remember(server: Server, entry: CatalogEntry, definition: string | undefined): string {
    const fingerprint = `${server.fingerprint} ${definition ?? ""}`;
    this.#fingerprints.set(entry, fingerprint);
    return fingerprint;
  }
}
