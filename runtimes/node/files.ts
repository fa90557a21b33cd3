import { mkdir, open, readdir, readFile, rename, stat, unlink } from "node:fs/promises";
import type { FileHandle as NodeFileHandle } from "node:fs/promises";
import { dirname, sep } from "node:path";
import process from "node:process";
import type { FileHandle, FileSystem } from "../../src/kernel/runtime.ts";

/** `a` makes every write land at the end, whatever was read or truncated before. */
const FLAGS = Object.freeze({ read: "r", append: "a+", create: "ax+" });

/** The file system over `node:fs/promises`; serves Node, Bun and Deno alike. */
export const nodeFiles: FileSystem = Object.freeze({
  makeDirectory: (path: string, options: { readonly mode?: number } = {}): Promise<void> =>
    makeDirectory(path, options),
  list: (path: string): Promise<string[]> => readdir(path),
  readText: (path: string): Promise<string> => readFile(path, "utf8"),
  async open(
    path: string,
    mode: "read" | "append" | "create",
    options: { readonly mode?: number } = {},
  ): Promise<FileHandle> {
    return openHandle(await open(path, FLAGS[mode], options.mode));
  },
  rename: (from: string, to: string): Promise<void> => rename(from, to),
  remove: (path: string): Promise<void> => unlink(path),
  async syncDirectory(path: string): Promise<void> {
    let directory: NodeFileHandle | undefined;
    try {
      directory = await open(path, "r");
      await directory.sync();
    } catch (error) {
      if (!isNoSync((error as { code?: unknown }).code)) throw error;
    } finally {
      await directory?.close();
    }
  },
  join(...parts: string[]): string {
    let path = "";
    for (const part of parts) path += path === "" || path.endsWith(sep) ? part : sep + part;
    return path;
  },
});

function openHandle(file: NodeFileHandle): FileHandle {
  return {
    async read(offset: number, length: number): Promise<Uint8Array> {
      const bytes = new Uint8Array(length);
      let filled = 0;
      while (filled < length) {
        const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return filled === length ? bytes : bytes.subarray(0, filled);
    },
    async write(bytes: Uint8Array): Promise<number> {
      return (await file.write(bytes)).bytesWritten;
    },
    truncate: (length: number): Promise<void> => file.truncate(length),
    sync: (): Promise<void> => file.datasync(),
    size: async (): Promise<number> => (await file.stat()).size,
    close: (): Promise<void> => file.close(),
  };
}

/** Some file systems cannot sync a directory (EINVAL, ENOTSUP); Windows does not even open one. */
function isNoSync(code: unknown): boolean {
  if (code === "EINVAL" || code === "ENOTSUP") return true;
  return process.platform === "win32" && (code === "EISDIR" || code === "EPERM" || code === "EACCES");
}

/**
 * Makes a directory and those above it, step by step: the recursive option of Node (20.20) never ends where a directory
 * that is there answers that it is not, as in /proc.
 */
async function makeDirectory(path: string, options: { readonly mode?: number }): Promise<void> {
  try {
    await mkdir(path, options);
  } catch (error) {
    const parent = dirname(path);
    if ((error as { code?: unknown }).code !== "ENOENT" || parent === path) {
      if (await isDirectory(path)) return;
      throw error;
    }
    await makeDirectory(parent, options);
    try {
      await mkdir(path, options);
    } catch (again) {
      // Somebody else may have made it meanwhile.
      if (!await isDirectory(path)) throw again;
    }
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    // What cannot be looked at is not there for us; the error of making it says more.
    return false;
  }
}
