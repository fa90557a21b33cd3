import type { FileHandle } from "../kernel/runtime.ts";

const CHUNK_BYTES = 256 * 1024;
/** No record is longer; a longer line is damage, and is skipped without being held. */
const MAX_LINE_BYTES = 1024 * 1024;
const LINE_FEED = 0x0a;

/**
 * Calls `visit` with each line of a file between two offsets, without its line feed, until it returns false. What
 * stands behind the last line feed, and the beginning of a line that is too long, comes with `isWhole` false. The bytes
 * are valid during the call only.
 */
export async function forEachLine(
  file: FileHandle,
  from: number,
  end: number,
  visit: (line: Uint8Array, isWhole: boolean) => boolean,
): Promise<void> {
  let rest = new Uint8Array(0);
  let isSkipping = false;
  for (let offset = from; offset < end;) {
    const chunk = await file.read(offset, Math.min(CHUNK_BYTES, end - offset));
    if (chunk.length === 0) break;
    offset += chunk.length;
    const block = rest.length === 0 ? chunk : joined(rest, chunk);
    let start = 0;
    for (let feed = block.indexOf(LINE_FEED); feed >= 0; feed = block.indexOf(LINE_FEED, start)) {
      const line = block.subarray(start, feed);
      start = feed + 1;
      if (isSkipping) isSkipping = false;
      else if (!visit(line, true)) return;
    }
    rest = isSkipping ? new Uint8Array(0) : block.slice(start);
    if (rest.length > MAX_LINE_BYTES) {
      if (!visit(rest, false)) return;
      isSkipping = true;
      rest = new Uint8Array(0);
    }
  }
  if (rest.length > 0) visit(rest, false);
}

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
