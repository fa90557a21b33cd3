import { cancelled, SignalWatch } from "../kernel/abort.ts";
import type { Clock } from "../kernel/clock.ts";
import { HostError, RemoteError } from "../kernel/errors.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { LostRequest, Progress, Transport, TransportEnd, TransportHandlers, WarningKind } from "./link.ts";
import type { ErrorShape, Incoming, MalformedReason, RequestId } from "./message.ts";
import { type PendingRequest, PendingTable, type Settled } from "./pending.ts";
import { RateWindow } from "./rate.ts";

/** Puts messages into words. The era in force supplies it. */
export interface MessageEncoder {
  /** JSON text of a request, with whatever metadata the revision wants in its parameters. Throws when `params` is no JSON. */
  request(id: number, method: string, params: JsonObject | undefined): string;
  notification(method: string, params: JsonObject | undefined): string;
}

/** Answers what the server asks of us; `undefined` means that the method is not known. */
export type Answerer = (method: string, params: unknown) => JsonObject | undefined;

export interface PeerHandlers {
  onNotification(method: string, params: unknown): void;
  onWarning(kind: WarningKind, excerpt: string | undefined): void;
  /** Requests in flight are settled once the returned promise has. */
  onEnd(end: TransportEnd): void | Promise<void>;
}

