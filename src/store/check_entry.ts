import { HostError } from "../kernel/errors.ts";

/** Most bytes of a key and of a value. */
export const MAX_KEY_BYTES = 512;
export const MAX_VALUE_BYTES: number = 64 * 1024;

/** Throws `ERR_INVALID_ARGUMENTS` unless the key is 1 to 512 printable ASCII characters. */
export function checkKey(key: string): void {
  if (key.length <= MAX_KEY_BYTES && /^[\x20-\x7e]+$/.test(key)) return;
  throw new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot use a key of ${key.length} characters: wanted 1 to ${MAX_KEY_BYTES} printable ASCII characters`,
  );
}

/** Throws `ERR_TOO_LARGE` for a value over 64 KiB. */
export function checkValue(key: string, value: Uint8Array): void {
  if (value.length <= MAX_VALUE_BYTES) return;
  throw new HostError(
    "ERR_TOO_LARGE",
    `Cannot store "${key}": its value has ${value.length} bytes, at most ${MAX_VALUE_BYTES} are allowed`,
    { facts: { key, bytes: value.length, maxBytes: MAX_VALUE_BYTES } },
  );
}
