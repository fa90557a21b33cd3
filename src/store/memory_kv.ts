import { HostError } from "../kernel/errors.ts";
import { checkKey, checkValue } from "./check_entry.ts";
import type { KeyValue, KeyValueEntry } from "./key_value.ts";

export interface MemoryKeyValueOptions {
  /** Most bytes of all keys and values together; a write past it rejects with `ERR_TOO_LARGE`. Default 64 MiB. */
  readonly maxTotalBytes?: number;
}

/**
 * Small records in memory, gone with the process.
 *
 * @example
 * ```ts
 * import { memoryKeyValue } from "portcullis";
 * const kv = memoryKeyValue();
 * await kv.putIfAbsent("greeting", new TextEncoder().encode("hello"));
 * ```
 */
export function memoryKeyValue(options: MemoryKeyValueOptions = {}): KeyValue {
  return new MemoryKeyValue(options);
}

const DEFAULT_TOTAL_BYTES = 64 * 1024 * 1024;
const DEFAULT_LIMIT = 1_000;

/** No method waits between reading and writing, which makes each of them one step. Values are copied in and out. */
class MemoryKeyValue implements KeyValue {
  readonly #maxTotalBytes: number;
  readonly #values = new Map<string, Uint8Array>();
  /** Ascending; printable ASCII compares the same as text and as bytes. */
  readonly #keys: string[] = [];
  #totalBytes = 0;
  #isClosed = false;

  constructor({ maxTotalBytes = DEFAULT_TOTAL_BYTES }: MemoryKeyValueOptions) {
    this.#maxTotalBytes = maxTotalBytes;
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    this.#check(key);
    return this.#values.get(key)?.slice();
  }

  async putIfAbsent(key: string, value: Uint8Array): Promise<boolean> {
    this.#check(key);
    checkValue(key, value);
    if (this.#values.has(key)) return false;
    this.#grow(key, key.length + value.length);
    this.#values.set(key, value.slice());
    this.#keys.splice(this.#place(key), 0, key);
    return true;
  }

  async compareAndSet(key: string, expected: Uint8Array, value: Uint8Array): Promise<boolean> {
    this.#check(key);
    checkValue(key, value);
    const found = this.#values.get(key);
    if (found === undefined || !areEqual(found, expected)) return false;
    this.#grow(key, value.length - found.length);
    this.#values.set(key, value.slice());
    return true;
  }

  async delete(key: string): Promise<void> {
    this.#check(key);
    const found = this.#values.get(key);
    if (found === undefined) return;
    this.#values.delete(key);
    this.#keys.splice(this.#place(key), 1);
    this.#totalBytes -= key.length + found.length;
  }

  async list(
    prefix: string,
    { start = "", limit = DEFAULT_LIMIT }: { readonly start?: string; readonly limit?: number } = {},
  ): Promise<KeyValueEntry[]> {
    this.#checkOpen();
    const entries: KeyValueEntry[] = [];
    for (let at = this.#place(start > prefix ? start : prefix); at < this.#keys.length; at++) {
      const key = this.#keys[at]!;
      if (entries.length >= limit || !key.startsWith(prefix)) break;
      entries.push({ key, value: this.#values.get(key)!.slice() });
    }
    return entries;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  #check(key: string): void {
    this.#checkOpen();
    checkKey(key);
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new HostError("ERR_CLOSED", "Cannot use the key-value store: it is closed");
  }

  #grow(key: string, bytes: number): void {
    const total = this.#totalBytes + bytes;
    if (total > this.#maxTotalBytes) {
      throw new HostError(
        "ERR_TOO_LARGE",
        `Cannot store "${key}": the store would hold ${total} bytes, at most ${this.#maxTotalBytes} are allowed`,
        { facts: { key, bytes: total, maxBytes: this.#maxTotalBytes } },
      );
    }
    this.#totalBytes = total;
  }

  /** The place of a key, or where it would stand. */
  #place(key: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#keys[middle]! < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
