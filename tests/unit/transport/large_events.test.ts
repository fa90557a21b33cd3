import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ParsedMessage } from "../../../src/jsonrpc/message.ts";
import type { SpillSink } from "../../../src/jsonrpc/spill_sink.ts";
import { SseParser } from "../../../src/streams/sse.ts";
import { largeFrames } from "../../../src/transport/large_frames.ts";

const WHOLE = 1000;

interface Stream {
  readonly told: unknown[];
  readonly spilled: { bytes: number; aborted: number };
  push(chunk: Uint8Array): Promise<void>;
  abort(): void;
}

/** What the stream tells: data of short events, and of long ones the text within and its bytes. */
function openStream(delays = false): Stream {
  const told: unknown[] = [];
  const spilled = { bytes: 0, aborted: 0 };
  const sink: SpillSink = {
    open: () => ({
      write(utf8) {
        spilled.bytes += utf8.length;
        return delays ? Promise.resolve() : undefined;
      },
      close: () => Promise.reject(new Error("not asked for")),
      abort: () => void spilled.aborted++,
    }),
  };
  const parser = new SseParser(200_000, {
    onEvent: (event) => {
      if (source.take(event, event.event === "message")) return;
      told.push([event.event, event.data, event.lastEventId]);
    },
    onTooLarge: () => void told.push("too large"),
  });
  const source = largeFrames({ sink, maxWholeBytes: WHOLE }).events(parser, (message, bytes) => {
    told.push([textOf(message), bytes]);
  });
  return { told, spilled, push: async (chunk) => await source.push(chunk), abort: () => source.abort() };
}

function textOf(message: ParsedMessage): unknown {
  return message.kind === "result" ? (message.result as { text: string }).text : message;
}

async function feed(stream: Stream, text: string, lengths: readonly number[] = [65_536]): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const chunk = new Uint8Array(bytes.subarray(at, at += lengths[turn % lengths.length]!));
    await stream.push(chunk);
    chunk.fill(0);
  }
}

const json = (text: string): string => JSON.stringify({ jsonrpc: "2.0", id: 1, result: { text } });
const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

describe("long events", () => {
  test("give what whole ones give, however they are cut and whatever ends their lines", async () => {
    const length = fc.oneof(fc.integer({ min: 0, max: 3 * WHOLE }), fc.integer({ min: 10_000, max: 20_000 }));
    const event = fc.record({
      length,
      letter: fc.constantFrom("x", "é", "€", "𝄞"),
      name: fc.boolean(),
      id: fc.boolean(),
    });
    const cuts = fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { minLength: 1, maxLength: 5 }),
        cuts,
        fc.constantFrom("\n", "\r\n", "\r"),
        fc.boolean(),
        async (events, cuts, end, delays) => {
          const stream = openStream(delays);
          const texts = events.map(({ length, letter }) => letter.repeat(length / bytesOf(letter)));
          const lines = events.flatMap(({ name, id }, at) => [
            ...(id ? [`id: ${at}`] : []),
            `data: ${json(texts[at]!)}`,
            ...(name ? ["event: message"] : []),
            ": a comment",
            "",
          ]);
          await feed(stream, lines.map((line) => line + end).join(""), cuts);
          const found = stream.told.map((each) => {
            const [first, second] = each as [string, string | number];
            // A short one that comes in a chunk with its end is held; where a long one begins depends on the cuts.
            return first === "message" ? [textOf(kind(second as string))] : [first];
          });
          expect(found).toEqual(texts.map((text) => [text]));
          expect(stream.spilled.bytes).toBe(0);
        },
      ),
      { numRuns: 80 },
    );
  });

  test("spill their long strings", async () => {
    const stream = openStream();
    const text = "é".repeat(100_000);
    await feed(stream, `event: message\ndata: ${json(text)}\nid: 7\n\ndata: {"short":1}\n\n`, [4999]);
    expect(stream.told).toEqual([[text.slice(0, 32_768), bytesOf(json(text))], ["message", '{"short":1}', "7"]]);
    expect([stream.spilled.bytes, stream.spilled.aborted]).toEqual([200_000, 0]);
  });

  test("may have data before and behind the long line", async () => {
    const stream = openStream();
    await feed(stream, `data: {"jsonrpc":"2.0",\ndata: "id":1,"result":{"text":"${"x".repeat(5000)}"\ndata:}}\n\n`, [
      100,
    ]);
    expect(stream.told).toMatchObject([["x".repeat(5000), expect.any(Number)]]);
  });

  test("of another name are let go of", async () => {
    const stream = openStream();
    await feed(stream, `data: ${json("x".repeat(100_000))}\nevent: other\n\n`, [1000]);
    expect([stream.told, stream.spilled.aborted]).toEqual([[], 1]);
  });

  test("that are not complete are none", async () => {
    const stream = openStream();
    await feed(stream, `data: ${json("x".repeat(100_000))}\n`, [1000]);
    stream.abort();
    expect([stream.told, stream.spilled.aborted]).toEqual([[], 1]);
  });

  test("that are refused are told at once", async () => {
    const stream = openStream();
    await feed(stream, `data: {"jsonrpc":"2.0","id":3,"result":${"[".repeat(2000)}`, [500]);
    expect(stream.told).toMatchObject([[{ kind: "malformed", reason: "too_deep", id: 3 }, expect.any(Number)]]);
    await feed(stream, `${"]".repeat(2000)}}\n\ndata: 1\n\n`, [500]);
    expect(stream.told.slice(1)).toEqual([["message", "1", undefined]]);
  });

  test("long comments are held and refused where they pass the limit", async () => {
    const stream = openStream();
    await feed(stream, `: ${"x".repeat(150_000)}\ndata: 1\n\n: ${"x".repeat(300_000)}`, [1000]);
    expect(stream.told).toEqual([["message", "1", undefined], "too large"]);
  });
});

