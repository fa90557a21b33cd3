import type { KeyValue, KeyValueEntry } from "../../../src/store/key_value.ts";

/** A store of small records in a map, which a test can break or hold back. */
export class FakeKeyValue implements KeyValue {
  readonly records = new Map<string, Uint8Array>();
  /** Called before each operation; may throw, or wait. */
  before: ((operation: "get" | "put" | "delete" | "list", key: string) => void | Promise<void>) | undefined;
  /** Called after a record was put, before the caller is told. */
  afterPut: ((key: string) => void | Promise<void>) | undefined;

  async get(key: string): Promise<Uint8Array | undefined> {
    await this.before?.("get", key);
    return this.records.get(key);
  }

  async putIfAbsent(key: string, value: Uint8Array): Promise<boolean> {
    await this.before?.("put", key);
    if (value.byteLength > 64 * 1024) throw new Error(`value of ${value.byteLength} bytes`);
    if (this.records.has(key)) return false;
    this.records.set(key, value);
    await this.afterPut?.(key);
    return true;
  }

  async compareAndSet(): Promise<boolean> {
    throw new Error("nobody replaces a record of the desk");
  }

  async delete(key: string): Promise<void> {
    await this.before?.("delete", key);
    this.records.delete(key);
  }

  async list(prefix: string, { start = prefix, limit = 1000 } = {}): Promise<KeyValueEntry[]> {
    await this.before?.("list", prefix);
    return [...this.records].filter(([key]) => key.startsWith(prefix) && key >= start)
      .sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, limit).map(([key, value]) => ({ key, value }));
  }

  async close(): Promise<void> {}
}
