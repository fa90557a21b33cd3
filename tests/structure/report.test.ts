import { describe, expect, it } from "vitest";
import { closingLine, readVitest, table, total } from "../run/report.mjs";

interface Case {
  readonly status: string;
  readonly fullName: string;
}

const file = (status: string, ...statuses: string[]): { name: string; status: string; assertionResults: Case[] } => ({
  name: "file.test.ts",
  status,
  assertionResults: statuses.map((each) => ({ status: each, fullName: `test that is ${each}` })),
});

describe("report", () => {
  it("report counts what passed, failed and was skipped", () => {
    const report = {
      testResults: [file("passed", "passed", "passed"), file("failed", "failed", "passed", "skipped", "todo")],
    };
    expect(readVitest(report, 1)).toEqual({
      passed: 3,
      failed: 1,
      failures: ["test that is failed"],
      skipped: ["test that is skipped", "test that is todo"],
      note: "",
    });
  });

  it("report counts a file that did not load as a failure", () => {
    expect(readVitest({ testResults: [file("passed", "passed"), file("failed")] }, 1)).toMatchObject({
      passed: 1,
      failed: 1,
    });
    expect(readVitest({ testResults: [file("failed", "passed")] }, 1)).toMatchObject({ passed: 1, failed: 1 });
  });

  it("report counts a failed run as a failure whatever its tests say", () => {
    expect(readVitest({ testResults: [file("passed", "passed")] }, 1)).toMatchObject({
      failed: 1,
      note: "runner ended with 1",
    });
    expect(readVitest({ testResults: [file("passed", "passed")] }, null)).toMatchObject({ failed: 1 });
  });

  it("report counts a run without tests or without a report as a failure", () => {
    expect(readVitest({ testResults: [] }, 0)).toMatchObject({ passed: 0, failed: 1, note: "ran no test" });
    expect(readVitest(undefined, 0)).toMatchObject({ passed: 0, failed: 1 });
  });

  it("table shows each row and names what was skipped", () => {
    const rows = [
      { name: "Node", version: "v20.0.0", passed: 12, failed: 0, failures: [], skipped: [], seconds: 1.25, note: "" },
      {
        name: "workerd",
        version: "missing",
        passed: 0,
        failed: 1,
        failures: ["b"],
        skipped: ["a"],
        seconds: 0,
        note: "does not start",
      },
    ];
    const lines = table(rows).split("\n");
    expect(lines[0]).toMatch(/^Node +v20\.0\.0 +12 passed +0 failed +0 skipped +1\.3 s$/);
    expect(lines[1]).toMatch(/^workerd +missing +0 passed +1 failed +1 skipped +0\.0 s +does not start$/);
    expect(lines.slice(2)).toEqual(["skipped on workerd: a", "FAILED on workerd: b"]);
    expect(total(rows)).toEqual({ passed: 12, failed: 1 });
    expect(closingLine(rows)).toBe("12 passed, 1 failed");
  });
});
