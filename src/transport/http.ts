import type { Challenge, TokenSource } from "../auth/token_source.ts";
import { cancelled, untilAborted } from "../kernel/abort.ts";
import type { Clock } from "../kernel/clock.ts";
import { causeCode, HostError, isHostError } from "../kernel/errors.ts";
import type { FetchFunction } from "../kernel/runtime.ts";
import { AnswerReader } from "./http_answer.ts";
import { dropBody } from "./http_body.ts";
import { followRedirects, type RedirectTarget } from "./http_redirect.ts";
import { type Attempt, HttpRequests } from "./http_requests.ts";
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
export interface HttpDialerOptions {
  readonly url: string;
  readonly fetch: FetchFunction;
  /** Sent with every request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Credentials that may change; its `authorization` wins over the one in `headers`. */
  readonly tokens?: TokenSource;
  /** See `Runtime.contentLengthIsDecoded`; default false. */
  readonly contentLengthIsDecoded?: boolean;
  readonly clock: Clock;
}

const SESSION_HEADER = "mcp-session-id";
/** Attempts in a row that did not reach the server before the connection counts as lost. */
const MAX_UNREACHED = 3;
/** How long the notice that ends a session may take. */
const FAREWELL_MS = 1000;

/** Reaches a server over Streamable HTTP: one POST a message (specification, basic/transports). */
export function httpDialer(options: HttpDialerOptions): Dialer {
  const url = new URL(options.url);
  return {
    kind: "web",
    name: "http",
    key: `http:${url.origin}${url.pathname}`,
    dial: (profile, handlers, signal) => {
      if (signal?.aborted) return Promise.reject(cancelled(`Connection to ${url.origin}`, signal));
      return Promise.resolve(new HttpTransport(profile, handlers, options));
    },
  };
}

class HttpTransport implements Transport {
  readonly #profile: WireProfile;
  readonly #handlers: TransportHandlers;
  readonly #fetch: FetchFunction;
  readonly #baseHeaders: Readonly<Record<string, string>>;
  readonly #tokens: TokenSource | undefined;
  readonly #clock: Clock;
  readonly #target: RedirectTarget;
  readonly #requests = new HttpRequests();
  readonly #answers: AnswerReader;
  #sessionId: string | undefined;
  #unreached = 0;
  #closed = false;
  #farewell: Promise<void> | undefined;

