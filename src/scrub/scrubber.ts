/**
 * Takes secrets out of what others wrote. Everything that enters the log, a preview, an error text, an artifact or an
 * outcome passes one.
 *
 * What an implementation promises: deterministic for one instance (equal secrets give equal markers); idempotent,
 * `text(text(x))` equals `text(x)`; linear in the input; object keys are scrubbed like values; inputs are never changed.
 * There is no way to turn it off.
 */
export interface Scrubber {
  text(text: string): string;
  /** A JSON value; the very same value when it holds no secret, a changed copy otherwise. */
  value<T>(value: T): T;
  /** For text that arrives in pieces: a secret cut over two pieces is found. */
  stream(): TextScrub;
}

/** A scrub in progress. What `push` returns may be passed on; the rest is kept back until it is known to be clean. */
export interface TextScrub {
  push(text: string): string;
  end(): string;
}
