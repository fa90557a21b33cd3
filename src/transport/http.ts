import type { Challenge, TokenSource } from "../auth/token_source.ts";
import { cancelled } from "../kernel/abort.ts";
import type { Clock } from "../kernel/clock.ts";
import { causeCode, HostError } from "../kernel/errors.ts";
import type { FetchFunction } from "../kernel/runtime.ts";
import { DEFAULT_PARSE_LIMITS, type ParseLimits } from "../jsonrpc/bounded_parse.ts";
import { classify, readMessage } from "../jsonrpc/message.ts";
import { dropBody, mediaType, readBody, readErrorBody, wrongResponse } from "./http_body.ts";
import { followRedirects, type RedirectTarget } from "./http_redirect.ts";
import { readEventStream } from "./http_events.ts";
import { MAX_BATCH_MEMBERS } from "./pipe_reader.ts";
import type { Dialer, LostRequest, Outgoing, Transport, TransportHandlers, WireProfile } from "./transport.ts";

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
  readonly #lengthIsDecoded: boolean;
  readonly #clock: Clock;
  readonly #limits: ParseLimits = DEFAULT_PARSE_LIMITS;
  readonly #target: RedirectTarget;
  /** One controller a request: closing one response stream must not touch another. */
  readonly #requests = new Map<number, AbortController>();
  /** Notifications, answers and response streams that are read to their end after their answer. */
  readonly #background = new Set<AbortController>();
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
    this.#lengthIsDecoded = options.contentLengthIsDecoded === true;
    this.#clock = options.clock;
    this.#baseHeaders = {
      ...lowerCase(options.headers ?? {}),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
  }

  send(message: Outgoing): Promise<void> | void {
    if (this.#closed) return;
    const controller = new AbortController();
    if (message.id === undefined) {
      this.#background.add(controller);
      return this.#post(message, controller).finally(() => this.#background.delete(controller));
    }
    this.#requests.set(message.id, controller);
    void this.#post(message, controller);
  }

  abandon(id: number): void {
    const controller = this.#requests.get(id);
    this.#requests.delete(id);
    controller?.abort();
  }

  async close(): Promise<void> {
    this.#farewell ??= this.#end({ reason: "closed" });
    await this.#farewell;
  }

  async #end(end: Parameters<TransportHandlers["onClosed"]>[0]): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const controller of [...this.#requests.values(), ...this.#background]) controller.abort();
    this.#requests.clear();
    this.#background.clear();
    if (end.reason === "closed") await this.#sayFarewell();
    this.#handlers.onClosed(end, new Set());
  }

  /** Tells the server that the session is over. Whether it listens is its own matter. */
  async #sayFarewell(): Promise<void> {
    const sessionId = this.#sessionId;
    if (sessionId === undefined) return;
    this.#sessionId = undefined;
    const controller = new AbortController();
    const timer = this.#clock.after(FAREWELL_MS, () => controller.abort());
    try {
      const headers = {
        ...this.#baseHeaders,
        ...this.#profile.headers({ text: "", method: "" }),
        [SESSION_HEADER]: sessionId,
      };
      const fetch = this.#fetch;
      const response = await fetch(this.#target.url, {
        method: "DELETE",
        headers,
        signal: controller.signal,
        redirect: "manual",
      });
      dropBody(response);
    } catch {
      // The server is gone or does not end sessions: the outcome is the same.
    } finally {
      timer.cancel();
    }
  }

  async #post(message: Outgoing, controller: AbortController): Promise<void> {
    const { id } = message;
    let response: Response;
    try {
      response = await this.#exchange(message, controller.signal);
      if (this.#tokens !== undefined && (response.status === 401 || response.status === 403)) {
        response = await this.#renew(this.#tokens, message, response, controller.signal);
      }
    } catch (error) {
      return this.#onUnreached(message, error, controller);
    }
    this.#unreached = 0;
    if (this.#profile.sessions && this.#sessionId === undefined && !this.#closed) {
      const sessionId = response.headers.get(SESSION_HEADER);
      if (sessionId !== null && /^[\x21-\x7e]{1,1024}$/.test(sessionId)) this.#sessionId = sessionId;
    }
    try {
      if (id === undefined) dropBody(response);
      else if (response.ok) await this.#readAnswer(message, id, response, controller);
      else await this.#readRefusal(message, id, response);
    } catch (error) {
      if (id !== undefined) this.#lose(id, { error: brokenBody(message.method, error), sent: true, refused: false });
    }
  }

  async #exchange(message: Outgoing, signal: AbortSignal): Promise<Response> {
    const headers = Object.assign({}, this.#baseHeaders, this.#profile.headers(message));
    if (this.#sessionId !== undefined) headers[SESSION_HEADER] = this.#sessionId;
    if (this.#tokens !== undefined) {
      const authorization = await this.#tokens.authorization(this.#target.url);
      if (authorization !== undefined) headers["authorization"] = authorization;
    }
    return await followRedirects(this.#fetch, this.#target, {
      method: "POST",
      headers,
      body: message.text,
      signal,
      redirect: "manual",
    });
  }

  /** Sends once more what was refused for want of credentials, if there are new ones. */
  async #renew(tokens: TokenSource, message: Outgoing, refused: Response, signal: AbortSignal): Promise<Response> {
    const challenge: Challenge = {
      status: refused.status === 401 ? 401 : 403,
      header: refused.headers.get("www-authenticate")?.slice(0, 4096),
      url: this.#target.url,
    };
    if (!(await tokens.renew(challenge, signal))) return refused;
    dropBody(refused);
    if (message.id !== undefined) this.#handlers.onResent(message.id);
    return await this.#exchange(message, signal);
  }

  async #readAnswer(message: Outgoing, id: number, response: Response, controller: AbortController): Promise<void> {
    switch (mediaType(response)) {
      case "application/json": {
        const text = await readBody(response, this.#limits.maxLength, this.#lengthIsDecoded);
        if (text.trim() === "") break;
        return this.#readText(text, id);
      }
      case "text/event-stream": {
        const answered = await this.#readEvents(response, id, controller);
        if (!answered) {
          const error = new HostError(
            "ERR_CONNECTION_LOST",
            `Answer to ${message.method} was lost: its stream ended before the response`,
          );
          this.#lose(id, { error, sent: true, refused: false });
        }
        return;
      }
      default: {
        const empty = response.status === 202 || response.status === 204 || response.body === null;
        if (empty) break;
        const body = await readErrorBody(response);
        if (body === "") break;
        const error = wrongResponse(
          `read the answer to ${message.method}`,
          response,
          "application/json or text/event-stream",
          body,
        );
        return this.#lose(id, { error, sent: true, refused: false });
      }
    }
    dropBody(response);
    const error = wrongResponse(`read the answer to ${message.method}`, response, "an answer, found an empty body", "");
    this.#lose(id, { error, sent: true, refused: false });
  }

  /** True when the answer was among the events. Reads on to the end afterwards: an aborted stream costs a connection. */
  async #readEvents(response: Response, id: number, controller: AbortController): Promise<boolean> {
    let answered = false;
    await readEventStream(response, this.#limits.maxLength, {
      onData: (data) => {
        const size = data.length;
        this.#readText(data, id, size);
        if (!answered && !this.#requests.has(id)) {
          answered = true;
          this.#background.add(controller);
        }
      },
      clock: this.#clock,
      isAnswered: () => answered,
      controller,
    }).catch((error: unknown) => {
      // After the answer nothing of the stream is wanted any more, not even why it broke.
      if (!answered) throw error;
    });
    this.#background.delete(controller);
    return answered || !this.#requests.has(id);
  }

  async #readRefusal(message: Outgoing, id: number, response: Response): Promise<void> {
    const { status } = response;
    if (status === 401 || status === 403) {
      const challenge = response.headers.get("www-authenticate") ?? undefined;
      dropBody(response);
      const error = new HostError(
        "ERR_AUTH_REQUIRED",
        `Server refused ${message.method}: status ${status}, credentials are missing or not sufficient`,
        {
          facts: { status, ...(challenge === undefined ? {} : { challenge: challenge.slice(0, 4096) }) },
        },
      );
      return this.#lose(id, { error, sent: true, refused: true });
    }
    const body = mediaType(response) === "application/json" ? await readErrorBody(response) : "";
    if (body === "") dropBody(response);
    const hadSession = this.#sessionId !== undefined;
    if (status === 404 && hadSession) {
      const error = new HostError(
        "ERR_CONNECTION_LOST",
        `Server refused ${message.method}: it no longer knows the session`,
        { facts: { status } },
      );
      this.#lose(id, { error, sent: true, refused: true });
      this.#sessionId = undefined;
      return this.#end({ reason: "unreachable", error });
    }
    const parsed = readMessage(body, this.#limits);
    if (parsed.kind === "error") {
      // The envelope may carry another id or none: this response can only be about this request.
      this.#requests.delete(id);
      return void this.#handlers.onMessage({ ...parsed, id, error: { ...parsed.error } }, body.length, id);
    }
    const error = wrongResponse(`send ${message.method}`, response, "a success status", body);
    this.#lose(id, {
      error,
      sent: true,
      refused: status === 404 || status === 405 || status === 406 || status === 413 || status === 415,
    });
  }

  #readText(text: string, id: number, bytes: number = text.length): void {
    const message = readMessage(text, this.#limits);
    if (message.kind === "malformed") {
      this.#requests.delete(id);
      return this.#handlers.onMalformed(message.reason, message.id, id);
    }
    if (message.kind !== "batch") {
      if (
        (message.kind === "result" || message.kind === "error") &&
        (message.id === id || message.id === undefined || message.id === String(id))
      ) {
        this.#requests.delete(id);
      }
      return void this.#handlers.onMessage(message, bytes, id);
    }
    if (!this.#profile.batches || message.members.length > MAX_BATCH_MEMBERS) {
      return this.#handlers.onWarning("unexpected_batch", `${message.members.length} members`);
    }
    for (const member of message.members) this.#readMember(member, id);
  }

  #readMember(member: unknown, id: number): void {
    const message = classify(member);
    if (message.kind === "malformed") return this.#handlers.onMalformed(message.reason, message.id, id);
    if ((message.kind === "result" || message.kind === "error") && message.id === id) this.#requests.delete(id);
    void this.#handlers.onMessage(message, 0, id);
  }

  #onUnreached(message: Outgoing, cause: unknown, controller: AbortController): void {
    const { id } = message;
    if (controller.signal.aborted) return; // we let go of it ourselves
    if (cause instanceof HostError) {
      if (id !== undefined) this.#lose(id, { error: cause, sent: true, refused: true });
      return;
    }
    const code = causeCode(cause);
    const sent = !NOT_SENT.has(code);
    const error = new HostError(
      "ERR_CONNECTION_LOST",
      `Cannot reach the server for ${message.method || "an answer"}: the network answered ${code}`,
      {
        cause,
        facts: { cause: code },
      },
    );
    if (id !== undefined) this.#lose(id, { error, sent, refused: false });
    if (++this.#unreached >= MAX_UNREACHED) void this.#end({ reason: "unreachable", error });
  }

  #lose(id: number, lost: LostRequest): void {
    if (!this.#requests.delete(id)) return;
    this.#handlers.onLost(id, lost);
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

function brokenBody(method: string, cause: unknown): HostError {
  if (cause instanceof HostError) return cause;
  const code = causeCode(cause);
  return new HostError(
    "ERR_CONNECTION_LOST",
    `Answer to ${method} was lost: the connection broke while it arrived, the network answered ${code}`,
    {
      cause,
      facts: { cause: code },
    },
  );
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
