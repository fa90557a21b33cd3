import type { Clock } from "../kernel/clock.ts";
import { HostError, isHostError } from "../kernel/errors.ts";
import { DEFAULT_PARSE_LIMITS, type ParseLimits } from "../jsonrpc/bounded_parse.ts";
import { Arrival } from "./arrival.ts";
import type { LargeFrames } from "./frames.ts";
import {
  batchId,
  classify,
  type Incoming,
  isUnread,
  type MalformedReason,
  ownId,
  type ParsedMessage,
  readMessage,
  type RequestId,
} from "../jsonrpc/message.ts";
import { dropBody, mediaType, readBeginning, readBody, wrongResponse } from "./http_body.ts";
import { tooLarge } from "./http_faults.ts";
import { readEventStream } from "./http_events.ts";
import type { Attempt, HttpRequests } from "./http_requests.ts";
import { MAX_BATCH_MEMBERS } from "./pipe_reader.ts";
import { isEventStream, StreamPlace } from "./resume.ts";
import type { LostRequest, Outgoing, TransportHandlers, WireProfile } from "./transport.ts";

export interface AnswerOptions {
  readonly profile: WireProfile;
  readonly handlers: TransportHandlers;
  readonly requests: HttpRequests;
  readonly clock: Clock;
  /** See `Runtime.contentLengthIsDecoded`. */
  readonly lengthIsDecoded: boolean;
  /** How messages over 1 MiB are read. Absent: they are held whole, and refused over 8 MiB. */
  readonly frames?: LargeFrames | undefined;
  /** Opens again the stream that carried an answer, in its own time. Absent where one stream carries everything. */
  readonly reopen?: ((place: StreamPlace, attempt: Attempt) => Promise<Response>) | undefined;
}

/** A request whose response is read. */
export interface Asked extends Pick<Outgoing, "method" | "params"> {
  readonly id: number;
}

const NOT_EMPTY = "a message, but its body is empty";
/** Requests are counted from 1. */
const NO_REQUEST = 0;
/** Statuses that say of themselves that the request was not executed. */
const REFUSALS: ReadonlySet<number> = new Set([404, 405, 406, 413, 415, 431]);
/** A body that may hold a JSON-RPC error is worth more of it than a page of text. */
const MAX_ERROR_MESSAGE = 1 << 20;

/** Turns HTTP responses into messages. Every request that it is given has its outcome when the reading is over. */
export class AnswerReader {
  readonly #options: AnswerOptions;
  readonly #limits: ParseLimits = DEFAULT_PARSE_LIMITS;

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  /** Reads a response with a success status. Rejects when the connection breaks or a bound is passed. */
  async readAnswer(asked: Asked, response: Response, attempt: Attempt): Promise<void> {
    const action = `read the answer to ${asked.method}`;
    switch (mediaType(response)) {
      case "application/json":
        return await this.#readJson(asked, response, attempt);
      case "text/event-stream":
        return await this.#readEvents(asked, response, attempt);
    }
    const body = response.status === 202 || response.status === 204 ? "" : await readBeginning(response);
    dropBody(response);
    const wanted = body === "" ? NOT_EMPTY : "application/json or text/event-stream";
    this.#lose(asked, wrongResponse(action, response, wanted, body));
  }

