import { untilAborted } from "../kernel/abort.ts";
import type { Clock } from "../kernel/clock.ts";
import { HostError, isHostError, isRemoteError } from "../kernel/errors.ts";
import type { Peer, PeerHandlers } from "../jsonrpc/peer.ts";
import { closedHere } from "../jsonrpc/peer_errors.ts";
import type { Settled } from "../jsonrpc/pending.ts";
import type { Dialer } from "../transport/transport.ts";
import { classifyProbe } from "./classify_probe.ts";
import type { Era } from "./era.ts";
import { agree, askToInitialize, type Handshake, mayPush } from "./handshake.ts";
import { createLegacyEra, type LegacyEra } from "./legacy.ts";
import type { JsonObject } from "./model.ts";
import { LateProbe } from "./late_probe.ts";
import { createModernEra } from "./modern.ts";
import { Opening } from "./opening.ts";
import type { Introduction } from "./results.ts";
import { isAbsent, noCommonVersion, startError, type Step } from "./start_error.ts";
import type { VerdictCache } from "./verdicts.ts";
import { eraOf, LEGACY_VERSIONS, MODERN_VERSIONS } from "./versions.ts";

export type { Verdict, VerdictCache } from "./verdicts.ts";

/** A remembered handshake is not trusted for ever: unlike a stale "modern", a stale "legacy" would never be noticed. */
const LEGACY_VERDICT_MS = 24 * 60 * 60 * 1000;

export interface NegotiateOptions {
  readonly dialer: Dialer;
  readonly clock: Clock;
  readonly handlers: PeerHandlers;
  readonly signal?: AbortSignal | undefined;
  readonly startTimeoutMs: number;
  readonly probeTimeoutMs: number;
  readonly pin?: string | undefined;
  readonly verdicts?: VerdictCache | undefined;
  readonly clientInfo: JsonObject;
  readonly capabilities: JsonObject;
  /** The server has forgotten the session and another one is open: what was set up in the first is gone. */
  readonly onRenewed?: ((introduction: Introduction) => void) | undefined;
}

/** A connection on which both ends know how they speak. */
export interface Negotiated extends Introduction {
  readonly era: Era;
  readonly peer: Peer;
  /**
   * Finds out anew how the server speaks, for one that was exchanged meanwhile. What is in flight goes on; nothing else may
   * be asked until it has settled, nor this once more. Rejects as {@link negotiate} does, and the connection stays what it
   * was then. A pipe that ends meanwhile is not opened again.
   */
  renegotiate(): Promise<Negotiated>;
  /** Ends the connection, and what is found out anew with all that it has opened: nothing more is sent. */
  close(): Promise<void>;
}

/**
 * Opens a connection and finds out which revision to speak.
 *
 * On a pipe `server/discover` goes first; on silence or any error `initialize` follows on the same pipe, and only a
 * server that exits is started again. Over HTTP a transport is born for one era, so the second attempt is a new one, and
 * where nothing takes the handshake the older transport of the dialer follows. Credentials, network failures and the like are never evidence of an era: they end the attempt.
 *
 * Throws `ERR_START_FAILED`, `ERR_START_TIMEOUT`, `ERR_VERSION`, `ERR_AUTH_REQUIRED`, `ERR_CONNECTION_LOST`,
 * `ERR_CANCELLED`; nothing of the attempt is left then.
 */
export async function negotiate(options: NegotiateOptions): Promise<Negotiated> {
  return await new Attempt(options).start(options.signal);
}

/** What one era and one introduction make together; the rest of a {@link Negotiated} is the same for all. */
type Agreed = Omit<Negotiated, "renegotiate" | "close">;

class Attempt {
  readonly #options: NegotiateOptions;
  readonly #opening: Opening;
  /** False when nothing but an outage spoke against the modern era: good enough to go on, not to be remembered. */
  #isEvident = true;
  /** What has failed so far. */
  #tried: Step[] = [];
  /** Ends a second start, which no caller has for itself. */
  readonly #closing = new AbortController();

  constructor(options: NegotiateOptions) {
    this.#options = options;
    this.#opening = new Opening(options);
  }

