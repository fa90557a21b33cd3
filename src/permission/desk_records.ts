import { canonicalJson } from "../kernel/canonical.ts";
import type { Clock } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";
import type { KeyValue } from "../store/key_value.ts";
import { type DeskAsk, type DeskDecision, encodeAsk, encodeDecision, readAsk, readDecision } from "./desk_record.ts";

const ASKS = "desk/ask/";
const DECISIONS = "desk/decision/";
const PAGE = 200;
/** How long records stay after their expiry: a session that opens again may still want to know what became of them. */
const KEEP_EXPIRED_MS = 24 * 60 * 60_000;

/** The records of a desk in their store. Every answer of the store is waited for so long and no longer. */
export class DeskRecords {
  readonly #kv: KeyValue;
  readonly #clock: Clock;
  readonly #timeoutMs: number;

  constructor(kv: KeyValue, clock: Clock, timeoutMs: number) {
    this.#kv = kv;
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** Rejects when it cannot be stored, or when its id is taken. */
  async putAsk(ask: DeskAsk): Promise<void> {
    if (!isId(ask.requestId)) throw new HostError("ERR_INVALID_ARGUMENTS", "Cannot store an ask: its id is no id");
    if (await this.#inTime(this.#kv.putIfAbsent(ASKS + ask.requestId, encodeAsk(ask)))) return;
    throw new HostError("ERR_INVALID_ARGUMENTS", "Cannot store an ask: its id is taken");
  }

  async ask(requestId: string): Promise<DeskAsk | undefined> {
    if (!isId(requestId)) return undefined;
    const bytes = await this.#inTime(this.#kv.get(ASKS + requestId));
    return bytes === undefined ? undefined : readAsk(bytes);
  }

  async decision(requestId: string): Promise<DeskDecision | undefined> {
    const bytes = await this.#inTime(this.#kv.get(DECISIONS + requestId));
    return bytes === undefined ? undefined : readDecision(bytes);
  }

  /** Stores a decision if there is none, and returns the one that holds. */
  async decide(own: DeskDecision): Promise<{ readonly decision: DeskDecision; readonly isOwn: boolean }> {
    let failure: unknown;
    try {
      const isStored = await this.#inTime(this.#kv.putIfAbsent(DECISIONS + own.requestId, encodeDecision(own)));
      if (isStored) return { decision: own, isOwn: true };
    } catch (error) {
      failure = error;
    }
    const decision = await this.decision(own.requestId);
    if (decision === undefined) {
      throw failure ?? new HostError("ERR_ALREADY_DECIDED", "Cannot decide an ask: its decision cannot be read");
    }
    // A write that failed may have happened all the same: then what is there is what was to be written.
    return { decision, isOwn: failure !== undefined && canonicalJson(decision) === canonicalJson(own) };
  }

  /** Every ask of the store, open or not, page by page. */
  async *asks(): AsyncGenerator<DeskAsk> {
    for (let start: string = ASKS;;) {
      const page = await this.#inTime(this.#kv.list(ASKS, { start, limit: PAGE }));
      for (const { value } of page) {
        const ask = readAsk(value);
        if (ask !== undefined) yield ask;
      }
      if (page.length < PAGE) return;
      // The next key at the earliest: ids hold no character below "-".
      start = `${page[page.length - 1]!.key}!`;
    }
  }

  async remove(requestId: string): Promise<void> {
    // The ask first: a decision without its ask is unknown, an ask without its decision would be open again.
    await this.#inTime(this.#kv.delete(ASKS + requestId));
    await this.#inTime(this.#kv.delete(DECISIONS + requestId));
  }

  /** Removes what has long expired, whoever laid it down. */
  async sweep(): Promise<void> {
    const before = this.#clock.now() - KEEP_EXPIRED_MS;
    for await (const ask of this.asks()) {
      if (ask.expiresAt < before) await this.remove(ask.requestId);
    }
  }

  #inTime<T>(answer: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const timer = this.#clock.after(this.#timeoutMs, () => {
        reject(new HostError("ERR_TIMEOUT", `Cannot reach the desk's store: no answer within ${this.#timeoutMs} ms`));
      });
      answer.finally(() => timer.cancel()).then(resolve, reject);
    });
  }
}

function isId(requestId: string): boolean {
  return typeof requestId === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(requestId);
}
