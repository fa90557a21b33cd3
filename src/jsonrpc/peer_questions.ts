import type { Clock } from "../kernel/clock.ts";
import type { HostError } from "../kernel/errors.ts";
import { wholeText } from "../kernel/foreign_text.ts";
import type { JsonObject } from "../kernel/json.ts";
import { type Incoming, type RequestId, UNKNOWN_METHOD } from "./message.ts";
import type { Answered, AskDesk, OpenAsks } from "./peer_asks.ts";
import { tooManyQuestions } from "./peer_errors.ts";
import type { PeerListener } from "./peer_listener.ts";
import type { PendingTable } from "./pending.ts";
import { RateWindow } from "./rate.ts";

/** Answers what the server asks of us on the spot; `undefined` for a method of which it knows nothing. */
export type Answerer = (method: string, params: unknown) => JsonObject | undefined;

export interface QuestionsOptions {
  readonly clock: Clock;
  readonly listener: PeerListener;
  /** Our own requests, for whose sake the other end may ask. */
  readonly pending: PendingTable;
  readonly asks: AskDesk | undefined;
  readonly send: (text: string) => void;
  /** The other end has asked so much that it is to be given up. */
  readonly onFlood: (error: HostError) => void;
}

/** Requests that are heard in a span of time. */
const MAX_HEARD = 20;
const HEARD_MS = 1000;
/** Requests in a span of time, beyond which the other end is given up. */
const MAX_QUESTIONS = 1000;
const QUESTIONS_MS = 10_000;

/** What the other end asks of us: some of it is answered on the spot, some takes its time, the rest is refused. */
export class Questions {
  readonly #options: QuestionsOptions;
  readonly #asks: OpenAsks | undefined;
  readonly #heard: RateWindow;
  readonly #all: RateWindow;

  constructor(options: QuestionsOptions) {
    this.#options = options;
    const { clock, listener, pending } = options;
    this.#heard = new RateWindow(clock, MAX_HEARD, HEARD_MS);
    this.#all = new RateWindow(clock, MAX_QUESTIONS, QUESTIONS_MS);
    this.#asks = options.asks?.open({ listener, pending, reply: (id, answer) => this.#reply(id, answer) });
  }

  /** `of` is the request of ours on whose own stream the question came. */
  hear(
    { id, method, params }: Extract<Incoming, { kind: "request" }>,
    of: number | undefined,
    answerer: Answerer | undefined,
  ): void {
    const { listener, onFlood } = this.#options;
    if (!this.#all.take()) {
      listener.warn("flood", wholeText(method));
      return onFlood(tooManyQuestions(MAX_QUESTIONS, QUESTIONS_MS));
    }
    if (answerer === undefined) return listener.warn("unexpected_request", wholeText(method));
    const isHeard = this.#heard.take();
    const result = isHeard ? answerer(method, params) : undefined;
    if (result !== undefined) return this.#reply(id, { result });
    const refusal = isHeard && this.#asks !== undefined ? this.#asks.take({ id, method, params }, of) : UNKNOWN_METHOD;
    if (refusal !== undefined) this.#reply(id, { error: refusal });
  }

  /** See {@link OpenAsks.withdraw}. */
  withdraw(id: unknown): boolean {
    return this.#asks?.withdraw(id) === true;
  }

  /** A request of ours has ended, and with it all that was asked for its sake. */
  endOf(request: number): void {
    this.#asks?.endOf(request);
  }

  /** Nothing can be answered any more. */
  endAll(): void {
    this.#asks?.endAll();
  }

  /** Throws when the answer is no JSON. */
  #reply(id: RequestId, answer: Answered): void {
    this.#options.send(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
  }
}
