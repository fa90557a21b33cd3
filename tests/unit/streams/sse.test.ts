import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type SseEvent, SseParser } from "../../../src/streams/sse.ts";
import { heldBytes } from "../../fixtures/held_memory.ts";
import { growthBeyondLinear } from "../cpu_time.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

interface Parsed {
  readonly events: SseEvent[];
  readonly retries: number[];
  readonly tooLarge: number[];
}

function parse(chunks: Iterable<Uint8Array>, maxLength = 1 << 20): Parsed {
  const out: Parsed = { events: [], retries: [], tooLarge: [] };
  const parser = new SseParser(maxLength, {
    onEvent: (event) => void out.events.push(event),
    onRetry: (delayMs) => void out.retries.push(delayMs),
    onTooLarge: (length) => void out.tooLarge.push(length),
  });
  for (const chunk of chunks) {
    const copy = chunk.slice();
    void parser.push(copy);
    copy.fill(0x3f);
  }
  return out;
}

function* pieces(bytes: Uint8Array, size: number): Iterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

const data = (text: string): Uint8Array[] => [bytesOf(text)];
const message = (text: string, lastEventId?: string): SseEvent => ({ event: "message", data: text, lastEventId });

describe("SSE parser", () => {
  const rows: [claim: string, text: string, events: SseEvent[]][] = [
    ["one event", "data: a\n\n", [message("a")]],
    ["data lines, which join with LF (FR-25)", 'data: {\ndata:  "a":1\ndata: }\n\n', [message('{\n "a":1\n}')]],
    ["CRLF (FR-25)", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", [message("a\nb"), message("c")]],
    ["CR alone", "data: a\rdata: b\r\rdata: c\r\r", [message("a\nb"), message("c")]],
    ["all three kinds of line end at once", "data: a\r\ndata: b\rdata: c\n\rdata: d\n\n", [
      message("a\nb\nc"),
      message("d"),
    ]],
    ["a colon without the space (FR-25)", "data:a\n\n", [message("a")]],
    ["two spaces, of which one belongs to the data", "data:  a\n\n", [message(" a")]],
    ["a tab, which is no space", "data:\ta\n\n", [message("\ta")]],
    ["event names", "event: x\ndata: a\n\ndata: b\n\n", [
      { event: "x", data: "a", lastEventId: undefined },
      message("b"),
    ]],
    ["an empty event name as message", "event:\ndata: a\n\n", [message("a")]],
    ["a name that came twice: the later one", "event: x\nevent: y\ndata: a\n\n", [{
      event: "y",
      data: "a",
      lastEventId: undefined,
    }]],
    ["a name without data as nothing", "event: x\n\ndata: a\n\n", [message("a")]],
    ["comments, empty ones too (C-HTTP-09)", ": hi\n:\n\n:x\ndata: a\n: between\ndata: b\n\n", [message("a\nb")]],
    ["fields nobody knows", "flavour: vanilla\nDATA: x\n data: y\ndata : z\ndata: a\n\n", [message("a")]],
    ["a data field without a colon as an empty line", "data\ndata\n\n", [message("\n")]],
    ["empty data", "data:\n\n", [message("")]],
    ["data with colons", "data: a: b:c\n\n", [message("a: b:c")]],
    ["ids, which stay until the next one", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", [
      message("a", "1"),
      message("b", "1"),
      message("c", ""),
    ]],
    ["an id alone as an event without data (FR-24)", "id: s-0\nretry: 30\ndata:\n\nid: s-1\n\ndata: a\n\n", [
      message("", "s-0"),
      message("", "s-1"),
      message("a", "s-1"),
    ]],
    ["ids with NUL, or too long for a header, as none", `id: 1\0\nid: ${"x".repeat(9000)}\ndata: a\n\n`, [
      message("a"),
    ]],
    ["an unfinished event as nothing", "data: a\n\ndata: b\n", [message("a")]],
    ["an unfinished line as nothing", "data: a\n\ndata: b", [message("a")]],
    ["a byte order mark at the start (FR-25)", "\uFEFFdata: a\n\n", [message("a")]],
    ["a byte order mark later as part of a field name", "data: a\n\n\uFEFFdata: b\n\n", [message("a")]],
    ["many blank lines", "\n\n\r\n\r\rdata: a\n\n\n\n", [message("a")]],
    ["nothing", "", []],
  ];
  test.each(rows)("knows %s", (_claim, text, events) => {
    expect(parse(data(text)).events).toEqual(events);
  });

  test("tells the reconnection time where it is all digits", () => {
    expect(parse(data("retry: 30\nretry:0\nretry: 1s\nretry: -1\nretry: 1.5\nretry:\nretry: 99999999999\n")).retries)
      .toEqual([30, 0]);
  });

  test("gives the same events at every cut", () => {
    const text =
      '\uFEFFid: é\r\ndata: {\rdata: "漢": "😀"\ndata: }\r\n\r\n: c\r\revent: x\ndata:\r\r\nretry: 5\n\n\rdata: z\n\n';
    const bytes = bytesOf(text);
    const whole = parse([bytes]);
    expect(whole.events.map((event) => event.data)).toEqual(['{\n"漢": "😀"\n}', "", "z"]);
    for (let one = 0; one <= bytes.length; one++) {
      for (let two = one; two <= bytes.length; two++) {
        expect(parse([bytes.subarray(0, one), bytes.subarray(one, two), bytes.subarray(two)])).toEqual(whole);
      }
    }
  });

  test("agrees with eventsource-parser on random streams and chunks", () => {
    const line = fc.constantFrom(
      "data: a",
      "data:b",
      "data",
      "data:",
      "data:  é漢",
      "data: 😀:x",
      "event: e",
      "event:",
      "event",
      "id: 7",
      "id:é",
      "id",
      ": c",
      ":",
      "retry: 12",
      "retry: x",
      "foo: bar",
      "",
      "",
      "",
    );
    const end = fc.constantFrom("\n", "\r\n", "\r");
    const stream = fc.array(fc.tuple(line, end), { maxLength: 30 }).map((lines) => lines.flat().join(""));
    fc.assert(
      fc.property(stream, fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), (text, steps) => {
        const expected: Omit<SseEvent, "lastEventId">[] = [];
        const retries: number[] = [];
        // A comment at the end takes the doubt from a CR that a LF might follow.
        const finished = `${text}: end\n`;
        createParser({
          onEvent: ({ event, data }) => void expected.push({ event: event ?? "message", data }),
          onRetry: (delayMs) => void retries.push(delayMs),
        }).feed(finished);
        const bytes = bytesOf(finished);
        const chunks: Uint8Array[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const step = steps[turn % steps.length]!;
          chunks.push(bytes.subarray(at, at + step));
          at += step;
        }
        const out = parse(chunks);
        const withData = (list: readonly { event: string; data: string }[]): unknown[] =>
          list.filter((each) => each.data !== "").map((each) => [each.event, each.data]);
        expect(withData(out.events)).toEqual(withData(expected));
        expect(out.retries).toEqual(retries);
      }),
      { numRuns: 500 },
    );
  });
});

