import type { Challenge, TokenSource } from "../auth/token_source.ts";
import { causeCode, HostError, isHostError } from "../kernel/errors.ts";
import type { FetchFunction } from "../kernel/runtime.ts";
import { dropBody } from "./http_body.ts";
import { challengeOf, wantsCredentials } from "./http_faults.ts";
import { followRedirects, type RedirectTarget } from "./http_redirect.ts";
import type { Attempt } from "./http_requests.ts";

/** What a {@link HttpSender} sends with. */
export interface SenderOptions {
  readonly url: string;
  readonly fetch: FetchFunction;
  /** Sent with every request, such as `authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Credentials that may change; its `authorization` wins over the one in `headers`. */
  readonly tokens?: TokenSource;
}

/** One HTTP request. */
export interface HttpRequest {
  readonly method: "POST" | "GET" | "DELETE";
  /** Beside those that its method wants. Asked each time that it is sent, at the last moment. */
  headers(): Record<string, string>;
  readonly body?: string;
}

const MAX_RENEWALS = 3;
const BY_METHOD: Readonly<Partial<Record<HttpRequest["method"], Readonly<Record<string, string>>>>> = {
  POST: { "content-type": "application/json", accept: "application/json, text/event-stream" },
  GET: { accept: "text/event-stream" },
};

/** Sends requests to one address: with its headers and credentials, and through its redirects. */
export class HttpSender {
  readonly #fetch: FetchFunction;
  readonly #tokens: TokenSource | undefined;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #target: RedirectTarget;

  constructor(options: SenderOptions) {
    // Kept as a plain function: a fetch that is called as a method is an illegal invocation on some runtimes.
    this.#fetch = options.fetch;
    this.#tokens = options.tokens;
    this.#target = { url: options.url };
    this.#headers = Object.fromEntries(
      Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
  }

  /** Where requests go as of now. */
  get url(): string {
    return this.#target.url;
  }

  /** Sends, and again what was refused for want of credentials, for as long as there are new ones, three times at most. */
  async send(request: HttpRequest, attempt: Attempt, onResent?: () => void): Promise<Response> {
    const tokens = this.#tokens;
    for (let resends = 0;; resends++) {
      const response = await this.sendOnce(request, attempt);
      if (tokens === undefined || !wantsCredentials(response) || resends === MAX_RENEWALS) return response;
      attempt.refused = true;
      const { status } = response;
      const challenge = { status, header: challengeOf(response), url: this.url, shown: attempt.shown } as Challenge;
      if (!(await fromSource(() => tokens.renew(challenge, attempt.controller.signal)))) return response;
      dropBody(response);
      onResent?.();
    }
  }

  async sendOnce({ method, headers, body }: HttpRequest, attempt: Attempt): Promise<Response> {
    const tokens = this.#tokens;
    const authorization = tokens && (await fromSource(() => tokens.authorization(this.url)));
    const sent = Object.assign({}, this.#headers, BY_METHOD[method], headers());
    if (authorization !== undefined) sent["authorization"] = authorization;
    attempt.shown = authorization;
    attempt.sent = true;
    attempt.refused = false;
    return await followRedirects(this.#fetch, this.#target, {
      method,
      headers: sent,
      body: body ?? null,
      signal: attempt.controller.signal,
      redirect: "manual",
    });
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
