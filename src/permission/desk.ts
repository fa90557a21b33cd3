import type { Clock, Timer } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import type { KeyValue } from "../store/key_value.ts";
import { checkedApproval } from "./approval.ts";
import { DeskRecords } from "./desk_records.ts";
import type { DecisionActor, DeskAsk, DeskDecision } from "./desk_record.ts";
import { type OpenAsk, OpenAsks } from "./open_asks.ts";
import type { Approval } from "./request.ts";

export type { DecisionActor, DeskAsk, DeskDecision } from "./desk_record.ts";

/**
 * Where asks lie until somebody decides. An ask is one record and its decision another: whoever stores the decision
 * first has decided, in this process or in any other that shares the store. Passing the time of expiry is a decision
 * too. Deciding never runs anything.
 */
export interface Desk {
  /**
   * Lays an ask down and watches its expiry; false when the session has too many open ones. Rejects when the store does
   * not take it; nobody can decide it then.
   */
  open(ask: DeskAsk): Promise<boolean>;
  /**
   * Resolves with the decision, also one that was made earlier or elsewhere. Rejects with `ERR_INVALID_ARGUMENTS` for an
   * ask that is not known, and never for one that this desk holds open.
   */
  wait(requestId: string): Promise<DeskDecision>;
  /**
   * Decides. Rejects with `ERR_ALREADY_DECIDED` when somebody was faster or the ask has expired, and with
   * `ERR_INVALID_ARGUMENTS` for an approval that is none, and for an ask that is not known or, where `session` is given, not of that session: the two look
   * the same.
   */
  resolve(
    requestId: string,
    approval: Approval & { readonly actor: DecisionActor },
    options?: { readonly session?: string },
  ): Promise<DeskDecision>;
  /** Denies an ask that this desk holds open, unless it is decided already. Those who wait are told in any case. */
  end(requestId: string, actor: "host" | "timeout", reason: string): void;
  /** Open asks of one session or of all, oldest first, at most 1,000. */
  list(session?: string): Promise<readonly DeskAsk[]>;
  /** Stops watching. Who waits is told deny; the records stay for the next owner. */
  close(): void;
}

export interface DeskOptions {
  readonly kv: KeyValue;
  readonly clock: Clock;
  readonly scrubber: Scrubber;
  /** Open asks that one session may have. Default 100. */
  readonly maxOpenPerSession?: number;
  /** How often a decision made outside this process is looked for, ms. Default 1,000; 0 where nobody else has the store. */
  readonly pollMs?: number;
  /** How long the store may take for one answer, ms. Default 5,000. */
  readonly storeTimeoutMs?: number;
  /** Told of failures of the store that no caller waits for. Default: dropped. */
  readonly onError?: (error: unknown) => void;
}

/** Settled asks whose records are kept, so that a late second decision is told that it is late. */
const MAX_SETTLED = 256;
const KEEP_SETTLED_MS = 60 * 60_000;
/** How often records that nobody owns any more are looked for. */
const SWEEP_MS = 60 * 60_000;
const MAX_REASON = 1024;

/** Makes a desk over a store of small records. One desk a process; `close` it before the store. */
export function createDesk(options: DeskOptions): Desk {
  return new RecordDesk(options);
}

class RecordDesk implements Desk {
  readonly #records: DeskRecords;
  readonly #clock: Clock;
  readonly #scrubber: Scrubber;
  readonly #maxOpenPerSession: number;
  readonly #pollMs: number;
  readonly #open: OpenAsks;
  readonly #onError: (error: unknown) => void;
  /** When asks that somebody here waited for were settled, oldest first. */
  readonly #settled = new Map<string, number>();
  #poll: Timer | undefined;
  #isPolling = false;
  /** The store has failed the last look, and somebody was told. */
  #isBlind = false;
  #sweptAt: number;
  #isClosed = false;

  constructor(options: DeskOptions) {
    this.#records = new DeskRecords(options.kv, options.clock, options.storeTimeoutMs ?? 5000);
    this.#open = new OpenAsks(options.clock, (requestId) => this.end(requestId, "timeout", "expired"));
    this.#clock = options.clock;
    this.#scrubber = options.scrubber;
    this.#maxOpenPerSession = options.maxOpenPerSession ?? 100;
    this.#pollMs = options.pollMs ?? 1000;
    this.#onError = options.onError ?? (() => {/* nobody wants to know */});
    this.#sweptAt = options.clock.now();
  }

