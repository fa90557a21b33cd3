import type { Client } from "../client/client.ts";
import type { EventCursor } from "../events/event.ts";
import { atMost, type Clock } from "../kernel/clock.ts";
import type { ServerLease } from "./server.ts";

/** Why a connection's calls have ended with it. */
export interface Loss {
  readonly reason: string;
  /** The crash event, already durable. */
  readonly cause?: EventCursor;
}

/** One live connection of a server, and the calls that use it. */
export class Connection {
  readonly client: Client;
  /** On the monotonic clock. */
  readonly readyAt: number;
  /** Settles once the reason of the end is known and durable; `undefined` while nothing has ended it. */
  lossKnown: Promise<void> | undefined;
  /** The first reason stays. */
  #loss: Loss | undefined;
  #inFlight = 0;
  #onDrained: (() => void) | undefined;
  readonly #onReleased: () => void;

  constructor(client: Client, readyAt: number, onReleased: () => void) {
    this.client = client;
    this.readyAt = readyAt;
    this.#onReleased = onReleased;
  }

  get loss(): Loss | undefined {
    return this.#loss;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  lose(loss: Loss): void {
    this.#loss ??= loss;
    this.lossKnown ??= Promise.resolve();
  }

  /** It has ended, and why will be known in a moment. */
  loseWith(loss: Promise<Loss>): void {
    this.lossKnown ??= loss.then((known) => this.lose(known));
  }

  lease(): ServerLease {
    this.#inFlight++;
    return new Lease(this);
  }

  /** A lease has ended. */
  giveBack(): void {
    this.#inFlight--;
    this.#onReleased();
    if (this.#inFlight === 0) this.#onDrained?.();
  }

  /** Resolves once no call uses it any more, or after `maxMs`. */
  async drained(clock: Clock, maxMs: number): Promise<void> {
    if (this.#inFlight === 0) return;
    await atMost(clock, maxMs, new Promise<void>((resolve) => this.#onDrained = resolve));
  }
}

class Lease implements ServerLease {
  readonly #connection: Connection;
  #released = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get client(): Client {
    return this.#connection.client;
  }

  get loss(): Loss | undefined {
    return this.#connection.loss;
  }

  whenLost(): Promise<void> {
    return this.#connection.lossKnown ?? Promise.resolve();
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#connection.giveBack();
  }
}
