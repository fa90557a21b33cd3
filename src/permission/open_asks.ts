import type { Clock, Timer } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";
import type { DeskAsk, DeskDecision } from "./desk_record.ts";

/** The longest delay that every runtime's timers hold; a later expiry is waited for in steps. */
const MAX_DELAY_MS = 2_147_483_647;

/** An ask that this process watches. */
export interface OpenAsk {
  readonly ask: DeskAsk;
  /** Never rejects. */
  readonly decided: Promise<DeskDecision>;
  /** Somebody in this process wants to know. */
  isWaitedFor: boolean;
}

interface Watched extends OpenAsk {
  readonly tell: (decision: DeskDecision) => void;
  timer: Timer | undefined;
}

/** The asks of one process that are not decided yet, with the timers of their expiry. */
export class OpenAsks {
  readonly #clock: Clock;
  readonly #onExpiry: (requestId: string) => void;
  readonly #byId = new Map<string, Watched>();
  readonly #bySession = new Map<string, number>();

  constructor(clock: Clock, onExpiry: (requestId: string) => void) {
    this.#clock = clock;
    this.#onExpiry = onExpiry;
  }

  get size(): number {
    return this.#byId.size;
  }

  ids(): string[] {
    return [...this.#byId.keys()];
  }

  ofSession(session: string): number {
    return this.#bySession.get(session) ?? 0;
  }

  get(requestId: string): OpenAsk | undefined {
    return this.#byId.get(requestId);
  }

  /** Begins to watch an ask. Throws `ERR_INVALID_ARGUMENTS` when one with its id is watched. */
  add(ask: DeskAsk): OpenAsk {
    if (this.#byId.has(ask.requestId)) {
      throw new HostError("ERR_INVALID_ARGUMENTS", "Cannot watch an ask: its id is taken");
    }
    let tell!: (decision: DeskDecision) => void;
    const decided = new Promise<DeskDecision>((resolve) => tell = resolve);
    const watched: Watched = { ask, decided, tell, timer: undefined, isWaitedFor: false };
    this.#byId.set(ask.requestId, watched);
    this.#bySession.set(ask.session, this.ofSession(ask.session) + 1);
    this.#awaitExpiry(watched);
    return watched;
  }

  /** Lets go of an ask; with a decision, everybody who waits for it is told. */
  remove(requestId: string, decision?: DeskDecision): OpenAsk | undefined {
    const watched = this.#byId.get(requestId);
    if (watched === undefined) return undefined;
    this.#byId.delete(requestId);
    watched.timer?.cancel();
    const { session } = watched.ask;
    const others = this.ofSession(session) - 1;
    if (others > 0) this.#bySession.set(session, others);
    else this.#bySession.delete(session);
    if (decision !== undefined) watched.tell(decision);
    return watched;
  }

  #awaitExpiry(watched: Watched): void {
    const delayMs = Math.max(0, watched.ask.expiresAt - this.#clock.now());
    watched.timer = this.#clock.after(Math.min(delayMs, MAX_DELAY_MS), () => {
      if (this.#clock.now() < watched.ask.expiresAt) this.#awaitExpiry(watched);
      else this.#onExpiry(watched.ask.requestId);
    });
  }
}
