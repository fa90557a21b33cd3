import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DEFAULT_PARSE_LIMITS } from "../../../src/jsonrpc/bounded_parse.ts";
import { SpillParser } from "../../../src/jsonrpc/spill.ts";
import type { SpillSink } from "../../../src/jsonrpc/spill_sink.ts";
import { readSpilled } from "../../../src/jsonrpc/spilled_message.ts";
import { largeFrames } from "../../../src/transport/large_frames.ts";
import { PipeReader } from "../../../src/transport/pipe_reader.ts";
import type { TransportEnd } from "../../../src/transport/transport.ts";
import { listener, profile, type Told } from "./scripted_fetch.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

interface Pipe {
  readonly pipe: PipeReader;
  readonly told: Told[];
  readonly fatal: TransportEnd[];
  /** UTF-8 bytes that the sink was given, and how its texts have ended so far. */
  readonly spilled: { bytes: number; opened: number; aborted: number };
}

const WHOLE = 1000;

function openPipe(delays = false): Pipe {
  const { handlers, told } = listener();
  const fatal: TransportEnd[] = [];
  const spilled = { bytes: 0, opened: 0, aborted: 0 };
  const sink: SpillSink = {
    open() {
      spilled.opened++;
      return {
        write(utf8) {
          spilled.bytes += utf8.length;
          return delays ? Promise.resolve() : undefined;
        },
        close: () => Promise.reject(new Error("not asked for")),
        abort: () => void spilled.aborted++,
      };
    },
  };
  const frames = largeFrames({ sink, maxWholeBytes: WHOLE });
  const limits = { ...DEFAULT_PARSE_LIMITS, maxLength: 200_000 };
  const onFatal = (end: TransportEnd): void => void fatal.push(end);
  return { pipe: new PipeReader(profile(), handlers, onFatal, limits, frames), told, fatal, spilled };
}

const answer = (id: number, text: string): string => `${JSON.stringify({ jsonrpc: "2.0", id, result: { text } })}\n`;

async function feed(pipe: PipeReader, text: string, lengths: readonly number[] = [65_536]): Promise<void> {
  const bytes = encode(text);
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const chunk = new Uint8Array(bytes.subarray(at, at += lengths[turn % lengths.length]!));
    await pipe.push(chunk);
    chunk.fill(0);
  }
}

const shape = (told: readonly Told[]): unknown[] =>
  told.map((each) =>
    each.on === "message" && each.message.kind === "result"
      ? [
        each.message.id,
        (each.message.result as { text: string }).text.length,
        each.bytes,
        each.message.spills?.length,
      ]
      : each.on === "malformed"
      ? [each.reason, each.id]
      : each.on
  );

describe("long lines", () => {
  test("arrive in order with the short ones, whole up to 64 KiB and spilled beyond, however they are cut", async () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 2 * WHOLE }), fc.integer({ min: 60_000, max: 90_000 })), {
      minLength: 1,
      maxLength: 6,
    });
    const cuts = fc.array(fc.integer({ min: 1, max: 100_000 }), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(sizes, cuts, fc.boolean(), fc.constantFrom("\n", "\r\n"), async (lengths, cuts, delays, end) => {
        const { pipe, told, spilled, fatal } = openPipe(delays);
        const lines = lengths.map((length, id) => answer(id, "x".repeat(length)));
        await feed(pipe, lines.map((line) => line.trimEnd() + end).join(""), cuts);
        expect(fatal).toEqual([]);
        expect(told.map((each) => each.on === "message" && each.message.kind === "result" && each.message.id)).toEqual(
          lengths.map((_, id) => id),
        );
        const long = lengths.filter((length) => length > 65_536);
        expect([spilled.opened, spilled.bytes]).toEqual([long.length, long.reduce((sum, length) => sum + length, 0)]);
        expect(shape(told).map((each) => (each as unknown[])[1])).toEqual(
          lengths.map((length) => Math.min(length, 65_536)),
        );
      }),
      { numRuns: 60 },
    );
  });

  test("end with the source when no line end follows", async () => {
    const { pipe, told } = openPipe();
    await feed(pipe, answer(1, "x".repeat(5000)).trimEnd());
    pipe.end();
    expect(shape(told)).toEqual([[1, 5000, 5045, undefined]]);
  });

  test("that are not complete when the reader ends are let go of", async () => {
    const { pipe, told, spilled } = openPipe();
    await feed(pipe, answer(1, "x".repeat(100_000)).slice(0, 90_000));
    pipe.end();
    expect(told).toMatchObject([{ on: "warning", kind: "noise" }]);
    expect([spilled.opened, spilled.aborted]).toEqual([1, 1]);
  });

  test("that are refused are told at once, skipped to their end, and the lines behind them are read", async () => {
    const { pipe, told, fatal } = openPipe();
    await feed(pipe, `{"jsonrpc":"2.0","id":7,"result":{"a":${"[".repeat(2000)}`);
    expect(shape(told)).toEqual([["too_deep", 7]]);
    await feed(pipe, `${"]".repeat(2000)}}}\n${answer(8, "y")}`);
    expect(shape(told)).toEqual([["too_deep", 7], [8, 1, 46, undefined]]);
    expect(fatal).toEqual([]);
  });

  test("that are no JSON are noise, and the end of the connection when they are as long as a frame may be", async () => {
    const { pipe, told, fatal } = openPipe();
    await feed(pipe, `${"] ".repeat(2000)}\n`);
    expect(told).toMatchObject([{ on: "warning", kind: "noise" }]);
    expect(fatal).toEqual([]);
    await feed(pipe, "] ".repeat(5 << 20));
    expect(fatal).toMatchObject([{ reason: "frame_too_large", error: { code: "ERR_FRAME_TOO_LARGE" } }]);
  });

  test("whose parts that stay are too large fail alone", async () => {
    const { pipe, told, fatal } = openPipe();
    const frame = `{"jsonrpc":"2.0","id":3,"result":{"list":[${'"x",'.repeat(3 << 20)}"x"]}}\n`;
    await feed(pipe, frame + answer(4, "z"));
    expect(shape(told)).toEqual([["too_many_nodes", 3], [4, 1, 46, undefined]]);
    expect(fatal).toEqual([]);
  });
});

