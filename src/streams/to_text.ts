import { HostError } from "../kernel/errors.ts";

/**
 * Reads a stream of bytes to its end as UTF-8 text, counting decoded bytes while they arrive. Past `maxBytes` (default
 * 8 MiB) the stream is cancelled and `ERR_FRAME_TOO_LARGE` thrown. `onBytes` is told the size of each part.
 */
export async function toText(
  stream: ReadableStream<Uint8Array>,
  maxBytes: number = 8 << 20,
  onBytes?: (bytes: number) => void,
): Promise<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    onBytes?.(value.byteLength);
    if (bytes > maxBytes) {
      const error = new HostError(
        "ERR_FRAME_TOO_LARGE",
        `Cannot read a body: ${bytes} bytes and counting, at most ${maxBytes} allowed`,
        {
          facts: { bytes, maxBytes },
        },
      );
      reader.cancel(error).catch(() => {/* the source is being dropped; how it takes that is its own matter */});
      throw error;
    }
    text += decoder.decode(value, { stream: true });
  }
}
