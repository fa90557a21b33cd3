import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const script = fileURLToPath(new URL("../../../bench/run.mjs", import.meta.url));

test.each(["stdio c1 modern", "http c1 legacy"])(
  "benchmark row %s compares all contestants and says what it leaves out",
  (row) => {
    const text = execFileSync("node", [script, `--only=${row}`, "--rounds=1", "--scale=0.01"], { encoding: "utf8" });
    expect(text).toMatch(/^node 2/);
    for (const name of ["raw", "ours", "official", "gate"]) {
      expect(text).toMatch(new RegExp(`^  ${name} +cpu +[0-9.]+ /`, "m"));
    }
    expect(text).toMatch(/official .*cpu ratio +[0-9.]+ \/ +[0-9.]+/);
    expect(text).toContain("Not shown:");
  },
);
