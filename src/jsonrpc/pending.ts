import type { Clock, Timer } from "../kernel/clock.ts";
import type { HostError, RemoteError } from "../kernel/errors.ts";
import type { Progress } from "./link.ts";
import type { AskAnswerer } from "./peer_asks.ts";
import type { Spill } from "./spill_sink.ts";

/** How one request ended at the wire. `resends` is there only when it was sent more than once. */
export type Settled =
  | {
    readonly ok: true;
    readonly result: unknown;
    readonly bytes: number;
    readonly resends?: number;
    /** Only for a request that takes them: each has to be closed or aborted. */
    readonly spills?: readonly Spill[];
  }
  | {
    readonly ok: false;
    readonly error: HostError | RemoteError;
    readonly sent: boolean;
    readonly refused: boolean;
    readonly resends?: number;
  };

/** A request in flight. */
export interface PendingRequest {
  readonly id: number;
  readonly method: string;
  readonly resolve: (settled: Settled) => void;
  readonly timeoutMs: number;
  hardDeadline: number;
  /** Infinite while its time stands still. */
  deadline: number;
  lastProgress: number;
  resends: number;
  readonly onProgress: ((progress: Progress) => void) | undefined;
  /** Its token holds until this fires, also after its answer. */
  readonly progressUntil: AbortSignal | undefined;
  readonly signal: AbortSignal | undefined;
  /** No cancellation notice goes out for it. */
  readonly quiet: boolean;
  /** Whoever made it wants the long strings that were put aside. */
  readonly takesSpills: boolean;
  /** Answers what the other end asks for its sake. Absent where it takes no asks. */
  readonly answerAsk: AskAnswerer | undefined;
  /** What was asked for its sake so far. */
  asks: number;
  /** What of it is not answered yet. */
  openAsks: number;
  /** Since when its time stands still, where it does. */
  heldAt: number;
}

/** Longest time between two looks at the table while requests wait. */
const TICK_MS = 250;

/**
 * Requests in flight by id, with one timer for all their deadlines: a timer a request costs more than the request on
 * some runtimes.
 */
export class PendingTable {
  readonly #clock: Clock;
  readonly #onExpired: (request: PendingRequest) => void;
  readonly #onLook: () => void;
  readonly #requests = new Map<number, PendingRequest>();
  #timer: Timer | undefined;
  #due = Infinity;

  /**
   * `onExpired` gets each request whose deadline has passed, already removed. `onLook` runs after each look: while
   * requests wait, and once more soon after the last.
   */
  constructor(clock: Clock, onExpired: (request: PendingRequest) => void, onLook: () => void) {
    this.#clock = clock;
    this.#onExpired = onExpired;
    this.#onLook = onLook;
  }

  get size(): number {
    return this.#requests.size;
  }

  get(id: number): PendingRequest | undefined {
    return this.#requests.get(id);
  }

  /** The one request that is meant, if there is exactly one. */
  only(isMeant: (request: PendingRequest) => boolean): PendingRequest | undefined {
    let found: PendingRequest | undefined;
    for (const request of this.#requests.values()) {
      if (!isMeant(request)) continue;
      if (found !== undefined) return undefined;
      found = request;
    }
    return found;
  }

  /** Something is asked for its sake: its time stands still until everything is answered. */
  hold(request: PendingRequest): void {
    if (request.openAsks++ > 0) return;
    request.heldAt = this.#clock.monotonic();
    request.deadline = Infinity;
  }

  /** One thing that was asked for its sake is answered. After the last its silence begins anew. */
  goOn(id: number): void {
    const request = this.#requests.get(id);
    if (request === undefined || --request.openAsks > 0) return;
    const now = this.#clock.monotonic();
    request.hardDeadline += now - request.heldAt;
    request.deadline = Math.min(now + request.timeoutMs, request.hardDeadline);
    if (request.deadline < this.#due) this.#arm(request.deadline);
  }

  /** Something was heard that ends the silence of one request, or of all. */
  renew(id: number | undefined): void {
    const now = this.#clock.monotonic();
    for (const request of id === undefined ? this.#requests.values() : [this.#requests.get(id)]) {
      if (request?.openAsks === 0) request.deadline = Math.min(now + request.timeoutMs, request.hardDeadline);
    }
  }

  add(request: PendingRequest): void {
    this.#requests.set(request.id, request);
    if (request.deadline < this.#due) this.#arm(request.deadline);
  }

  take(id: number): PendingRequest | undefined {
    const request = this.#requests.get(id);
    if (request !== undefined) this.#requests.delete(id);
    return request;
  }

  /** Removes and returns all. */
  drain(): PendingRequest[] {
    const all = [...this.#requests.values()];
    this.#requests.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#due = Infinity;
    return all;
  }

  #arm(deadline: number): void {
    this.#timer?.cancel();
    const now = this.#clock.monotonic();
    const delay = Math.min(TICK_MS, Math.max(0, deadline - now));
    this.#due = now + delay;
    this.#timer = this.#clock.after(delay, () => this.#look());
  }

  #look(): void {
    this.#timer = undefined;
    this.#due = Infinity;
    const now = this.#clock.monotonic();
    let nearest = Infinity;
    for (const request of this.#requests.values()) {
      if (request.deadline <= now) {
        this.#requests.delete(request.id);
        this.#onExpired(request);
      } else if (request.deadline < nearest) nearest = request.deadline;
    }
    if (this.#requests.size > 0 && nearest < this.#due) this.#arm(nearest);
    this.#onLook();
  }
}
