import { cancelled, untilAborted } from "../kernel/abort.ts";
import { atMost, type Clock } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";
import { Peer, type PeerHandlers } from "../jsonrpc/peer.ts";
import type { Settled } from "../jsonrpc/pending.ts";
import type { Dialer, Transport, TransportEnd, WireProfile } from "../transport/transport.ts";
import type { Era } from "./era.ts";
import type { JsonObject } from "./model.ts";

export interface OpeningOptions {
  readonly dialer: Dialer;
  readonly clock: Clock;
  /** Told of one connection only: the one that was handed over last. */
  readonly handlers: PeerHandlers;
  readonly startTimeoutMs: number;
}

/** The connections of one start, of which there is one at a time, and the time and the patience that it has for them. */
export class Opening {
  readonly #options: OpeningOptions;
  #dialer: Dialer;
  #startedAt = 0;
  /** Fires when nobody waits any more. */
  #signal: AbortSignal | undefined;
  #peer: Peer | undefined;
  #transport: Transport | undefined;
  #end: TransportEnd | undefined;
  #handedOver: Peer | undefined;
  /** What a pipe obeys: it outlives the change from one era to the other. */
  #pipeProfile: WireProfile | undefined;

  constructor(options: OpeningOptions) {
    this.#options = options;
    this.#dialer = options.dialer;
  }

  get dialer(): Dialer {
    return this.#dialer;
  }

  get signal(): AbortSignal | undefined {
    return this.#signal;
  }

  /** How the latest connection ended, if it did. */
  get end(): TransportEnd | undefined {
    return this.#end;
  }

  get waitedMs(): number {
    return this.#options.clock.monotonic() - this.#startedAt;
  }

  /** The time runs anew, as long as `signal` lets it. */
  begin(signal: AbortSignal | undefined): void {
    this.#startedAt = this.#options.clock.monotonic();
    this.#signal = signal;
  }

  /** From now on the end of this connection is its owner's matter. */
  handOver(peer: Peer): void {
    this.#handedOver = peer;
  }

  /**
   * Reaches for another connection; requests in flight go on where they are. A pipe stays the same, since it serves all
   * eras. What is returned goes back to the connection as it was.
   */
  leave(era: Era): () => void {
    const peer = this.#peer;
    const transport = this.#transport;
    if (this.#dialer.kind === "web") this.#peer = undefined;
    return () => {
      this.#peer = peer;
      this.#transport = transport;
      if (peer !== undefined) this.speak(peer, era);
    };
  }

  /** Goes over to another way to the server. */
  async turnTo(dialer: Dialer): Promise<void> {
    if (dialer === this.#dialer) return;
    await this.close();
    this.#dialer = dialer;
  }

  /** Ends the latest connection, unless it is the one that another has to end: its owner. */
  async close(owned: Peer | undefined = this.#handedOver): Promise<void> {
    if (this.#peer !== owned) await this.#peer?.close();
  }

  listen(): void {
    this.#transport?.listen?.();
  }

  /** A connection that speaks this era: the pipe that is there, or a fresh one. A pipe that has an owner is never replaced. */
  async open(era: Era, onSessionLost?: (peer: Peer) => Promise<void>): Promise<Peer> {
    const peer = this.#peer;
    if (peer !== undefined && this.#dialer.kind === "pipe" && (peer.isOpen || peer === this.#handedOver)) {
      this.speak(peer, era);
      return peer;
    }
    await this.close();
    return await this.#dial(era, onSessionLost);
  }

  speak(peer: Peer, era: Era): void {
    peer.encoder = era.encoder;
    peer.answerer = era.answerer;
    peer.cancelsByClosing = this.#dialer.kind === "web" && era.profile.cancelsByClosing;
    this.#pipeProfile = era.profile;
  }

  /** Waits within the time of the start and as long as the caller does. */
  async bounded<T>(promise: Promise<T>): Promise<T> {
    const boxed = promise.then((value) => ({ value }));
    const waiting = untilAborted(boxed, "Start of a conversation", this.#signal);
    const found = await atMost(this.#options.clock, this.remainingMs(), waiting);
    if (found === undefined) throw new HostError("ERR_TIMEOUT", "Start of a conversation timed out");
    return found.value;
  }

  async ask(peer: Peer, method: string, params: JsonObject | undefined, timeoutMs: number): Promise<Settled> {
    const signal = this.#signal;
    const settled = await peer.request(method, params, { signal, timeoutMs, maxTotalMs: timeoutMs + 1, quiet: true });
    if (signal?.aborted) throw cancelled("Start of a conversation", signal);
    return settled;
  }

  remainingMs(): number {
    const remaining = this.#options.startTimeoutMs - this.waitedMs;
    if (remaining <= 0) throw new HostError("ERR_TIMEOUT", "Start of a conversation timed out");
    return remaining;
  }

  async #dial(era: Era, onSessionLost: ((peer: Peer) => Promise<void>) | undefined): Promise<Peer> {
    const { clock, handlers } = this.#options;
    const dialer = this.#dialer;
    const peer: Peer = new Peer(clock, era.encoder, {
      ...handlers,
      onEnd: (end) => {
        if (this.#peer === peer) this.#end = end;
        return this.#handedOver === peer ? handlers.onEnd(end) : undefined;
      },
    });
    this.#end = undefined;
    this.#peer = peer;
    this.speak(peer, era);
    const profile = dialer.kind === "web" ? era.profile : this.#profileOfPipe();
    if (onSessionLost !== undefined) {
      peer.onSessionLost = () => {
        peer.endAsks();
        return onSessionLost(peer);
      };
    }
    const dialling = dialer.dial(profile, peer, this.#signal);
    try {
      this.#transport = await this.bounded(dialling);
      peer.attach(this.#transport);
    } catch (error) {
      dialling.then((late) => late.close()).catch(() => {/* it has failed by itself: nothing is left of it */});
      throw error;
    }
    return peer;
  }

  #profileOfPipe(): WireProfile {
    const current = (): WireProfile => this.#pipeProfile!;
    return {
      get sessions() {
        return current().sessions;
      },
      get cancelsByClosing() {
        return current().cancelsByClosing;
      },
      get batches() {
        return current().batches;
      },
      headers: (message) => current().headers(message),
    };
  }
}
