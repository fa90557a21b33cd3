import { type Arrival, SIGN_OF_LIFE_BYTES } from "./arrival.ts";
import { HostError } from "../kernel/errors.ts";
import { wholeText } from "../kernel/foreign_text.ts";
import { toText } from "../streams/to_text.ts";

/** Most of a body that is kept for an error message. */
const MAX_ERROR_BYTES = 16 << 10;

/** The media type of a response without its parameters, in lower case; empty when there is none. */
export function mediaType(response: Response): string {
  return typeOf(response).toLowerCase();
}

function typeOf({ headers }: Response): string {
  return (headers.get("content-type") ?? "").split(";", 1)[0]!.trim();
}

/**
 * Reads a whole body, at most `maxBytes` decoded. Where the length is known to bound the decoded body, it is read in one
 * step, which is several times cheaper than a reader, but shows nothing of how it goes on: only where it is short.
 */
export async function readBody(
  response: Response,
  maxBytes: number,
  lengthIsDecoded: boolean,
  arrival?: Arrival,
): Promise<string> {
  if (response.body === null) return "";
  if (lengthIsDecoded && isShort(response)) return await response.text();
  return await toText(response.body, maxBytes, (bytes) => arrival?.add(bytes));
}

/** True where the headers promise that the body is too short to be a sign of life on its way. */
export function isShort({ headers }: Response): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= SIGN_OF_LIFE_BYTES && headers.get("content-encoding") === null;
}

/** Reads the beginning of a body that is only wanted for an error, and lets go of the rest. Never rejects. */
export async function readBeginning(response: Response, maxBytes: number = MAX_ERROR_BYTES): Promise<string> {
  if (response.body === null) return "";
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let room = maxBytes; room > 0;) {
      const { value, done } = await reader.read();
      if (done) return text + decoder.decode();
      text += decoder.decode(value.subarray(0, room), { stream: true });
      room -= value.byteLength;
    }
  } catch {
    // What the body was is of less interest than the status it came with.
  }
  reader.cancel().catch(() => {/* already gone */});
  return text;
}

/** Lets go of a body that nobody wants. */
export function dropBody(response: Response): void {
  response.body?.cancel().catch(() => {/* already gone */});
}

/**
 * The error for a response that cannot be what was asked for. What it quotes of it is whole where it is short, and left
 * out where it is long: whoever shows it scrubs it first, and cuts it then.
 */
export function wrongResponse(action: string, response: Response, wanted: string, body: string): HostError {
  // As it came: a secret in other letters would pass a scrubber.
  const type = wholeText(typeOf(response));
  const found = `status ${response.status}${type === "" ? "" : ` with ${type}`}`;
  return new HostError("ERR_PROTOCOL", `Cannot ${action}: found ${found}, wanted ${wanted}`, {
    facts: { status: response.status, contentType: type, excerpt: wholeText(body) },
  });
}
