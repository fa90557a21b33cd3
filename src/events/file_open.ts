import { HostError } from "../kernel/errors.ts";
import type { FileHandle, FileSystem } from "../kernel/runtime.ts";
import { PRIVATE_DIRECTORY, PRIVATE_FILE, removeIfThere, writeAll } from "../store/small_files.ts";
import { remember } from "./file_reader.ts";
import { checkVersion, corrupt, makeHeader, type Position, readBegin, scanRecords, segmentName } from "./segment.ts";
import type { TornTail } from "./store.ts";

/** A stream's file, whole and ready to be appended to. */
export interface OpenedFile {
  readonly file: FileHandle;
  readonly end: Position;
  /** Some places in between, that behind the header first. */
  readonly places: readonly Position[];
  readonly torn?: TornTail;
}

export interface OpenFileOptions {
  readonly files: FileSystem;
  /** The stream's own directory. */
  readonly directory: string;
  readonly stream: string;
  readonly level: "durable" | "none";
}

/** The file of a stream. One segment holds it all. */
export function streamFile(files: FileSystem, directory: string): string {
  return files.join(directory, segmentName(1));
}

/**
 * Opens a stream's file for its owner, creating it if need be. Reads every record; an unfinished one at the end is
 * copied to `<name>.torn-<n>` and cut off. Rejects with `ERR_LOG_CORRUPT` for damage in the middle, with
 * `ERR_LOG_VERSION` for what a later version wrote, and with `ERR_CONFIG` when the file promises another level.
 */
export async function openStreamFile(options: OpenFileOptions): Promise<OpenedFile> {
  const { files, directory, stream } = options;
  const path = streamFile(files, directory);
  await files.makeDirectory(directory, PRIVATE_DIRECTORY);
  const file = await files.open(path, "append", PRIVATE_FILE);
  try {
    const begin = await readBegin(file, stream, path);
    if (begin === undefined) {
      const torn = await cutTail(options, file, path, 0);
      const end = await writeHeader(options, file);
      return { file, end, places: [end], ...(torn === undefined ? undefined : { torn }) };
    }
    checkLevel(begin.header.level, path, options);
    const places: Position[] = [begin.end];
    const scan = await scanRecords(file, stream, begin.end, {
      visit(event, after) {
        checkVersion(event);
        remember(places, after);
        return true;
      },
    });
    if (scan.kind === "damaged") throw corrupt(stream, path, scan.at);
    const torn = scan.kind === "torn" ? await cutTail(options, file, path, scan.at.offset) : undefined;
    return { file, end: scan.at, places, ...(torn === undefined ? undefined : { torn }) };
  } catch (error) {
    await file.close();
    throw error;
  }
}

function checkLevel(found: "durable" | "none", path: string, { stream, level }: OpenFileOptions): void {
  if (found === level) return;
  throw new HostError(
    "ERR_CONFIG",
    `Cannot open stream "${stream}": its file was written at level ${found}, wanted ${level}; use that level, or another directory`,
    { facts: { stream, file: path, found, wanted: level } },
  );
}

async function writeHeader({ files, directory, stream, level }: OpenFileOptions, file: FileHandle): Promise<Position> {
  const { bytes, end } = makeHeader({ stream, level, firstSeq: 1 });
  await writeAll(file, bytes);
  await file.sync();
  await files.syncDirectory(directory);
  return end;
}

const COPY_BYTES = 256 * 1024;

/** Keeps what stands behind `offset` in a file of its own, and cuts it off. */
async function cutTail(
  { files, directory }: OpenFileOptions,
  file: FileHandle,
  path: string,
  offset: number,
): Promise<TornTail | undefined> {
  const size = await file.size();
  if (size <= offset) return undefined;
  const names = new Set(await files.list(directory));
  let n = 1;
  while (names.has(`${segmentName(1)}.torn-${n}`)) n++;
  const keptAs = `${path}.torn-${n}`;
  const copy = await files.open(keptAs, "create", PRIVATE_FILE);
  try {
    for (let at = offset; at < size;) {
      const bytes = await file.read(at, Math.min(COPY_BYTES, size - at));
      if (bytes.length === 0) break;
      await writeAll(copy, bytes);
      at += bytes.length;
    }
    await copy.sync();
  } catch (error) {
    // Half a copy is worth nothing while the original stays in place.
    await removeIfThere(files, keptAs);
    throw error;
  } finally {
    await copy.close();
  }
  await file.truncate(offset);
  await file.sync();
  await files.syncDirectory(directory);
  return { keptAs, bytes: size - offset };
}
