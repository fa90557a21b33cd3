import { toHex } from "../../src/kernel/canonical.ts";
import type { ArtifactStore, ArtifactWriter } from "../../src/store/artifacts.ts";
import { assert, assertEquals, assertRejects, type ContractCase } from "./contract.ts";

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** What every {@link ArtifactStore} promises. `make` gives an empty store with the quota asked for. */
export function artifactStoreCases(
  name: string,
  make: (options: { readonly maxTotalBytes?: number }) => Promise<ArtifactStore>,
): ContractCase[] {
  const given = (
    claim: string,
    run: (store: ArtifactStore) => Promise<void>,
    options: { readonly maxTotalBytes?: number } = {},
  ): ContractCase => ({
    name: `${name} ${claim}`,
    run: async () => {
      const store = await make(options);
      try {
        await run(store);
      } finally {
        await store.close();
      }
    },
  });
  const write = async (store: ArtifactStore, ...parts: readonly string[]): Promise<ArtifactWriter> => {
    const writer = await store.create({ mediaType: "text/plain" });
    for (const part of parts) await writer.write(bytesOf(part));
    return writer;
  };
  const put = async (store: ArtifactStore, ...parts: readonly string[]) => (await write(store, ...parts)).commit();

  return [
    given("names content by its SHA-256 and gives it back whole and in parts", async (store) => {
      const ref = await put(store, "hello ", "", "wide ", "wörld");
      const whole = bytesOf("hello wide wörld");
      assertEquals(ref, { sha256: await sha256(whole), bytes: whole.length, mediaType: "text/plain" });
      assertEquals(await store.stat(ref.sha256), ref);
      assertEquals(await store.read(ref.sha256), whole);
      assertEquals(await store.read(ref.sha256, { offset: 6, length: 4 }), bytesOf("wide"));
      assertEquals(await store.read(ref.sha256, { offset: 11 }), bytesOf("wörld"));
      assertEquals(await store.read(ref.sha256, { offset: 13, length: 100 }), whole.slice(13));
      assertEquals(await store.read(ref.sha256, { offset: 1_000 }), new Uint8Array(0));
      assertEquals(await store.read(ref.sha256, { offset: 3, length: 0 }), new Uint8Array(0));
    }),
    given("stores empty content", async (store) => {
      const ref = await put(store);
      assertEquals(ref.bytes, 0);
      assertEquals(await store.read(ref.sha256), new Uint8Array(0));
    }),
    given("gives equal references for equal content, with the first media type", async (store) => {
      const first = await put(store, "same");
      const writer = await store.create({ mediaType: "application/json" });
      await writer.write(bytesOf("sa"));
      await writer.write(bytesOf("me"));
      assertEquals(await writer.commit(), first);
      assertEquals(await store.stat(first.sha256), first);
    }),
    given("keeps the media type application/octet-stream too", async (store) => {
      const writer = await store.create({ mediaType: "application/octet-stream" });
      await writer.write(bytesOf("raw"));
      const ref = await writer.commit();
      assertEquals((await store.stat(ref.sha256))?.mediaType, "application/octet-stream");
    }),
    given("stores equal content once when two commit it together", async (store) => {
      const [a, b] = await Promise.all([write(store, "twin"), write(store, "twin")]);
      const [refA, refB] = await Promise.all([a.commit(), b.commit()]);
      assertEquals(refA, refB);
      // Room for one more of the same size shows that the second took none.
      await put(store, "next");
    }, { maxTotalBytes: 12 }),
    given("shows nothing before the commit, and nothing after an abort", async (store) => {
      const name = await sha256(bytesOf("draft"));
      const writer = await write(store, "dra", "ft");
      assertEquals(await store.stat(name), undefined);
      await writer.abort();
      await writer.abort();
      assertEquals(await store.read(name), undefined);
      await assertRejects(() => writer.commit(), "ERR_CLOSED");
    }),
    given("does writes in order, also when nobody waits for them", async (store) => {
      const writer = await store.create({ mediaType: "text/plain" });
      const parts = Array.from({ length: 200 }, (_, n) => `${n},`);
      const written = parts.map((part) => writer.write(bytesOf(part)));
      const ref = await writer.commit();
      await Promise.all(written);
      assertEquals(await store.read(ref.sha256), bytesOf(parts.join("")));
    }),
    given("keeps content apart from the arrays of its callers", async (store) => {
      const bytes = bytesOf("solid");
      const writer = await store.create({ mediaType: "text/plain" });
      await writer.write(bytes);
      bytes.fill(0);
      const ref = await writer.commit();
      (await store.read(ref.sha256))!.fill(1);
      assertEquals(await store.read(ref.sha256), bytesOf("solid"));
    }),
    given("refuses an artifact past its own limit; then only abort may follow", async (store) => {
      const writer = await store.create({ mediaType: "text/plain", maxBytes: 5 });
      await writer.write(bytesOf("12345"));
      await assertRejects(() => writer.write(bytesOf("6")), "ERR_TOO_LARGE");
      await assertRejects(() => writer.commit());
      await writer.abort();
      assertEquals(await store.stat(await sha256(bytesOf("12345"))), undefined);
    }),
    given("refuses what would pass the quota of all, and has room again after an abort", async (store) => {
      await put(store, "12345");
      const writer = await write(store, "abc");
      const other = await write(store, "de");
      await assertRejects(() => other.write(bytesOf("f")), "ERR_TOO_LARGE");
      await other.abort();
      await writer.write(bytesOf("de"));
      await writer.commit();
      const last = await store.create({ mediaType: "text/plain" });
      await assertRejects(() => last.write(bytesOf("!")), "ERR_TOO_LARGE");
      await last.abort();
    }, { maxTotalBytes: 10 }),
    given("A-84 refuses names that are not 64 lower-case hex digits", async (store) => {
      const names = [
        "../../etc/cron.d/x",
        "a\u0000b",
        "/etc/passwd",
        "C:\\x",
        "",
        "A".repeat(64),
        `${"a".repeat(64)}\n`,
      ];
      for (const name of [...names, "b".repeat(300_000)]) {
        await assertRejects(() => store.stat(name), "ERR_INVALID_ARGUMENTS");
        await assertRejects(() => store.read(name), "ERR_INVALID_ARGUMENTS");
      }
      assertEquals(await store.stat("0".repeat(64)), undefined);
      assertEquals(await store.read("0".repeat(64)), undefined);
    }),
    given("refuses a media type that could not stand in a header", async (store) => {
      for (const mediaType of ["", "text", "text/plain\r\nx: y", "té/xt", `a/${"b".repeat(300)}`]) {
        await assertRejects(() => store.create({ mediaType }), "ERR_INVALID_ARGUMENTS");
      }
    }),
    given("refuses everything once it is closed", async (store) => {
      const writer = await write(store, "late");
      await store.close();
      await assertRejects(() => store.create({ mediaType: "text/plain" }), "ERR_CLOSED");
      await assertRejects(() => store.stat("0".repeat(64)), "ERR_CLOSED");
      await assertRejects(() => writer.commit(), "ERR_CLOSED");
      await writer.abort();
    }),
    given("takes many megabytes in uneven pieces", async (store) => {
      const whole = Uint8Array.from({ length: 3_000_017 }, (_, n) => (n * 31) & 255);
      const writer = await store.create({ mediaType: "application/octet-stream" });
      for (let at = 0, size = 1; at < whole.length; at += size, size = (size * 7) % 65_537) {
        await writer.write(whole.subarray(at, at + size));
      }
      const ref = await writer.commit();
      assertEquals(ref.sha256, await sha256(whole));
      const part = (await store.read(ref.sha256, { offset: 2_999_000, length: 500 }))!;
      assert(part.every((byte, n) => byte === whole[2_999_000 + n]), "bytes came back changed");
    }),
  ];
}
