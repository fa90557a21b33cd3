import { causeCode, HostError } from "../kernel/errors.ts";
import type { FileHandle } from "../kernel/runtime.ts";
import { writeAll } from "../store/small_files.ts";
import { checkBatch, fenced } from "./batch.ts";
import { eventJson } from "./encode.ts";
import type { HostEvent } from "./event.ts";
import type { DirectoryLock } from "./file_lock.ts";
import { FrameBlock } from "./frame.ts";
import type { Position } from "./segment.ts";
import type { StreamHead, StreamWriter, TornTail } from "./store.ts";

/** Most events that one commit writes; the next commit takes the rest. */
const MAX_COMMIT_EVENTS = 1024;

export interface FileWriterOptions {
  readonly stream: string;
  readonly file: FileHandle;
  readonly end: Position;
  readonly torn?: TornTail;
  /** Sync before acknowledging. */
  readonly isDurable: boolean;
  /** The right to write, asked for at each commit. */
  readonly lock: DirectoryLock;
  /** Told of each commit, before those who wait for it. */
  readonly onCommit: (end: Position) => void;
  readonly onClose: () => void;
}

type Step = "look" | "write" | "sync" | "check";
const TAKEN_OVER = "another owner has taken it over";

interface Waiting {
  readonly events: readonly HostEvent[];
  readonly resolve: () => void;
  readonly reject: (error: HostError) => void;
}

/**
 * Appends to one stream's file. Whatever waits while a commit is under way goes into the next one together: one write
 * and one sync for all.
 */
export class FileWriter implements StreamWriter {
  readonly head: StreamHead;
  readonly torn?: TornTail;
  readonly #options: FileWriterOptions;
  /** Where acknowledged records end. */
  #end: Position;
  /** `seq` of the last event that was taken, committed or not. */
  #taken: number;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  /** Why nothing is taken any more. */
  #refusal: HostError | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: FileWriterOptions) {
    this.#options = options;
    this.#end = options.end;
    this.#taken = options.end.seq;
    this.head = { seq: options.end.seq, epoch: options.end.epoch };
    if (options.torn !== undefined) this.torn = options.torn;
  }

  append(expectedSeq: number, events: readonly HostEvent[]): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#refusal !== undefined) return reject(this.#refusal);
      checkBatch(this.#options.stream, this.#taken, expectedSeq, events);
      if (events.length === 0) return resolve();
      this.#taken += events.length;
      this.#waiting.push({ events, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  close(): Promise<void> {
    const closed = new HostError(
      "ERR_CLOSED",
      `Cannot append to stream "${this.#options.stream}": its writer is closed`,
    );
    return this.#closing ??= this.#shut(closed, false);
  }

  /** Ends this writer because another one has the stream now. What waits is refused; what is being written is finished. */
  fence(): Promise<void> {
    const error = fenced(this.#options.stream, TAKEN_OVER);
    this.#refusal = error;
    return this.#closing ??= this.#shut(error, true);
  }

  async #shut(refusal: HostError, isHasty: boolean): Promise<void> {
    this.#refusal ??= refusal;
    if (isHasty) this.#rejectWaiting(refusal);
    await this.#running;
    try {
      await this.#options.file.close();
    } finally {
      this.#options.onClose();
    }
  }

  /** Commits until nothing waits. Never rejects: errors go to those who wait. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#nextBatch();
      const error = await this.#commit(batch);
      if (error === undefined) {
        for (const { resolve } of batch) resolve();
        continue;
      }
      for (const { reject } of batch) reject(error);
      // Those behind were numbered on from what has failed.
      this.#rejectWaiting(error);
      this.#taken = this.#end.seq;
    }
    this.#running = undefined;
  }

  #nextBatch(): Waiting[] {
    let count = 0;
    let events = 0;
    while (count < this.#waiting.length && events < MAX_COMMIT_EVENTS) events += this.#waiting[count++]!.events.length;
    return this.#waiting.splice(0, count);
  }

  #rejectWaiting(error: HostError): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { reject } of waiting) reject(error);
  }

  async #commit(batch: readonly Waiting[]): Promise<HostError | undefined> {
    const { file, isDurable, lock, onCommit, stream } = this.#options;
    const block = new FrameBlock(this.#end.crc);
    let last: HostEvent | undefined;
    for (const { events } of batch) {
      for (const event of events) block.add(eventJson(last = event));
    }
    let step: Step = "look";
    try {
      if (!await lock.heldLately()) return this.#refuse(fenced(stream, TAKEN_OVER));
      if ((await file.size()) > this.#end.offset) {
        // Somebody else has written behind our last record: a new owner, or one that had lost the stream and did not know
        // it yet. Nobody was told of what the latter wrote, and ours must not land behind it.
        if (!await lock.held()) return this.#refuse(fenced(stream, TAKEN_OVER));
        await file.truncate(this.#end.offset);
      }
      step = "write";
      await writeAll(file, block.bytes());
      step = "sync";
      if (isDurable) await file.sync();
      step = "check";
      // Two owners could have written the same numbers; only the one that still holds the lock may say that it has.
      if (!await lock.held()) return this.#refuse(fenced(stream, TAKEN_OVER));
    } catch (error) {
      return await this.#fail(step, error);
    }
    this.#end = { offset: this.#end.offset + block.length, seq: last!.seq, epoch: last!.epoch, crc: block.crc };
    onCommit(this.#end);
    return undefined;
  }

  /**
   * What a failed commit does to the writer. Where it could not even look whether the stream is still its own, nothing is
   * written, and the next commit looks again. A failed write is cut off and the writer goes on. After a failed sync nobody
   * knows what the device has, and after a failed check behind a write nobody knows whose file it is: both end the writer.
   */
  async #fail(step: Step, cause: unknown): Promise<HostError> {
    const { stream } = this.#options;
    const details = { cause, facts: { stream, ...(step === "look" ? { passing: true } : {}) } };
    const found = `the ${step} failed with ${causeCode(cause)}`;
    const isClean = step === "look" || (step !== "check" && await this.#cutBack());
    if (isClean && step !== "sync") {
      return new HostError("ERR_NOT_LOGGED", `Cannot append to stream "${stream}": ${found}`, details);
    }
    return this.#refuse(
      new HostError(
        "ERR_LOG_POISONED",
        `Cannot append to stream "${stream}": ${found}; open the stream again`,
        details,
      ),
    );
  }

  /** Cuts off what was not acknowledged, so that nobody reads it. False when that cannot be done. */
  async #cutBack(): Promise<boolean> {
    const { file, lock } = this.#options;
    try {
      if (!await lock.held()) return false;
      await file.truncate(this.#end.offset);
      return true;
    } catch {
      // The caller ends the writer; opening the stream again deals with the remains.
      return false;
    }
  }

  #refuse(error: HostError): HostError {
    this.#refusal = error;
    return error;
  }
}
