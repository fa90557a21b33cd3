import type { Clock } from "../../../src/kernel/clock.ts";
import type { Incoming } from "../../../src/jsonrpc/message.ts";
import { Peer, type PeerHandlers, type PeerRequestOptions } from "../../../src/jsonrpc/peer.ts";
import type { Settled } from "../../../src/jsonrpc/pending.ts";
import type { Outgoing, Transport, TransportEnd } from "../../../src/jsonrpc/link.ts";

/** A transport without another end: it keeps what is sent, and the test plays the server. */
export class ScriptedTransport implements Transport {
  readonly sent: Outgoing[] = [];
  readonly abandoned: number[] = [];
  closes = 0;
  onSend: ((message: Outgoing) => void) | undefined;
  onClose: (() => void) | undefined;

  send(message: Outgoing): void {
    this.sent.push(message);
    this.onSend?.(message);
  }

  abandon(id: number): void {
    this.abandoned.push(id);
  }

  close(): Promise<void> {
    this.closes++;
    this.onClose?.();
    return Promise.resolve();
  }

  /** What was sent, parsed. */
  get messages(): Record<string, unknown>[] {
    return this.sent.map((message) => JSON.parse(message.text) as Record<string, unknown>);
  }
}

/** A peer on a scripted transport, and all that it tells its owner. */
export interface Stage {
  readonly peer: Peer;
  readonly transport: ScriptedTransport;
  readonly notifications: [method: string, params: unknown][];
  readonly warnings: string[];
  readonly ends: TransportEnd[];
  /** Starts a request; the outcome is filled in when it has settled. */
  ask(
    options?: Partial<PeerRequestOptions> & { readonly method?: string },
  ): { readonly id: number; outcome: Settled | undefined };
  answer(id: number | string, result?: unknown): void;
  hear(message: Incoming): void;
}

export function createStage(clock: Clock, handlers: Partial<PeerHandlers> = {}): Stage {
  const transport = new ScriptedTransport();
  const notifications: [string, unknown][] = [];
  const warnings: string[] = [];
  const ends: TransportEnd[] = [];
  const encode = (members: object): string => JSON.stringify({ jsonrpc: "2.0", ...members });
  const peer = new Peer(clock, {
    request: (id, method, params) => encode({ id, method, params }),
    notification: (method, params) => encode({ method, params }),
  }, {
    onNotification: (method, params) => void notifications.push([method, params]),
    onWarning: (kind) => void warnings.push(kind),
    onEnd: (end) => void ends.push(end),
    ...handlers,
  });
  peer.attach(transport);
  let id = 0;
  return {
    peer,
    transport,
    notifications,
    warnings,
    ends,
    ask({ method = "tools/call", ...options } = {}) {
      const asked: { id: number; outcome: Settled | undefined } = { id: ++id, outcome: undefined };
      const request = peer.request(method, {}, { timeoutMs: 60_000, maxTotalMs: 600_000, ...options });
      void request.then((settled) => asked.outcome = settled);
      return asked;
    },
    answer: (of, result = {}) => peer.onMessage({ kind: "result", id: of, result }, 10, undefined),
    hear: (message) => peer.onMessage(message, 10, undefined),
  };
}
