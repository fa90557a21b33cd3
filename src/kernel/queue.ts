import { HostError } from "./errors.ts";

/**
 * A bounded first-in first-out queue that one reader drains as an async iterator. Pushing never waits: the writer
 * must not be slowed by its readers, so a full queue ends the reader with `ERR_TOO_LARGE` instead.
 */
export class BoundedQueue<T> implements AsyncIterable<T> {
  readonly #capacity: number;
  readonly #onClose: (() => void) | undefined;
  #items: T[] = [];
  #head = 0;
  #waiting: { resolve: (result: IteratorResult<T>) => void; reject: (error: unknown) => void } | undefined;
  #ended = false;
  #error: unknown;

  constructor(capacity: number, onClose?: () => void) {
    this.#capacity = capacity;
    this.#onClose = onClose;
  }

  /** Items that wait to be read. */
  get size(): number {
    return this.#items.length - this.#head;
  }

  /** False once the queue has ended; the item was not taken. */
  push(item: T): boolean {
    if (this.#ended) return false;
    if (this.#waiting !== undefined) {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      waiting.resolve({ value: item, done: false });
      return true;
    }
    if (this.size >= this.#capacity) {
      this.end(
        new HostError(
          "ERR_TOO_LARGE",
          `Cannot queue for a slow reader: ${this.size} items wait, at most ${this.#capacity} may`,
        ),
      );
      return false;
    }
    this.#items.push(item);
    return true;
  }

  /** No more items. Those that wait are still read; then the reader sees the end, or the error. */
  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#onClose?.();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting === undefined) return;
    if (error === undefined) waiting.resolve({ value: undefined, done: true });
    else waiting.reject(error);
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#head < this.#items.length) {
      const value = this.#items[this.#head]!;
      this.#items[this.#head++] = undefined as T;
      if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
        this.#items = this.#items.slice(this.#head);
        this.#head = 0;
      }
      return Promise.resolve({ value, done: false });
    }
    if (this.#ended) {
      const error = this.#error;
      this.#error = undefined;
      return error === undefined ? Promise.resolve({ value: undefined, done: true }) : Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    return {
      next: () => this.next(),
      return: () => {
        this.#items = [];
        this.#head = 0;
        this.end();
        return Promise.resolve({ value: undefined, done: true });
      },
    };
  }
}
