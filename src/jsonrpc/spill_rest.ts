/** The first size of the buffer. */
const FIRST = 16 << 10;

/** What of a message stays in memory: bytes that are appended, and taken back when a string turns out to be long. */
export class SpillRest {
  readonly #maxBytes: number;
  #bytes: Uint8Array = new Uint8Array(FIRST);
  #length = 0;

  /** `maxBytes` is what it will be asked for at most. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Bytes that it takes in memory. */
  get capacity(): number {
    return this.#bytes.length;
  }

  append(part: Uint8Array): void {
    const length = this.#length + part.length;
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(length, Math.min(2 * this.#bytes.length, this.#maxBytes)));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(part, this.#length);
    this.#length = length;
  }

  /** The byte at a place. */
  at(place: number): number {
    return this.#bytes[place]!;
  }

  view(from: number, to: number = this.#length): Uint8Array {
    return this.#bytes.subarray(from, to);
  }

  /** A copy of what stands from `from` on, which is taken back. */
  cut(from: number): Uint8Array {
    const part = this.#bytes.slice(from, this.#length);
    this.#length = from;
    return part;
  }

  /** Keeps the first `length` bytes and gives the memory of the others back. */
  shrink(length: number): void {
    const smaller = new Uint8Array(Math.max(FIRST, length));
    smaller.set(this.#bytes.subarray(0, length));
    this.#bytes = smaller;
    this.#length = length;
  }

  clear(): void {
    this.#bytes = new Uint8Array(0);
    this.#length = 0;
  }
}
