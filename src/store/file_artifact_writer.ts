import { toHex } from "../kernel/canonical.ts";
import type { Digest, FileHandle } from "../kernel/runtime.ts";
import { endedWriter, type Quota, storageError, tooLarge } from "./artifact_rules.ts";
import type { ArtifactRef, ArtifactWriter } from "./artifacts.ts";
import { writeAll } from "./small_files.ts";

export interface FileArtifactWriterOptions {
  readonly file: FileHandle;
  readonly quota: Quota;
  readonly maxBytes: number;
  /** Absent: the bytes are also kept in memory, and hashed at the end. */
  readonly digest?: Digest;
  /** Removes the unfinished file. */
  readonly remove: () => Promise<void>;
  /** Puts the finished file where its name says, and settles the quota when it was there already. */
  readonly place: (sha256: string, bytes: number) => Promise<ArtifactRef>;
  readonly onEnd: () => void;
}

/** Writes one artifact into its unfinished file. Writes that are not waited for are done in order. */
export class FileArtifactWriter implements ArtifactWriter {
  readonly #options: FileArtifactWriterOptions;
  readonly #kept: Uint8Array[] = [];
  #bytes = 0;
  #state: "open" | "failed" | "ended" = "open";
  /** The writes so far; never rejects. */
  #writing: Promise<void> = Promise.resolve();
  #error: unknown;

  constructor(options: FileArtifactWriterOptions) {
    this.#options = options;
  }

  write(bytes: Uint8Array): Promise<void> {
    const written = this.#writing.then(() => this.#write(bytes));
    this.#writing = written.catch((error: unknown) => {
      // Told to whoever waits for this write, and kept for `commit` in case nobody does.
      if (this.#state !== "open") return;
      this.#error = error;
      this.#state = "failed";
    });
    return written;
  }

  async commit(): Promise<ArtifactRef> {
    await this.#writing;
    if (this.#state === "failed") throw this.#error;
    if (this.#state === "ended") throw endedWriter();
    this.#state = "ended";
    const { file, quota, remove, place, onEnd } = this.#options;
    try {
      try {
        await file.sync();
      } finally {
        await file.close();
      }
      return await place(await this.#hash(), this.#bytes);
    } catch (error) {
      quota.give(this.#bytes);
      await remove().catch(() => {/* the first error is the one to tell */});
      throw storageError(error);
    } finally {
      onEnd();
    }
  }

  async abort(): Promise<void> {
    if (this.#state === "ended") return;
    this.#state = "ended";
    const { file, quota, remove, onEnd } = this.#options;
    try {
      await this.#writing;
      await file.close();
      await remove();
    } catch {
      // Nobody can act on a file that cannot be removed; it goes on counting towards the quota at the next start.
    } finally {
      quota.give(this.#bytes);
      onEnd();
    }
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (this.#state === "failed") throw this.#error;
    if (this.#state === "ended") throw endedWriter();
    const { file, quota, digest, maxBytes } = this.#options;
    const total = this.#bytes + bytes.length;
    if (total > maxBytes) throw tooLarge("artifact", total, maxBytes);
    quota.take(bytes.length);
    this.#bytes = total;
    if (digest === undefined) this.#kept.push(bytes.slice());
    else digest.update(bytes);
    try {
      await writeAll(file, bytes);
    } catch (error) {
      throw storageError(error);
    }
  }

  async #hash(): Promise<string> {
    const { digest } = this.#options;
    if (digest !== undefined) return digest.hex();
    const whole = new Uint8Array(this.#bytes);
    let at = 0;
    for (const chunk of this.#kept.splice(0)) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", whole)));
  }
}
