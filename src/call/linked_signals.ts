import { whenAborted } from "../kernel/abort.ts";

interface Link {
  readonly controller: AbortController;
  readonly source: AbortSignal;
  /** Lets go of the source. */
  readonly leave: () => void;
  users: number;
}

/** Links that no call uses and that are kept, so that a signal which is used call after call is linked once. */
const MAX_UNUSED = 16;

/**
 * Joins the signals of callers with the end of their session: one controller a distinct signal, however many calls share
 * it. Making one a call, or joining two with `AbortSignal.any`, costs more than the call itself.
 */
export class LinkedSignals {
  readonly #session = new AbortController();
  readonly #links = new Map<AbortSignal, Link>();
  readonly #reasonOf: (source: AbortSignal) => unknown;
  #unused = 0;

  /** `reasonOf` gives the reason with which a linked signal fires when its source has. */
  constructor(reasonOf: (source: AbortSignal) => unknown) {
    this.#reasonOf = reasonOf;
    keepWatched(this.#session.signal);
  }

  /** A signal that fires with the caller's and with the session. Must be given back. */
  take(source: AbortSignal | undefined): AbortSignal {
    if (source === undefined) return this.#session.signal;
    const link = this.#links.get(source) ?? this.#link(source);
    if (link.users++ === 0) this.#unused--;
    return link.controller.signal;
  }

  giveBack(source: AbortSignal | undefined): void {
    const link = source === undefined ? undefined : this.#links.get(source);
    if (link === undefined || --link.users > 0) return;
    if (++this.#unused <= MAX_UNUSED && !link.source.aborted) return;
    this.#drop(link);
  }

  /** The session ends: all signals fire with `reason`. */
  end(reason: unknown): void {
    this.#session.abort(reason);
    for (const link of this.#links.values()) {
      link.leave();
      link.controller.abort(reason);
    }
    this.#links.clear();
    this.#unused = 0;
  }

  #link(source: AbortSignal): Link {
    const controller = new AbortController();
    keepWatched(controller.signal);
    const onAbort = (): void => controller.abort(this.#reasonOf(source));
    if (this.#session.signal.aborted) controller.abort(this.#session.signal.reason);
    else if (source.aborted) onAbort();
    const link: Link = { controller, source, leave: whenAborted(source, onAbort), users: 0 };
    this.#links.set(source, link);
    this.#unused++;
    return link;
  }

  #drop(link: Link): void {
    link.leave();
    this.#links.delete(link.source);
    this.#unused--;
  }
}

/** A signal of ours keeps its one listener for its life, so that no call that waits for it adds and removes one. */
function keepWatched(signal: AbortSignal): void {
  whenAborted(signal, () => {/* it is there to stay */});
}
