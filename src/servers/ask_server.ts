import type { Client, RequestOptions } from "../client/client.ts";
import type { Reply } from "../client/reply.ts";
import type { Clock } from "../kernel/clock.ts";
import { isHostError } from "../kernel/errors.ts";
import type { Loss } from "./connection.ts";
import type { Server } from "./server.ts";

export interface AskServerOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Silence after which it fails, ms, waiting for the server included. Default: the server's `timeoutMs`. */
  readonly timeoutMs?: number | undefined;
}

/** A reply, and why the connection ended under it, if it did. */
export interface Asked {
  readonly reply: Reply;
  readonly loss: Loss | undefined;
}

/**
 * Makes a request that only reads, as soon as its server can take it. One whose connection was lost under it is made once
 * more. Rejects, with nothing sent, where the server cannot be had, as {@link Server.acquire} has it.
 */
export async function askServer(
  server: Server,
  { clock, signal, timeoutMs = server.config.timeoutMs }: AskServerOptions,
  ask: (client: Client, options: RequestOptions) => Promise<Reply>,
): Promise<Asked> {
  const until = clock.monotonic() + timeoutMs;
  for (let isAgain = false;; isAgain = true) {
    const remainingMs = Math.max(1, until - clock.monotonic());
    const lease = server.tryAcquire() ?? await server.acquire({ signal, timeoutMs: remainingMs });
    try {
      const reply = await ask(lease.client, {
        signal,
        timeoutMs: Math.max(1, until - clock.monotonic()),
        maxTotalMs: Math.max(server.config.maxTotalMs, timeoutMs),
        ...(server.config.logLevel === undefined ? {} : { logLevel: server.config.logLevel }),
      });
      if (reply.kind === "failed" && !lease.client.isOpen) await lease.whenLost();
      const { loss } = lease;
      const isLost = reply.kind === "failed" &&
        (isHostError(reply.error, "ERR_CONNECTION_LOST") || (loss !== undefined && isHostError(reply.error)));
      if (!isLost || isAgain || signal.aborted) return { reply, loss };
    } finally {
      lease.release();
    }
  }
}
