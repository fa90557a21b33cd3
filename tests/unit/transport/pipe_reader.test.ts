import { describe, expect, test } from "vitest";
import { DEFAULT_PARSE_LIMITS } from "../../../src/jsonrpc/bounded_parse.ts";
import { PipeReader } from "../../../src/transport/pipe_reader.ts";
import type { TransportEnd } from "../../../src/transport/transport.ts";
import { listener, profile, type Told } from "./scripted_fetch.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

function reader(batches = false, maxLength = 10_000): { pipe: PipeReader; told: Told[]; fatal: TransportEnd[] } {
  const { handlers, told } = listener();
  const fatal: TransportEnd[] = [];
  const limits = { ...DEFAULT_PARSE_LIMITS, maxLength };
  return { pipe: new PipeReader(profile({ batches }), handlers, (end) => void fatal.push(end), limits), told, fatal };
}

const line = (value: unknown): string => `${typeof value === "string" ? value : JSON.stringify(value)}\n`;
const answer = (id: number): object => ({ jsonrpc: "2.0", id, result: {} });
const kinds = (told: readonly Told[]): string[] =>
  told.map((each) =>
    each.on === "message"
      ? each.message.kind
      : each.on === "malformed"
      ? each.reason
      : each.on === "warning"
      ? each.kind
      : each.on
  );

describe("pipe reader", () => {
  test("delivers one message a line, with its size in bytes", () => {
    const { pipe, told } = reader();
    pipe.push(bytesOf(line(answer(1)) + line({ jsonrpc: "2.0", method: "é" })));
    expect(told).toMatchObject([
      { on: "message", message: { kind: "result", id: 1 }, bytes: 36, of: undefined },
      { on: "message", message: { kind: "notification", method: "é" }, bytes: 31 },
    ]);
  });

  test("skips and counts what is no message, and delivers the message behind it (FR-01, A-14, C-RPC-16)", () => {
    const { pipe, told, fatal } = reader();
    const noise = ["Docs server ready", "42", '"x"', "[]", '{"level":"info"}', '{"jsonrpc":', "\u001b[32mok\u001b[0m"];
    pipe.push(bytesOf(`${noise.join("\n")}\r\n\r\n\n${line(answer(1))}`));
    expect(kinds(told)).toEqual([...noise.map(() => "noise"), "result"]);
    expect(fatal).toEqual([]);
  });

  test("gives up after 100 lines of noise in a row, and not when a message is among them", () => {
    const { pipe, told, fatal } = reader();
    pipe.push(bytesOf("noise\n".repeat(99) + line(answer(1)) + "noise\n".repeat(99)));
    expect(fatal).toEqual([]);
    pipe.push(bytesOf(`noise\n${line(answer(2))}`));
    expect(fatal).toMatchObject([{ reason: "noise", error: { code: "ERR_PROTOCOL" } }]);
    expect(kinds(told).filter((kind) => kind === "result")).toHaveLength(1);
    pipe.push(bytesOf(line(answer(3))));
    pipe.end();
    expect(fatal).toHaveLength(1);
    expect(kinds(told)).toHaveLength(200);
  });

  test("excerpt of noise is bounded, with room for scrubbing before it is cut", () => {
    const excerpts: (string | undefined)[] = [];
    const { handlers } = listener();
    const pipe = new PipeReader(
      profile(),
      { ...handlers, onWarning: (_kind, excerpt) => void excerpts.push(excerpt) },
      () => {},
    );
    pipe.push(bytesOf(line("n".repeat(50_000))));
    expect(excerpts).toEqual(["n".repeat(16 << 10)]);
  });

  test("delivers what came before an endless line, then gives up with a reason that names the limit (FR-04, A-12)", () => {
    const { pipe, told, fatal } = reader();
    pipe.push(bytesOf(line(answer(1)) + "a".repeat(5000)));
    for (let count = 0; count < 10; count++) pipe.push(bytesOf("a".repeat(5000)));
    pipe.push(bytesOf(`\n${line(answer(2))}`));
    expect(kinds(told)).toEqual(["result"]);
    expect(fatal).toMatchObject([{
      reason: "frame_too_large",
      error: { code: "ERR_FRAME_TOO_LARGE", facts: { maxBytes: 10_000 } },
    }]);
  });

  test("tells of broken messages under the id they claim, and they are no noise", () => {
    const { pipe, told, fatal } = reader();
    const broken = { jsonrpc: "2.0", id: 7, result: {}, error: { code: 1, message: "" } };
    for (let count = 0; count < 200; count++) pipe.push(bytesOf(line(broken)));
    pipe.push(
      bytesOf(
        line({ jsonrpc: "2.0", id: 1.5, result: {} }) +
          line(`{"jsonrpc":"2.0","id":1,"result":${"[".repeat(70)}${"]".repeat(70)}}`),
      ),
    );
    expect(fatal).toEqual([]);
    expect(told[0]).toEqual({ on: "malformed", reason: "envelope", id: 7, of: undefined });
    expect(kinds(told.slice(200))).toEqual(["id", "too_deep"]);
  });

  test("refuses an array as a whole where there are none, under the id it answers (A-20)", () => {
    const { pipe, told } = reader();
    pipe.push(
      bytesOf(line([{ jsonrpc: "2.0", method: "n" }, answer(3), answer(4)]) + line([{ jsonrpc: "2.0", method: "n" }])),
    );
    expect(told).toEqual([
      { on: "malformed", reason: "batch", id: 3, of: undefined },
      { on: "malformed", reason: "batch", id: undefined, of: undefined },
    ]);
  });

  test("takes an array of up to 100 members where there are such, and one bigger as one error (A-20, C-RPC-08)", () => {
    const { pipe, told } = reader(true);
    pipe.push(bytesOf(line([answer(1), 5, { jsonrpc: "2.0", method: "n" }])));
    expect(kinds(told)).toEqual(["result", "not_rpc", "notification"]);
    pipe.push(bytesOf(line(Array.from({ length: 100 }, (_, id) => answer(id)))));
    expect(told).toHaveLength(103);
    pipe.push(bytesOf(line(Array.from({ length: 101 }, (_, id) => answer(id)))));
    expect(told.slice(103)).toEqual([{ on: "malformed", reason: "batch", id: 0, of: undefined }]);
  });

  test("delivers a last line without its end, once (FR-02)", () => {
    const { pipe, told } = reader();
    pipe.push(bytesOf(JSON.stringify(answer(1))));
    expect(told).toEqual([]);
    pipe.end();
    pipe.end();
    pipe.push(bytesOf(line(answer(2))));
    expect(kinds(told)).toEqual(["result"]);
  });

  test("asks for a pause as long as a handler wants one", async () => {
    let release = (): void => {};
    const { handlers } = listener();
    const pipe = new PipeReader(profile(), {
      ...handlers,
      onMessage: () => new Promise<void>((resolve) => release = resolve),
    }, () => {});
    let over = false;
    const pause = pipe.push(bytesOf(line(answer(1))));
    void Promise.resolve(pause).then(() => over = true);
    await Promise.resolve();
    expect(over).toBe(false);
    release();
    await pause;
  });
});
