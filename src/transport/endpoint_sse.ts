import { cancelled, untilAborted } from "../kernel/abort.ts";
import { atMost } from "../kernel/clock.ts";
import { HostError, isHostError } from "../kernel/errors.ts";
import { wholeText } from "../kernel/foreign_text.ts";
import { dropBody, readBeginning, wrongResponse } from "./http_body.ts";
import { lost, notAuthorized, wantsCredentials } from "./http_faults.ts";
import { HttpLink, type LinkOptions } from "./http_link.ts";
import { httpUrl } from "./http_redirect.ts";
import type { Attempt } from "./http_requests.ts";
import { HttpSender } from "./http_sender.ts";
import { isEventStream, StreamPlace } from "./resume.ts";
import type { Dialer, Outgoing, TransportHandlers, WireProfile } from "./transport.ts";

/** Where a server of the older transport is and how to speak to it. */
export interface SseDialerOptions extends LinkOptions {
  /** How long the server may take to say where messages go. Default 10,000. */
  readonly endpointTimeoutMs?: number;
  /** What a proxy takes away from the path of that address, such as `/mcp`, so that it has to be put back. Default: nothing. */
  readonly endpointPrefix?: string;
}

/**
 * Reaches a server over HTTP with SSE, the two-endpoint transport of 2024-11-05: one stream for all that the server says,
 * and one POST for each message to the address that its first event names.
 */
export function sseDialer(options: SseDialerOptions): Dialer {
  const { origin, href } = httpUrl(options.url);
  return {
    kind: "web",
    name: "sse",
    key: `sse:${href}`,
    handshakeOnly: true,
    dial: async (profile, handlers, signal) => {
      if (signal?.aborted) throw cancelled(`Connection to ${origin}`, signal);
      const transport = new SseTransport(profile, handlers, options);
      await transport.open(signal);
      return transport;
    },
  };
}

class SseTransport extends HttpLink {
  readonly #options: SseDialerOptions;
  readonly #stream = new AbortController();
  /** The address as the server named it. The session is in it, so that it is as secret as one. */
  #endpoint: string | undefined;
  #poster: HttpSender | undefined;

  constructor(profile: WireProfile, handlers: TransportHandlers, options: SseDialerOptions) {
    super(profile, handlers, options);
    this.#options = options;
  }

  /** Resolves once it is known where messages go. When it is not to be found out, nothing is left. */
  async open(signal: AbortSignal | undefined): Promise<void> {
    const { endpointTimeoutMs = 10_000 } = this.#options;
    const opening = this.#open().then(() => true);
    try {
      const waiting = untilAborted(opening, "Connection to the server", signal);
      if ((await atMost(this.clock, endpointTimeoutMs, waiting)) === undefined) {
        const found = `no endpoint event within ${endpointTimeoutMs} ms`;
        throw new HostError("ERR_START_TIMEOUT", `Cannot open the stream of events: ${found}`);
      }
    } catch (error) {
      this.isClosed = true;
      this.#stream.abort();
      opening.catch(() => {/* what has failed is known */});
      throw error;
    }
  }

  protected override async post(message: Outgoing, attempt: Attempt): Promise<void> {
    const { id, text } = message;
    const onResent = id === undefined ? undefined : (): void => this.handlers.onResent(id);
    const headers = (): Record<string, string> => this.profile.headers(message);
    try {
      const response = await this.#poster!.send({ method: "POST", headers, body: text }, attempt, onResent);
      this.unreached = 0;
      // Whatever success it is: the answer comes on the stream.
      if (response.ok) dropBody(response);
      else await this.#onRefused(message, response);
    } catch (error) {
      this.onUnreached(message, error, attempt);
    }
    this.requests.finish(attempt);
  }

  protected override release(): undefined {
    this.#stream.abort();
  }

  async #onRefused({ id, method }: Outgoing, response: Response): Promise<void> {
    if (id === undefined) {
      dropBody(response);
      this.warnOfUndelivered(`status ${response.status}`);
    } else if (wantsCredentials(response)) {
      dropBody(response);
      this.lose(id, { error: notAuthorized(method, response), sent: true, refused: true });
    } else await this.answers.readRefusal({ id, method }, response);
  }

  /** Resolves at the first endpoint; the stream is read on until it ends, and the connection with it. */
  async #open(): Promise<void> {
    const response = await this.#get();
    let isOpen = false;
    await new Promise<void>((resolve, reject) => {
      const onOther = (event: string, data: string): void => {
        if (event !== "endpoint") return;
        try {
          this.#onEndpoint(data);
          isOpen = true;
          resolve();
        } catch (error) {
          reject(error);
        }
      };
      const over = (cause?: unknown): void => {
        const error = isHostError(cause)
          ? cause
          : cause === undefined
          ? new HostError("ERR_CONNECTION_LOST", "Connection to the server was lost: its stream of events has ended")
          : lost("Connection to the server was lost", cause);
        reject(error);
        const reason = error.code === "ERR_FRAME_TOO_LARGE" ? "frame_too_large" : "unreachable";
        if (isOpen) void this.end({ reason, error });
      };
      this.answers.readStream(response, new StreamPlace(), this.#stream, undefined, onOther).then(() => over(), over);
    });
  }

  async #get(): Promise<Response> {
    const attempt: Attempt = { controller: this.#stream, sent: true, refused: false };
    let response: Response;
    try {
      response = await this.sender.send({ method: "GET", headers: () => ({}) }, attempt);
    } catch (cause) {
      throw isHostError(cause)
        ? cause
        : lost(`Cannot reach ${new URL(this.sender.url).host} for its stream of events`, cause);
    }
    if (isEventStream(response)) return response;
    if (wantsCredentials(response)) {
      dropBody(response);
      throw notAuthorized("its stream of events", response);
    }
    const body = await readBeginning(response);
    throw wrongResponse("open the stream of events", response, "text/event-stream", body);
  }

  /** Throws when messages must not go there. */
  #onEndpoint(data: string): void {
    if (this.#endpoint !== undefined) {
      // Messages under way are to arrive where the session is: the first address holds for the connection.
      if (data !== this.#endpoint) this.handlers.onWarning("second_endpoint");
      return;
    }
    const url = endpointOf(data, this.sender.url);
    const { endpointPrefix = "" } = this.#options;
    if (endpointPrefix !== "") url.pathname = endpointPrefix.replace(/\/$/, "") + url.pathname;
    this.#endpoint = data;
    this.#poster = new HttpSender({ ...this.#options, url: url.href });
  }
}

/** Resolves by the URL standard, without guessing, and refuses whatever leads elsewhere. */
function endpointOf(data: string, base: string): URL {
  const { origin } = new URL(base);
  let found = "none";
  try {
    const url = new URL(data, base);
    if (url.origin === origin) {
      url.username = "";
      url.password = "";
      return url;
    }
    found = url.origin === "null" ? url.protocol : url.origin;
  } catch {
    // What is no address leads nowhere.
  }
  throw new HostError(
    "ERR_PROTOCOL",
    `Cannot use the endpoint that the server names: found ${wholeText(found)}, wanted an address of ${origin}`,
  );
}
