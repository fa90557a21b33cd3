import { expect, test } from "vitest";
import { runFuzz } from "./fuzz.ts";

/** The same inputs each time: `tests/fault/fuzz.ts` takes other ones when it is started by hand. */
const SEED = 20_260_728;

test("2,000 hostile inputs crash nothing and hang nowhere: C-RPC-16", {
  timeout: 120_000,
}, async () => {
  const tried = await runFuzz(2000, SEED);
  expect(Object.values(tried).reduce((sum, count) => sum + count, 0)).toBe(
    2000,
  );
});
