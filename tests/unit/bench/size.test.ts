import { expect, test } from "vitest";
import { bundleSize, SIZE_BUDGETS } from "../../../bench/size.mjs";

test("size of the client entry is within its budget and without faults", async () => {
  const { file, gzipBytes: budget } = SIZE_BUDGETS["./client"]!;
  const { gzipBytes, faults } = await bundleSize({ file });
  expect(faults).toEqual([]);
  expect(gzipBytes).toBeLessThanOrEqual(budget);
}, 60_000);

test("size names what must not be in a bundle", async () => {
  const { faults } = await bundleSize({ text: `import fs from "node:fs"; export const make = new Function(fs.sep);` });
  expect(faults).toEqual(["asks the runtime for node:fs", "makes code out of text"]);
}, 60_000);
