import { atMost, type Clock } from "../kernel/clock.ts";
import type { Peer } from "../jsonrpc/peer.ts";
import type { Settled } from "../jsonrpc/pending.ts";
import { classifyProbe, type ProbeVerdict } from "./classify_probe.ts";
import type { Era } from "./era.ts";

/**
 * A probe on a pipe that may be answered late: a server that is slow to start reads the probe and the handshake that
 * followed it at once, and answers both.
 */
export class LateProbe {
  readonly era: Era;
  readonly #answer: Promise<Settled>;
  readonly #peer: Peer;
  readonly #controller = new AbortController();

  /** Asks now; the answer counts until `timeoutMs` have passed or {@link drop} was called. */
  constructor(peer: Peer, era: Era, timeoutMs: number) {
    this.#peer = peer;
    this.era = era;
    this.#answer = peer.request("server/discover", undefined, {
      signal: this.#controller.signal,
      timeoutMs,
      maxTotalMs: timeoutMs + 1,
      quiet: true,
    });
  }

  /** The answer, or `undefined` when there is none within `waitMs`. */
  within(clock: Clock, waitMs: number): Promise<Settled | undefined> {
    return atMost(clock, waitMs, this.#answer);
  }

  /** Resolves once a good answer has come; never otherwise. */
  good(): Promise<Extract<ProbeVerdict, { kind: "modern" }>> {
    return new Promise((resolve) => {
      void this.#answer.then((settled) => {
        const verdict = classifyProbe(settled, this.#peer.isOpen);
        if (verdict.kind === "modern" && verdict.protocolVersion === this.era.protocolVersion) resolve(verdict);
      });
    });
  }

  /** What still arrives is ignored. */
  drop(): void {
    this.#controller.abort();
  }
}
