import { cancelled, untilAborted } from "../kernel/abort.ts";
import { atMost, sleep } from "../kernel/clock.ts";
import { causeCode, HostError } from "../kernel/errors.ts";
import { dropBody } from "./http_body.ts";
import { broken, notAuthorized, wantsCredentials } from "./http_faults.ts";
import { HttpLink, isOpening, type LinkOptions } from "./http_link.ts";
import type { Attempt } from "./http_requests.ts";
import { httpUrl } from "./http_redirect.ts";
import type { HttpRequest } from "./http_sender.ts";
import { keepOpen } from "./http_standing.ts";
import { reopen, type StreamPlace } from "./resume.ts";
import type {
  Dialer,
  LostRequest,
  Outgoing,
  Transport,
  TransportEnd,
  TransportHandlers,
  WireProfile,
} from "./transport.ts";

/** Where a server is and how to speak to it. */
export interface HttpDialerOptions extends LinkOptions {
  /**
   * Keep a stream open on which the server can send what belongs to no request, where the revision knows one and the
   * server says that it has something to send or was told that it may ask. Default true; a session costs one request more
   * for it.
   */
  readonly listens?: boolean;
  /** Where the server may be when nothing at the address takes the handshake. Default: nowhere. */
  readonly older?: Dialer;
}

const SESSION_HEADER = "mcp-session-id";
/** Least time between two sessions that are opened for the sake of their stream alone. */
const LASTING_MS = 10_000;
/** How long the notice that ends a session may take. */
const FAREWELL_MS = 1000;

/**
 * Reaches a server over Streamable HTTP: one POST a message (specification, basic/transports). Throws
 * `ERR_INVALID_ARGUMENTS` for a `url` that is none or begins with neither `https://` nor `http://`.
 */
export function httpDialer(options: HttpDialerOptions): Dialer {
  const { origin, href } = httpUrl(options.url);
  return {
    kind: "web",
    name: "http",
    key: `http:${href}`,
    ...(options.older === undefined ? {} : { older: options.older }),
    dial: async (profile, handlers, signal) => {
      if (signal?.aborted) throw cancelled(`Connection to ${origin}`, signal);
      return new HttpTransport(profile, handlers, options);
    },
  };
}

class HttpTransport extends HttpLink implements Transport {
  readonly #listens: boolean;
  #sessionId: string | undefined;
  /** The server has taken something in this session, so that it must have known it. */
  #hasWorked = false;
  /** Set while another session is opened. Never rejects. */
  #renewal: Promise<void> | undefined;
  #standing: AbortController | undefined;

  constructor(profile: WireProfile, handlers: TransportHandlers, options: HttpDialerOptions) {
    super(profile, handlers, options);
    this.#listens = profile.sessions && options.listens !== false;
  }

