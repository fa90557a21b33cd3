import { systemClock } from "../kernel/clock.ts";
import { VERSION } from "../kernel/version.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { PeerHandlers } from "../jsonrpc/peer.ts";
import { negotiate } from "../protocol/negotiate.ts";
import type { Client, ConnectOptions } from "./client.ts";
import { PeerClient } from "./peer_client.ts";

const DEFAULTS = Object.freeze({
  startTimeoutMs: 30_000,
  probeTimeoutMs: 3000,
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
 * import { connectClient, httpDialer } from "portcullis/client";
 *
 * export async function tools(url: string): Promise<string[]> {
 *   await using client = await connectClient({ dialer: httpDialer({ url, fetch }) });
 *   return (await client.listTools()).tools.map((tool) => tool.name);
 * }
 * ```
 */
export async function connectClient(options: ConnectOptions): Promise<Client> {
  const clock = options.clock ?? systemClock;
  const asks = options.asks?.on(options.capabilities ?? {});
  const { capabilities = {} } = asks ?? options;
  const made: { client?: PeerClient } = {};
  const handlers: PeerHandlers = {
    onNotification: (method, params) =>
      made.client === undefined ? options.onNotification?.(method, params) : made.client.hear(method, params),
    onWarning: (kind, excerpt) => options.onWarning?.(kind, excerpt),
    onEnd: (end) => options.onEnd?.(end),
    onError: (error) => options.onError?.(error),
    asks,
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
    capabilities,
    onRenewed: (introduction) => made.client?.renewed(introduction),
  });
  made.client = new PeerClient({ negotiated, clock, options, asks });
  return made.client;
}
