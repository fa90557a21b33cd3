import type { Clock, Timer } from "../kernel/clock.ts";

/** How long an exchange may go on after its answer. Most end at once; reading their end keeps the connection for reuse. */
const LINGER_MS = 1000;
/** How long a message may be under way that nobody waits for. */
const UNAWAITED_MS = 30_000;
/** Messages under way at once that nobody waits for: a runtime may have only some hundreds for all servers. */
export const MAX_UNAWAITED = 32;

/** One message under way over HTTP, and what is known about its execution so far. */
export interface Attempt {
  /** Closing one response stream must not touch another, so each has its own. */
  readonly controller: AbortController;
  /** A byte of it may have left. */
  sent: boolean;
  /** The server has proved that it did not execute what was sent so far. */
  refused: boolean;
  /** Its `authorization`. */
  shown?: string | undefined;
  /** The session that it was sent in. */
  session?: string | undefined;
  /** Nothing more is read of it, though its request may still wait. */
  isRead?: boolean;
  /** Gives it up; set where nobody waits for it. */
  timer?: Timer;
}

/** Requests that wait for their answer, and exchanges that nobody waits for, which are given up in time. */
export class HttpRequests {
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Attempt>();
  readonly #background = new Set<Attempt>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins an exchange; without an id nobody waits for it. */
  open(id: number | undefined): Attempt {
    const attempt: Attempt = { controller: new AbortController(), sent: false, refused: false };
    if (id === undefined) this.#leave(attempt, UNAWAITED_MS);
    else this.#waiting.set(id, attempt);
    return attempt;
  }

  isWaiting(id: number): boolean {
    return this.#waiting.has(id);
  }

  /** The request has its outcome; its response may still be read on. False when it had one before. */
  settle(id: number): boolean {
    const attempt = this.#waiting.get(id);
    if (attempt === undefined) return false;
    this.#waiting.delete(id);
    if (attempt.isRead !== true) this.#leave(attempt, LINGER_MS);
    return true;
  }

  /** Nothing more is read of this exchange. */
  finish(attempt: Attempt): void {
    attempt.isRead = true;
    attempt.timer?.cancel();
    this.#background.delete(attempt);
  }

  /** Requests that the server has refused so far. */
  refused(): readonly number[] {
    return [...this.#waiting].filter(([, { refused }]) => refused).map(([id]) => id);
  }

  abandon(id: number): void {
    const attempt = this.#waiting.get(id);
    this.#waiting.delete(id);
    attempt?.controller.abort();
  }

  /** Ends every exchange and returns the requests of which not a byte has left. */
  abortAll(): ReadonlySet<number> {
    const unsent = new Set<number>();
    for (const [id, { sent }] of this.#waiting) if (!sent) unsent.add(id);
    const attempts = [...this.#waiting.values(), ...this.#background];
    this.#waiting.clear();
    for (const attempt of attempts) this.#giveUp(attempt);
    return unsent;
  }

  #leave(attempt: Attempt, ms: number): void {
    this.#background.add(attempt);
    attempt.timer = this.#clock.after(ms, () => this.#giveUp(attempt));
  }

  #giveUp(attempt: Attempt): void {
    this.finish(attempt);
    attempt.controller.abort();
  }
}
