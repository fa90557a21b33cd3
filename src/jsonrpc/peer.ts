import { cancelled, SignalWatch } from "../kernel/abort.ts";
import type { Clock } from "../kernel/clock.ts";
import { type HostError, RemoteError } from "../kernel/errors.ts";
import type { JsonObject } from "../kernel/json.ts";
import { isThenable } from "../kernel/listener.ts";
import type {
  BeforeResend,
  LostRequest,
  Progress,
  Transport,
  TransportEnd,
  TransportHandlers,
  WarningKind,
} from "./link.ts";
import { type Incoming, isUnread, type MalformedReason, ownId, type RequestId } from "./message.ts";
import type { AskAnswerer } from "./peer_asks.ts";
import { cancelledByServer, closedHere, notJson, notOpen, progressFailed, timedOut, unusable } from "./peer_errors.ts";
import { type PeerHandlers, PeerListener } from "./peer_listener.ts";
import { type PendingRequest, PendingTable, type Settled } from "./pending.ts";
import { type Answerer, Questions } from "./peer_questions.ts";
import { RateWindow } from "./rate.ts";
import { failed, settle } from "./settle.ts";
import { abortSpills } from "./spill_sink.ts";

export type { PeerHandlers } from "./peer_listener.ts";
export type { Answerer } from "./peer_questions.ts";

/** Puts messages into words. The era in force supplies it. */
export interface MessageEncoder {
  /** JSON text of a request, with whatever metadata the revision wants in its parameters. Throws when `params` is no JSON. */
  request(id: number, method: string, params: JsonObject | undefined): string;
  notification(method: string, params: JsonObject | undefined): string;
}

export interface PeerRequestOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly maxTotalMs: number;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Progress is heard until this fires, also after the answer. */
  readonly progressUntil?: AbortSignal | undefined;
  /** Send no cancellation notice when it is given up. */
  readonly quiet?: boolean;
  /** Take on the long strings of the answer that were put aside, see {@link Settled}. */
  readonly takesSpills?: boolean | undefined;
  /** Answers what the server asks for the sake of this request. Its time stands still meanwhile. */
  readonly answerAsk?: AskAnswerer | undefined;
  /** See {@link Outgoing.isStanding}. */
  readonly isStanding?: boolean | undefined;
  /** See {@link Outgoing.beforeResend}. */
  readonly beforeResend?: BeforeResend | undefined;
  /** Told the id under which it goes out, before it does. */
  readonly onId?: (id: number) => void;
}

/** Ids of requests that were given up and may still be answered. */
const MAX_GIVEN_UP = 1024;

/**
 * One end of a JSON-RPC conversation: numbers our requests, matches answers, keeps deadlines, answers what the other
 * end asks. Knows neither the transport's kind nor the revision.
 *
 * Whatever arrives settles a request at most once; every request is settled exactly once, at the latest when the
 * connection ends.
 */
export class Peer implements TransportHandlers {
  encoder: MessageEncoder;
  /** Absent where the other end may not ask anything. */
  answerer: Answerer | undefined;
  /** Set where a session can be opened anew, see {@link TransportHandlers.onSessionLost}. */
  onSessionLost?: () => Promise<void>;
  /** Closing a response stream tells the server that the request is cancelled. */
  cancelsByClosing = false;

  readonly #clock: Clock;
  readonly #listener: PeerListener;
  readonly #pending: PendingTable;
  readonly #questions: Questions;
  readonly #signals: SignalWatch<number>;
  readonly #reports: RateWindow;
  readonly #givenUp = new Set<number>();
  /** Requests that were answered and whose tokens still hold. */
  readonly #answered = new Map<number, PendingRequest>();
  #transport: Transport | undefined;
  #nextId = 1;
  /** Why nothing more is sent: the end itself, or that we have asked for it. */
  #ended: HostError | undefined;
  /** What the end is put down to, when it was our doing but the server's fault. */
  #cause: Pick<TransportEnd, "reason" | "error"> | undefined;

