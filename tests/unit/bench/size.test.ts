import { expect, test } from "vitest";
import { bundleSize, SIZE_BUDGETS } from "../../../bench/size.mjs";

test("size of the client entry is found without faults", async () => {
  const { gzipBytes, faults } = await bundleSize({ file: SIZE_BUDGETS["./client, whole"]!.file! });
  expect(faults).toEqual([]);
  expect(gzipBytes).toBeGreaterThan(1024);
}, 120_000);

test("size names what must not be in a bundle", async () => {
  const { faults } = await bundleSize({ text: `import fs from "node:fs"; export const make = new Function(fs.sep);` });
  expect(faults).toEqual(["asks the runtime for node:fs", "makes code out of text"]);
}, 120_000);
