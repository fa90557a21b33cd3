import { describe, expect, test } from "vitest";
import { LimitedBytesTransformStream, TextLineStream } from "../../../src/streams/text_line_stream.ts";
import { settle } from "../../fixtures/settle.ts";
import { toText } from "../../../src/streams/to_text.ts";

const bytesOf = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

/** A stream of these chunks that ends, or stays open for ever where `open` says so, and tells how it was cancelled. */
function source(
  chunks: Uint8Array<ArrayBuffer>[],
  open = false,
): ReadableStream<Uint8Array<ArrayBuffer>> & { cancelled?: unknown } {
  const stream: ReadableStream<Uint8Array<ArrayBuffer>> & { cancelled?: unknown } = new ReadableStream({
    async pull(controller) {
      const next = chunks.shift();
      if (next !== undefined) controller.enqueue(next);
      else if (open) await new Promise<void>(() => {/* a source that has stalled */});
      else controller.close();
    },
    cancel(reason) {
      stream.cancelled = reason;
    },
  }, { highWaterMark: 0 });
  return stream;
}

async function readAll<T>(stream: ReadableStream<T>): Promise<{ values: T[]; error?: unknown }> {
  const values: T[] = [];
  try {
    for (const reader = stream.getReader();;) {
      const { value, done } = await reader.read();
      if (done) return { values };
      values.push(value);
    }
  } catch (error) {
    return { values, error };
  }
}

describe("TextLineStream", () => {
  test("cuts bytes into lines, blank ones left out, the last one with or without its end", async () => {
    const { values } = await readAll(
      source([bytesOf("on"), bytesOf("e\r\n\ntwo\nthr"), bytesOf("ee")]).pipeThrough(new TextLineStream()),
    );
    expect(values).toEqual(["one", "two", "three"]);
  });

  test("delivers the lines before one that is too long, then errs (FR-04)", async () => {
    for (const more of [[bytesOf("aaaaaaaaa"), bytesOf("\nfive\n")], []]) {
      const chunks = [
        bytesOf("one\n"),
        bytesOf("two\nthree\nfour\naaaaaaaaaaaaaaaa"),
        ...more,
      ];
      const { values, error } = await readAll(
        source(chunks).pipeThrough(new TextLineStream({ maxLineBytes: 10 })),
      );
      expect(values).toEqual(["one", "two", "three", "four"]);
      expect(error).toMatchObject({ code: "ERR_FRAME_TOO_LARGE", facts: { maxBytes: 10 } });
    }
  });

  test("errs at the end when the last line is too long", async () => {
    const { values, error } = await readAll(
      source([bytesOf("one\ntwo\naaaaaaaaaaa")]).pipeThrough(new TextLineStream({ maxLineBytes: 10 })),
    );
    expect(values).toEqual(["one", "two"]);
    expect(error).toMatchObject({ code: "ERR_FRAME_TOO_LARGE" });
  });

  test("takes 8 MiB by default", async () => {
    const line = "a".repeat(8 << 20);
    const { values } = await readAll(source([bytesOf(`${line}\n`)]).pipeThrough(new TextLineStream()));
    expect(values).toEqual([line]);
    const { error } = await readAll(source([bytesOf(`${line}a\n`)]).pipeThrough(new TextLineStream()));
    expect(error).toMatchObject({ code: "ERR_FRAME_TOO_LARGE" });
  });
});

describe("LimitedBytesTransformStream", () => {
  test("lets exactly its limit through, in whatever chunks", async () => {
    const { values, error } = await readAll(
      source([bytesOf("12345"), bytesOf(""), bytesOf("67890")]).pipeThrough(new LimitedBytesTransformStream(10)),
    );
    expect(values.map((value) => new TextDecoder().decode(value)).join("")).toBe("1234567890");
    expect(error).toBeUndefined();
  });

  test("errs past its limit, cuts nothing silently, and cancels its source", async () => {
    const input = source([bytesOf("12345"), bytesOf("678901"), bytesOf("never")], true);
    const { values, error } = await readAll(input.pipeThrough(new LimitedBytesTransformStream(10)));
    expect(values).toHaveLength(1);
    expect(error).toMatchObject({ code: "ERR_FRAME_TOO_LARGE", facts: { bytes: 11, maxBytes: 10 } });
    await settle();
    expect(input.cancelled).toBe(error);
  });
});

describe("toText", () => {
  test("joins characters that were cut", async () => {
    const bytes = bytesOf("é漢😀");
    expect(await toText(source(Array.from(bytes, (byte) => Uint8Array.of(byte))))).toBe("é漢😀");
  });

  test("drops a byte order mark, and gives U+FFFD for a character that never ends", async () => {
    expect(await toText(source([Uint8Array.of(0xef, 0xbb), Uint8Array.of(0xbf, 0x61, 0xe6, 0xbc)]))).toBe("a\uFFFD");
  });

  test("takes its limit in bytes, not in characters", async () => {
    expect(await toText(source([bytesOf("éé")]), 4)).toBe("éé");
    await expect(toText(source([bytesOf("ééa")]), 4)).rejects.toMatchObject({ code: "ERR_FRAME_TOO_LARGE" });
  });

  test("cancels an endless source at its limit, though cancelling fails", async () => {
    let given = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        given++;
        controller.enqueue(new Uint8Array(1024));
      },
      cancel: () => Promise.reject(new Error("does not want to")),
    }, { highWaterMark: 0 });
    await expect(toText(endless, 10_000)).rejects.toMatchObject({
      code: "ERR_FRAME_TOO_LARGE",
      facts: { maxBytes: 10_000 },
    });
    expect(given).toBeLessThanOrEqual(12);
  });

  test("rejects with what its source broke with", async () => {
    const broken = new ReadableStream<Uint8Array>({ start: (controller) => controller.error(new TypeError("cut")) });
    await expect(toText(broken)).rejects.toThrow("cut");
  });

  test("is empty for an empty stream", async () => {
    expect(await toText(source([]))).toBe("");
  });
});
