import type { ParsedMessage } from "../jsonrpc/message.ts";
import type { SpillParser } from "../jsonrpc/spill.ts";
import type { FrameBody } from "./frames.ts";
import { hasLength } from "./http_body.ts";
import { LargeFrame } from "./large_frame.ts";

/** Reads a whole body; one that is too long to be held is parsed while it arrives. Rejects when it breaks. */
export async function readLargeBody(
  response: Response,
  maxHeld: number,
  open: () => SpillParser,
  lengthIsDecoded: boolean,
): Promise<FrameBody> {
  if (response.body === null) return { text: "" };
  if (lengthIsDecoded && hasLength(response, maxHeld)) return { text: await response.text() };
  const reader = response.body.getReader();
  let held = new Uint8Array(16 << 10);
  let bytes = 0;
  let frame: LargeFrame | undefined;
  let message: ParsedMessage | undefined;
  try {
    while (message === undefined) {
      const { value, done } = await reader.read();
      if (done) break;
      const before = bytes;
      bytes += value.byteLength;
      if (frame === undefined && bytes <= maxHeld) {
        held = withRoom(held, before, bytes);
        held.set(value, before);
        continue;
      }
      if (frame === undefined) {
        frame = new LargeFrame(open(), (parsed) => {
          message = parsed;
        });
        await frame.push(held.subarray(0, before));
        held = new Uint8Array(0);
      }
      await frame.push(value);
    }
    await frame?.end();
  } catch (error) {
    frame?.abort();
    throw error;
  }
  if (message === undefined) return { text: new TextDecoder().decode(held.subarray(0, bytes)) };
  // What follows a refusal is of no interest.
  reader.cancel().catch(() => {/* already gone */});
  return { message, bytes };
}

function withRoom(held: Uint8Array<ArrayBuffer>, used: number, bytes: number): Uint8Array<ArrayBuffer> {
  if (bytes <= held.length) return held;
  const larger = new Uint8Array(Math.max(bytes, 2 * held.length));
  larger.set(held.subarray(0, used));
  return larger;
}
