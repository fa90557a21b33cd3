/** Makes identifiers. Injected, so that tests get the same ones in every run. */
export interface Ids {
  /** A fresh identifier `<prefix>_<random>`; at least 128 bits of randomness in production. */
  next(prefix: string): string;
}

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** Identifiers of 130 random bits in lower-case base 32, from `crypto.getRandomValues`. */
export const randomIds: Ids = Object.freeze({
  next(prefix: string): string {
    const bytes = crypto.getRandomValues(new Uint8Array(26));
    let text = "";
    for (const byte of bytes) text += ALPHABET[byte & 31];
    return `${prefix}_${text}`;
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
