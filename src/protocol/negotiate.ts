import { cancelled, untilAborted } from "../kernel/abort.ts";
import { atMost, type Clock } from "../kernel/clock.ts";
import { HostError, isHostError, isRemoteError } from "../kernel/errors.ts";
import { Peer, type PeerHandlers } from "../jsonrpc/peer.ts";
import type { Settled } from "../jsonrpc/pending.ts";
import type { Dialer, TransportEnd } from "../transport/transport.ts";
import { classifyProbe } from "./classify_probe.ts";
import type { Era } from "./era.ts";
import { createLegacyEra, initializeParams, type LegacyEra } from "./legacy.ts";
import type { JsonObject } from "./model.ts";
import { LateProbe } from "./late_probe.ts";
import { createModernEra } from "./modern.ts";
import { asObject, type Introduction, readInitialize } from "./results.ts";
import { noCommonVersion, startError } from "./start_error.ts";
import { type EraName, eraOf, LEGACY_VERSIONS, MODERN_VERSIONS } from "./versions.ts";

/** What an earlier contact found out about a server, and when. */
export interface Verdict {
  readonly era: EraName;
  readonly protocolVersion: string;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Remembers verdicts by {@link Dialer.key}. */
export interface VerdictCache {
  get(key: string): Verdict | undefined;
  set(key: string, verdict: Verdict): void;
  delete(key: string): void;
}

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
}

/** A connection on which both ends know how they speak. */
export interface Negotiated extends Introduction {
  readonly era: Era;
  readonly peer: Peer;
}

/**
 * Opens a connection and finds out which revision to speak.
 *
 * On a pipe `server/discover` goes first; on silence or any error `initialize` follows on the same pipe, and only a
 * server that exits is started again. Over HTTP a transport is born for one era, so the second attempt is a new one.
 * Credentials, network failures and the like are never evidence of an era: they end the attempt.
 *
 * Throws `ERR_START_FAILED`, `ERR_START_TIMEOUT`, `ERR_VERSION`, `ERR_AUTH_REQUIRED`, `ERR_CONNECTION_LOST`,
 * `ERR_CANCELLED`; nothing of the attempt is left then.
 */
export async function negotiate(options: NegotiateOptions): Promise<Negotiated> {
  const attempt = new Attempt(options);
  try {
    return await attempt.run();
  } catch (error) {
    throw await attempt.fail(error);
  }
}

class Attempt {
  readonly #options: NegotiateOptions;
  readonly #startedAt: number;
  #peer: Peer | undefined;
  /** The end of the latest connection, as long as nobody else has been given it. */
  #end: TransportEnd | undefined;
  #handedOver = false;
  /** False when nothing but an outage spoke against the modern era: good enough to go on, not to be remembered. */
  #isEvident = true;

  constructor(options: NegotiateOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
  }

