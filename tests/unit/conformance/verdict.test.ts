import { describe, expect, test } from "vitest";
import {
  type Evidence,
  reasonsAgainst,
  type Result,
  rowOf,
  scoreLine,
  unknownNames,
} from "../../conformance/verdict.mjs";

const good: Evidence = {
  code: 0,
  timedOut: false,
  checks: [{ id: "a", status: "SUCCESS" }, { id: "b", status: "INFO" }, {
    id: "c",
    status: "SKIPPED",
  }],
  stdout: "driver: done\n",
  stderr: "",
};

describe("verdict on a scenario", () => {
  test("is a pass when all is good", () => {
    expect(reasonsAgainst(good)).toEqual([]);
  });

  const rows: [what: string, evidence: Partial<Evidence>, reason: RegExp][] = [
    ["a failed check", {
      checks: [{ id: "a", status: "SUCCESS" }, { id: "b", status: "FAILURE" }],
    }, /^b FAILURE$/],
    ["a warning", {
      checks: [{ id: "a", status: "SUCCESS" }, {
        id: "b",
        status: "WARNING",
        errorMessage: "late",
      }],
    }, /^b WARNING: late$/],
    ["an exit code", { code: 1 }, /ended with 1/],
    ["time that ran out", { timedOut: true }, /too long/],
    ["no checks", { checks: undefined }, /no checks/],
    ["checks of which none succeeded", {
      checks: [{ id: "a", status: "INFO" }],
    }, /no check succeeded/],
    ["a driver that failed", { stdout: "driver: failed: no tools\n" }, /^the driver failed: no tools$/],
    ["a driver that was stopped", { stdout: "" }, /did not come to its end/],
    ["words on standard error", { stderr: "(node:1) Warning: x" }, /Warning: x/],
  ];
  test.each(rows)("is not a pass with %s", (_what, evidence, reason) => {
    expect(reasonsAgainst({ ...good, ...evidence })).toEqual([expect.stringMatching(reason)]);
  });

  test("lets a driver give up where that is right, but not vanish", () => {
    expect(reasonsAgainst({ ...good, stdout: "driver: failed: x\n" }, true)).toEqual([]);
    expect(reasonsAgainst({ ...good, stdout: "" }, true)).toHaveLength(1);
  });
});

const passed = (scenario: string): Result => ({
  scenario,
  reasons: [],
  seconds: 1,
});
const failed = (scenario: string): Result => ({
  scenario,
  reasons: ["b FAILURE", "the suite ended with 1"],
  seconds: 1,
});

describe("row of a revision", () => {
  test("counts passes and failures, and sets known failures apart", () => {
    const row = rowOf("x", "1", [passed("a"), failed("b"), failed("c")], {
      c: "why",
    });
    expect(row).toMatchObject({ passed: 1, failed: 1, seconds: 3 });
    expect(row.failures).toEqual(["b: b FAILURE and 1 more"]);
    expect(row.skipped).toEqual(["c, known to fail: why"]);
  });

  test("fails for a known failure that passes", () => {
    const row = rowOf("x", "1", [passed("a")], { a: "why" });
    expect(row).toMatchObject({
      passed: 0,
      failed: 1,
      failures: [expect.stringMatching(/^a passes: take it out/)],
    });
  });

  test("knows names that are no scenario", () => {
    expect(unknownNames({ a: "why", b: "why" }, ["a"])).toEqual(["b"]);
  });

  test("score has what passed of what counts", () => {
    expect(scoreLine("2025-11-25", [passed("a"), failed("b"), passed("extra")], ["a", "b", "c"])).toBe(
      "client 2025-11-25: 1/3",
    );
  });
});
