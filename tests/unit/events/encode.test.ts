import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { eventBytes, eventJson, makeEvent, MAX_EVENT_BYTES, preparePayload } from "../../../src/events/encode.ts";
import type { EventInput, EventPayload } from "../../../src/events/event.ts";

const untouched = { value: <T>(value: T): T => value };
const stamp = { seq: Number.MAX_SAFE_INTEGER, id: "evt_01234567890123456789012345", at: 1_764_500_000_000, epoch: 3 };
const stream = "session:s_1";
const make = (input: EventInput, scrubber = untouched) =>
  makeEvent(input, preparePayload(input, stream, scrubber), { ...stamp, stream });
const payloadOf = (payload: EventPayload): EventPayload => make({ type: "mcp.log", payload }).payload;

describe("event", () => {
  it("has its members in one order, whatever order they were given in", () => {
    const event = makeEvent(
      { payload: { b: 1, a: 2 }, cause: { seq: 4, stream: "host:main" }, turnId: "t_1", type: "tool.started" },
      { b: 1, a: 2 },
      { epoch: 3, stream, at: 5, id: "evt_1", seq: 12 },
    );
    expect(eventJson(event)).toBe(
      '{"v":1,"seq":12,"id":"evt_1","at":5,"stream":"session:s_1","epoch":3,"turnId":"t_1",' +
        '"cause":{"stream":"host:main","seq":4},"type":"tool.started","payload":{"b":1,"a":2}}',
    );
    expect(Object.keys(make({ type: "mcp.log", payload: {} }))).toEqual(
      ["v", "seq", "id", "at", "stream", "epoch", "type", "payload"],
    );
    expect(Object.keys(make({ type: "mcp.log", payload: {}, turnId: "t" })).slice(6)).toEqual([
      "turnId",
      "type",
      "payload",
    ]);
    expect(Object.keys(make({ type: "mcp.log", payload: {}, cause: { stream, seq: 1 } })).slice(6)).toEqual(
      ["cause", "type", "payload"],
    );
  });

  it("reads in memory as it will read from its bytes", () => {
    const date = new Date(0);
    const payload = {
      u: undefined,
      f: () => 1,
      n: NaN,
      z: -0,
      list: [undefined, Infinity, Symbol("s")],
      date,
      big: 10n ** 20n,
    };
    expect(payloadOf(payload)).toEqual({
      n: null,
      z: 0,
      list: [null, null, null],
      date: "1970-01-01T00:00:00.000Z",
      big: "100000000000000000000",
    });
    expect(Object.is((payloadOf(payload) as { z: number }).z, 0)).toBe(true);
    fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const event = make({ type: "mcp.log", payload: value });
      expect(event.payload).toEqual(JSON.parse(eventJson(event)).payload);
    }));
  });

  it("is a copy: what its writer changes later does not show", () => {
    const payload = { list: [1], deep: { a: 1 } };
    const event = make({ type: "mcp.log", payload });
    payload.list.push(2);
    payload.deep.a = 2;
    expect(event.payload).toEqual({ list: [1], deep: { a: 1 } });
  });

  it("A-30 touches no prototype", () => {
    const hostile = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"p":1}}}');
    const { payload } = make({ type: "mcp.log", payload: { hostile } });
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(JSON.stringify(payload)).toBe('{"hostile":{"constructor":{"prototype":{"p":1}}}}');
  });

  it("is scrubbed before it is shortened, so that no half of a secret is left", () => {
    const scrubber = {
      value: <T>(value: T): T => JSON.parse(JSON.stringify(value).replaceAll("0123456789", "#")) as T,
    };
    const text = "x".repeat(4_090) + "0123456789" + "y".repeat(20_000);
    const event = make({ type: "mcp.log", payload: { text } }, scrubber);
    expect(JSON.stringify(event.payload).includes("01234")).toBe(false);
    expect(event.payload["truncated"]).toBe(true);
  });
});

