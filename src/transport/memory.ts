import { cancelled } from "../kernel/abort.ts";
import { causeCode, HostError } from "../kernel/errors.ts";
import { PipeReader } from "./pipe_reader.ts";
import type { Dialer, Outgoing, Transport, TransportEnd, TransportHandlers, WireProfile } from "./transport.ts";

/** A server in this process: gets each message, already parsed, and a way to send its own. */
export type MemoryServer = (connection: MemoryConnection) => {
  /** What it throws ends the connection, as a crash would. */
  onMessage(message: Record<string, unknown>): void;
  onClose?(): void;
};

/** The server's end of a memory connection. */
export interface MemoryConnection {
  /** Sends any JSON value. Dropped once the connection has ended. */
  send(message: unknown): void;
  /** Ends the connection as a server that is gone would. */
  end(end?: Partial<TransportEnd>): void;
}

/**
 * Reaches a server that lives in the same process. Messages pass through JSON text both ways, so that nothing is shared
 * and every bound of a pipe holds; they are delivered in a microtask, in order.
 */
export function memoryDialer(serve: MemoryServer, key = "memory"): Dialer {
  return {
    kind: "pipe",
    name: "memory",
    key,
    async dial(profile, handlers, signal): Promise<Transport> {
      if (signal?.aborted) throw cancelled("Connection in memory", signal);
      return new MemoryTransport(serve, profile, handlers);
    },
  };
}

class MemoryTransport implements Transport {
  readonly #handlers: TransportHandlers;
  readonly #encoder = new TextEncoder();
  readonly #reader: PipeReader;
  readonly #server: ReturnType<MemoryServer>;
  #closed = false;

  constructor(serve: MemoryServer, profile: WireProfile, handlers: TransportHandlers) {
    this.#handlers = handlers;
    this.#reader = new PipeReader(profile, handlers, (end) => this.#end(end));
    this.#server = serve({
      send: (message) => {
        const line = this.#encoder.encode(`${JSON.stringify(message)}\n`);
        queueMicrotask(() => {
          if (!this.#closed) void this.#reader.push(line);
        });
      },
      end: (end) => queueMicrotask(() => this.#end({ reason: "exit", exitCode: 0, ...end })),
    });
  }

  send(message: Outgoing): void {
    if (this.#closed) return;
    queueMicrotask(() => this.#serve(message.text));
  }

  abandon(): void {
    // One channel for all: there is nothing to let go of.
  }

  close(): Promise<void> {
    this.#end({ reason: "closed" });
    return Promise.resolve();
  }

  #serve(text: string): void {
    if (this.#closed) return;
    try {
      this.#server.onMessage(JSON.parse(text) as Record<string, unknown>);
    } catch (cause) {
      const message = `Connection to the server was lost: it threw ${causeCode(cause)}`;
      this.#end({ reason: "exit", error: new HostError("ERR_CONNECTION_LOST", message, { cause }) });
    }
  }

  #end(end: TransportEnd): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#reader.end();
    try {
      this.#server.onClose?.();
    } finally {
      this.#handlers.onClosed(end, new Set());
    }
  }
}
