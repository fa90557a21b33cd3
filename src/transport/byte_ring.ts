const LF = 10;
const EMPTY: Uint8Array = new Uint8Array(0);

/** Keeps the last bytes of a stream, in a buffer that is made with the first of them and stays as it is. */
export class ByteRing {
  readonly #capacity: number;
  #buffer = EMPTY;
  #total = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Bytes ever pushed. */
  get total(): number {
    return this.#total;
  }

  /** Takes the next bytes; they may be reused by the caller afterwards. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    if (this.#buffer === EMPTY) this.#buffer = new Uint8Array(this.#capacity);
    this.#total += chunk.length;
    const kept = chunk.length > this.#capacity ? chunk.subarray(chunk.length - this.#capacity) : chunk;
    const at = (this.#total - kept.length) % this.#capacity;
    const room = this.#capacity - at;
    this.#buffer.set(kept.subarray(0, room), at);
    this.#buffer.set(kept.subarray(room));
  }

  /** The last `maxBytes` as text, from the first whole line when the beginning was lost; says how much was. */
  tail(maxBytes: number): string {
    let bytes = this.#last(Math.min(this.#total, this.#capacity, maxBytes));
    if (bytes.length < this.#total) {
      const line = bytes.indexOf(LF) + 1;
      if (line < bytes.length) bytes = bytes.subarray(line);
    }
    const lost = this.#total - bytes.length;
    const text = new TextDecoder().decode(bytes).trimEnd();
    return lost === 0 ? text : `[${lost} earlier bytes dropped]\n${text}`;
  }

  #last(bytes: number): Uint8Array {
    const from = (this.#total - bytes) % this.#capacity;
    const whole = new Uint8Array(bytes);
    whole.set(this.#buffer.subarray(from, from + bytes));
    const rest = bytes - (this.#capacity - from);
    if (rest > 0) whole.set(this.#buffer.subarray(0, rest), bytes - rest);
    return whole;
  }
}