  async run(): Promise<Negotiated> {
    const negotiated = await this.#choose();
    if (!negotiated.peer.isOpen) {
      throw this.#end?.error ??
        new HostError("ERR_CONNECTION_LOST", "Connection to the server was lost during the start");
    }
    this.#handedOver = true;
    const { dialer, verdicts, clock } = this.#options;
    const { name: era, protocolVersion } = negotiated.era;
    if (this.#isEvident) verdicts?.set(dialer.key, { era, protocolVersion, at: clock.now() });
    return negotiated;
  }

  /** Ends what there is and gives the error to fail with. */
  async fail(error: unknown): Promise<unknown> {
    const { dialer, startTimeoutMs, clock } = this.#options;
    // The stop may take seconds too, but those were not waited for the server's sake.
    const waitedMs = Math.round(clock.monotonic() - this.#startedAt);
    await this.#peer?.close();
    return startError(error, { dialer, startTimeoutMs, waitedMs, end: this.#end });
  }

  async #choose(): Promise<Negotiated> {
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
      return era === "modern" ? await this.#probe(pin, true) : await this.#shakeHands(pin, true);
    }
    const verdict = verdicts?.get(dialer.key);
    if (verdict?.era === "legacy" && clock.now() - verdict.at < LEGACY_VERDICT_MS) {
      try {
        return await this.#shakeHands(LEGACY_VERSIONS[0]!, false);
      } catch (error) {
        if (!isRemoteError(error) && !isHostError(error, "ERR_VERSION") && !isHostError(error, "ERR_PROTOCOL")) {
          throw error;
        }
        verdicts?.delete(dialer.key);
      }
    }
    return await this.#probe(MODERN_VERSIONS[0]!, false);
  }

  /** Asks `server/discover`, at most twice. */
  async #probe(version: string, pinned: boolean, again = false): Promise<Negotiated> {
    const { clientInfo, capabilities, probeTimeoutMs } = this.#options;
    const era = createModernEra(version, clientInfo, capabilities);
    const peer = await this.#open(era);
    const remaining = this.#remaining();
    let settled: Settled | undefined;
    if (this.#options.dialer.kind === "pipe" && !pinned) {
      const probe = new LateProbe(peer, era, remaining);
      try {
        settled = await untilAborted(
          probe.within(this.#options.clock, Math.min(probeTimeoutMs, remaining)),
          "Start of a conversation",
          this.#options.signal,
        );
        // Silence: the handshake follows on the same pipe, and the first good answer decides.
        if (settled === undefined) return await this.#shakeHands(LEGACY_VERSIONS[0]!, false, probe);
      } finally {
        probe.drop();
      }
    } else {
      settled = await this.#ask(
        peer,
        "server/discover",
        undefined,
        pinned ? remaining : Math.min(probeTimeoutMs, remaining),
      );
    }
    const verdict = classifyProbe(settled, peer.isOpen);
    switch (verdict.kind) {
      case "modern":
        if (verdict.protocolVersion !== version) {
          if (again || pinned) throw noCommonVersion([verdict.protocolVersion], [version]);
          return await this.#probe(verdict.protocolVersion, pinned, true);
        }
        return { era, peer, ...verdict.introduction };
      case "ask_again":
        if (again || pinned) throw noCommonVersion([verdict.protocolVersion], [version]);
        return await this.#probe(verdict.protocolVersion, pinned, true);
      case "no_common_version":
        throw noCommonVersion(verdict.supported, pinned ? [version] : [...MODERN_VERSIONS, ...LEGACY_VERSIONS]);
      case "no_evidence":
        throw verdict.error;
      case "gone":
        // Some servers exit on anything but a handshake. A web transport does not end by one refused request, and one
        // that floods us will do so again.
        if (pinned || this.#options.dialer.kind === "web" || !this.#hasExited()) throw verdict.error;
        break;
      case "legacy":
        if (pinned) {
          throw new HostError(
            "ERR_VERSION",
            `Cannot speak the pinned revision ${version}: the server does not answer server/discover`,
          );
        }
        this.#isEvident = this.#options.dialer.kind === "pipe" || !isOutage(settled);
    }
    return await this.#shakeHands(LEGACY_VERSIONS[0]!, false);
  }

  async #shakeHands(version: string, pinned: boolean, probe?: LateProbe): Promise<Negotiated> {
    const era = createLegacyEra();
    const peer = await this.#open(era);
    const params = initializeParams(version, this.#options.clientInfo, this.#options.capabilities);
    const handshake = this.#ask(peer, "initialize", params, this.#remaining());
    if (probe === undefined) return await this.#agree(await handshake, peer, era, version, pinned);
    const first = await Promise.race([handshake, probe.good()]);
    if ("ok" in first) return await this.#agree(first, peer, era, version, pinned);
    this.#speak(peer, probe.era);
    return { era: probe.era, peer, ...first.introduction };
  }

  /** Reads the answer to `initialize`, and asks once more where the server names other revisions. */
  async #agree(
    settled: Settled,
    peer: Peer,
    era: LegacyEra,
    version: string,
    pinned: boolean,
    again = false,
  ): Promise<Negotiated> {
    if (!settled.ok) {
      const supported = isRemoteError(settled.error) ? asObject(settled.error.data)?.["supported"] : undefined;
      if (Array.isArray(supported) && !pinned) {
        const common = LEGACY_VERSIONS.find((known) => known !== version && supported.includes(known));
        if (common === undefined || again) throw noCommonVersion(supported.map(String), LEGACY_VERSIONS);
        const params = initializeParams(common, this.#options.clientInfo, this.#options.capabilities);
        return await this.#agree(
          await this.#ask(peer, "initialize", params, this.#remaining()),
          peer,
          era,
          common,
          pinned,
          true,
        );
      }
      throw settled.error;
    }
    const answer = readInitialize(settled.result);
    if (answer === undefined) {
      throw new HostError("ERR_PROTOCOL", "Cannot use the answer to initialize: found no protocolVersion text in it");
    }
    const wanted = pinned ? [version] : LEGACY_VERSIONS;
    if (!wanted.includes(answer.protocolVersion)) throw noCommonVersion([answer.protocolVersion], wanted);
    era.agree(answer.protocolVersion);
    // Over HTTP the server must have taken it before the first request follows.
    await this.#bounded(Promise.resolve(peer.notify("notifications/initialized")));
    return {
      era,
      peer,
      capabilities: answer.capabilities,
      serverInfo: answer.serverInfo,
      instructions: answer.instructions,
    };
  }

  /** What a pipe obeys: it outlives the change from one era to the other. */
  #pipeProfile: Era["profile"] | undefined;

  /** A connection that speaks this era: the pipe that is there, or a fresh one. */
  async #open(era: Era): Promise<Peer> {
    const peer = this.#peer;
    if (peer?.isOpen === true && this.#options.dialer.kind === "pipe") {
      this.#speak(peer, era);
      return peer;
    }
    await peer?.close();
    return await this.#dial(era);
  }