  constructor(profile: WireProfile, handlers: TransportHandlers, options: HttpDialerOptions) {
    this.#profile = profile;
    this.#handlers = handlers;
    // Kept as a plain function: a fetch that is called as a method is an illegal invocation on some runtimes.
    this.#fetch = options.fetch;
    this.#target = { url: options.url };
    this.#tokens = options.tokens;
    this.#clock = options.clock;
    this.#baseHeaders = {
      ...lowerCase(options.headers ?? {}),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    this.#answers = new AnswerReader({
      profile,
      handlers,
      requests: this.#requests,
      clock: options.clock,
      lengthIsDecoded: options.contentLengthIsDecoded === true,
    });
  }

  send(message: Outgoing): Promise<void> | void {
    if (this.#closed) return;
    const sending = this.#post(message, this.#requests.open(message.id));
    return message.id === undefined ? sending : undefined;
  }

  abandon(id: number): void {
    this.#requests.abandon(id);
  }

  async close(): Promise<void> {
    this.#farewell ??= this.#end({ reason: "closed" });
    await this.#farewell;
  }

  async #end(end: TransportEnd): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const unsent = this.#requests.abortAll();
    if (end.reason === "closed") await this.#sayFarewell();
    this.#handlers.onClosed(end, unsent);
  }

  /** Tells the server that the session is over. Whether it listens is its own matter. */
  async #sayFarewell(): Promise<void> {
    if (this.#sessionId === undefined) return;
    const { signal, cancel } = this.#limited(FAREWELL_MS);
    try {
      const headers = await untilAborted(this.#headers({ text: "", method: "" }), "End of a session", signal);
      const fetch = this.#fetch;
      dropBody(await fetch(this.#target.url, { method: "DELETE", headers, signal, redirect: "manual" }));
    } catch {
      // The server is gone or does not end sessions: the outcome is the same.
    } finally {
      cancel();
    }
  }

  #limited(delayMs: number): { readonly signal: AbortSignal; readonly cancel: () => void } {
    const controller = new AbortController();
    const timer = this.#clock.after(delayMs, () => controller.abort());
    return { signal: controller.signal, cancel: timer.cancel };
  }

  /** Never rejects. Whatever becomes of the exchange, its request has an outcome at the end. */
  async #post(message: Outgoing, attempt: Attempt): Promise<void> {
    let response: Response;
    try {
      response = await this.#exchange(message, attempt);
    } catch (error) {
      this.#requests.finish(attempt);
      return this.#onUnreached(message, error, attempt);
    }
    this.#unreached = 0;
    this.#keepSession(response);
    try {
      await this.#read(message, response, attempt);
    } catch (error) {
      if (message.id !== undefined) {
        this.#lose(message.id, { error: broken(message.method, error), sent: true, refused: false });
      }
    } finally {
      this.#requests.finish(attempt);
    }
  }

  /** Sends, and once more what was refused for want of credentials, if there are new ones. */
  async #exchange(message: Outgoing, attempt: Attempt): Promise<Response> {
    const refused = await this.#sendOnce(message, attempt);
    if (this.#tokens === undefined || (refused.status !== 401 && refused.status !== 403)) return refused;
    attempt.refused = true;
    const challenge: Challenge = {
      status: refused.status,
      header: refused.headers.get("www-authenticate")?.slice(0, 4096),
      url: this.#target.url,
    };
    const tokens = this.#tokens;
    const { signal } = attempt.controller;
    if (!(await fromSource(() => tokens.renew(challenge, signal)))) return refused;
    dropBody(refused);
    if (message.id !== undefined) this.#handlers.onResent(message.id);
    return await this.#sendOnce(message, attempt);
  }

  async #sendOnce(message: Outgoing, attempt: Attempt): Promise<Response> {
    const headers = await this.#headers(message);
    attempt.sent = true;
    attempt.refused = false;
    return await followRedirects(this.#fetch, this.#target, {
      method: "POST",
      headers,
      body: message.text,
      signal: attempt.controller.signal,
      redirect: "manual",
    });
  }

  async #headers(message: Outgoing): Promise<Record<string, string>> {
    const tokens = this.#tokens;
    const authorization = tokens && (await fromSource(() => tokens.authorization(this.#target.url)));
    const headers = Object.assign({}, this.#baseHeaders, this.#profile.headers(message));
    if (this.#sessionId !== undefined) headers[SESSION_HEADER] = this.#sessionId;
    if (authorization !== undefined) headers["authorization"] = authorization;
    return headers;
  }

  #keepSession(response: Response): void {
    if (!this.#profile.sessions || this.#sessionId !== undefined || this.#closed || !response.ok) return;
    const sessionId = response.headers.get(SESSION_HEADER);
    if (sessionId !== null && /^[\x21-\x7e]{1,1024}$/.test(sessionId)) this.#sessionId = sessionId;
  }

  async #read({ id, method }: Outgoing, response: Response, attempt: Attempt): Promise<void> {
    if (id === undefined) return dropBody(response);
    const asked = { id, method };
    if (response.ok) return await this.#answers.readAnswer(asked, response, attempt);
    const { status } = response;
    if (status === 401 || status === 403) {
      const challenge = response.headers.get("www-authenticate")?.slice(0, 4096);
      dropBody(response);
      return this.#lose(id, { error: notAuthorized(method, status, challenge), sent: true, refused: true });
    }
    if (status !== 404 || this.#sessionId === undefined) return await this.#answers.readRefusal(asked, response);
    dropBody(response);
    const text = `Server refused ${method}: it no longer knows the session`;
    const error = new HostError("ERR_CONNECTION_LOST", text, { facts: { status } });
    this.#lose(id, { error, sent: true, refused: true });
    await this.#end({ reason: "unreachable", error });
  }

  #onUnreached({ id, method }: Outgoing, cause: unknown, attempt: Attempt): void {
    if (attempt.controller.signal.aborted) return; // we let go of it ourselves
    const { sent } = attempt;
    if (isHostError(cause)) {
      const refused = attempt.refused || cause.facts["repeats"] === true;
      if (id !== undefined) this.#lose(id, { error: cause, sent, refused });
      return;
    }
    const code = causeCode(cause);
    const error = lost(`Cannot reach the server for ${method || "an answer"}`, code, cause);
    if (id !== undefined) this.#lose(id, { error, sent: sent && !NOT_SENT.has(code), refused: false });
    if (++this.#unreached >= MAX_UNREACHED) void this.#end({ reason: "unreachable", error });
  }

  #lose(id: number, lost: LostRequest): void {
    if (this.#requests.settle(id)) this.#handlers.onLost(id, lost);
  }
}

/** Asks the source of credentials; whatever it throws comes out as an error of ours. */
async function fromSource<T>(ask: () => T | Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (isHostError(cause)) throw cause;
    const code = causeCode(cause);
    throw new HostError("ERR_AUTH_FAILED", `Cannot get credentials: their source failed with ${code}`, {
      cause,
      facts: { cause: code },
    });
  }
}

/** Failures before a connection stood: not a byte of the request can have left. */
const NOT_SENT: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ConnectionRefused",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "FailedToOpenSocket",
]);

function lost(what: string, code: string, cause: unknown): HostError {
  const facts = { cause: code };
  return new HostError("ERR_CONNECTION_LOST", `${what}: the network answered ${code}`, { cause, facts });
}

function broken(method: string, cause: unknown): HostError {
  if (isHostError(cause)) return cause;
  return lost(`Answer to ${method} was lost: the connection broke while it arrived`, causeCode(cause), cause);
}

function notAuthorized(method: string, status: number, challenge: string | undefined): HostError {
  return new HostError(
    "ERR_AUTH_REQUIRED",
    `Server refused ${method}: status ${status}, credentials are missing or not sufficient`,
    { facts: { status, ...(challenge === undefined ? {} : { challenge }) } },
  );
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
