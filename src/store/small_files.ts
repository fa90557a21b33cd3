import { causeCode, HostError } from "../kernel/errors.ts";
import type { FileHandle, FileSystem } from "../kernel/runtime.ts";

/** Modes of what we keep: for the user alone. */
export const PRIVATE_FILE: { readonly mode: number } = Object.freeze({ mode: 0o600 });
export const PRIVATE_DIRECTORY: { readonly mode: number } = Object.freeze({ mode: 0o700 });

/** Writes all of it, however few bytes the system takes at a time. */
export async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const written = await file.write(at === 0 ? bytes : bytes.subarray(at));
    if (written <= 0) {
      throw new HostError(
        "ERR_TOO_LARGE",
        `Cannot write to a file: it took ${at} of ${bytes.length} bytes and no more`,
      );
    }
    at += written;
  }
}

/** Creates a file with the given content and syncs it, or leaves none. Rejects with `EEXIST` when the path is taken. */
export async function createFile(files: FileSystem, path: string, bytes: Uint8Array): Promise<void> {
  const file = await files.open(path, "create", PRIVATE_FILE);
  try {
    await writeAll(file, bytes);
    await file.sync();
  } catch (error) {
    await removeIfThere(files, path).catch(() => {/* the first error is the one to tell */});
    throw error;
  } finally {
    await file.close();
  }
}

export async function removeIfThere(files: FileSystem, path: string): Promise<void> {
  await unlessMissing(files.remove(path));
}

/** The value, or `undefined` when the path does not exist. */
export async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (causeCode(error) === "ENOENT") return undefined;
    throw error;
  }
}
