import { classify } from "../jsonrpc/message.ts";
import type { Dialer, Outgoing, Transport, TransportEnd, TransportHandlers } from "./transport.ts";

/** A server in this process: gets each message, already parsed, and a way to send its own. */
export type MemoryServer = (connection: MemoryConnection) => {
  onMessage(message: Record<string, unknown>): void;
  onClose?(): void;
};

/** The server's end of a memory connection. */
export interface MemoryConnection {
  send(message: unknown): void;
  /** Ends the connection as a server that is gone would. */
  end(end?: Partial<TransportEnd>): void;
}

/**
 * Reaches a server that lives in the same process. Messages pass through JSON text both ways, so that nothing is shared,
 * and are delivered in a microtask, in order.
 */
export function memoryDialer(serve: MemoryServer, key = "memory"): Dialer {
  return {
    kind: "pipe",
    name: "memory",
    key,
    dial: (_profile, handlers) => Promise.resolve(new MemoryTransport(serve, handlers)),
  };
}

class MemoryTransport implements Transport {
  readonly #handlers: TransportHandlers;
  readonly #server: ReturnType<MemoryServer>;
  #closed = false;

  constructor(serve: MemoryServer, handlers: TransportHandlers) {
    this.#handlers = handlers;
    this.#server = serve({
      send: (message) => {
        const text = JSON.stringify(message);
        queueMicrotask(() => this.#deliver(text));
      },
      end: (end) => queueMicrotask(() => this.#end({ reason: "exit", exitCode: 0, ...end })),
    });
  }

  send(message: Outgoing): void {
    if (this.#closed) return;
    const parsed = JSON.parse(message.text) as Record<string, unknown>;
    queueMicrotask(() => {
      if (!this.#closed) this.#server.onMessage(parsed);
    });
  }

  abandon(): void {
    // One channel for all: there is nothing to let go of.
  }

  close(): Promise<void> {
    this.#end({ reason: "closed" });
    return Promise.resolve();
  }

  #deliver(text: string): void {
    if (this.#closed) return;
    const message = classify(JSON.parse(text));
    if (message.kind === "malformed") this.#handlers.onMalformed(message.reason, message.id, undefined);
    else void this.#handlers.onMessage(message, text.length, undefined);
  }

  #end(end: TransportEnd): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#server.onClose?.();
    this.#handlers.onClosed(end, new Set());
  }
}
