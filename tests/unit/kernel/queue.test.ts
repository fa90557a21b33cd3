import { describe, expect, test } from "vitest";
import { BoundedQueue } from "../../../src/kernel/queue.ts";

async function drain<T>(queue: BoundedQueue<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of queue) items.push(item);
  return items;
}

describe("bounded queue", () => {
  test("gives items in order, those that wait and those that are waited for", async () => {
    const queue = new BoundedQueue<number>(10);
    queue.push(1);
    queue.push(2);
    const reading = drain(queue);
    await Promise.resolve();
    queue.push(3);
    await Promise.resolve();
    queue.push(4);
    queue.end();
    expect(await reading).toEqual([1, 2, 3, 4]);
  });

  test("takes as many as it may hold, then ends its reader with a typed error after what was taken", async () => {
    let closed = 0;
    const queue = new BoundedQueue<number>(2, () => closed++);
    expect([queue.push(1), queue.push(2), queue.push(3), queue.push(4)]).toEqual([true, true, false, false]);
    expect(closed).toBe(1);
    const iterator = queue[Symbol.asyncIterator]();
    expect([await iterator.next(), await iterator.next()].map(({ value }) => value)).toEqual([1, 2]);
    await expect(iterator.next()).rejects.toMatchObject({ code: "ERR_TOO_LARGE" });
    expect(await iterator.next()).toEqual({ value: undefined, done: true });
  });

  test("ends once, with its first error", async () => {
    const queue = new BoundedQueue<number>(2);
    const waiting = queue.next();
    queue.end(new Error("first"));
    queue.end(new Error("second"));
    await expect(waiting).rejects.toThrow("first");
    expect(queue.push(1)).toBe(false);
  });

  test("is closed by a reader that leaves, waiting or not", async () => {
    let closed = 0;
    const queue = new BoundedQueue<number>(5, () => closed++);
    queue.push(1);
    queue.push(2);
    for await (const item of queue) if (item === 1) break;
    expect([closed, queue.size, queue.push(3)]).toEqual([1, 0, false]);
    const second = new BoundedQueue<number>(5);
    const iterator = second[Symbol.asyncIterator]();
    const waiting = iterator.next();
    await iterator.return!();
    expect(await waiting).toEqual({ value: undefined, done: true });
  });

  test("keeps no item that was read", async () => {
    const queue = new BoundedQueue<number>(3);
    for (let item = 0; item < 10_000; item++) {
      expect(queue.push(item)).toBe(true);
      expect((await queue.next()).value).toBe(item);
    }
    expect(queue.size).toBe(0);
  });
});
