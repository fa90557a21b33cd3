/** As many parts are joined into one at a time: neither a join a part nor an object a part for ever. */
const JOIN_AT = 1024;

/** A text under way that arrives in parts. Costs linear time, and memory in proportion to its length. */
export class TextParts {
  readonly #separator: string;
  #parts: string[] = [];
  /** Leading entries of `#parts` that are joins themselves. */
  #joined = 0;
  #length = 0;

  constructor(separator = "") {
    this.#separator = separator;
  }

  /** True until the first part, which may itself be empty. */
  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  /** Of the whole text, separators included, in UTF-16 units. */
  get length(): number {
    return this.#length;
  }

  push(part: string): void {
    this.#length += part.length + (this.#parts.length === 0 ? 0 : this.#separator.length);
    this.#parts.push(part);
    if (this.#parts.length - this.#joined < JOIN_AT) return;
    this.#parts.push(this.#parts.splice(this.#joined++).join(this.#separator));
  }

  /** The whole text; nothing is left of it here. */
  take(): string {
    const text = this.#parts.length === 1 ? this.#parts[0]! : this.#parts.join(this.#separator);
    this.clear();
    return text;
  }

  clear(): void {
    if (this.#parts.length > 0) this.#parts = [];
    this.#joined = 0;
    this.#length = 0;
  }
}