function kind(data: string): ParsedMessage {
  return { kind: "result", id: 1, result: JSON.parse(data).result };
}

describe("long bodies", () => {
  const sink: SpillSink = {
    open: () => ({ write() {}, close: () => Promise.reject(new Error("not asked for")), abort() {} }),
  };
  const frames = largeFrames({ sink, maxWholeBytes: WHOLE });
  const body = (...parts: string[]): Response => {
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const part of parts) controller.enqueue(new TextEncoder().encode(part));
        controller.close();
      },
    });
    return new Response(stream);
  };

  test("are text while they can be held", async () => {
    expect(await frames.body(new Response(null), true)).toEqual({ text: "" });
    expect(await frames.body(body("a", "é", "b"), false)).toEqual({ text: "aéb" });
    expect(await frames.body(body("x".repeat(WHOLE)), false)).toEqual({ text: "x".repeat(WHOLE) });
    const known = new Response("short", { headers: { "content-length": "5" } });
    expect(await frames.body(known, true)).toEqual({ text: "short" });
  });

  test("are parsed while they arrive when they cannot", async () => {
    const text = json("x".repeat(100_000));
    const found = await frames.body(body(...text.match(/.{1,777}/g)!), false);
    expect(found).toMatchObject({
      bytes: text.length,
      message: { kind: "result", result: { text: "x".repeat(65_536) }, spills: [{ bytes: 100_000 }] },
    });
  });

  test("that are refused are not read on", async () => {
    let isCancelled = false;
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode("[".repeat(500))),
      cancel: () => {
        isCancelled = true;
      },
    });
    expect(await frames.body(new Response(stream), false)).toMatchObject({
      message: { kind: "malformed", reason: "too_deep" },
    });
    expect(isCancelled).toBe(true);
  });

  test("that break reject, and let go of what they have opened", async () => {
    let aborted = 0;
    const counting = largeFrames({
      maxWholeBytes: WHOLE,
      sink: { open: () => ({ write() {}, close: () => Promise.reject(new Error("no")), abort: () => void aborted++ }) },
    });
    let turns = 0;
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (turns++ < 100) controller.enqueue(new TextEncoder().encode(turns === 1 ? '{"a":"' : "x".repeat(1000)));
        else controller.error(new Error("broken"));
      },
    });
    await expect(counting.body(new Response(stream), false)).rejects.toThrow("broken");
    expect(aborted).toBe(1);
  });
});

describe("long events that are none", () => {
  test("that go on for 64 MiB after they were refused end their stream (A-41)", async () => {
    const stream = openStream();
    const rest = "1,".repeat(1 << 19);
    await feed(stream, "data: [");
    // Up to its refusal it is bounded by what may be held.
    for (let at = 0; at < 9; at++) await feed(stream, rest);
    expect(stream.told).toHaveLength(1);
    let fed = 0;
    const goOn = async (): Promise<void> => {
      for (; fed < 100; fed++) await feed(stream, rest);
    };
    await expect(goOn()).rejects.toMatchObject({ code: "ERR_FRAME_TOO_LARGE" });
    expect(fed).toBeGreaterThan(50);
    expect(fed).toBeLessThanOrEqual(64);
    expect(stream.told).toHaveLength(1);
    stream.abort();
  });

  test("of long lines that are no data are looked at once (A-41)", async () => {
    const stream = openStream();
    await feed(stream, `event: ${"n".repeat(5 * WHOLE)}\ndata: ${json("x".repeat(2 * WHOLE))}\n\n`, [100]);
    await feed(stream, `data: ${json("y".repeat(2 * WHOLE))}\n\n`, [100]);
    expect(stream.told).toMatchObject([["y".repeat(2 * WHOLE), expect.any(Number)]]);
  });
});
