import type { Outgoing } from "./transport.ts";

/**
 * Writes messages to a pipe: at once while it is free; while a write is under way, and for the rest of the turn in which
 * it was made, what comes meanwhile is joined and leaves as one. Saves a system call a message when many are in flight, and costs nothing when one is.
 */
export class PipeWriter {
  readonly #write: (text: string) => void | Promise<void>;
  readonly #maxQueued: number;
  #queue = "";
  #queuedIds: number[] = [];
  #flushed: Promise<void> | undefined;
  #closed = false;

  /** `maxQueued` bounds the text that may wait, in UTF-16 units. */
  constructor(write: (text: string) => void | Promise<void>, maxQueued: number) {
    this.#write = write;
    this.#maxQueued = maxQueued;
  }

  /** False when the queue is full and the message was not taken. */
  send(message: Outgoing): boolean {
    if (this.#closed) return true;
    if (this.#flushed === undefined) {
      this.#begin(message.text + "\n");
      return true;
    }
    if (this.#queue.length + message.text.length > this.#maxQueued) return false;
    this.#queue += message.text + "\n";
    if (message.id !== undefined) this.#queuedIds.push(message.id);
    return true;
  }

  /** Resolves when what was sent so far has left, or never will; `undefined` when it has. */
  get flushed(): Promise<void> | undefined {
    // What waits leaves with the write that follows the one under way.
    return this.#queue === "" ? this.#flushed : this.#flushed?.then(() => this.#flushed);
  }

  /** Takes nothing more and returns the requests that never left. */
  close(): ReadonlySet<number> {
    this.#closed = true;
    const ids = new Set(this.#queuedIds);
    this.#queue = "";
    this.#queuedIds = [];
    return ids;
  }

  #begin(text: string): void {
    // A pipe that took the text at once stays busy for this turn: what else it brings leaves together.
    this.#flushed = (this.#write(text) ?? TAKEN).then(this.#next, this.#next);
  }

  readonly #next = (): void => {
    this.#flushed = undefined;
    if (this.#queue === "" || this.#closed) return;
    const queued = this.#queue;
    this.#queue = "";
    this.#queuedIds = [];
    this.#begin(queued);
  };
}

const TAKEN: Promise<void> = Promise.resolve();
