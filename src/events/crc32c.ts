/** Eight tables of 256 entries, one after the other, so that eight bytes are folded in at a time. Made at first use. */
let tables: Int32Array | undefined;

function makeTables(): Int32Array {
  const made = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    made[byte] = crc;
  }
  for (let at = 256; at < made.length; at++) {
    const before = made[at - 256]!;
    made[at] = (before >>> 8) ^ made[before & 0xff]!;
  }
  return made;
}

/**
 * CRC-32C (Castagnoli) of bytes, as an unsigned number. With `seed` it goes on from an earlier result:
 * `crc32c(b, crc32c(a))` is the checksum of `a` followed by `b`.
 */
export function crc32c(bytes: Uint8Array, seed: number = 0): number {
  const t = (tables ??= makeTables());
  let crc = ~seed;
  let at = 0;
  for (const last = bytes.length - 8; at <= last; at += 8) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    crc = t[1792 + (crc & 0xff)]! ^ t[1536 + ((crc >>> 8) & 0xff)]! ^ t[1280 + ((crc >>> 16) & 0xff)]! ^
      t[1024 + (crc >>> 24)]! ^ t[768 + bytes[at + 4]!]! ^ t[512 + bytes[at + 5]!]! ^ t[256 + bytes[at + 6]!]! ^
      t[bytes[at + 7]!]!;
  }
  for (; at < bytes.length; at++) crc = (crc >>> 8) ^ t[(crc ^ bytes[at]!) & 0xff]!;
  return ~crc >>> 0;
}
