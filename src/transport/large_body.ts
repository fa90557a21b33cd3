import type { Arrival } from "./arrival.ts";
import type { ParsedMessage } from "../jsonrpc/message.ts";
import type { FrameBody } from "./frames.ts";
import { isShort } from "./http_body.ts";
import type { FrameAccount } from "./frame_budget.ts";
import { LargeFrame, type OpenFrames, UNCOUNTED_BYTES } from "./large_frame.ts";

/** Reads a whole body; one that is too long to be held is parsed while it arrives. Rejects when it breaks. */
export async function readLargeBody(
  response: Response,
  frames: OpenFrames,
  lengthIsDecoded: boolean,
  arrival?: Arrival,
): Promise<FrameBody> {
  if (response.body === null) return { text: "" };
  if (lengthIsDecoded && isShort(response)) return { text: await response.text() };
  const account = frames.account();
  try {
    return await readCounted(response.body, frames, account, arrival);
  } finally {
    account.set(0);
  }
}

async function readCounted(
  body: ReadableStream<Uint8Array>,
  { maxHeld, open }: OpenFrames,
  account: FrameAccount,
  arrival: Arrival | undefined,
): Promise<FrameBody> {
  const reader = body.getReader();
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
      arrival?.add(value.byteLength);
      if (frame === undefined && bytes <= maxHeld) {
        held = withRoom(held, before, bytes);
        held.set(value, before);
        if (held.length > UNCOUNTED_BYTES) await account.set(held.length);
        continue;
      }
      if (frame === undefined) {
        frame = new LargeFrame(open(), (parsed) => {
          message = parsed;
        });
        // What is held is the frame's from now on; counted twice, it would wait for itself.
        account.set(0);
        await frame.push(held.subarray(0, before));
        held = new Uint8Array(0);
      }
      await frame.push(value);
    }
    await frame?.end();
  } catch (error) {
    frame?.abort();
    reader.cancel().catch(() => {/* already gone */});
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