  /**
   * Reads a response with any other status, of a server that has not asked for credentials. Resolves with true, and
   * leaves the request without an outcome, where `isOther` says so of the error's code and text, and of whether the error
   * names the request.
   */
  async readRefusal(
    asked: Asked,
    response: Response,
    isOther?: (code: number | undefined, text: string, isOwn: boolean) => boolean,
  ): Promise<boolean> {
    const isJson = mediaType(response) === "application/json";
    const body = await readBeginning(response, isJson ? MAX_ERROR_MESSAGE : undefined);
    const parsed = isJson ? readMessage(body, this.#limits) : undefined;
    const answer = parsed?.kind === "error" ? parsed : undefined;
    const error = answer?.error;
    if (isOther?.(error?.code, error?.message ?? body, ownId(answer?.id) === asked.id)) return true;
    if (answer === undefined) {
      const { status } = response;
      const wrong = wrongResponse(`send ${asked.method}`, response, "a success status", body);
      const isTooLarge = status === 413 || status === 431;
      const error = isTooLarge ? tooLarge(wrong, asked.method, this.#options.profile.headers(asked)) : wrong;
      this.#lose(asked, error, REFUSALS.has(status));
      return false;
    }
    // The envelope may carry another id or none: this response can only be about this request.
    if (this.#options.requests.settle(asked.id)) {
      void this.#options.handlers.onMessage({ ...answer, id: asked.id }, body.length, asked.id);
    }
    return false;
  }

  async #readJson(asked: Asked, response: Response, attempt: Attempt): Promise<void> {
    const { frames, lengthIsDecoded } = this.#options;
    const arrival = this.#arrival(asked.id);
    const body = frames?.body === undefined
      ? { text: await readBody(response, this.#limits.maxLength, lengthIsDecoded, arrival) }
      : await frames.body(response, lengthIsDecoded, arrival);
    this.#options.requests.finish(attempt);
    if (!("text" in body)) this.#deliverParsed(body.message, body.bytes, asked.id, true);
    else if (body.text.trim() !== "") this.#deliver(body.text, asked.id, true);
    else this.#lose(asked, wrongResponse(`read the answer to ${asked.method}`, response, NOT_EMPTY, ""));
    if (!this.#options.requests.isWaiting(asked.id)) return;
    const found = "found a message that is not its response";
    this.#lose(asked, new HostError("ERR_PROTOCOL", `Cannot use the answer to ${asked.method}: ${found}`));
  }

  /**
   * Reads until the response and on to the end of its stream: an aborted stream costs a connection. A stream that ends
   * before, or breaks, is taken up again where it has named a place (2025-11-25, basic/transports, polling).
   */
  async #readEvents(asked: Asked, first: Response, attempt: Attempt): Promise<void> {
    const { requests, profile, reopen } = this.#options;
    const place = new StreamPlace();
    for (let response = first;;) {
      const canResume = (): boolean => profile.sessions && reopen !== undefined && place.lastEventId !== undefined;
      try {
        await this.readStream(response, place, attempt.controller, asked.id);
      } catch (error) {
        // After the answer nothing of the stream is wanted any more, not even why it broke.
        if (!requests.isWaiting(asked.id)) return;
        if (isHostError(error) || !canResume()) throw error;
      }
      if (!requests.isWaiting(asked.id)) return;
      const lost = `Answer to ${asked.method} was lost: its stream ended before the response`;
      if (!canResume()) return this.#lose(asked, new HostError("ERR_CONNECTION_LOST", lost));
      response = await reopen!(place, attempt);
      if (isEventStream(response)) continue;
      dropBody(response);
      const facts = { status: response.status };
      const error = new HostError("ERR_CONNECTION_LOST", `${lost} and cannot be resumed`, { facts });
      return this.#lose(asked, error);
    }
  }

  /** Reads a stream to its end and delivers what it carries. Rejects when it breaks or a bound is passed. */
  async readStream(
    response: Response,
    place: StreamPlace,
    controller: AbortController,
    id: number | undefined,
    onOther?: (event: string, data: string) => void,
  ): Promise<void> {
    const { clock, frames } = this.#options;
    await readEventStream(response, this.#limits.maxLength, {
      onData: (data) => this.#deliver(data, id, false),
      frames,
      onFrame: (message, bytes) => this.#deliverParsed(message, bytes, id, false),
      onOther,
      place,
      clock,
      arrival: this.#arrival(id),
      controller,
    });
  }

  #arrival(id: number | undefined): Arrival {
    return new Arrival(() => this.#options.handlers.onArriving?.(this.#ownerOf(id)));
  }

  /** `id`: the request whose stream it is, if it is one's; `isWhole`: the text is all that the response holds. */
  #deliver(text: string, id: number | undefined, isWhole: boolean): void {
    const message = readMessage(text, this.#limits, this.#options.frames?.parse);
    this.#deliverParsed(message, text.length, id, isWhole);
  }

  #deliverParsed(message: ParsedMessage, bytes: number, id: number | undefined, isWhole: boolean): void {
    if (message.kind === "malformed") return this.#deliverMalformed(message.reason, message.id, id, isWhole);
    if (message.kind !== "batch") return this.#deliverMessage(message, bytes, id);
    const { members } = message;
    if (!this.#options.profile.batches || members.length > MAX_BATCH_MEMBERS) {
      return this.#deliverMalformed("batch", batchId(members), id, isWhole);
    }
    for (const member of members) {
      const each = classify(member);
      if (each.kind === "malformed") this.#deliverMalformed(each.reason, each.id, id, false);
      else this.#deliverMessage(each, bytes, id);
    }
  }

  #deliverMessage(message: Incoming, bytes: number, id: number | undefined): void {
    const { requests, handlers } = this.#options;
    if (message.kind === "result" || message.kind === "error") {
      const about = message.id === undefined ? id : ownId(message.id);
      if (about !== undefined && (id === undefined || about === id)) requests.settle(about);
    }
    void handlers.onMessage(message, bytes, id);
  }

  #deliverMalformed(
    reason: MalformedReason,
    claimed: RequestId | undefined,
    id: number | undefined,
    isWhole: boolean,
  ): void {
    const { requests, handlers } = this.#options;
    // What is all of a response can only be about its request, whatever it says.
    const about = isWhole ? id : claimed;
    const settled = about === undefined ? (isUnread(reason) ? id : undefined) : ownId(about);
    if (settled !== undefined && (id === undefined || settled === id)) requests.settle(settled);
    handlers.onMalformed(reason, about, this.#ownerOf(id));
  }

  /** On a stream that belongs to no request nothing is the answer to one, however little of it was read. */
  #ownerOf(id: number | undefined): number | undefined {
    return id === undefined && this.#options.reopen !== undefined ? NO_REQUEST : id;
  }

  /** Does nothing for a request that has its outcome. */
  #lose({ id }: Asked, error: LostRequest["error"], refused = false): void {
    if (this.#options.requests.settle(id)) this.#options.handlers.onLost(id, { error, sent: true, refused });
  }
}
