import type { FileHandle, FileSystem, Runtime } from "../../src/kernel/runtime.ts";
import { assert, assertEquals, assertRejects, type ContractCase } from "./contract.ts";
import type { RuntimeHelpers } from "./runtime.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

async function writeAll(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}

async function using<T>(opening: Promise<FileHandle>, use: (file: FileHandle) => Promise<T>): Promise<T> {
  const file = await opening;
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** The part of the runtime contract about files. */
export function runtimeFileCases(makeRuntime: () => Runtime, helpers: RuntimeHelpers): ContractCase[] {
  const inDirectory = (name: string, run: (files: FileSystem, directory: string) => Promise<void>): ContractCase => ({
    name,
    run: async () => run(makeRuntime().files!, await helpers.makeDirectory()),
  });
  const create = (files: FileSystem, path: string, text: string): Promise<void> =>
    using(files.open(path, "create"), (file) => writeAll(file, bytesOf(text)));

  return [
    inDirectory("files create a new file once and refuse an existing one", async (files, directory) => {
      const path = files.join(directory, "once");
      await create(files, path, "kept");
      await assertRejects(() => files.open(path, "create"), "EEXIST");
      assertEquals(await files.readText(path), "kept");
    }),
    inDirectory("files append at the end and create what is missing", async (files, directory) => {
      const path = files.join(directory, "log");
      for (const text of ["one ", "two ", "žluť"]) {
        await using(files.open(path, "append"), (file) => writeAll(file, bytesOf(text)));
      }
      assertEquals(await files.readText(path), "one two žluť");
    }),
    inDirectory("files read at an offset, fewer at the end and none past it", async (files, directory) => {
      const path = files.join(directory, "ten");
      await create(files, path, "0123456789");
      await using(files.open(path, "read"), async (file) => {
        assertEquals(await file.size(), 10);
        assertEquals(await file.read(3, 4), bytesOf("3456"));
        assertEquals(await file.read(8, 100), bytesOf("89"));
        assertEquals(await file.read(0, 10), bytesOf("0123456789"));
        assertEquals(await file.read(10, 5), new Uint8Array(0));
        assertEquals(await file.read(1_000, 5), new Uint8Array(0));
        assertEquals(await file.read(0, 0), new Uint8Array(0));
      });
    }),
    inDirectory("files write at the end after a read and after a truncation", async (files, directory) => {
      for (const mode of ["create", "append"] as const) {
        const path = files.join(directory, mode);
        await using(files.open(path, mode), async (file) => {
          await writeAll(file, bytesOf("keep-drop"));
          assertEquals(await file.read(0, 4), bytesOf("keep"));
          await file.truncate(5);
          assertEquals(await file.size(), 5);
          await writeAll(file, bytesOf("more"));
          assertEquals(await file.read(0, 100), bytesOf("keep-more"));
        });
        assertEquals(await files.readText(path), "keep-more");
      }
    }),
    inDirectory("files take writes of several megabytes whole", async (files, directory) => {
      const path = files.join(directory, "large");
      const bytes = Uint8Array.from({ length: 3_000_017 }, (_, index) => (index * 31) % 256);
      await using(files.open(path, "create"), async (file) => {
        await writeAll(file, bytes);
        await file.sync();
        assertEquals(await file.size(), bytes.length);
        const back = await file.read(0, bytes.length + 1);
        assertEquals(back.length, bytes.length);
        assert(back.every((byte, index) => byte === bytes[index]), "bytes came back changed");
      });
    }),
    inDirectory("files replace the target of a rename in one step", async (files, directory) => {
      const [from, to] = [files.join(directory, "from"), files.join(directory, "to")];
      await create(files, from, "new");
      await create(files, to, "old and longer");
      await files.rename(from, to);
      assertEquals(await files.readText(to), "new");
      assertEquals(await files.list(directory), ["to"]);
    }),
    inDirectory("files list names without dots, and an empty directory as nothing", async (files, directory) => {
      assertEquals(await files.list(directory), []);
      await create(files, files.join(directory, ".hidden"), "");
      await create(files, files.join(directory, "seen"), "");
      await files.makeDirectory(files.join(directory, "folder"));
      assertEquals((await files.list(directory)).sort(), [".hidden", "folder", "seen"]);
    }),
    inDirectory("files make a directory with its parents, twice without complaint", async (files, directory) => {
      const deep = files.join(directory, "a", "b", "c");
      await files.makeDirectory(deep);
      await files.makeDirectory(deep);
      await create(files, files.join(deep, "leaf"), "x");
      assertEquals(await files.list(deep), ["leaf"]);
    }),
    inDirectory("files refuse a directory where a file stands", async (files, directory) => {
      const path = files.join(directory, "file");
      await create(files, path, "x");
      await assertRejects(() => files.makeDirectory(path), "EEXIST");
    }),
    inDirectory("files refuse a directory where none can be made, and do not try for ever", async (files) => {
      // Only some systems have a place that denies being there; on the others its parent is missing and may not be made.
      await assertRejects(() => files.makeDirectory("/proc/portcullis/folder"));
    }),
    inDirectory("files sync a file and a directory", async (files, directory) => {
      await using(files.open(files.join(directory, "synced"), "append"), async (file) => {
        await writeAll(file, bytesOf("x"));
        await file.sync();
      });
      await files.syncDirectory(directory);
    }),
    inDirectory("files give new files and directories the mode asked for", async (files, directory) => {
      const folder = files.join(directory, "private");
      await files.makeDirectory(folder, { mode: 0o700 });
      for (const mode of ["create", "append"] as const) {
        const path = files.join(folder, mode);
        await using(files.open(path, mode, { mode: 0o600 }), (file) => writeAll(file, bytesOf("x")));
        assertEquals(await permissions(makeRuntime(), path), "-rw-------");
      }
      assertEquals(await permissions(makeRuntime(), folder), "drwx------");
    }),
    inDirectory("files report what is missing as ENOENT", async (files, directory) => {
      const path = files.join(directory, "nowhere");
      await assertRejects(() => files.readText(path), "ENOENT");
      await assertRejects(() => files.open(path, "read"), "ENOENT");
      await assertRejects(() => files.open(files.join(path, "x"), "append"), "ENOENT");
      await assertRejects(() => files.list(path), "ENOENT");
      await assertRejects(() => files.remove(path), "ENOENT");
      await assertRejects(() => files.rename(path, files.join(directory, "to")), "ENOENT");
      await assertRejects(() => files.syncDirectory(path), "ENOENT");
    }),
    inDirectory("files remove a file", async (files, directory) => {
      const path = files.join(directory, "gone");
      await create(files, path, "x");
      await files.remove(path);
      assertEquals(await files.list(directory), []);
    }),
    inDirectory("files join parts and leave them as they are", async (files, directory) => {
      await files.makeDirectory(files.join(directory, "x"));
      await create(files, files.join(directory, "x", "..", "beside"), "here");
      assertEquals(await files.readText(files.join(`${directory}/`, "beside")), "here");
      assert(files.join("a", "..", "b").includes(".."), "a part was resolved");
    }),
  ];
}

/** The first column of `ls -l`: the interface has no way to read a mode. */
async function permissions(runtime: Runtime, path: string): Promise<string> {
  const { spawn } = runtime;
  assert(spawn !== undefined, "reading a mode needs a child process");
  let text = "";
  await new Promise<void>((resolve, reject) => {
    spawn({ command: "ls", args: ["-ld", path], env: runtime.environment() }, {
      onData: (chunk) => {
        text += new TextDecoder().decode(chunk);
      },
      onErrorData: () => {},
      onEnd: resolve,
      onExit: () => {},
    }).catch(reject);
  });
  return text.slice(0, 10);
}
