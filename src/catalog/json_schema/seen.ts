import type { Run } from "./run.ts";

/** The members and items of one value that some schema has had a word about, for the `unevaluated` keywords. */
export class Seen {
  #hasAll = false;
  readonly #keys = new Set<string | number>();

  add(key: string | number): void {
    this.#keys.add(key);
  }

  /** What was seen is not known, and must not be held against any. */
  addAll(): void {
    this.#hasAll = true;
  }

  has(key: string | number): boolean {
    return this.#hasAll || this.#keys.has(key);
  }

  /** Adds what another schema has seen of the same value. */
  take(other: Seen, run: Run): void {
    this.#hasAll ||= other.#hasAll;
    run.spend(other.#keys.size);
    for (const key of other.#keys) this.#keys.add(key);
  }
}
