import { HostError } from "../kernel/errors.ts";
import { type Ids, randomIds } from "../kernel/ids.ts";
import {
  aFilledText,
  aFunction,
  type CheckedUse,
  checkOptions,
  having,
  type OptionRules,
  wholeFrom,
} from "../kernel/options.ts";
import type { Digest, FileHandle, FileSystem } from "../kernel/runtime.ts";
import { checkMediaType, checkSha256, closedStore, Quota, storageError } from "./artifact_rules.ts";
import type { ArtifactRef, ArtifactStore, ArtifactWriter } from "./artifacts.ts";
import { FileArtifactWriter } from "./file_artifact_writer.ts";
import { createFile, PRIVATE_DIRECTORY, PRIVATE_FILE, removeIfThere, unlessMissing } from "./small_files.ts";

export interface FileArtifactsOptions {
  readonly files: FileSystem;
  /** Where they are kept; made when the first one is written. */
  readonly directory: string;
  /** SHA-256 in steps. Without it an artifact is hashed whole, and one takes at most 64 MiB. */
  readonly sha256?: () => Digest;
  /** Names what is being written. Default: random. */
  readonly ids?: Ids;
  /** Most bytes of all artifacts together. Default 16 GiB. */
  readonly maxTotalBytes?: number;
}

/**
 * Artifacts as files. The content of `abcdef…` is in `ab/cdef…`, byte for byte, so that `sha256sum` of the file gives
 * its name; its media type is beside it in `ab/cdef….type`, unless that is `application/octet-stream`. The first media
 * type that a content was stored with stays. Files are 0600, directories 0700. What is being written lies in
 * `unfinished/`, where a crash may leave it; it counts towards the quota until somebody removes it.
 *
 * A full disk is `ERR_TOO_LARGE`; other errors of the file system come through as they are. Throws `ERR_CONFIG` for
 * options that it does not know.
 */
export function fileArtifacts(options: FileArtifactsOptions): ArtifactStore {
  checkOptions(options, rules, USE);
  return new FileArtifacts(options);
}

const rules: OptionRules<FileArtifactsOptions> = Object.freeze({
  files: having("the files of a runtime", "open", "rename", "list"),
  directory: aFilledText,
  sha256: aFunction,
  ids: having("a source of ids", "next"),
  maxTotalBytes: wholeFrom(1),
});
const USE: CheckedUse = Object.freeze({
  action: "keep artifacts in files",
  code: "ERR_CONFIG",
  required: ["files", "directory"],
});

const DEFAULT_TOTAL_BYTES = 16 * 1024 * 1024 * 1024;
/** Most bytes of one artifact. */
const MAX_BYTES = 4 * 1024 * 1024 * 1024;
/** Most bytes that are hashed whole. */
const MAX_WHOLE_BYTES = 64 * 1024 * 1024;
/** Most bytes of one read without a length. */
const MAX_READ_BYTES = 64 * 1024 * 1024;
const DEFAULT_MEDIA_TYPE = "application/octet-stream";
const UNFINISHED = "unfinished";
const TYPE = ".type";

