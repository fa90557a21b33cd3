import { describe, expect, it } from "vitest";
import { memoryKeyValue } from "../../../src/store/memory_kv.ts";
import { keyValueCases } from "../../contract/key_value.ts";

describe("memory key-value store", () => {
  for (const { name, run } of keyValueCases("memory key-value store", async () => memoryKeyValue())) it(name, run);

  it("refuses what would pass its quota, and has room again after a delete", async () => {
    const kv = memoryKeyValue({ maxTotalBytes: 10 });
    await kv.putIfAbsent("a", new Uint8Array(9));
    await expect(kv.putIfAbsent("b", new Uint8Array(0))).rejects.toMatchObject({ code: "ERR_TOO_LARGE" });
    await expect(kv.compareAndSet("a", new Uint8Array(9), new Uint8Array(10))).rejects.toMatchObject({
      code: "ERR_TOO_LARGE",
    });
    expect((await kv.get("a"))?.length).toBe(9);
    expect(await kv.compareAndSet("a", new Uint8Array(9), new Uint8Array(1))).toBe(true);
    await kv.delete("a");
    expect(await kv.putIfAbsent("b", new Uint8Array(9))).toBe(true);
  });
});