  async start(signal: AbortSignal | undefined): Promise<Negotiated> {
    const { dialer, verdicts, clock } = this.#options;
    this.#opening.begin(signal);
    this.#isEvident = true;
    this.#tried = [];
    try {
      const agreed = await this.#choose();
      const { peer } = agreed;
      if (!peer.isOpen) {
        throw this.#opening.end?.error ??
          new HostError("ERR_CONNECTION_LOST", "Connection to the server was lost during the start");
      }
      this.#opening.handOver(peer);
      const { name: era, protocolVersion } = agreed.era;
      if (this.#isEvident) verdicts?.set(dialer.key, { era, protocolVersion, at: clock.now() });
      return {
        ...agreed,
        renegotiate: () => this.#startAgain(agreed.era),
        close: async () => {
          this.#closing.abort(closedHere());
          await Promise.all([peer.close(), this.#opening.close(peer)]);
        },
      };
    } catch (error) {
      throw await this.#fail(error);
    }
  }

  async #startAgain(era: Era): Promise<Negotiated> {
    const { verdicts, dialer } = this.#options;
    verdicts?.delete(dialer.key);
    const goBack = this.#opening.leave(era);
    try {
      return await this.start(this.#closing.signal);
    } catch (error) {
      goBack();
      throw error;
    }
  }

  /** Ends what there is, but for what the owner has, and gives the error to fail with. */
  async #fail(error: unknown): Promise<unknown> {
    const { startTimeoutMs } = this.#options;
    const { dialer, waitedMs, end } = this.#opening;
    await this.#opening.close();
    return startError(error, {
      dialer,
      startTimeoutMs,
      // The stop may take seconds too, but those were not waited for the server's sake.
      waitedMs: Math.round(waitedMs),
      end: this.#opening.end ?? end,
      tried: this.#tried,
    });
  }

  async #choose(): Promise<Agreed> {
    const { pin, verdicts, dialer, clock } = this.#options;
    if (pin !== undefined) {
      const era = eraOf(pin);
      if (era === undefined) {
        const known = [...MODERN_VERSIONS, ...LEGACY_VERSIONS].join(", ");
        throw new HostError(
          "ERR_VERSION",
          `Cannot speak the pinned revision ${JSON.stringify(pin)}: known are ${known}`,
        );
      }
      if (era === "legacy") return await this.#shakeHands([pin]);
      if (dialer.handshakeOnly === true) throw noCommonVersion(LEGACY_VERSIONS, [pin]);
      return await this.#probe(pin, true);
    }
    if (dialer.handshakeOnly === true) return await this.#shakeHands(LEGACY_VERSIONS);
    const verdict = verdicts?.get(dialer.key);
    if (verdict?.era === "legacy" && clock.now() - verdict.at < LEGACY_VERDICT_MS) {
      try {
        return await this.#shakeHands(LEGACY_VERSIONS);
      } catch (error) {
        if (!isRemoteError(error) && !isHostError(error, "ERR_VERSION") && !isHostError(error, "ERR_PROTOCOL")) {
          throw error;
        }
        verdicts?.delete(dialer.key);
        this.#tried = [];
        await this.#opening.turnTo(dialer);
      }
    }
    return await this.#probe(MODERN_VERSIONS[0]!, false);
  }

  /** Asks `server/discover`, at most twice. */
  async #probe(version: string, pinned: boolean, again = false): Promise<Agreed> {
    const { clientInfo, capabilities, probeTimeoutMs } = this.#options;
    const era = createModernEra(version, clientInfo, capabilities);
    const peer = await this.#opening.open(era);
    const remaining = this.#opening.remainingMs();
    let settled: Settled | undefined;
    if (this.#options.dialer.kind === "pipe" && !pinned) {
      const probe = new LateProbe(peer, era, remaining);
      try {
        settled = await untilAborted(
          probe.within(this.#options.clock, Math.min(probeTimeoutMs, remaining)),
          "Start of a conversation",
          this.#opening.signal,
        );
        // Silence: the handshake follows on the same pipe, and the first good answer decides.
        if (settled === undefined) return await this.#shakeHands(LEGACY_VERSIONS, probe);
      } finally {
        probe.drop();
      }
    } else {
      settled = await this.#opening.ask(
        peer,
        "server/discover",
        undefined,
        pinned ? remaining : Math.min(probeTimeoutMs, remaining),
      );
    }
    const verdict = classifyProbe(settled, peer.isOpen);
    if (verdict.kind === "modern" && verdict.protocolVersion === version) {
      return { era, peer, ...verdict.introduction };
    }
    switch (verdict.kind) {
      case "modern":
      case "ask_again":
        if (again || pinned) throw noCommonVersion([verdict.protocolVersion], [version]);
        return await this.#probe(verdict.protocolVersion, pinned, true);
      case "no_common_version":
        throw noCommonVersion(verdict.supported, pinned ? [version] : [...MODERN_VERSIONS, ...LEGACY_VERSIONS]);
      case "no_evidence":
        throw verdict.error;
      case "gone": {
        const reason = this.#opening.end?.reason;
        // Some servers exit on anything but a handshake. A web transport does not end by one refused request, and one
        // that floods us will do so again.
        const hasExited = reason === "exit" || reason === "signal";
        if (pinned || this.#options.dialer.kind === "web" || !hasExited) throw verdict.error;
        break;
      }
      case "legacy":
        if (pinned) {
          throw new HostError(
            "ERR_VERSION",
            `Cannot speak the pinned revision ${version}: the server does not answer server/discover`,
          );
        }
        this.#isEvident = this.#options.dialer.kind === "pipe" || !isOutage(settled);
    }
    if (!settled.ok) this.#tried.push({ step: "server/discover", error: settled.error });
    return await this.#shakeHands(LEGACY_VERSIONS);
  }

  async #shakeHands(versions: readonly string[], probe?: LateProbe): Promise<Agreed> {
    const era = createLegacyEra();
    const peer = await this.#opening.open(era, (peer) => this.#renew(peer, era, versions));
    const handshake = this.#handshake(peer, era, versions);
    const asked = askToInitialize(handshake);
    const first = probe === undefined ? await asked : await Promise.race([asked, probe.good()]);
    if (!("ok" in first)) {
      this.#opening.speak(peer, probe!.era);
      return { era: probe!.era, peer, ...first.introduction };
    }
    const { older } = this.#opening.dialer;
    if (!first.ok && older !== undefined && isAbsent(first.error)) {
      // The server may be one of the older transport (2025-11-25, compatibility).
      this.#tried.push({ step: "initialize", error: first.error });
      await this.#opening.turnTo(older);
      return await this.#shakeHands(versions);
    }
    const introduction = await agree(first, handshake);
    this.#listen(introduction);
    return { era, peer, ...introduction };
  }

