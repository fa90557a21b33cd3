import type { Clock, Timer } from "../kernel/clock.ts";
import { causeCode } from "../kernel/errors.ts";
import type { Ids } from "../kernel/ids.ts";
import type { FileSystem } from "../kernel/runtime.ts";
import { createFile, PRIVATE_FILE, removeIfThere, unlessMissing, writeAll } from "../store/small_files.ts";

const encoder = new TextEncoder();

/** How often an owner shows that it lives, and after how much silence it counts as gone. */
export const BEAT_MS = 10_000;
export const LEASE_MS = 30_000;
/** How long a process that was not paused may trust what it read about its lock. */
const RECENT_MS = 1_000;

export interface LockOptions {
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly directory: string;
}

/** The right to write in a directory, as far as files can give it. */
export interface DirectoryLock {
  /** Reads the lock file again; false once somebody else has taken it. Rejects when it cannot be read. */
  held(): Promise<boolean>;
  /** As {@link DirectoryLock.held}, but believes an answer of the last second. */
  heldLately(): Promise<boolean>;
  release(): Promise<void>;
}

/**
 * Takes the lock of a directory, or returns `undefined` while another owner lives.
 *
 * The file `lock` holds the owner's random token and is replaced only by whoever takes over. Beside it the owner
 * writes the time into `beat-<token>` every 10 s; after 30 s of silence, as after a crash, the lock is free. Two that
 * take over at once both replace the file: the later one has it, and the earlier one finds out from `held()`, which is why
 * every commit asks. A lock without a readable owner or time counts as held; `takeOver` is the way out.
 */
export async function takeLock(
  options: LockOptions & { readonly takeOver: boolean },
): Promise<DirectoryLock | undefined> {
  const { files, directory, ids, clock, takeOver } = options;
  const path = files.join(directory, "lock");
  const token = ids.next("lock");
  const beat = await startBeat(files, files.join(directory, beatName(token)), clock);
  const lock = new Lock(options, path, token, beat);
  try {
    if (await createLock(files, path, token)) return lock;
    const holder = await readHolder(files, path);
    const isFree = holder === undefined || (holder.token !== undefined && await isStale(options, holder.token));
    if (isFree || takeOver) {
      const next = files.join(directory, `lock-${token}`);
      await createFile(files, next, encoder.encode(token));
      await files.rename(next, path);
      await files.syncDirectory(directory);
      if (holder?.token !== undefined) await removeIfThere(files, files.join(directory, beatName(holder.token)));
      if (await lock.held()) return lock;
    }
    await beat.stop();
    return undefined;
  } catch (error) {
    await beat.stop();
    throw error;
  }
}

/** How long the lock holds yet if its owner shows no more sign of life, at most; `undefined` where that cannot be told. */
export async function lockEndsInMs({ files, directory, clock }: LockOptions): Promise<number | undefined> {
  const holder = await readHolder(files, files.join(directory, "lock"));
  if (holder?.token === undefined) return undefined;
  const text = await unlessMissing(files.readText(files.join(directory, beatName(holder.token))));
  if (text === undefined || !/^\d+$/.test(text)) return undefined;
  return Math.min(LEASE_MS, Math.max(0, Number(text) + LEASE_MS - clock.now()));
}

class Lock implements DirectoryLock {
  readonly #files: FileSystem;
  readonly #path: string;
  readonly #token: string;
  readonly #beat: Beat;
  readonly #clock: Clock;
  #heldAt = -Infinity;

  constructor({ files, clock }: LockOptions, path: string, token: string, beat: Beat) {
    this.#files = files;
    this.#clock = clock;
    this.#path = path;
    this.#token = token;
    this.#beat = beat;
  }

  async held(): Promise<boolean> {
    // The time before the question: the process may sleep between the answer and the next line.
    const askedAt = this.#clock.monotonic();
    const isHeld = (await readHolder(this.#files, this.#path))?.token === this.#token;
    this.#heldAt = isHeld ? askedAt : -Infinity;
    return isHeld;
  }

  async heldLately(): Promise<boolean> {
    return this.#clock.monotonic() - this.#heldAt < RECENT_MS || await this.held();
  }

  async release(): Promise<void> {
    try {
      if (await this.held()) await removeIfThere(this.#files, this.#path);
    } finally {
      await this.#beat.stop();
    }
  }
}

/** The sign of life of one owner: a small file that is written again and again. */
interface Beat {
  stop(): Promise<void>;
}

async function startBeat(files: FileSystem, path: string, clock: Clock): Promise<Beat> {
  const file = await files.open(path, "create", PRIVATE_FILE);
  let timer: Timer | undefined;
  let writing: Promise<void> = Promise.resolve();
  const write = async (): Promise<void> => {
    await file.truncate(0);
    await writeAll(file, encoder.encode(String(clock.now())));
  };
  const again = (): void => {
    timer = clock.after(BEAT_MS, () => {
      // A beat that cannot be written (a full disk) is tried again at the next one. Until then the lock may look
      // abandoned; whoever takes it is found out about at the next commit.
      writing = write().catch(() => {/* see above */});
      again();
    });
  };
  const stop = async (): Promise<void> => {
    timer?.cancel();
    await writing;
    await file.close();
    await removeIfThere(files, path);
  };
  try {
    await write();
  } catch (error) {
    await stop();
    throw error;
  }
  again();
  return { stop };
}

async function isStale({ files, directory, clock }: LockOptions, holder: string): Promise<boolean> {
  const text = await unlessMissing(files.readText(files.join(directory, beatName(holder))));
  // Without a beat nobody shows life: the owner stopped between removing its two files.
  if (text === undefined) return true;
  return /^\d+$/.test(text) && clock.now() - Number(text) > LEASE_MS;
}

async function createLock(files: FileSystem, path: string, token: string): Promise<boolean> {
  try {
    await createFile(files, path, encoder.encode(token));
    return true;
  } catch (error) {
    if (causeCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** What a lock file names: an owner's token, nobody (no file), or somebody unknown (it is being written). */
async function readHolder(files: FileSystem, path: string): Promise<{ readonly token?: string } | undefined> {
  const text = await unlessMissing(files.readText(path));
  if (text === undefined) return undefined;
  // The token becomes part of a path.
  return /^[\w-]{1,80}$/.test(text) ? { token: text } : {};
}

function beatName(token: string): string {
  return `beat-${token}`;
}
