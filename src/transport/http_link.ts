import { type Clock, systemClock } from "../kernel/clock.ts";
import type { LargeFrames } from "./frames.ts";
import { causeCode, isHostError } from "../kernel/errors.ts";
import { AnswerReader } from "./http_answer.ts";
import { lost, NOT_SENT } from "./http_faults.ts";
import { type Attempt, HttpRequests, MAX_UNAWAITED } from "./http_requests.ts";
import { HttpSender, type SenderOptions } from "./http_sender.ts";
import type { StreamPlace } from "./resume.ts";
import type { LostRequest, Outgoing, Transport, TransportEnd, TransportHandlers, WireProfile } from "./transport.ts";

/** True for what a session is opened with. */
export function isOpening(method: string): boolean {
  return /initialized?$/.test(method);
}

/** What both transports over HTTP are made of. */
export interface LinkOptions extends SenderOptions {
  /** See `Runtime.contentLengthIsDecoded`; default false. */
  readonly contentLengthIsDecoded?: boolean;
  /** How messages over 1 MiB are read. Default: they are held whole, and refused over 8 MiB. */
  readonly frames?: LargeFrames | undefined;
  /** Default: the runtime's. */
  readonly clock?: Clock;
}

/** Attempts in a row that did not reach the server before the connection counts as lost. */
const MAX_UNREACHED = 3;

/** What the transports over HTTP have in common: who waits, who is lost, and when the server counts as gone. */
export abstract class HttpLink implements Transport {
  protected readonly profile: WireProfile;
  protected readonly handlers: TransportHandlers;
  protected readonly clock: Clock;
  protected readonly sender: HttpSender;
  protected readonly requests: HttpRequests;
  protected readonly answers: AnswerReader;
  protected isClosed = false;
  /** The last of every so many messages that nobody waits for: the next of its place goes out after it. */
  readonly #turns: Promise<void>[] = [];
  #turn = 0;
  protected unreached = 0;
  #closing: Promise<void> | undefined;

  constructor(profile: WireProfile, handlers: TransportHandlers, options: LinkOptions) {
    this.profile = profile;
    this.handlers = handlers;
    const clock = this.clock = options.clock ?? systemClock;
    this.sender = new HttpSender(options);
    this.requests = new HttpRequests(clock);
    this.answers = new AnswerReader({
      profile,
      handlers,
      requests: this.requests,
      clock,
      lengthIsDecoded: options.contentLengthIsDecoded === true,
      frames: options.frames,
      reopen: this.reopen && ((place, attempt) => this.reopen!(place, attempt)),
    });
  }

  send(message: Outgoing): Promise<void> | void {
    if (this.isClosed) return;
    const { id, method } = message;
    const attempt = this.requests.open(id);
    const post = (): Promise<void> => this.post(message, attempt);
    if (id !== undefined) return void post();
    // What others may wait for does not wait for them.
    if (isOpening(method)) return post();
    const turn = this.#turn++ % MAX_UNAWAITED;
    return this.#turns[turn] = Promise.resolve(this.#turns[turn]).then(post);
  }

  abandon(id: number): void {
    this.requests.abandon(id);
  }

  async close(): Promise<void> {
    this.#closing ??= this.end({ reason: "closed" });
    await this.#closing;
  }

  /** Never rejects. Whatever becomes of the exchange, its request has an outcome at the end. */
  protected abstract post(message: Outgoing, attempt: Attempt): Promise<void>;
  /** Opens again the stream of one answer. Absent where one stream carries everything. */
  protected reopen?(place: StreamPlace, attempt: Attempt): Promise<Response>;
  /** Lets go of whatever lives as long as the connection; `end` tells why. */
  protected abstract release(end: TransportEnd): Promise<void> | undefined;

  /** Puts down what kept a message from its server. */
  protected onUnreached({ id, method, isStanding }: Outgoing, cause: unknown, attempt: Attempt): void {
    const code = causeCode(cause);
    if (id === undefined) this.warnOfUndelivered(code);
    if (attempt.controller.signal.aborted) return; // we let go of it ourselves
    const isOurs = isHostError(cause);
    const error = isOurs
      ? cause
      : lost(`Cannot reach ${new URL(this.sender.url).host} for ${method || "an answer"}`, cause);
    if (id !== undefined) {
      const refused = isOurs && (attempt.refused || cause.facts["repeats"] === true);
      this.lose(id, { error, sent: attempt.sent && !NOT_SENT.has(code), refused });
    }
    if (!isOurs && isStanding !== true && ++this.unreached >= MAX_UNREACHED) {
      void this.end({ reason: "unreachable", error });
    }
  }

  /** Nobody waits for what came of a notification, or of an answer of ours. */
  protected warnOfUndelivered(why: string): void {
    if (!this.isClosed) this.handlers.onWarning("undelivered", why);
  }

  protected lose(id: number, lost: LostRequest): void {
    if (this.requests.settle(id)) this.handlers.onLost(id, lost);
  }

  protected async end(end: TransportEnd): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    const unsent = this.requests.abortAll();
    const released = this.release(end);
    if (released !== undefined) await released;
    this.handlers.onClosed(end, unsent);
  }
}
