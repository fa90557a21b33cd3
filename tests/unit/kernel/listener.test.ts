import { expect, it } from "vitest";
import { tell } from "../../../src/kernel/listener.ts";
import { settle } from "../../fixtures/settle.ts";

it("a listener that fails is reported once, at once or later, and what hears of it may fail too", async () => {
  const errors: unknown[] = [];
  const failed = (error: unknown): never => {
    errors.push(error);
    throw new Error("so does this");
  };
  tell(() => "fine", failed);
  tell(() => Promise.resolve(), failed);
  tell(() => {
    throw "at once";
  }, failed);
  tell(() => Promise.reject("later"), failed);
  tell(() => ({ then: (_: unknown, reject: (error: unknown) => void) => reject("of another kind") }), failed);
  await settle();
  expect(errors).toEqual(["at once", "later", "of another kind"]);
});
