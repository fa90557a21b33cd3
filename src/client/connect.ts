import { type Clock, systemClock } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";
import { VERSION } from "../kernel/version.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { PeerHandlers } from "../jsonrpc/peer.ts";
import type { Settled } from "../jsonrpc/pending.ts";
import { abortSpills } from "../jsonrpc/spill_sink.ts";
import { negotiate, type Negotiated } from "../protocol/negotiate.ts";
import { asObject, readCallResult } from "../protocol/results.ts";
import type { Client, ConnectOptions, ListLimits, RequestOptions, ServerFacts, ToolList } from "./client.ts";
import { listAllTools } from "./list_tools.ts";
import type { FailedReply, Reply } from "./reply.ts";

const DEFAULTS = Object.freeze({
  startTimeoutMs: 30_000,
  probeTimeoutMs: 3000,
  timeoutMs: 60_000,
  maxTotalMs: 600_000,
});

const CLIENT_INFO: JsonObject = Object.freeze({ name: "portcullis", version: VERSION });

/**
 * Opens a connection to one server, whatever revision of the protocol it speaks.
 *
 * Throws `ERR_START_FAILED`, `ERR_START_TIMEOUT`, `ERR_VERSION`, `ERR_AUTH_REQUIRED`, `ERR_CONNECTION_LOST`, `ERR_PROTOCOL`
 * or `ERR_CANCELLED`; nothing of the attempt is left then.
 *
 * @example
 * ```ts
 * import { connectClient, httpDialer, systemClock } from "portcullis/client";
 *
 * export async function tools(url: string): Promise<string[]> {
 *   await using client = await connectClient({ dialer: httpDialer({ url, fetch, clock: systemClock }) });
 *   return (await client.listTools()).tools.map((tool) => tool.name);
 * }
 * ```
 */
export async function connectClient(options: ConnectOptions): Promise<Client> {
  const clock = options.clock ?? systemClock;
  const handlers: PeerHandlers = {
    onNotification: (method, params) => options.onNotification?.(method, params),
    onWarning: (kind, excerpt) => options.onWarning?.(kind, excerpt),
    onEnd: (end) => options.onEnd?.(end),
  };
  const negotiated = await negotiate({
    dialer: options.dialer,
    clock,
    handlers,
    signal: options.signal,
    startTimeoutMs: options.startTimeoutMs ?? DEFAULTS.startTimeoutMs,
    probeTimeoutMs: options.probeTimeoutMs ?? DEFAULTS.probeTimeoutMs,
    pin: options.pin,
    verdicts: options.verdicts,
    clientInfo: options.clientInfo ?? CLIENT_INFO,
    capabilities: options.capabilities ?? {},
  });
  return new PeerClient(negotiated, clock);
}

class PeerClient implements Client {
  readonly facts: ServerFacts;
  readonly #negotiated: Negotiated;
  readonly #clock: Clock;

  constructor(negotiated: Negotiated, clock: Clock) {
    this.#negotiated = negotiated;
    this.#clock = clock;
    const { era, serverInfo, capabilities, instructions } = negotiated;
    this.facts = Object.freeze({
      era: era.name,
      protocolVersion: era.protocolVersion,
      serverInfo,
      capabilities,
      instructions,
    });
  }

  get isOpen(): boolean {
    return this.#negotiated.peer.isOpen;
  }

  request(method: string, params: JsonObject | undefined, options: RequestOptions = {}): Promise<Reply> {
    return this.#send(method, params, options).then((settled) => this.#read(method, settled));
  }

  callTool(name: string, args: JsonObject | undefined, options: RequestOptions = {}): Promise<Reply> {
    // Many servers refuse a call without the member, none an empty object.
    const given: unknown = args ?? {};
    if (asObject(given) === undefined) return Promise.resolve(failed(notAnObject(given), false, false, 0));
    return this.#send("tools/call", { name, arguments: given }, options).then((settled) => {
      const reply = this.#read("tools/call", settled);
      if (reply.kind !== "done") return reply;
      const result = readCallResult(reply.result);
      if (result === undefined) {
        abortSpills(reply.spills);
        return failed(
          new HostError("ERR_PROTOCOL", "Cannot use the answer to tools/call: found no list of content blocks in it"),
          true,
          false,
          reply.resends,
        );
      }
      return result === reply.result ? reply : { ...reply, result };
    });
  }

  listTools(options: RequestOptions & ListLimits = {}): Promise<ToolList> {
    return listAllTools(this, this.#clock, options);
  }

  notify(method: string, params?: JsonObject): void {
    void this.#negotiated.peer.notify(method, params);
  }

  close(): Promise<void> {
    return this.#negotiated.peer.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #send(method: string, params: JsonObject | undefined, options: RequestOptions): Promise<Settled> {
    return this.#negotiated.peer.request(method, params, {
      signal: options.signal,
      timeoutMs: options.timeoutMs ?? DEFAULTS.timeoutMs,
      maxTotalMs: options.maxTotalMs ?? DEFAULTS.maxTotalMs,
      onProgress: options.onProgress,
      takesSpills: options.takesSpills,
    });
  }

  #read(method: string, settled: Settled): Reply {
    const { resends = 0 } = settled;
    if (!settled.ok) return failed(settled.error, settled.sent, settled.refused, resends);
    const meaning = this.#negotiated.era.read(method, settled.result);
    if (meaning.kind === "done") {
      const { bytes, spills } = settled;
      const reply: Reply = { kind: "done", result: meaning.result, bytes, resends };
      return spills === undefined ? reply : { ...reply, spills };
    }
    abortSpills(settled.spills);
    switch (meaning.kind) {
      case "input_required":
        return {
          kind: "input_required",
          inputRequests: meaning.inputRequests,
          requestState: meaning.requestState,
          bytes: settled.bytes,
          resends,
        };
      case "task":
        return { kind: "task", task: meaning.task, bytes: settled.bytes, resends };
      case "invalid":
        return failed(meaning.error, true, false, resends);
    }
  }
}

function notAnObject(args: unknown): HostError {
  const found = Array.isArray(args) ? "an array" : `a ${typeof args}`;
  return new HostError("ERR_INVALID_ARGUMENTS", `Cannot call a tool: its arguments are ${found}, wanted an object`);
}

function failed(error: FailedReply["error"], sent: boolean, refused: boolean, resends: number): FailedReply {
  return { kind: "failed", error, sent, refused, resends };
}
