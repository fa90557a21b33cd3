import type { Clock } from "../kernel/clock.ts";
import { HostError, unsupported } from "../kernel/errors.ts";
import type { Ids } from "../kernel/ids.ts";
import { kindOf } from "../kernel/kind_of.ts";
import { checkOptions, oneOf, type OptionRules } from "../kernel/options.ts";
import type { FileSystem } from "../kernel/runtime.ts";
import { PRIVATE_DIRECTORY, unlessMissing } from "../store/small_files.ts";
import { locked, lockedDirectory } from "./batch.ts";
import type { HostEvent } from "./event.ts";
import { type DirectoryLock, lockEndsInMs, takeLock } from "./file_lock.ts";
import { openStreamFile, streamFile } from "./file_open.ts";
import { FileReader } from "./file_reader.ts";
import { FileWriter } from "./file_writer.ts";
import type { EventStore, LogFactory, StreamHead, StreamWriter } from "./store.ts";
import { fileNameToStream, streamToFileName } from "./stream_name.ts";

export interface FileLogOptions {
  /**
   * `durable` (default): an append is acknowledged once it is on the device. `none`: once the system has it; a power
   * cut may take the last seconds. A stream keeps the level it was created with.
   */
  readonly level?: "durable" | "none";
}

const rules: OptionRules<FileLogOptions> = Object.freeze({ level: oneOf("durable", "none") });

/**
 * A log in files under a directory, one stream a file, readable with ordinary tools. The directory belongs to one
 * process at a time: opening a stream takes its lock, which stays until the store is closed. After a crash it is free in
 * 30 s, or at once for a host with `takeOver: true`. Showing life takes a timer, so the process ends only when the store
 * is closed. Reading needs no lock. Throws
 * `ERR_CONFIG` without a directory and for options that it does not know.
 *
 * @example
 * ```ts
 * import { fileLog } from "portcullis";
 * const log = fileLog(".portcullis/log");
 * ```
 */
export function fileLog(directory: string, options: FileLogOptions = {}): LogFactory {
  const action = "keep the event log in files";
  if (typeof directory !== "string" || directory === "") {
    throw new HostError("ERR_CONFIG", `Cannot ${action}: found ${kindOf(directory)}, wanted the path of a directory`);
  }
  checkOptions(options, rules, { action, code: "ERR_CONFIG" });
  return {
    async open({ runtime, clock, ids }) {
      if (runtime.files === undefined) {
        throw unsupported(action, "this runtime has no disk; use memoryLog()");
      }
      return fileStore({ ...options, files: runtime.files, directory, clock, ids });
    },
  };
}

export interface FileStoreOptions extends FileLogOptions {
  readonly files: FileSystem;
  readonly directory: string;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** The store behind {@link fileLog}. Touches nothing before its first use. */
export function fileStore(options: FileStoreOptions): EventStore {
  return new FileStore(options);
}

/** Readers that are kept for their index; streams that are open here come on top. */
const MAX_READERS = 256;

class FileStore implements EventStore {
  readonly level: "durable" | "none";
  readonly #options: FileStoreOptions;
  readonly #directory: string;
  readonly #readers = new Map<string, FileReader>();
  readonly #writers = new Map<string, FileWriter>();
  /** Streams whose opening has not finished. */
  readonly #opening = new Set<string>();
  #lock: DirectoryLock | undefined;
  #isClosed = false;
  /** Whatever takes or gives back the lock, one after the other. */
  #locking: Promise<unknown> = Promise.resolve();

  constructor(options: FileStoreOptions) {
    this.#options = options;
    this.level = options.level ?? "durable";
    this.#directory = options.files.join(options.directory, "streams");
  }