class FileArtifacts implements ArtifactStore {
  readonly maxTotalBytes: number;
  readonly #options: FileArtifactsOptions;
  readonly #files: FileSystem;
  readonly #writers = new Set<FileArtifactWriter>();
  #quota: Promise<Quota> | undefined;
  /** Commits put their files in place one after the other, so that equal ones meet. */
  #placing: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: FileArtifactsOptions) {
    this.#options = options;
    this.#files = options.files;
    this.maxTotalBytes = options.maxTotalBytes ?? DEFAULT_TOTAL_BYTES;
  }

  async create({ mediaType, maxBytes = MAX_BYTES }: {
    readonly mediaType: string;
    readonly maxBytes?: number;
  }): Promise<ArtifactWriter> {
    this.#checkOpen();
    checkMediaType(mediaType);
    const { directory, ids = randomIds, sha256 } = this.#options;
    const quota = await (this.#quota ??= this.#measure());
    const path = this.#files.join(directory, UNFINISHED, ids.next("part"));
    const file = await this.#files.open(path, "create", PRIVATE_FILE).catch((error: unknown) => {
      throw storageError(error);
    });
    const writer: FileArtifactWriter = new FileArtifactWriter({
      file,
      quota,
      maxBytes: Math.min(maxBytes, sha256 === undefined ? MAX_WHOLE_BYTES : MAX_BYTES),
      ...(sha256 === undefined ? undefined : { digest: sha256() }),
      remove: () => removeIfThere(this.#files, path),
      place: (hash, bytes) => this.#place(path, { sha256: hash, bytes, mediaType }, quota),
      onEnd: () => this.#writers.delete(writer),
    });
    this.#writers.add(writer);
    if (!this.#isClosed) return writer;
    await writer.abort();
    throw closedStore();
  }

  async stat(sha256: string): Promise<ArtifactRef | undefined> {
    this.#checkOpen();
    checkSha256(sha256);
    return await this.#withFile(sha256, async (file) => this.#refOf(sha256, await file.size()));
  }

  async read(
    sha256: string,
    { offset = 0, length }: { readonly offset?: number; readonly length?: number } = {},
  ): Promise<Uint8Array | undefined> {
    this.#checkOpen();
    checkSha256(sha256);
    return await this.#withFile(sha256, async (file) => {
      const left = Math.max(0, await file.size() - offset);
      const wanted = Math.min(length ?? left, left);
      if (length === undefined && wanted > MAX_READ_BYTES) {
        throw new HostError(
          "ERR_TOO_LARGE",
          `Cannot read an artifact whole: it has ${wanted} bytes, at most ${MAX_READ_BYTES} are read without a length`,
          { facts: { bytes: wanted, maxBytes: MAX_READ_BYTES } },
        );
      }
      return await readFully(file, offset, wanted);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#writers].map((writer) => writer.abort()));
    await this.#placing;
  }

  /** Makes the directory and counts what is in it. */
  async #measure(): Promise<Quota> {
    try {
      const { directory } = this.#options;
      await this.#files.makeDirectory(this.#files.join(directory, UNFINISHED), PRIVATE_DIRECTORY);
      let bytes = 0;
      for (const name of await this.#files.list(directory)) {
        if (name !== UNFINISHED && !/^[0-9a-f]{2}$/.test(name)) continue;
        const folder = this.#files.join(directory, name);
        for (const file of await this.#files.list(folder)) {
          if (!file.endsWith(TYPE)) bytes += await this.#sizeOf(this.#files.join(folder, file));
        }
      }
      return new Quota(this.maxTotalBytes, bytes);
    } catch (error) {
      this.#quota = undefined;
      throw error;
    }
  }

  async #sizeOf(path: string): Promise<number> {
    // Another process may have finished and moved it meanwhile.
    const file = await unlessMissing(this.#files.open(path, "read"));
    if (file === undefined) return 0;
    try {
      return await file.size();
    } finally {
      await file.close();
    }
  }

  #place(from: string, ref: ArtifactRef, quota: Quota): Promise<ArtifactRef> {
    const placed = this.#placing.then(() => this.#placeNow(from, ref, quota));
    this.#placing = placed.catch(() => {/* told to the caller that waits for `placed` */});
    return placed;
  }

  async #placeNow(from: string, ref: ArtifactRef, quota: Quota): Promise<ArtifactRef> {
    const known = await this.#withFile(ref.sha256, () => this.#refOf(ref.sha256, ref.bytes));
    if (known !== undefined) {
      await removeIfThere(this.#files, from);
      quota.give(ref.bytes);
      return known;
    }
    const { folder, path } = this.#pathOf(ref.sha256);
    await this.#files.makeDirectory(folder, PRIVATE_DIRECTORY);
    let isVisible = false;
    try {
      // The type goes first: content that is visible must have it. One that a crash left may be another's.
      await removeIfThere(this.#files, path + TYPE);
      if (ref.mediaType !== DEFAULT_MEDIA_TYPE) {
        await createFile(this.#files, path + TYPE, new TextEncoder().encode(ref.mediaType));
      }
      await this.#files.rename(from, path);
      isVisible = true;
      await this.#files.syncDirectory(folder);
      await this.#files.syncDirectory(this.#options.directory);
    } catch (error) {
      // Not committed, so it must not be there.
      if (isVisible) await this.#files.rename(path, from);
      await removeIfThere(this.#files, path + TYPE);
      throw error;
    }
    return Object.freeze(ref);
  }

  async #refOf(sha256: string, bytes: number): Promise<ArtifactRef> {
    const mediaType = await unlessMissing(this.#files.readText(this.#pathOf(sha256).path + TYPE));
    return { sha256, bytes, mediaType: mediaType ?? DEFAULT_MEDIA_TYPE };
  }

  async #withFile<T>(sha256: string, use: (file: FileHandle) => Promise<T>): Promise<T | undefined> {
    const file = await unlessMissing(this.#files.open(this.#pathOf(sha256).path, "read"));
    if (file === undefined) return undefined;
    try {
      return await use(file);
    } finally {
      await file.close();
    }
  }

  #pathOf(sha256: string): { readonly folder: string; readonly path: string } {
    const folder = this.#files.join(this.#options.directory, sha256.slice(0, 2));
    return { folder, path: this.#files.join(folder, sha256.slice(2)) };
  }

  #checkOpen(): void {
    if (this.#isClosed) throw closedStore();
  }
}

async function readFully(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const first = await file.read(offset, length);
  if (first.length === length || first.length === 0) return first;
  const whole = new Uint8Array(length);
  whole.set(first);
  let at = first.length;
  while (at < length) {
    const more = await file.read(offset + at, length - at);
    if (more.length === 0) break;
    whole.set(more, at);
    at += more.length;
  }
  return whole.subarray(0, at);
}
