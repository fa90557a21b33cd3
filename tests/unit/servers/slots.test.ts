import { expect, it } from "vitest";
import { Slots } from "../../../src/servers/slots.ts";

const never = new AbortController().signal;

it("slots let only so many run, in the order they came", async () => {
  const slots = new Slots(2);
  const order: number[] = [];
  const give: (() => void)[] = [];
  for (const task of [1, 2, 3, 4]) {
    void slots.take("Task", never).then((giveBack) => {
      order.push(task);
      give.push(giveBack);
    });
  }
  await Promise.resolve();
  await Promise.resolve();
  expect(order).toEqual([1, 2]);
  give[0]!();
  give[0]!();
  await Promise.resolve();
  await Promise.resolve();
  expect(order).toEqual([1, 2, 3]);
});

it("a slot that is no longer wanted is not taken", async () => {
  const slots = new Slots(1);
  const giveBack = await slots.take("Task", never);
  const controller = new AbortController();
  const waiting = slots.take("Task", controller.signal);
  const next = slots.take("Task", never);
  controller.abort();
  await expect(waiting).rejects.toMatchObject({ code: "ERR_CANCELLED" });
  giveBack();
  (await next)();
  await expect(slots.take("Task", controller.signal)).rejects.toMatchObject({ code: "ERR_CANCELLED" });
});
