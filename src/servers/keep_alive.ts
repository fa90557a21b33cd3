import type { Client } from "../client/client.ts";
import type { Clock, Timer } from "../kernel/clock.ts";
import { HostError, isHostError, isRemoteError } from "../kernel/errors.ts";

export interface KeepAliveOptions {
  readonly client: Client;
  readonly clock: Clock;
  /** Between two questions. */
  readonly pingMs: number;
  /** True while calls are under way: they have deadlines of their own. */
  isBusy(): boolean;
  /** The server is silent, whatever it is asked. */
  onSilent(error: HostError): void;
}

/** How long a server may take for an answer. */
const MAX_WAIT_MS = 10_000;

/**
 * Asks an idle server now and then whether it is there (basic/utilities/ping). Any well-formed answer says so, an error
 * too: a server that refuses the question is not asked again, and one that is silent is asked for its tools before it is
 * given up.
 */
export class KeepAlive {
  readonly #options: KeepAliveOptions;
  readonly #stopped = new AbortController();
  #timer: Timer | undefined;

  constructor(options: KeepAliveOptions) {
    this.#options = options;
    this.#wait();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#stopped.abort();
  }

  #wait(): void {
    if (this.#stopped.signal.aborted) return;
    this.#timer = this.#options.clock.after(this.#options.pingMs, () => void this.#round());
  }

  /** Never rejects: requests do not. */
  async #round(): Promise<void> {
    const { client, isBusy, onSilent, pingMs } = this.#options;
    const { ping = "ping" } = client.facts;
    const found = isBusy() ? "there" : await this.#ask(ping);
    if (found === "there") return this.#wait();
    if (found === "refused" || (await this.#ask("tools/list")) !== "silent" || this.#stopped.signal.aborted) return;
    const waitedMs = Math.min(pingMs, MAX_WAIT_MS);
    const text =
      `Connection to the server was given up: no answer to ${ping} and tools/list, each within ${waitedMs} ms`;
    onSilent(new HostError("ERR_TIMEOUT", text, { facts: { waitedMs } }));
  }

  async #ask(method: string): Promise<"there" | "refused" | "silent"> {
    const timeoutMs = Math.min(this.#options.pingMs, MAX_WAIT_MS);
    const reply = await this.#options.client.request(method, undefined, {
      timeoutMs,
      maxTotalMs: timeoutMs,
      fresh: true,
      signal: this.#stopped.signal,
    });
    if (reply.kind !== "failed") return "there";
    if (isRemoteError(reply.error)) return "refused";
    // Whether a server that is not reached counts as gone is the transport's to say.
    return isHostError(reply.error, "ERR_TIMEOUT") ? "silent" : "there";
  }
}