describe("event that is too large", () => {
  const sizes = (payload: EventPayload): number => eventBytes(make({ type: "mcp.log", payload })).length;

  it.each<[string, EventPayload]>([
    ["a long text", { text: "x".repeat(100_000) }],
    ["a text of control characters", { text: "\u0001".repeat(100_000) }],
    ["a text of wide characters", { text: "日本語".repeat(20_000) }],
    ["a text of lone surrogates", { text: "\ud800".repeat(20_000) }],
    ["a long list", { list: Array.from({ length: 100_000 }, (_, n) => n) }],
    ["a list of long texts", { list: Array.from({ length: 200 }, () => "x".repeat(5_000)) }],
    ["many members", Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`key_${n}`, n]))],
    [
      "long keys",
      Object.fromEntries(Array.from({ length: 50 }, (_, n) => ["\u0002".repeat(5_000) + n, "\u0003".repeat(99)])),
    ],
    ["wide and deep objects", { a: nest(8, 8) }],
    ["members beyond counting", { a: nest(5, 20) }],
  ])("fits with %s, and says so", (_, payload) => {
    expect(sizes(payload)).toBeLessThanOrEqual(MAX_EVENT_BYTES);
    expect(payloadOf(payload)["truncated"]).toBe(true);
    expect(payloadOf(payload)).toEqual(payloadOf(payload));
  });

  it("fits whatever its payload is", () => {
    const wide = fc.array(fc.jsonValue({ maxDepth: 5 }), { maxLength: 30 });
    fc.assert(
      fc.property(fc.dictionary(fc.string(), wide), fc.string(), fc.nat(30_000), (payload, text, times) => {
        const long = text.repeat(times).slice(0, 60_000);
        expect(sizes({ ...payload, long, again: [long, { long }] })).toBeLessThanOrEqual(MAX_EVENT_BYTES);
      }),
      { numRuns: 60 },
    );
  });

  it("fits with the longest envelope too", () => {
    const input: EventInput = {
      type: "mcp.server.permanently_failed",
      payload: { text: "y".repeat(50_000) },
      turnId: "\u0001".repeat(1_000),
      cause: { stream: "\u0002".repeat(1_000), seq: Number.MAX_SAFE_INTEGER },
    };
    const longest = '"'.repeat(200);
    const event = makeEvent(input, preparePayload(input, longest, untouched), { ...stamp, stream: longest });
    expect(eventBytes(event).length).toBeLessThanOrEqual(MAX_EVENT_BYTES);
    expect(String(event.payload["text"]).length).toBeGreaterThan(1_000);
  });

  it("keeps the first fifty of a list and tells how many are missing", () => {
    const added = Array.from({ length: 100_000 }, (_, n) => `tool_number_${n}`);
    expect(payloadOf({ server: "files", added, removed: [] })).toEqual({
      server: "files",
      added: added.slice(0, 50),
      removed: [],
      truncated: true,
      omitted: { "/added": 99_950 },
    });
  });

  it("keeps short members whole beside a long one", () => {
    const payload = {
      tool: "mcp.a.b",
      toolCallId: "tc_1",
      isError: false,
      resultSize: 7,
      resultPreview: "z".repeat(30_000),
    };
    expect(payloadOf(payload)).toMatchObject({ tool: "mcp.a.b", toolCallId: "tc_1", isError: false, resultSize: 7 });
  });

  it("never cuts a character in two", () => {
    const { text } = payloadOf({ text: "a" + "😀".repeat(20_000) }) as { text: string };
    expect(text.endsWith("😀…")).toBe(true);
  });

  it("is left as it is up to the cap", () => {
    const text = "x".repeat(15_000);
    expect(payloadOf({ text })).toEqual({ text });
  });

  it("survives a cycle", () => {
    const cycle: Record<string, unknown> = { name: "loop" };
    cycle["self"] = cycle;
    cycle["twice"] = [cycle, cycle];
    const twin = { same: 1 };
    expect(payloadOf({ cycle })).toEqual({ cycle: { name: "loop", self: "…", twice: ["…", "…"] }, truncated: true });
    expect(payloadOf({ a: twin, b: twin })).toEqual({ a: twin, b: twin });
  });
});

function nest(depth: number, width: number): unknown {
  if (depth === 0) return "leaf";
  return Object.fromEntries(Array.from({ length: width }, (_, n) => [`m${n}`, n < 4 ? nest(depth - 1, width) : n]));
}
