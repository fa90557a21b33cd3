import { unsupported } from "../kernel/errors.ts";
import type { KeyValue } from "../store/key_value.ts";
import type { LogFactory } from "./store.ts";

/** A log in a shared key-value store. Opening it rejects with `ERR_UNSUPPORTED_HERE` in this version. */
export function kvLog(kv: KeyValue): LogFactory {
  void kv;
  return {
    open: () =>
      Promise.reject(
        unsupported("keep the event log in a key-value store", "use fileLog() on a disk, or memoryLog() without one"),
      ),
  };
}