export interface PeerRequestOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs: number;
  readonly maxTotalMs: number;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Send no cancellation notice when it is given up. */
  readonly quiet?: boolean;
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
  /** Closing a response stream tells the server that the request is cancelled. */
  cancelsByClosing = false;

  readonly #clock: Clock;
  readonly #handlers: PeerHandlers;
  readonly #pending: PendingTable;
  readonly #signals: SignalWatch<number>;
  readonly #notifications: RateWindow;
  readonly #questions: RateWindow;
  readonly #questionFlood: RateWindow;
  readonly #givenUp = new Set<number>();
  #transport: Transport | undefined;
  #nextId = 1;
  #ended: HostError | undefined;

  constructor(clock: Clock, encoder: MessageEncoder, handlers: PeerHandlers) {
    this.#clock = clock;
    this.encoder = encoder;
    this.#handlers = handlers;
    this.#signals = new SignalWatch((id, signal) => this.#onAbort(id, signal));
    this.#pending = new PendingTable(clock, (request) => this.#onExpired(request), () => this.#signals.sweep());
    this.#notifications = new RateWindow(clock, 200, 1000);
    this.#questions = new RateWindow(clock, 20, 1000);
    this.#questionFlood = new RateWindow(clock, 1000, 10_000);
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
      return Promise.resolve(
        unsent(this.#ended ?? new HostError("ERR_CLOSED", `Cannot send ${method}: the connection is not open`)),
      );
    }
    const signal = options.signal;
    if (signal?.aborted) return Promise.resolve(unsent(cancelled(`Request ${method}`, signal)));
    const id = this.#nextId++;
    let text: string;
    try {
      text = this.encoder.request(id, method, params);
    } catch (cause) {
      return Promise.resolve(
        unsent(
          new HostError("ERR_INVALID_ARGUMENTS", `Cannot send ${method}: its parameters are no JSON value`, { cause }),
        ),
      );
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
        signal,
        quiet: options.quiet === true,
      });
      if (signal !== undefined) this.#signals.add(signal, id);
      transport.send({ text, method, id, params });
    });
  }

  /** The promise resolves when the notification has left or never will; it does not reject. */
  notify(method: string, params?: JsonObject): void | Promise<void> {
    if (this.#ended === undefined) {
      return this.#transport?.send({ text: this.encoder.notification(method, params), method, params });
    }
  }

  async close(): Promise<void> {
    await this.#transport?.close();
    this.#signals.clear();
  }

  onMessage(message: Incoming, bytes: number, of: number | undefined): void {
    switch (message.kind) {
      case "result":
        return this.#settle(message.id, of, { ok: true, result: message.result, bytes });
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
        return this.#onQuestion(message.id, message.method, message.params);
    }
  }

  onMalformed(reason: MalformedReason, id: RequestId | undefined, of: number | undefined): void {
    const unread = reason === "too_large" || reason === "too_deep" || reason === "too_many_nodes";
    // A frame that was not read can only be the one answer that is awaited. One that was read and names no request says
    // nothing: some servers answer notifications that way.
    const target = id !== undefined ? this.#match(id, of) : (of ?? (unread ? this.#pending.only()?.id : undefined));
    this.#handlers.onWarning("malformed", reason);
    if (target === undefined) return;
    const code = unread ? "ERR_FRAME_TOO_LARGE" : "ERR_PROTOCOL";
    const method = this.#pending.get(target)?.method ?? "a request";
    this.#finish(target, {
      ok: false,
      error: new HostError(
        code,
        `Cannot use the answer to ${method}: found ${MALFORMED_TEXT[reason]}, wanted one JSON-RPC response`,
        {
          facts: { malformed: reason },
        },
      ),
      sent: true,
      refused: false,
    });
  }

  onResent(id: number): void {
    const request = this.#pending.get(id);
    if (request !== undefined) request.resends++;
  }

  onLost(id: number, lost: LostRequest): void {
    this.#finish(id, { ok: false, ...lost });
  }

  onWarning(kind: WarningKind, excerpt?: string): void {
    this.#handlers.onWarning(kind, excerpt);
  }

  onClosed(end: TransportEnd, notSent: ReadonlySet<number>): void {
    const error = end.error ?? new HostError("ERR_CLOSED", "Connection was closed by this side");
    this.#ended = error;
    this.#signals.clear();
    const requests = this.#pending.drain();
    const settleAll = (): void => {
      for (const request of requests) {
        settle(request, { ok: false, error, sent: !notSent.has(request.id), refused: false });
      }
    };
    const wait = this.#handlers.onEnd(end);
    if (wait === undefined) settleAll();
    else wait.then(settleAll, settleAll);
  }

  #settle(id: RequestId | undefined, of: number | undefined, settled: Settled): void {
    const target = this.#match(id, of);
    if (target !== undefined) this.#finish(target, settled);
  }

  /** The pending request that an id means. An exact match comes first; its twin of another type is accepted with a warning. */
  #match(id: RequestId | undefined, of: number | undefined): number | undefined {
    let number = id;
    if (typeof id === "string" && /^[1-9]\d{0,15}$/.test(id)) number = Number(id);
    if (id === undefined) {
      // Only an error may lack its id; on a stream of its own there is no doubt whose it is.
      if (of !== undefined && this.#pending.get(of) !== undefined) return of;
      this.#handlers.onWarning("unknown_id", undefined);
      return undefined;
    }
    if (typeof number !== "number" || number < 1 || number >= this.#nextId || (of !== undefined && number !== of)) {
      this.#handlers.onWarning("unknown_id", undefined);
      return undefined;
    }
    if (this.#pending.get(number) === undefined) {
      if (!this.#givenUp.delete(number)) this.#handlers.onWarning("duplicate_id", undefined);
      return undefined;
    }
    if (typeof id === "string") this.#handlers.onWarning("twin_id", undefined);
    return number;
  }

  #finish(id: number, settled: Settled): void {
    const request = this.#pending.take(id);
    if (request === undefined) return;
    if (request.signal !== undefined) this.#signals.remove(request.signal, id);
    settle(request, settled);
  }

  #onNotification(method: string, params: unknown): void {
    if (method === "notifications/progress") return this.#onProgress(params);
    if (!this.#notifications.take()) return this.#handlers.onWarning("flood", method.slice(0, 100));
    if (method === "notifications/cancelled") {
      const { requestId, reason } = (params ?? {}) as { requestId?: unknown; reason?: unknown };
      if (typeof requestId !== "number" || this.#pending.get(requestId) === undefined) return;
      const why = typeof reason === "string" ? `: ${reason.slice(0, 200)}` : "";
      return this.#finish(requestId, {
        ok: false,
        error: new HostError("ERR_CANCELLED", `Request was cancelled by the server${why}`, { facts: { by: "server" } }),
        sent: true,
        refused: false,
      });
    }
    this.#handlers.onNotification(method, params);
  }

  #onProgress(params: unknown): void {
    const { progressToken, progress, total, message } = (params ?? {}) as Record<string, unknown>;
    const id = typeof progressToken === "string" && /^[1-9]\d{0,15}$/.test(progressToken)
      ? Number(progressToken)
      : progressToken;
    const request = typeof id === "number" ? this.#pending.get(id) : undefined;
    if (request === undefined || typeof progress !== "number") {
      return this.#handlers.onWarning("unknown_progress", undefined);
    }
    // Progress must rise (basic/utilities/progress). A report that stands still proves nothing and buys no time.
    if (!(progress > request.lastProgress)) return;
    request.lastProgress = progress;
    request.deadline = Math.min(this.#clock.monotonic() + request.timeoutMs, request.hardDeadline);
    request.onProgress?.({
      progress,
      ...(typeof total === "number" ? { total } : {}),
      ...(typeof message === "string" ? { message } : {}),
    });
  }

  #onQuestion(id: RequestId, method: string, params: unknown): void {
    if (this.answerer === undefined) return this.#handlers.onWarning("unexpected_request", method.slice(0, 100));
    if (!this.#questionFlood.take()) {
      this.#handlers.onWarning("flood", method.slice(0, 100));
      void this.close();
      return;
    }
    const result = this.#questions.take() ? this.answerer(method, params) : undefined;
    const error: ErrorShape = { code: -32601, message: "Method not found" };
    const body = result === undefined ? { error } : { result };
    this.#transport?.send({ text: JSON.stringify({ jsonrpc: "2.0", id, ...body }), method: "" });
  }

  #onAbort(id: number, signal: AbortSignal): void {
    const request = this.#pending.take(id);
    if (request === undefined) return;
    this.#giveUp(request, "the caller gave up");
    settle(request, { ok: false, error: cancelled(`Request ${request.method}`, signal), sent: true, refused: false });
  }

  #onExpired(request: PendingRequest): void {
    if (request.signal !== undefined) this.#signals.remove(request.signal, request.id);
    const hard = request.deadline >= request.hardDeadline;
    this.#giveUp(request, "timeout");
    const found = hard ? "its total time ran out" : `no answer and no progress within ${request.timeoutMs} ms`;
    settle(request, {
      ok: false,
      error: new HostError("ERR_TIMEOUT", `Request ${request.method} timed out: ${found}`, {
        facts: { method: request.method, timeoutMs: request.timeoutMs, total: hard },
      }),
      sent: true,
      refused: false,
    });
  }

  #giveUp(request: PendingRequest, reason: string): void {
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

function settle(request: PendingRequest, settled: Settled): void {
  request.resolve(request.resends === 0 ? settled : { ...settled, resends: request.resends });
}

function unsent(error: HostError): Settled {
  return { ok: false, error, sent: false, refused: false };
}

const MALFORMED_TEXT: Readonly<Record<MalformedReason, string>> = Object.freeze({
  not_json: "text that is no JSON",
  not_rpc: "JSON that is no JSON-RPC message",
  too_large: "a frame over the size limit",
  too_deep: "JSON nested too deeply",
  too_many_nodes: "JSON with too many values",
  envelope: "a message with a broken envelope",
  id: "a message with an unusable id",
});