describe("longest event", () => {
  const LIMIT = 3000;
  const chunkings: [string, (event: Uint8Array) => Iterable<Uint8Array>][] = [
    ["in a single write", (event) => [event]],
    ["in 1 KiB pieces", (event) => pieces(event, 1024)],
    ["byte by byte", (event) => pieces(event, 1)],
    ["with its end in the next chunk", (event) => [event.subarray(0, -2), event.subarray(-2)]],
    ["after another in one chunk", (event) => [Uint8Array.of(...bytesOf("data: before\n\n"), ...event)]],
  ];
  const shapes: [string, (length: number) => string][] = [
    ["of one data line", (length) => `data: ${"a".repeat(length)}\n\n`],
    ["of many data lines", (length) => `${"data: aaaaaaaaa\n".repeat(length / 10)}data:${"b".repeat(length % 10)}\n\n`],
    ["of empty data lines", (length) => "data\n".repeat(length + 1) + "\n"],
    ["with a long name", (length) => `event: ${"e".repeat(length)}\ndata: a\n\n`],
  ];
  for (const [how, chunk] of chunkings) {
    for (const [kind, make] of shapes) {
      test(`is the same ${how}, ${kind} (FR-03)`, () => {
        for (const length of [LIMIT - 1, LIMIT]) {
          const out = parse(chunk(bytesOf(make(length))), LIMIT);
          expect(out.tooLarge).toEqual([]);
          expect(out.events.length).toBeGreaterThan(0);
        }
        const out = parse(chunk(bytesOf(`${make(LIMIT + 1)}data: after\n\n`)), LIMIT);
        expect(out.tooLarge).toHaveLength(1);
        expect(out.tooLarge[0]).toBeGreaterThan(LIMIT);
        expect(out.events.filter((event) => event.data !== "before")).toEqual([]);
      });
    }
    test.each([": ", "unknown: ", "id: ", ""])(`holds for a line beginning with "%s", ${how}`, (field) => {
      const line = `${field}${"x".repeat(LIMIT * 2)}\n\n`;
      const out = parse(chunk(bytesOf(line)), LIMIT);
      expect(out.tooLarge).toHaveLength(1);
    });
  }

  test("holds for data in many lines (A-41)", () => {
    const out = parse(pieces(bytesOf("data: aaaa\n".repeat(LIMIT)), 777), LIMIT);
    expect(out).toMatchObject({ events: [] });
    expect(out.tooLarge).toHaveLength(1);
  });

  test("events before one that never ends are delivered, those after it are not (FR-04)", () => {
    const out = parse([
      bytesOf("data: one\n\ndata: two\n\ndata: "),
      ...pieces(new Uint8Array(LIMIT * 3).fill(0x61), 500),
      bytesOf("\n\ndata: x\n\n"),
    ], LIMIT);
    expect(out.events.map((event) => event.data)).toEqual(["one", "two"]);
    expect(out.tooLarge).toHaveLength(1);
  });

  test("is counted anew for each event", () => {
    const out = parse(data(`data: ${"a".repeat(LIMIT)}\n\n`.repeat(3)), LIMIT);
    expect(out.events).toHaveLength(3);
  });
});