  #speak(peer: Peer, era: Era): void {
    peer.encoder = era.encoder;
    peer.answerer = era.answerer;
    peer.cancelsByClosing = this.#options.dialer.kind === "web" && era.profile.cancelsByClosing;
    this.#pipeProfile = era.profile;
  }

  #hasExited(): boolean {
    return this.#end?.reason === "exit" || this.#end?.reason === "signal";
  }

  /** Waits within the time of the start and as long as the caller does. */
  async #bounded<T>(promise: Promise<T>): Promise<T> {
    const { clock, signal } = this.#options;
    const boxed = promise.then((value) => ({ value }));
    const found = await atMost(clock, this.#remaining(), untilAborted(boxed, "Start of a conversation", signal));
    if (found === undefined) throw new HostError("ERR_TIMEOUT", "Start of a conversation timed out");
    return found.value;
  }

  async #dial(era: Era): Promise<Peer> {
    const { dialer, clock, handlers, signal } = this.#options;
    const peer: Peer = new Peer(clock, era.encoder, {
      onNotification: (method, params) => handlers.onNotification(method, params),
      onWarning: (kind, excerpt) => handlers.onWarning(kind, excerpt),
      onEnd: (end) => {
        if (this.#peer !== peer) return;
        this.#end = end;
        return this.#handedOver ? handlers.onEnd(end) : undefined;
      },
    });
    this.#end = undefined;
    this.#peer = peer;
    this.#speak(peer, era);
    const current = (): Era["profile"] => this.#pipeProfile ?? era.profile;
    const profile: Era["profile"] = dialer.kind === "web" ? era.profile : {
      get sessions() {
        return current().sessions;
      },
      get cancelsByClosing() {
        return current().cancelsByClosing;
      },
      get batches() {
        return current().batches;
      },
      headers: (message) => current().headers(message),
    };
    const dialling = dialer.dial(profile, peer, signal);
    try {
      peer.attach(await this.#bounded(dialling));
    } catch (error) {
      dialling.then((late) => late.close()).catch(() => {/* it has failed by itself: nothing is left of it */});
      throw error;
    }
    return peer;
  }

  async #ask(peer: Peer, method: string, params: JsonObject | undefined, timeoutMs: number): Promise<Settled> {
    const { signal } = this.#options;
    const settled = await peer.request(method, params, { signal, timeoutMs, maxTotalMs: timeoutMs + 1, quiet: true });
    if (signal?.aborted) throw cancelled("Start of a conversation", signal);
    return settled;
  }

  #remaining(): number {
    const { clock, startTimeoutMs } = this.#options;
    const remaining = startTimeoutMs - (clock.monotonic() - this.#startedAt);
    if (remaining <= 0) throw new HostError("ERR_TIMEOUT", "Start of a conversation timed out");
    return remaining;
  }
}

/** A failure that may have come from something between us and the server. */
function isOutage(settled: Settled): boolean {
  if (settled.ok || isRemoteError(settled.error)) return false;
  return settled.error.code === "ERR_TIMEOUT" || Number(settled.error.facts["status"]) >= 500;
}