  async open(stream: string, { takeOver = false }: { readonly takeOver?: boolean } = {}): Promise<StreamWriter> {
    this.#checkOpen();
    const directory = this.#directoryOf(stream);
    if (this.#opening.has(stream)) throw locked(stream);
    this.#opening.add(stream);
    try {
      const lock = await this.#acquire(stream, takeOver);
      const before = this.#writers.get(stream);
      if (before !== undefined && !takeOver) throw locked(stream);
      await before?.fence();
      return await this.#openWriter(stream, directory, lock);
    } finally {
      this.#opening.delete(stream);
    }
  }

  async read(
    stream: string,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<HostEvent[]> {
    this.#checkOpen();
    return await this.#readerOf(stream).read(after, limit);
  }

  async streams(): Promise<string[]> {
    this.#checkOpen();
    const names = await unlessMissing(this.#options.files.list(this.#directory)) ?? [];
    return names.map(fileNameToStream).filter((stream) => stream !== undefined).sort();
  }

  async head(stream: string): Promise<StreamHead | undefined> {
    this.#checkOpen();
    return await this.#readerOf(stream).head();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    try {
      await Promise.all([...this.#writers.values()].map((writer) => writer.close()));
    } finally {
      await this.#exclusively(async () => {
        const lock = this.#lock;
        this.#lock = undefined;
        await lock?.release();
      });
    }
  }

  async #openWriter(stream: string, directory: string, lock: DirectoryLock): Promise<FileWriter> {
    const { files } = this.#options;
    const opened = await openStreamFile({ files, directory, stream, level: this.level });
    const { file, end, places, torn } = opened;
    try {
      // A stream without events may be new, and its directory not yet durable.
      if (end.seq === 0) {
        await files.syncDirectory(this.#directory);
        await files.syncDirectory(this.#options.directory);
      }
      this.#checkOpen();
    } catch (error) {
      await file.close();
      throw error;
    }
    const reader = this.#readerOf(stream);
    reader.own(places, end);
    const writer: FileWriter = new FileWriter({
      stream,
      file,
      end,
      ...(torn === undefined ? undefined : { torn }),
      isDurable: this.level === "durable",
      lock,
      onCommit: (committed) => reader.acknowledge(committed),
      onClose: () => {
        reader.disown();
        if (this.#writers.get(stream) === writer) this.#writers.delete(stream);
      },
    });
    this.#writers.set(stream, writer);
    return writer;
  }

  #acquire(stream: string, takeOver: boolean): Promise<DirectoryLock> {
    return this.#exclusively(async () => {
      this.#checkOpen();
      if (this.#lock !== undefined && await this.#lock.held()) return this.#lock;
      const { files, directory, clock, ids } = this.#options;
      await files.makeDirectory(directory, PRIVATE_DIRECTORY);
      const lost = this.#lock;
      const lock = await takeLock({ files, directory, clock, ids, takeOver });
      if (lock === undefined) {
        // The refusal stands, whether or not it can be said for how long.
        const endsInMs = await lockEndsInMs({ files, directory, clock, ids }).catch(() => undefined);
        throw lockedDirectory(stream, directory, endsInMs);
      }
      this.#lock = lock;
      await lost?.release();
      return lock;
    });
  }

  #exclusively<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#locking.then(run);
    this.#locking = result.catch(() => {/* told to the caller that waits for `result` */});
    return result;
  }

  #readerOf(stream: string): FileReader {
    const known = this.#readers.get(stream);
    if (known !== undefined) return known;
    const { files } = this.#options;
    const reader = new FileReader(files, stream, streamFile(files, this.#directoryOf(stream)));
    this.#readers.set(stream, reader);
    if (this.#readers.size > MAX_READERS + this.#writers.size) {
      for (const name of this.#readers.keys()) {
        if (this.#writers.has(name) || name === stream) continue;
        this.#readers.delete(name);
        break;
      }
    }
    return reader;
  }

  #directoryOf(stream: string): string {
    return this.#options.files.join(this.#directory, streamToFileName(stream));
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new HostError("ERR_CLOSED", "Cannot use the event store: it is closed");
  }
}