  listen(): void {
    if (!this.#listens || this.isClosed) return;
    this.#standing?.abort();
    const standing = new AbortController();
    this.#standing = standing;
    const session = this.#sessionId;
    const { clock } = this;
    const openedAt = clock.monotonic();
    void keepOpen({
      clock,
      signal: standing.signal,
      get: (place) => this.#get(place, standing),
      read: (response, place) => this.answers.readStream(response, place, standing, undefined),
      onForgotten: async () => {
        // Not one after the other where none lasts. A call does not wait: it opens another, which ends this.
        const pauseMs = openedAt + LASTING_MS - clock.monotonic();
        if (pauseMs > 0) {
          this.handlers.onWarning("no_stream", "it no longer knows the session");
          await sleep(clock, pauseMs, standing.signal);
        }
        if (session && session === this.#sessionId) this.#renew();
      },
      onUnusable: (why) => this.isClosed || this.handlers.onWarning("no_stream", why),
    });
  }

  protected override async post(message: Outgoing, attempt: Attempt): Promise<void> {
    const { id, method } = message;
    const request: HttpRequest = {
      method: "POST",
      headers: () => this.#headers(message, attempt),
      body: message.text,
    };
    const onResent = id === undefined ? undefined : (): void => this.handlers.onResent(id);
    for (let again = false;; again = true) {
      let response: Response | undefined;
      try {
        if (this.#renewal !== undefined && !isOpening(method)) await this.#renewed(attempt);
        response = await this.sender.send(request, attempt, onResent);
        this.unreached = 0;
        if (response.ok) this.#onTaken(method, response, attempt);
        if (!(await this.#read(message, response, attempt))) break;
        if (!(await this.#isToBeSentAgain(message, attempt, again))) break;
      } catch (error) {
        if (response === undefined) this.onUnreached(message, error, attempt);
        else if (id !== undefined) this.lose(id, { error: broken(method, error), sent: true, refused: false });
        break;
      }
    }
    this.requests.finish(attempt);
  }

  /** Resolves with true when the server no longer knows the session; else the request has its outcome then. */
  async #read(message: Outgoing, response: Response, attempt: Attempt): Promise<boolean> {
    const { id, method } = message;
    const { ok, status } = response;
    if (id === undefined) {
      dropBody(response);
      if (ok) return false;
      if (status === 404 && attempt.session !== undefined) return true;
      this.warnOfUndelivered(`status ${status}`);
      return false;
    }
    if (ok) {
      await this.answers.readAnswer({ id, method }, response, attempt);
      return false;
    }
    if (wantsCredentials(response)) {
      dropBody(response);
      this.lose(id, { error: notAuthorized(method, response), sent: true, refused: true });
      return false;
    }
    const isAboutSession = attempt.session === undefined
      ? undefined
      : (code: number | undefined, text: string, isOwn: boolean): boolean =>
        this.#isForgotten(status, code, text, isOwn);
    return await this.answers.readRefusal({ ...message, id }, response, isAboutSession);
  }

  /** What a server that has lost the session answers: 404 (2025-11-25, session management), in the field 400 too. */
  #isForgotten(status: number, code: number | undefined, text: string, isOwn: boolean): boolean {
    // An error that names the request is its answer: the server may have acted on it. One code alone is known to mean the session.
    const says = NO_SESSION.test(text);
    if (isOwn && (code !== SESSION_NOT_FOUND || !says)) return false;
    const may = code === undefined || REFUSALS.has(code);
    return status === 404 ? may || says : status === 400 && this.#hasWorked && may && says;
  }

  /** The server has forgotten the session, which proves that it did not execute the message. */
  async #isToBeSentAgain({ id, method, beforeResend }: Outgoing, attempt: Attempt, again: boolean): Promise<boolean> {
    attempt.refused = true;
    const isCurrent = attempt.session === this.#sessionId;
    const canRenew = this.#hasWorked && this.handlers.onSessionLost !== undefined;
    const error = sessionLost(`Server refused ${method || "an answer"}: it no longer knows the session`);
    let stands: LostRequest["error"] | undefined = error;
    if (!again && (!isCurrent || canRenew)) {
      if (isCurrent) this.#renew();
      // A notification was about something in the session that is gone.
      if (id === undefined) return false;
      await this.#renewed(attempt);
      stands = await beforeResend?.(error);
    }
    if (stands === undefined) this.handlers.onResent(id!);
    else if (id !== undefined) this.lose(id, { error: stands, sent: true, refused: true });
    if (isCurrent && !canRenew) await this.end({ reason: "unreachable", error });
    return stands === undefined;
  }

  /** Waits for the session that is being opened. Throws when the request is given up meanwhile. */
  #renewed(attempt: Attempt): Promise<void> | undefined {
    return this.#renewal && untilAborted(this.#renewal, "Request", attempt.controller.signal);
  }

  #renew(): void {
    this.#sessionId = undefined;
    this.#hasWorked = false;
    this.#standing?.abort();
    this.#renewal ??= this.#openAnother().finally(() => this.#renewal = undefined);
  }

  async #openAnother(): Promise<void> {
    try {
      await this.handlers.onSessionLost?.();
    } catch (cause) {
      const text = `Server no longer knows the session, and to open another failed with ${causeCode(cause)}`;
      const error = sessionLost(text, cause);
      for (const id of this.requests.refused()) this.lose(id, { error, sent: true, refused: true });
      await this.end({ reason: "unreachable", error });
    }
  }

  /** The server has taken a message. */
  #onTaken(method: string, response: Response, attempt: Attempt): void {
    if (attempt.session !== undefined && attempt.session === this.#sessionId) this.#hasWorked = true;
    // Only the answer to the handshake hands out a session: others may still name the one before.
    if (method !== "initialize" || !this.profile.sessions || this.isClosed) return;
    const sessionId = response.headers.get(SESSION_HEADER);
    if (sessionId !== null && /^[\x21-\x7e]{1,1024}$/.test(sessionId)) this.#sessionId = sessionId;
  }

  #headers(message: Outgoing, attempt: Attempt): Record<string, string> {
    const headers = this.profile.headers(message);
    const session = message.method === "initialize" ? undefined : this.#sessionId;
    attempt.session = session;
    return session === undefined ? headers : { ...headers, [SESSION_HEADER]: session };
  }

  #get(place: StreamPlace, controller: AbortController): Promise<Response> {
    const attempt: Attempt = { controller, sent: true, refused: false };
    const headers = (): Record<string, string> => ({
      ...this.#headers(NO_MESSAGE, attempt),
      ...(place.lastEventId === undefined ? {} : { "last-event-id": place.lastEventId }),
    });
    return this.sender.send({ method: "GET", headers }, attempt);
  }

  protected override reopen(place: StreamPlace, attempt: Attempt): Promise<Response> {
    const { controller, session } = attempt;
    const get = (): Promise<Response> => {
      if (session === this.#sessionId) return this.#get(place, controller);
      const text = "Answer was lost: the session that it belongs to has ended";
      return Promise.reject(new HostError("ERR_CONNECTION_LOST", text));
    };
    return reopen(place, get, this.clock, controller.signal);
  }

  protected override release(end: TransportEnd): Promise<void> | undefined {
    this.#standing?.abort();
    return end.reason === "closed" && this.#sessionId !== undefined ? this.#sayFarewell() : undefined;
  }

  /** Tells the server that the session is over. Whether it listens is its own matter. */
  async #sayFarewell(): Promise<void> {
    const controller = new AbortController();
    const attempt: Attempt = { controller, sent: true, refused: false };
    const request: HttpRequest = { method: "DELETE", headers: () => this.#headers(NO_MESSAGE, attempt) };
    const sending = this.sender.sendOnce(request, attempt).then(dropBody);
    await atMost(this.clock, FAREWELL_MS, sending).catch(
      () => {/* gone, or it ends no sessions: the outcome is the same */},
    );
    controller.abort();
  }
}

const NO_MESSAGE: Outgoing = { text: "", method: "" };
/** What says that a session is not there; that something has to do with one says nothing. */
const NO_SESSION =
  /\b(unknown|invalid|no valid|missing|expired).{1,5}session|\bsession.{0,40}(unknown|invalid|no longer|missing|expired|not found|not exist|terminated)/i;

function sessionLost(text: string, cause?: unknown): HostError {
  return new HostError("ERR_CONNECTION_LOST", text, { cause, facts: { status: 404 } });
}

/** What the official servers call a session that they do not know. */
const SESSION_NOT_FOUND = -32001;
/** Errors with which servers refuse a request before they look at it. */
const REFUSALS: ReadonlySet<number> = new Set([-32000, -32001, -32600]);
