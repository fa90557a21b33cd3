/** Keeps the last bytes of a stream. */
export class ByteRing {
  readonly #capacity: number;
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #total = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Bytes ever pushed. */
  get total(): number {
    return this.#total;
  }

  push(chunk: Uint8Array): void {
    this.#total += chunk.length;
    const kept = (chunk.length > this.#capacity ? chunk.subarray(chunk.length - this.#capacity) : chunk).slice();
    this.#parts.push(kept);
    this.#bytes += kept.length;
    while (this.#bytes - this.#parts[0]!.length >= this.#capacity) this.#bytes -= this.#parts.shift()!.length;
    // A stream that drips would otherwise leave one object a byte.
    if (this.#parts.length > 256) this.#parts = [this.#join()];
  }

  /** The last `maxBytes` as text, from the first whole line when the beginning was lost; says how much was. */
  tail(maxBytes: number): string {
    const all = this.#join();
    const from = Math.max(0, all.length - maxBytes);
    let text = new TextDecoder().decode(all.subarray(from));
    const lost = this.#total - (all.length - from);
    if (lost > 0) {
      const line = text.indexOf("\n");
      if (line >= 0 && line < text.length - 1) text = text.slice(line + 1);
      text = `[${lost} earlier bytes dropped]\n${text}`;
    }
    return text.trimEnd();
  }

  #join(): Uint8Array {
    const whole = new Uint8Array(this.#bytes);
    let at = 0;
    for (const part of this.#parts) {
      whole.set(part, at);
      at += part.length;
    }
    return whole;
  }
}
