import { HostError } from "../kernel/errors.ts";

/** Most characters that the name of a stream may have. */
export const MAX_STREAM_NAME = 200;

/** Throws `ERR_INVALID_ARGUMENTS` unless the name is 1 to {@link MAX_STREAM_NAME} visible ASCII characters. */
export function checkStreamName(stream: string): void {
  if (stream.length <= MAX_STREAM_NAME && /^[\x21-\x7e]+$/.test(stream)) return;
  throw new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot use a stream name of ${stream.length} characters: wanted 1 to ${MAX_STREAM_NAME} visible ASCII characters`,
  );
}

/** Most bytes of a name that file systems in use take. */
const MAX_FILE_NAME = 255;

/**
 * A name that is safe on every file system and never equal for two streams, also where case does not count:
 * `[a-z0-9_-]` stands for itself, `=` for a colon, and `%` with two hex digits for everything else.
 */
export function streamToFileName(stream: string): string {
  checkStreamName(stream);
  const name = stream.replace(/[^a-z0-9_-]/g, (character) => {
    return character === ":" ? "=" : `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
  if (name.length <= MAX_FILE_NAME) return name;
  throw new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot keep stream "${stream}" in a file: its name takes ${name.length} characters there, at most ${MAX_FILE_NAME} fit`,
  );
}

/** The stream that a file name stands for; `undefined` when {@link streamToFileName} never makes that name. */
export function fileNameToStream(name: string): string | undefined {
  if (!/^(?:[a-z0-9_=-]|%[0-9a-f]{2})+$/.test(name)) return undefined;
  const stream = name
    .replace(/=|%([0-9a-f]{2})/g, (text, hex: string) => text === "=" ? ":" : String.fromCharCode(parseInt(hex, 16)));
  if (stream.length > MAX_STREAM_NAME || !/^[\x21-\x7e]+$/.test(stream)) return undefined;
  return streamToFileName(stream) === name ? stream : undefined;
}
