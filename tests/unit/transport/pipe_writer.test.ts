import { describe, expect, test } from "vitest";
import type { Outgoing } from "../../../src/jsonrpc/link.ts";
import { PipeWriter } from "../../../src/transport/pipe_writer.ts";

/** A pipe that takes each write when the test says so. */
function slowPipe(maxQueued = 1000): { writer: PipeWriter; writes: string[]; take: () => Promise<void> } {
  const writes: string[] = [];
  const waiting: (() => void)[] = [];
  const writer = new PipeWriter((text) => {
    writes.push(text);
    return new Promise((resolve) => waiting.push(resolve));
  }, maxQueued);
  const take = async (): Promise<void> => {
    waiting.shift()!();
    for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  };
  return { writer, writes, take };
}

const message = (text: string, id?: number): Outgoing => ({ text, method: "m", ...(id === undefined ? {} : { id }) });

async function isOver(promise: Promise<void> | undefined): Promise<boolean> {
  let over = promise === undefined;
  void promise?.then(() => over = true);
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  return over;
}

describe("pipe writer", () => {
  test("writes at once to a pipe that takes at once, and joins what the same turn still brings", async () => {
    const writes: string[] = [];
    const writer = new PipeWriter((text) => void writes.push(text), 1000);
    for (const text of ["a", "b", "c"]) expect(writer.send(message(text, 1))).toBe(true);
    expect(writes).toEqual(["a\n"]);
    await writer.flushed;
    expect(writes).toEqual(["a\n", "b\nc\n"]);
    await writer.flushed;
    expect(writer.flushed).toBeUndefined();
    writer.send(message("d", 2));
    expect(writes.at(-1)).toBe("d\n");
  });

  test("joins what comes while a write is under way, in order", async () => {
    const { writer, writes, take } = slowPipe();
    for (const text of ["a", "b", "c"]) writer.send(message(text));
    expect(writes).toEqual(["a\n"]);
    await take();
    expect(writes).toEqual(["a\n", "b\nc\n"]);
    writer.send(message("d"));
    await take();
    await take();
    expect(writes).toEqual(["a\n", "b\nc\n", "d\n"]);
    expect(writer.flushed).toBeUndefined();
  });

  test("goes on after a write that failed: whether the pipe is gone is told by its end", async () => {
    const writes: string[] = [];
    const writer = new PipeWriter((text) => {
      writes.push(text);
      return Promise.reject(new Error("EPIPE"));
    }, 1000);
    writer.send(message("a"));
    writer.send(message("b"));
    for (let turn = 0; turn < 9; turn++) await Promise.resolve();
    expect(writes).toEqual(["a\n", "b\n"]);
    expect(writer.flushed).toBeUndefined();
  });

  test("tells of each message when it has left, not when one before it has", async () => {
    const { writer, take } = slowPipe();
    writer.send(message("a"));
    const first = writer.flushed;
    writer.send(message("b"));
    const second = writer.flushed;
    await take();
    expect([await isOver(first), await isOver(second)]).toEqual([true, false]);
    writer.send(message("c"));
    await take();
    expect(await isOver(second)).toBe(true);
    expect(await isOver(writer.flushed)).toBe(false);
  });

  test("refuses what a full queue cannot take, and takes more when it is empty again", async () => {
    const { writer, writes, take } = slowPipe(10);
    expect(writer.send(message("x".repeat(100), 1))).toBe(true);
    expect(writer.send(message("12345", 2))).toBe(true);
    expect(writer.send(message("123456", 3))).toBe(false);
    expect(writer.send(message("1234", 4))).toBe(true);
    await take();
    expect(writes[1]).toBe("12345\n1234\n");
    expect(writer.send(message("123456789", 5))).toBe(true);
    expect([...writer.close()]).toEqual([5]);
  });

  test("gives at its close the requests that never left: not those of the write under way", async () => {
    const { writer, writes, take } = slowPipe();
    for (const [text, id] of [["a", 1], ["b", 2], ["n", undefined], ["c", 3]] as const) writer.send(message(text, id));
    await take();
    writer.send(message("d", 4));
    writer.send(message("e", 5));
    expect([...writer.close()]).toEqual([4, 5]);
    await take();
    expect(writes).toEqual(["a\n", "b\nn\nc\n"]);
    expect([...writer.close()]).toEqual([]);
  });

  test("takes messages after its close in silence and writes none", () => {
    const { writer, writes } = slowPipe();
    writer.close();
    expect(writer.send(message("a", 1))).toBe(true);
    expect(writes).toEqual([]);
  });
});
