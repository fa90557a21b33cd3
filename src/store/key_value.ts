/**
 * Where small records live: grants, approvals, pins, tokens, era verdicts, leases.
 *
 * What an implementation promises:
 * - *Linearizable*: `get`, `putIfAbsent`, `compareAndSet` and `delete` of one key behave as if they ran one after the
 *   other, for all processes and isolates that share the store. A store that cannot promise this must not implement
 *   the interface for logs or approvals.
 * - *Durable*: a resolved write survives whatever the store says it survives; a rejected one may or may not have
 *   happened, and the caller reads to find out.
 * - *Order*: `list` gives keys in ascending order of their UTF-8 bytes.
 * - *Not found* is `undefined`, never an error. Deleting an absent key is not an error.
 * - Any number of callers at once.
 *
 * Keys are 1 to 512 bytes of printable ASCII. Values are bytes, at most 64 KiB.
 */
export interface KeyValue {
  get(key: string): Promise<Uint8Array | undefined>;
  /** Stores the value if the key is free; true for the one caller that did. */
  putIfAbsent(key: string, value: Uint8Array): Promise<boolean>;
  /** Replaces the value if it is byte-equal to `expected`; true for the one caller that did. */
  compareAndSet(key: string, expected: Uint8Array, value: Uint8Array): Promise<boolean>;
  delete(key: string): Promise<void>;
  /** Entries whose key begins with `prefix`, from `start` on (inclusive), at most `limit` (default 1,000). */
  list(prefix: string, options?: { readonly start?: string; readonly limit?: number }): Promise<KeyValueEntry[]>;
  close(): Promise<void>;
}

export interface KeyValueEntry {
  readonly key: string;
  readonly value: Uint8Array;
}