  async open(ask: DeskAsk): Promise<boolean> {
    if (this.#isClosed) throw closed("open an ask");
    if (this.#open.ofSession(ask.session) >= this.#maxOpenPerSession) return false;
    this.#open.add(ask);
    try {
      await this.#records.putAsk(ask);
    } catch (error) {
      this.#open.remove(ask.requestId);
      throw error;
    }
    this.#pollLater();
    this.#tidy();
    return true;
  }

  async wait(requestId: string): Promise<DeskDecision> {
    if (this.#isClosed) throw closed("wait for a decision");
    const open = this.#open.get(requestId) ?? await this.#adopt(requestId);
    open.isWaitedFor = true;
    return open.decided;
  }

  async resolve(
    requestId: string,
    approval: Approval & { readonly actor: DecisionActor },
    options: { readonly session?: string } = {},
  ): Promise<DeskDecision> {
    const { actor } = approval;
    const { decision, scope, reason } = checkedApproval(approval);
    const ask = this.#open.get(requestId)?.ask ?? await this.#records.ask(requestId);
    if (ask === undefined || (options.session !== undefined && ask.session !== options.session)) throw unknownAsk();
    const isExpired = this.#clock.now() >= ask.expiresAt;
    const own = isExpired ? this.#decision(ask, "deny", "timeout", "expired") : {
      ...this.#decision(ask, decision, actor, reason),
      ...(scope === undefined ? {} : { scope }),
    };
    const held = await this.#records.decide(own);
    this.#settle(requestId, held.decision);
    if (isExpired || !held.isOwn) {
      const facts = { requestId, decision: held.decision.decision, actor: held.decision.actor };
      const found = `${facts.actor} decided ${facts.decision} before`;
      throw new HostError("ERR_ALREADY_DECIDED", `Cannot decide an ask: ${found}`, { facts });
    }
    return own;
  }

  end(requestId: string, actor: "host" | "timeout", reason: string): void {
    const open = this.#open.get(requestId);
    if (open === undefined) return;
    const own = this.#decision(open.ask, "deny", actor, reason);
    // A store that does not answer must not keep anybody waiting, and nothing runs because of a deny.
    this.#records.decide(own).catch((error: unknown) => {
      this.#onError(error);
      return { decision: own };
    }).then(({ decision }) => this.#settle(requestId, decision));
  }

  async list(session?: string): Promise<readonly DeskAsk[]> {
    const now = this.#clock.now();
    const asks: DeskAsk[] = [];
    for await (const stored of this.#records.asks()) {
      if (stored.expiresAt <= now || (session !== undefined && stored.session !== session)) continue;
      if (await this.#records.decision(stored.requestId) !== undefined) continue;
      asks.push(this.#open.get(stored.requestId)?.ask ?? stored);
      if (asks.length === 1000) break;
    }
    return asks.sort((a, b) => a.requestedAt - b.requestedAt || (a.requestId < b.requestId ? -1 : 1));
  }

  close(): void {
    this.#isClosed = true;
    for (const requestId of this.#open.ids()) {
      this.#settle(requestId, this.#decision(this.#open.get(requestId)!.ask, "deny", "host", "desk_closed"));
    }
  }

  /** Takes over an ask that another owner laid down, or one that is decided already. */
  async #adopt(requestId: string): Promise<OpenAsk> {
    const ask = await this.#records.ask(requestId);
    if (ask === undefined) throw unknownAsk();
    if (this.#isClosed) throw closed("wait for a decision");
    const open = this.#open.get(requestId) ?? this.#open.add(ask);
    open.isWaitedFor = true;
    this.#pollLater();
    // Read only now: a decision that is made from here on is told to what is being watched. If this fails, polling and
    // the expiry still end the wait.
    const decision = await this.#look(requestId);
    if (decision !== undefined) this.#settle(requestId, decision);
    return open;
  }

  #settle(requestId: string, decision: DeskDecision): void {
    const open = this.#open.remove(requestId, decision);
    if (this.#open.size === 0) {
      this.#poll?.cancel();
      this.#poll = undefined;
    }
    if (open === undefined || !open.isWaitedFor || this.#isClosed) return;
    this.#settled.set(requestId, this.#clock.now());
    this.#tidy();
  }

  /** Looks for decisions that were made elsewhere, while anything is open. */
  #pollLater(): void {
    if (this.#pollMs <= 0 || this.#poll !== undefined || this.#isPolling || this.#isClosed) return;
    this.#poll = this.#clock.after(this.#pollMs, async () => {
      this.#poll = undefined;
      this.#isPolling = true;
      for (const requestId of this.#open.ids()) {
        // A store that fails now is asked again in a moment, and the expiry needs no store.
        const decision = await this.#look(requestId);
        if (decision !== undefined) this.#settle(requestId, decision);
      }
      this.#isPolling = false;
      if (this.#open.size > 0) this.#pollLater();
    });
  }

  /** A decision that was made elsewhere, if any. A store that fails look after look is reported once. */
  async #look(requestId: string): Promise<DeskDecision | undefined> {
    try {
      const decision = await this.#records.decision(requestId);
      this.#isBlind = false;
      return decision;
    } catch (error) {
      if (!this.#isBlind) this.#onError(error);
      this.#isBlind = true;
      return undefined;
    }
  }

  /** Removes records that have done their work. In the background: what is left over is found the next time. */
  #tidy(): void {
    const now = this.#clock.now();
    for (const [requestId, settledAt] of this.#settled) {
      if (this.#settled.size <= MAX_SETTLED && now - settledAt < KEEP_SETTLED_MS) break;
      this.#settled.delete(requestId);
      // The sweep finds after its expiry what could not be removed.
      this.#records.remove(requestId).catch(this.#onError);
    }
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    // The next sweep finds what this one did not.
    this.#records.sweep().catch(this.#onError);
  }

  #decision(ask: DeskAsk, decision: "allow" | "deny", actor: DecisionActor, reason: string | undefined): DeskDecision {
    const { requestId, session } = ask;
    const said = reason === undefined ? {} : { reason: this.#scrubber.text(String(reason)).slice(0, MAX_REASON) };
    return { requestId, session, decision, actor, ...said, decidedAt: this.#clock.now() };
  }
}

/** One error for what is unknown and for what is another session's, so that neither can be told from the other. */
function unknownAsk(): HostError {
  return new HostError("ERR_INVALID_ARGUMENTS", "Cannot find this ask: no open ask has this id");
}

function closed(action: string): HostError {
  return new HostError("ERR_CLOSED", `Cannot ${action}: the desk is closed`);
}
