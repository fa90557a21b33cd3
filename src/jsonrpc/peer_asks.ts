import { HostError, isRemoteError } from "../kernel/errors.ts";
import type { JsonObject } from "../kernel/json.ts";
import { wholeText } from "../kernel/foreign_text.ts";
import { type ErrorShape, INTERNAL_ERROR, INVALID_REQUEST, type RequestId, UNKNOWN_METHOD } from "./message.ts";

/**
 * Answers what the other end asks and what takes its time. A rejection with a `RemoteError` is passed on; any other is an
 * internal error of this side. The signal fires when nobody waits for the answer any more. `isOwn`: it came on a stream that
 * the request has for itself; where all requests share one, it may also belong to one that was given up before.
 */
export type AskAnswerer = (
  method: string,
  params: unknown,
  signal: AbortSignal,
  isOwn?: boolean,
) => Promise<JsonObject>;

/** Whom a method is asked of: somebody who answers for the connection as a whole, or the request that it belongs to. */
export type Askee = AskAnswerer | "request";

/** How asks are taken on. Handed in, so that a peer that nobody may ask anything does not carry it. */
export interface AskDesk {
  open(options: OpenAsksOptions): OpenAsks;
}

/** What the other end asks: its id for it, and the request of ours that it belongs to, if it belongs to one. */
export interface Asked {
  readonly id: RequestId;
  readonly method: string;
  readonly params: unknown;
  readonly of: number | undefined;
  readonly isOwn: boolean;
}

/** What becomes of an answer: a result, or an error. */
export type Answered = { readonly result: JsonObject } | { readonly error: ErrorShape };

/** A request of ours, as far as it can be asked something. */
interface Askable {
  readonly id: number;
  readonly answerAsk: AskAnswerer | undefined;
  /** What was asked for its sake so far. */
  asks: number;
}

/** Our own requests, for whose sake the other end may ask. */
interface AskableRequests {
  get(id: number): Askable | undefined;
  /** The one that is meant, if there is exactly one. */
  only(isMeant: (request: Askable) => boolean): Askable | undefined;
  /** Something is asked for its sake: its time stands still. */
  hold(request: Askable): void;
  /** That is answered. */
  goOn(id: number): void;
}

/** What the peer has for whoever takes its asks on. */
export interface OpenAsksOptions {
  readonly listener: {
    warn(kind: "misdirected_ask" | "duplicate_id", excerpt: string): void;
    failed(error: unknown): void;
  };
  readonly pending: AskableRequests;
  /** Sends an answer. Throws for what is no JSON. */
  readonly reply: (id: RequestId, answer: Answered) => void;
}

interface OpenAsk extends Asked {
  readonly controller: AbortController;
}

const MAX_OPEN = 32;
/** Asks for the sake of one request: the time that they take is not the request's, so there must be an end of them. */
const MAX_OF_REQUEST = 64;
/** Asks whose late withdrawal is still recognised: its id may be that of a request of ours, too. */
const MAX_ENDED = 64;

/** What the other end has asked and what is not answered yet. Each is answered at most once, none after its end. */
export class OpenAsks {
  readonly #options: OpenAsksOptions;
  readonly #askee: (method: string) => Askee | undefined;
  readonly #open = new Map<RequestId, OpenAsk>();
  readonly #ended = new Set<RequestId>();

  /** `askee` says who answers a method; `undefined` where nobody does. */
  constructor(options: OpenAsksOptions, askee: (method: string) => Askee | undefined) {
    this.#options = options;
    this.#askee = askee;
  }

  /** Takes on what is asked, on the stream of the request `of` where it has one. Gives the error to refuse it with. */
  take(
    { id, method, params }: Pick<Asked, "id" | "method" | "params">,
    of: number | undefined,
  ): ErrorShape | undefined {
    const askee = this.#askee(method);
    if (askee === undefined) return UNKNOWN_METHOD;
    const { pending, listener } = this.#options;
    if (this.#open.has(id)) {
      // Servers repeat what is open on a stream that is taken up again. It has one answer, and that is to come.
      listener.warn("duplicate_id", wholeText(method));
      return undefined;
    }
    if (this.#open.size >= MAX_OPEN) return { code: INTERNAL_ERROR, message: "Too many requests are open" };
    if (askee !== "request") {
      this.#start({ id, method, params, of: undefined, isOwn: false }, askee);
      return undefined;
    }
    // On a stream of its own there is no doubt whose it is; on one for all, only where a single request can be meant.
    const owner = of === undefined ? pending.only(({ answerAsk }) => answerAsk !== undefined) : pending.get(of);
    if (owner?.answerAsk === undefined) {
      listener.warn("misdirected_ask", wholeText(method));
      return { code: INVALID_REQUEST, message: "Invalid Request: it belongs to no request that takes it" };
    }
    if (++owner.asks > MAX_OF_REQUEST) return { code: INVALID_REQUEST, message: "Invalid Request: it asks too much" };
    pending.hold(owner);
    this.#start({ id, method, params, of: owner.id, isOwn: of !== undefined }, owner.answerAsk);
    return undefined;
  }

  #start(asked: Asked, answer: AskAnswerer): void {
    const ask: OpenAsk = { ...asked, controller: new AbortController() };
    this.#ended.delete(asked.id);
    this.#open.set(asked.id, ask);
    void this.#answer(ask, answer);
  }

  /** The other end withdraws what it has asked. False for an id under which it has asked nothing lately. */
  withdraw(id: unknown): boolean {
    const ask = this.#open.get(id as RequestId);
    if (ask === undefined) return this.#ended.has(id as RequestId);
    this.#end(ask, "It was withdrawn by the server");
    if (ask.of !== undefined) this.#options.pending.goOn(ask.of);
    return true;
  }

  /** A request of ours has ended, and with it all that was asked for its sake. */
  endOf(request: number): void {
    for (const ask of this.#open.values()) if (ask.of === request) this.#end(ask, "Its request has ended");
  }

  /** Nothing that is open can be answered any more: the connection has ended, or the session in which it was asked. */
  endAll(): void {
    for (const ask of this.#open.values()) {
      this.#end(ask, "Its connection or its session has ended");
      if (ask.of !== undefined) this.#options.pending.goOn(ask.of);
    }
  }

  async #answer(ask: OpenAsk, answer: AskAnswerer): Promise<void> {
    const { id, method, params, of, isOwn, controller } = ask;
    let answered: Answered;
    try {
      answered = { result: await answer(method, params, controller.signal, isOwn) };
    } catch (error) {
      if (controller.signal.aborted) return;
      answered = { error: this.#errorOf(error) };
    }
    if (controller.signal.aborted) return;
    this.#remove(id);
    try {
      this.#options.reply(id, answered);
    } catch (error) {
      this.#options.reply(id, { error: this.#errorOf(error) });
    }
    if (of !== undefined) this.#options.pending.goOn(of);
  }

  #errorOf(error: unknown): ErrorShape {
    if (isRemoteError(error)) {
      const { code, message, data } = error;
      return data === undefined ? { code, message } : { code, message, data };
    }
    this.#options.listener.failed(error);
    return { code: INTERNAL_ERROR, message: "Internal error" };
  }

  #end({ id, method, controller }: OpenAsk, why: string): void {
    this.#remove(id);
    controller.abort(new HostError("ERR_CANCELLED", `Nobody waits for the answer to ${method} any more: ${why}`));
  }

  #remove(id: RequestId): void {
    this.#open.delete(id);
    this.#ended.add(id);
    if (this.#ended.size <= MAX_ENDED) return;
    for (const oldest of this.#ended) {
      this.#ended.delete(oldest);
      break;
    }
  }
}
