/** One read from the operating system; the size of a pipe's buffer on Linux. */
const READ_BYTES = 65_536;

/** Up to this size a chunk is copied out, so that its buffer serves again. */
const COPY_BYTES = 16_384;

/**
 * Feeds what arrives to `deliver`, awaiting the promises it returns, until the stream ends or breaks. Chunks belong
 * to the receiver. Reading into buffers of our own keeps memory flat; the default reader makes a new one each time.
 */
export async function pump(
  reader: ReadableStreamBYOBReader,
  deliver: (chunk: Uint8Array) => void | Promise<void>,
): Promise<void> {
  let buffer = new ArrayBuffer(READ_BYTES);
  for (;;) {
    let result: ReadableStreamReadResult<Uint8Array<ArrayBuffer>>;
    try {
      result = await reader.read(new Uint8Array(buffer));
    } catch {
      return; // a broken pipe ends like a closed one
    }
    if (result.done) return;
    const copies = result.value.byteLength <= COPY_BYTES;
    const pause = deliver(copies ? result.value.slice() : result.value);
    if (pause !== undefined) await pause;
    buffer = copies ? result.value.buffer : new ArrayBuffer(READ_BYTES);
  }
}
