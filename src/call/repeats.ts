import { canonicalJson } from "../kernel/canonical.ts";
import type { Clock } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";
import type { Outcome } from "./outcome.ts";

const KEEP_MS = 24 * 60 * 60_000;
const MAX_KEPT = 1000;
const MAX_KEPT_UNITS = 16 << 20;

interface Kept {
  /** What was called with what. */
  readonly key: string;
  readonly outcome: Promise<Outcome>;
  /** Set once it has ended. */
  endedAt: number | undefined;
  units: number;
}

/**
 * Calls by the ids that their callers gave them, so that a call that is made twice is executed once. Running calls are
 * all kept; of those that have ended the last 1,000, for 24 hours, within 16 Mi characters.
 */
export class Repeats {
  readonly #clock: Clock;
  readonly #calls = new Map<string, Kept>();
  #ended = 0;
  #units = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs a call, or joins the one that has the same id. Throws `ERR_INVALID_ARGUMENTS` when that one called something
   * else or with other arguments.
   */
  run(toolCallId: string, name: string, args: unknown, execute: () => Promise<Outcome>): Promise<Outcome> {
    this.#expire();
    const key = `${name} ${canonicalJson(args)}`;
    const known = this.#calls.get(toolCallId);
    if (known !== undefined) {
      if (known.key === key) return known.outcome;
      throw idTaken(toolCallId);
    }
    // Known before it begins: a gate of the user's may call the same under the same id at once.
    let begin!: (outcome: Promise<Outcome>) => void;
    const outcome = new Promise<Outcome>((resolve) => begin = resolve);
    const kept: Kept = { key, outcome, endedAt: undefined, units: 0 };
    this.#calls.set(toolCallId, kept);
    begin(execute());
    kept.outcome.then((outcome) => this.#end(toolCallId, kept, outcome), () => this.#calls.delete(toolCallId));
    return kept.outcome;
  }

  #end(toolCallId: string, kept: Kept, outcome: Outcome): void {
    // Ended last, so looked at last when the oldest have to go.
    this.#calls.delete(toolCallId);
    // What waits for a decision has not ended: the next call under this id asks for it again.
    if (outcome.status === "pending") return;
    kept.endedAt = this.#clock.monotonic();
    kept.units = kept.key.length + unitsOf(outcome);
    this.#ended++;
    this.#units += kept.units;
    this.#calls.set(toolCallId, kept);
    this.#expire();
  }

  #expire(): void {
    const oldest = this.#clock.monotonic() - KEEP_MS;
    for (const [id, kept] of this.#calls) {
      if (kept.endedAt === undefined) continue;
      if (kept.endedAt > oldest && this.#ended <= MAX_KEPT && this.#units <= MAX_KEPT_UNITS) return;
      this.#calls.delete(id);
      this.#ended--;
      this.#units -= kept.units;
    }
  }
}

/** The error for a call under an id that another one has. */
export function idTaken(toolCallId: string): HostError {
  return new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot call a tool under the id ${JSON.stringify(toolCallId.slice(0, 64))}: another call has it`,
  );
}

function unitsOf(outcome: Outcome): number {
  let units = outcome.output.length;
  for (const block of outcome.content) {
    for (const member of Object.values(block)) units += typeof member === "string" ? member.length : 64;
  }
  return units + (outcome.structuredContent === undefined ? 0 : outcome.output.length);
}