describe("pipe reader without frames", () => {
  test("asks for no parser", async () => {
    const { handlers, told } = listener();
    const fatal: TransportEnd[] = [];
    const pipe = new PipeReader(profile(), handlers, (end) => void fatal.push(end));
    await feed(pipe, answer(1, "x".repeat(3 << 20)));
    expect(shape(told)).toEqual([[1, 3 << 20, (3 << 20) + 45, undefined]]);
  });
});

test("parser of a frame gives the message, its long strings only with an answer", async () => {
  const aborted: number[] = [];
  let opened = 0;
  const sink: SpillSink = {
    open() {
      const number = opened++;
      return {
        write() {},
        close: () => Promise.reject(new Error("not asked for")),
        abort: () => void aborted.push(number),
      };
    },
  };
  const read = async (value: unknown): Promise<unknown> => {
    const parser = new SpillParser({ sink });
    await parser.push(encode(JSON.stringify(value)));
    return readSpilled(await parser.end());
  };
  const long = "x".repeat(100_000);
  expect(await read({ jsonrpc: "2.0", id: 1, result: { long } })).toMatchObject({
    kind: "result",
    spills: [{ pointer: "/result/long", bytes: 100_000 }],
  });
  expect(aborted).toEqual([]);
  expect(await read({ jsonrpc: "2.0", method: "x", params: { long } })).toMatchObject({ kind: "notification" });
  expect(await read({ jsonrpc: "2.0", id: 1, error: { code: 1, message: long } })).toMatchObject({ kind: "error" });
  expect(await read({ long })).toMatchObject({ kind: "malformed", reason: "not_rpc" });
  expect(aborted).toEqual([1, 2, 3]);
});

describe("long lines by their beginning", () => {
  test("that begin like no message are noise at once: nothing of them is held, and at 8 MiB the pipe is given up (A-12)", async () => {
    for (const beginning of ["", "\uFEFF", "  \t", '"', "1"]) {
      const { pipe, told, fatal, spilled } = openPipe();
      await feed(pipe, `${beginning}${"a".repeat(2 * WHOLE)}`);
      expect(told).toEqual([{ on: "warning", kind: "noise" }]);
      await feed(pipe, `${"a".repeat(100_000)}\n${answer(1, "behind it")}`);
      expect(shape(told.slice(1))).toHaveLength(1);
      expect([fatal, spilled.opened]).toEqual([[], 0]);
      const rest = "a".repeat(1 << 20);
      for (let at = 0; at < 9; at++) await feed(pipe, rest);
      expect(fatal).toMatchObject([{ reason: "frame_too_large" }]);
    }
  });

  test("that begin like one are read as one, white space or not", async () => {
    const { pipe, told, fatal } = openPipe();
    await feed(pipe, `\uFEFF \t${answer(1, "x".repeat(2 * WHOLE))}`);
    expect([told.map(({ on }) => on), fatal]).toEqual([["message"], []]);
  });
});
