/** Makes identifiers. Injected, so that tests get the same ones in every run. */
export interface Ids {
  /** A fresh identifier `<prefix>_<random>`; at least 128 bits of randomness in production. */
  next(prefix: string): string;
}

const ALPHABET = Uint8Array.from("0123456789abcdefghjkmnpqrstvwxyz", (character) => character.charCodeAt(0));
/** Characters of an identifier, 5 random bits each. */
const LENGTH = 26;
/** Random characters are drawn for many identifiers at once: a call to the system costs more than a gated call. */
const pool = new Uint8Array(LENGTH * 1024);
let used = pool.length;
/** Used again and again: a view of the pool would cost more than the text that is made of it. */
const characters = new Array<number>(LENGTH).fill(0);

/** Identifiers of 130 random bits in lower-case base 32, from `crypto.getRandomValues`. */
export const randomIds: Ids = Object.freeze({
  next(prefix: string): string {
    if (used === pool.length) {
      crypto.getRandomValues(pool);
      for (let at = 0; at < pool.length; at++) pool[at] = ALPHABET[pool[at]! & 31]!;
      used = 0;
    }
    for (let at = 0; at < LENGTH; at++) characters[at] = pool[used++]!;
    // Made in one step: text that grows by a character is kept as a chain, five times as large.
    return `${prefix}_${String.fromCharCode.apply(null, characters)}`;
  },
});

/** Identifiers that count up per prefix: `evt_1`, `evt_2`. For tests and for replaying a recorded run. */
export function countingIds(): Ids {
  const counts = new Map<string, number>();
  return {
    next(prefix: string): string {
      const count = (counts.get(prefix) ?? 0) + 1;
      counts.set(prefix, count);
      return `${prefix}_${count}`;
    },
  };
}
