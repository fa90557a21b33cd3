/**
 * So much of a message, within the time that its request may be silent, is a sign of life. Of less it is none: a server
 * that lets it drip could keep a request waiting.
 */
export const SIGN_OF_LIFE_BYTES: number = 64 << 10;

/** Counts what arrives, and tells of each further sign of life of the message that is under way. */
export class Arrival {
  readonly #onSign: () => void;
  #bytes = 0;

  constructor(onSign: () => void) {
    this.#onSign = onSign;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes < SIGN_OF_LIFE_BYTES) return;
    this.#bytes = 0;
    this.#onSign();
  }

  /** The message is complete. */
  end(): void {
    this.#bytes = 0;
  }
}
