import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const script = fileURLToPath(new URL("../../../bench/run.mjs", import.meta.url));

test.each(["stdio c1 modern", "http c1 legacy"])(
  "benchmark row %s compares all contestants and says what it leaves out",
  { timeout: 180_000 },
  async (row) => {
    const flags = [`--only=${row}`, "--rounds=1", "--scale=0.01"];
    const { stdout: text } = await promisify(execFile)("node", [script, ...flags]);
    expect(text).toMatch(/^node 2/);
    for (const name of ["raw", "ours", "official", "gate"]) {
      expect(text).toMatch(new RegExp(`^  ${name} +cpu +[0-9.]+ /`, "m"));
    }
    expect(text).toMatch(/official .*cpu ratio +[0-9.]+ \/ +[0-9.]+/);
    expect(text).toContain("Not shown:");
  },
);
