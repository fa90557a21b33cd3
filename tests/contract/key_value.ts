import type { KeyValue } from "../../src/store/key_value.ts";
import { assert, assertEquals, assertRejects, type ContractCase } from "./contract.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string | undefined => value && new TextDecoder().decode(value);

/** What every {@link KeyValue} promises. `make` gives an empty store for each case. */
export function keyValueCases(name: string, make: () => Promise<KeyValue>): ContractCase[] {
  const given = (claim: string, run: (kv: KeyValue) => Promise<void>): ContractCase => ({
    name: `${name} ${claim}`,
    run: async () => {
      const kv = await make();
      try {
        await run(kv);
      } finally {
        await kv.close();
      }
    },
  });
  return [
    given("gives undefined for an absent key, and deletes it without complaint", async (kv) => {
      assertEquals(await kv.get("absent"), undefined);
      await kv.delete("absent");
    }),
    given("stores an absent key once and tells who did", async (kv) => {
      assertEquals(await kv.putIfAbsent("a", bytes("first")), true);
      assertEquals(await kv.putIfAbsent("a", bytes("second")), false);
      assertEquals(text(await kv.get("a")), "first");
    }),
    given("lets exactly one of many callers create a key", async (kv) => {
      const won = await Promise.all(Array.from({ length: 50 }, (_, n) => kv.putIfAbsent("race", bytes(String(n)))));
      assertEquals(won.filter(Boolean).length, 1);
      assertEquals(text(await kv.get("race")), String(won.indexOf(true)));
    }),
    given("replaces a value only where it is what the caller expects", async (kv) => {
      assertEquals(await kv.compareAndSet("a", bytes("x"), bytes("y")), false);
      await kv.putIfAbsent("a", bytes("one"));
      assertEquals(await kv.compareAndSet("a", bytes("on"), bytes("two")), false);
      assertEquals(await kv.compareAndSet("a", bytes("one"), bytes("two")), true);
      assertEquals(await kv.compareAndSet("a", bytes("one"), bytes("three")), false);
      assertEquals(text(await kv.get("a")), "two");
    }),
    given("counts right when many callers compare and set", async (kv) => {
      await kv.putIfAbsent("count", bytes("0"));
      await Promise.all(Array.from({ length: 20 }, async () => {
        for (;;) {
          const found = (await kv.get("count"))!;
          if (await kv.compareAndSet("count", found, bytes(String(Number(text(found)) + 1)))) return;
        }
      }));
      assertEquals(text(await kv.get("count")), "20");
    }),
    given("forgets a deleted key, which is free again", async (kv) => {
      await kv.putIfAbsent("a", bytes("old"));
      await kv.delete("a");
      assertEquals(await kv.get("a"), undefined);
      assertEquals(await kv.putIfAbsent("a", bytes("new")), true);
    }),
    given("lists by prefix in the order of bytes", async (kv) => {
      for (const key of ["p/b", "q", "p/a", "p/A", "p/a/1", "p/~", "o"]) await kv.putIfAbsent(key, bytes(key));
      const listed = await kv.list("p/");
      assertEquals(listed.map(({ key }) => key), ["p/A", "p/a", "p/a/1", "p/b", "p/~"]);
      assert(listed.every(({ key, value }) => text(value) === key), "a value does not belong to its key");
      assertEquals((await kv.list("")).length, 7);
      assertEquals(await kv.list("r"), []);
    }),
    given("lists from a start, inclusive, up to a limit", async (kv) => {
      for (let n = 0; n < 30; n++) await kv.putIfAbsent(`n/${String(n).padStart(3, "0")}`, bytes(String(n)));
      const keys = async (start: string, limit?: number): Promise<string[]> =>
        (await kv.list("n/", limit === undefined ? { start } : { start, limit })).map(({ key }) => key);
      assertEquals(await keys("n/027"), ["n/027", "n/028", "n/029"]);
      assertEquals(await keys("n/0265", 2), ["n/027", "n/028"]);
      assertEquals((await keys("a")).length, 30);
      assertEquals(await keys("z"), []);
      assertEquals(await keys("n/", 0), []);
    }),
    given("lists a thousand entries unless told otherwise", async (kv) => {
      for (let n = 0; n < 1_001; n++) await kv.putIfAbsent(`k${n}`, bytes("v"));
      assertEquals((await kv.list("k")).length, 1_000);
      assertEquals((await kv.list("k", { limit: 1_001 })).length, 1_001);
    }),
    given("keeps values apart from the arrays of its callers", async (kv) => {
      const value = bytes("safe");
      await kv.putIfAbsent("a", value);
      value.fill(0);
      (await kv.get("a"))!.fill(1);
      (await kv.list("a"))[0]!.value.fill(2);
      assertEquals(text(await kv.get("a")), "safe");
    }),
    given("takes any bytes, none, and up to 64 KiB", async (kv) => {
      const all = Uint8Array.from({ length: 65_536 }, (_, n) => n & 255);
      await kv.putIfAbsent("all", all);
      await kv.putIfAbsent("none", new Uint8Array(0));
      assertEquals((await kv.get("all"))!.length, all.length);
      assert((await kv.get("all"))!.every((byte, n) => byte === all[n]), "bytes came back changed");
      assertEquals((await kv.get("none"))!.length, 0);
      await assertRejects(() => kv.putIfAbsent("more", new Uint8Array(65_537)), "ERR_TOO_LARGE");
      await assertRejects(() => kv.compareAndSet("none", new Uint8Array(0), new Uint8Array(65_537)), "ERR_TOO_LARGE");
      assertEquals(await kv.get("more"), undefined);
    }),
    given("refuses keys that are not 1 to 512 printable ASCII characters", async (kv) => {
      for (const key of ["", "a\n", "é", "a\u0000", "x".repeat(513)]) {
        await assertRejects(() => kv.putIfAbsent(key, bytes("v")), "ERR_INVALID_ARGUMENTS");
        await assertRejects(() => kv.get(key), "ERR_INVALID_ARGUMENTS");
      }
      assertEquals(await kv.putIfAbsent("x".repeat(512), bytes("v")), true);
    }),
    given("refuses everything once it is closed", async (kv) => {
      await kv.close();
      await kv.close();
      await assertRejects(() => kv.get("a"), "ERR_CLOSED");
      await assertRejects(() => kv.putIfAbsent("a", bytes("v")), "ERR_CLOSED");
      await assertRejects(() => kv.list(""), "ERR_CLOSED");
    }),
  ];
}