  constructor(clock: Clock, encoder: MessageEncoder, handlers: PeerHandlers) {
    this.#clock = clock;
    this.encoder = encoder;
    this.#listener = new PeerListener(clock, handlers);
    this.#signals = new SignalWatch((id, signal) => this.#onAbort(id, signal));
    this.#pending = new PendingTable(clock, (request) => this.#onExpired(request), () => this.#signals.sweep());
    this.#questions = new Questions({
      clock,
      listener: this.#listener,
      pending: this.#pending,
      asks: handlers.asks,
      send: (text) => void this.#transport?.send({ text, method: "" }),
      onFlood: (error) => this.#onFlood(error),
    });
    this.#reports = new RateWindow(clock, 200, 1000);
  }

  /** The transport must have been given this peer as its handlers. */
  attach(transport: Transport): void {
    this.#transport = transport;
  }

  get isOpen(): boolean {
    return this.#ended === undefined && this.#transport !== undefined;
  }

  get inFlight(): number {
    return this.#pending.size;
  }

  /** Never rejects. */
  request(method: string, params: JsonObject | undefined, options: PeerRequestOptions): Promise<Settled> {
    const transport = this.#transport;
    if (this.#ended !== undefined || transport === undefined) {
      return Promise.resolve(failed(this.#ended ?? notOpen(method), false));
    }
    const signal = options.signal;
    if (signal?.aborted) return Promise.resolve(failed(cancelled(`Request ${method}`, signal), false));
    const id = this.#nextId++;
    let text: string;
    try {
      text = this.encoder.request(id, method, params);
    } catch (cause) {
      return Promise.resolve(failed(notJson(method, cause), false));
    }
    return new Promise((resolve) => {
      const now = this.#clock.monotonic();
      const hardDeadline = now + options.maxTotalMs;
      this.#pending.add({
        id,
        method,
        resolve,
        timeoutMs: options.timeoutMs,
        hardDeadline,
        deadline: Math.min(now + options.timeoutMs, hardDeadline),
        lastProgress: -Infinity,
        resends: 0,
        onProgress: options.onProgress,
        progressUntil: options.progressUntil,
        signal,
        quiet: options.quiet === true,
        takesSpills: options.takesSpills === true,
        answerAsk: options.answerAsk,
        asks: 0,
        openAsks: 0,
        heldAt: 0,
      });
      if (signal !== undefined) this.#signals.add(signal, id);
      options.onId?.(id);
      const { isStanding, beforeResend } = options;
      transport.send({ text, method, id, params, isStanding, beforeResend });
    });
  }

  /**
   * The promise resolves when the notification has left or never will; it does not reject. Throws
   * `ERR_INVALID_ARGUMENTS` when `params` is no JSON value.
   */
  notify(method: string, params?: JsonObject): void | Promise<void> {
    if (this.#ended !== undefined) return;
    let text: string;
    try {
      text = this.encoder.notification(method, params);
    } catch (cause) {
      throw notJson(method, cause);
    }
    return this.#transport?.send({ text, method, params });
  }

  /** What the server has asked belongs to a session that it has forgotten: nobody waits for the answers. */
  endAsks(): void {
    this.#questions.endAll();
  }

  /** Nothing more is sent from now on; what is in flight settles when the transport has ended. */
  async close(): Promise<void> {
    this.#ended ??= closedHere();
    this.#questions.endAll();
    await this.#transport?.close();
  }

  onMessage(message: Incoming, bytes: number, of: number | undefined): void {
    switch (message.kind) {
      case "result": {
        const { result, spills } = message;
        const settled: Settled = { ok: true, result, bytes };
        return this.#settle(message.id, of, spills === undefined ? settled : { ...settled, spills });
      }
      case "error": {
        const { code, message: text, data } = message.error;
        return this.#settle(message.id, of, {
          ok: false,
          error: new RemoteError(code, text, data),
          sent: true,
          refused: false,
        });
      }
      case "notification":
        return this.#onNotification(message.method, message.params);
      case "request":
        return this.#ended === undefined ? this.#questions.hear(message, of, this.answerer) : undefined;
    }
  }

  onMalformed(reason: MalformedReason, id: RequestId | undefined, of: number | undefined): void {
    const unread = isUnread(reason);
    // A frame that was not read can only be the one answer that is awaited. One that was read and names no request says
    // nothing: some servers answer notifications that way.
    const only = unread ? (of ?? this.#pending.only(isAwaited)?.id) : undefined;
    const target = id === undefined ? only : this.#match(id, of);
    this.#listener.warn(reason === "batch" ? "unexpected_batch" : "malformed", reason);
    if (target === undefined) return;
    const error = unusable(this.#pending.get(target)?.method ?? "a request", reason);
    this.#finish(target, failed(error));
  }

  onArriving(of: number | undefined): void {
    this.#pending.renew(of);
  }

  onResent(id: number): void {
    const request = this.#pending.get(id);
    if (request !== undefined) request.resends++;
  }

  onLost(id: number, lost: LostRequest): void {
    this.#finish(id, { ok: false, ...lost });
  }

  onWarning(kind: WarningKind, excerpt?: string): void {
    this.#listener.warn(kind, excerpt);
  }

  onClosed(closed: TransportEnd, notSent: ReadonlySet<number>): void {
    const end = closed.reason === "closed" ? { ...closed, ...this.#cause } : closed;
    const error = end.error ?? closedHere();
    this.#ended = error;
    this.#signals.clear();
    this.#questions.endAll();
    const requests = this.#pending.drain();
    const settleAll = (): void => {
      for (const request of requests) {
        settle(request, failed(error, !notSent.has(request.id)));
      }
    };
    this.#listener.end(end, settleAll);
  }

  #settle(id: RequestId | undefined, of: number | undefined, settled: Settled): void {
    const target = this.#match(id, of);
    if (target !== undefined) this.#finish(target, settled);
    else if (settled.ok) abortSpills(settled.spills);
  }

  /** The pending request that an id means. An exact match comes first; its twin of another type is accepted with a warning. */
  #match(id: RequestId | undefined, of: number | undefined): number | undefined {
    const number = ownId(id);
    if (id === undefined) {
      // Only an error may lack its id; on a stream of its own there is no doubt whose it is.
      if (of !== undefined && this.#pending.get(of) !== undefined) return of;
      this.#listener.warn("unknown_id", undefined);
      return undefined;
    }
    if (number === undefined || number < 1 || number >= this.#nextId || (of !== undefined && number !== of)) {
      this.#listener.warn("unknown_id", undefined);
      return undefined;
    }
    if (this.#pending.get(number) === undefined) {
      if (!this.#givenUp.delete(number)) this.#listener.warn("duplicate_id", undefined);
      return undefined;
    }
    if (typeof id === "string") this.#listener.warn("twin_id", undefined);
    return number;
  }

  #finish(id: number, settled: Settled): void {
    const request = this.#pending.take(id);
    if (request === undefined) return;
    const { signal, progressUntil } = request;
    if (signal !== undefined) this.#signals.remove(signal, id);
    if (progressUntil?.aborted === false) {
      this.#answered.set(id, request);
      this.#signals.add(progressUntil, id);
    }
    if (request.openAsks > 0) this.#questions.endOf(id);
    settle(request, settled);
  }

  #onNotification(method: string, params: unknown): void {
    // These two are about requests of ours and bounded by their number: a flood of others must not drown them.
    if (method === "notifications/progress") return this.#onProgress(params);
    if (method === "notifications/cancelled") return this.#onCancelled(params);
    this.#listener.notification(method, params);
  }

  #onCancelled(params: unknown): void {
    const { requestId, reason } = (params ?? {}) as { requestId?: unknown; reason?: unknown };
    // Each side counts its own ids. What it has asked itself is what a server may withdraw by the letter
    // (basic/utilities/cancellation); that some give up requests of ours in the same way comes second.
    if (this.#questions.withdraw(requestId)) return;
    const id = ownId(requestId);
    if (id === undefined) return;
    this.#finish(id, failed(cancelledByServer(reason)));
  }

  #onProgress(params: unknown): void {
    const { progressToken, progress, total, message } = (params ?? {}) as Record<string, unknown>;
    const id = ownId(progressToken);
    const request = id === undefined ? undefined : this.#pending.get(id) ?? this.#answered.get(id);
    if (request === undefined || !isFiniteNumber(progress)) {
      return this.#listener.warn("unknown_progress", undefined);
    }
    // Progress must rise (basic/utilities/progress). A report that stands still proves nothing and buys no time.
    if (!(progress > request.lastProgress)) return;
    request.lastProgress = progress;
    this.#pending.renew(request.id);
    if (request.onProgress === undefined) return;
    if (!this.#reports.take()) return this.#listener.warn("flood", "notifications/progress");
    try {
      const told: unknown = request.onProgress({
        progress,
        ...(isFiniteNumber(total) ? { total } : {}),
        ...(typeof message === "string" ? { message } : {}),
      });
      if (isThenable(told)) Promise.resolve(told).catch((cause: unknown) => this.#onProgressFailed(request, cause));
    } catch (cause) {
      this.#onProgressFailed(request, cause);
    }
  }

  /** The caller's own mistake must reach the caller, and nobody else. */
  #onProgressFailed(request: PendingRequest, cause: unknown): void {
    // Of what fails after the end of its request, no caller hears any more.
    if (this.#pending.take(request.id) === undefined) return this.#listener.failed(cause);
    if (request.signal !== undefined) this.#signals.remove(request.signal, request.id);
    this.#giveUp(request, "the caller gave up");
    const error = progressFailed(request.method, cause);
    settle(request, failed(error));
  }

  #onFlood(error: HostError): void {
    this.#cause = { reason: "flood", error };
    this.#ended = error;
    void this.close();
  }

  #onAbort(id: number, signal: AbortSignal): void {
    this.#answered.delete(id);
    const request = this.#pending.take(id);
    if (request === undefined) return;
    this.#giveUp(request, "the caller gave up");
    settle(request, failed(cancelled(`Request ${request.method}`, signal)));
  }

  #onExpired(request: PendingRequest): void {
    if (request.signal !== undefined) this.#signals.remove(request.signal, request.id);
    this.#giveUp(request, "timeout");
    settle(request, failed(timedOut(request)));
  }

  #giveUp(request: PendingRequest, reason: string): void {
    if (request.openAsks > 0) this.#questions.endOf(request.id);
    if (this.#givenUp.size >= MAX_GIVEN_UP) {
      for (const oldest of this.#givenUp) {
        this.#givenUp.delete(oldest);
        break;
      }
    }
    this.#givenUp.add(request.id);
    if (!request.quiet && !this.cancelsByClosing) {
      void this.notify("notifications/cancelled", { requestId: request.id, reason });
    }
    this.#transport?.abandon(request.id);
  }
}

/** What has no end in time is not. */
function isAwaited({ hardDeadline }: PendingRequest): boolean {
  return hardDeadline !== Infinity;
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