  #handshake(peer: Peer, era: LegacyEra, versions: readonly string[]): Handshake {
    const { clientInfo, capabilities } = this.#options;
    return {
      peer,
      era,
      versions,
      clientInfo,
      capabilities,
      ask: (method, params) => this.#opening.ask(peer, method, params, this.#opening.remainingMs()),
      bounded: (promise) => this.#opening.bounded(promise),
    };
  }

  #listen({ capabilities }: Introduction): void {
    if (mayPush(capabilities, this.#options.capabilities)) this.#opening.listen();
  }

  /** The server has forgotten the session: opens another one over the same transport. */
  async #renew(peer: Peer, era: LegacyEra, versions: readonly string[]): Promise<void> {
    this.#opening.begin(undefined);
    const handshake = this.#handshake(peer, era, [...new Set([era.protocolVersion, ...versions])]);
    const introduction = await agree(await askToInitialize(handshake), handshake);
    this.#listen(introduction);
    this.#options.onRenewed?.(introduction);
  }
}

/** A failure that may have come from something between us and the server. */
function isOutage(settled: Settled): boolean {
  if (settled.ok || isRemoteError(settled.error)) return false;
  return settled.error.code === "ERR_TIMEOUT" || Number(settled.error.facts["status"]) >= 500;
}
