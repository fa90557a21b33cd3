import type { Clock } from "../kernel/clock.ts";
import { wholeText } from "../kernel/foreign_text.ts";
import { tell } from "../kernel/listener.ts";
import type { TransportEnd, WarningKind } from "./link.ts";
import type { AskDesk } from "./peer_asks.ts";
import { MissedChanges } from "./peer_changes.ts";
import { RateWindow } from "./rate.ts";

/** What a peer tells its owner. What a handler throws, or rejects with, ends nothing: it is reported to `onError`. */
export interface PeerHandlers {
  onNotification(method: string, params: unknown): void;
  onWarning(kind: WarningKind, excerpt: string | undefined): void;
  /** Requests in flight are settled once the returned promise has. */
  onEnd(end: TransportEnd): void | Promise<void>;
  /** Told what the others have thrown, and what answering has failed with. Default: dropped. */
  onError?(error: unknown): void;
  /** Takes on what cannot be answered on the spot. Default: nobody does. */
  readonly asks?: AskDesk | undefined;
}

/** Notifications in a span of time; what is above is dropped. */
const MAX_NOTIFICATIONS = 200;
const NOTIFICATIONS_MS = 1000;

/** The owner of a peer, as the peer may tell it anything: never faster than it can bear, and however it behaves. */
export class PeerListener {
  readonly #handlers: PeerHandlers;
  readonly #notifications: RateWindow;
  readonly #missed: MissedChanges;

  constructor(clock: Clock, handlers: PeerHandlers) {
    this.#handlers = handlers;
    this.#notifications = new RateWindow(clock, MAX_NOTIFICATIONS, NOTIFICATIONS_MS);
    this.#missed = new MissedChanges(clock, NOTIFICATIONS_MS, (method, params) => this.#notify(method, params));
  }

  notification(method: string, params: unknown): void {
    if (this.#notifications.take()) return this.#notify(method, params);
    this.#missed.add(method, params);
    this.warn("flood", wholeText(method));
  }

  warn(kind: WarningKind, excerpt: string | undefined): void {
    this.#tell(() => this.#handlers.onWarning(kind, excerpt));
  }

  /** The connection has ended; `then` runs once the owner has dealt with it. */
  end(end: TransportEnd, then: () => void): void {
    this.#missed.clear();
    let wait: void | Promise<void> = undefined;
    try {
      wait = this.#handlers.onEnd(end);
    } catch (error) {
      this.failed(error);
    }
    if (wait === undefined) then();
    // Plain JavaScript may return anything.
    else Promise.resolve(wait).catch((error: unknown) => this.failed(error)).then(then);
  }

  #notify(method: string, params: unknown): void {
    this.#tell(() => this.#handlers.onNotification(method, params));
  }

  #tell(listener: () => unknown): void {
    tell(listener, (error) => this.failed(error));
  }

  /** A handler of the owner has failed. That is no fault of the connection. */
  failed(error: unknown): void {
    tell(() => this.#handlers.onError?.(error), () => {/* there is nobody left to tell */});
  }
}