describe("cost", () => {
  const streams: [string, (units: number) => Iterable<Uint8Array>][] = [
    ["only CR", (units) => pieces(new Uint8Array(units * 16).fill(0x0d), 64 << 10)],
    ["only LF", (units) => pieces(new Uint8Array(units * 16).fill(0x0a), 64 << 10)],
    ["CR in one chunk with a single LF at its end", (units) => {
      const bytes = new Uint8Array(units * 16).fill(0x0d);
      bytes[bytes.length - 1] = 0x0a;
      return [bytes];
    }],
    ["chunks of one byte", (units) => pieces(bytesOf(`data: ${"a".repeat(units)}\n\n`), 1)],
    ["tiny events", (units) => pieces(bytesOf("data: a\n\n".repeat(units)), 64 << 10)],
    ["empty data lines", (units) => pieces(bytesOf("data\n".repeat(units)), 64 << 10)],
  ];
  test.each(streams)("of %s is linear (A-41)", (_kind, make) => {
    const growth = growthBeyondLinear(40_000, (units) => {
      const chunks = [...make(units)];
      return () => {
        const parser = new SseParser(8 << 20, { onEvent: () => {}, onTooLarge: () => {} });
        for (const chunk of chunks) void parser.push(chunk);
      };
    });
    expect(growth).toBeLessThan(5);
  });

  test("of an event of empty lines is memory in proportion to its size", () => {
    let length: number | undefined;
    const parser = new SseParser(8 << 20, {
      onEvent: (event) => void (length = event.data.length),
      onTooLarge: () => {},
    });
    const chunk = bytesOf("data\n".repeat(10_000));
    const before = heldBytes();
    for (let count = 0; count < 400; count++) void parser.push(chunk);
    expect(heldBytes() - before).toBeLessThan(24 << 20);
    void parser.push(bytesOf("\n"));
    expect(length).toBe(400 * 10_000 - 1);
  });
});
