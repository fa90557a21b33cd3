// Reads what test runners report and adds it up. The types are in report.d.mts.

/**
 * Adds up a report of vitest's JSON reporter. A file that did not load counts as one failure, and so does a run that
 * failed without saying where, or that ran nothing.
 */
export function readVitest(report, exitCode) {
  const files = report?.testResults ?? [];
  const cases = files.flatMap(({ assertionResults }) => assertionResults);
  const passed = cases.filter(({ status }) => status === "passed").length;
  const skipped = cases.filter(({ status }) => status !== "passed" && status !== "failed").map(({ fullName }) =>
    fullName
  );
  const unloaded = files.filter(({ status, assertionResults }) =>
    status === "failed" && !assertionResults.some((result) => result.status === "failed")
  );
  let failed = cases.length - passed - skipped.length + unloaded.length;
  let note = unloaded.length === 0 ? "" : `${unloaded.length} files did not load or end`;
  if (failed === 0 && exitCode !== 0) [failed, note] = [1, `runner ended with ${exitCode ?? "no exit code"}`];
  if (failed === 0 && passed === 0) [failed, note] = [1, "ran no test"];
  return { passed, failed, skipped, note };
}

/**
 * @param {readonly Row[]} rows
 * @returns {{ passed: number, failed: number }}
 */
export function total(rows) {
  return {
    passed: rows.reduce((sum, { passed }) => sum + passed, 0),
    failed: rows.reduce((sum, { failed }) => sum + failed, 0),
  };
}

/**
 * The table that ends a run: a line a row, the sum, and the names of what was skipped.
 */
export function table(rows) {
  const width = (read) => Math.max(...rows.map((row) => read(row).length));
  const names = width(({ name }) => name);
  const versions = width(({ version }) => version);
  const count = (value, word) => `${String(value).padStart(5)} ${word}`;
  const lines = rows.map(({ name, version, passed, failed, skipped, seconds, note }) =>
    [
      name.padEnd(names),
      version.padEnd(versions),
      count(passed, "passed"),
      count(failed, "failed"),
      count(skipped.length, "skipped"),
      `${seconds.toFixed(1).padStart(6)} s`,
      note,
    ].join("  ").trimEnd()
  );
  const skips = rows.flatMap(({ name, skipped }) => skipped.map((test) => `skipped on ${name}: ${test}`));
  const more = skips.length > 20 ? [`... and ${skips.length - 20} more skipped`] : [];
  return [...lines, ...skips.slice(0, 20), ...more].join("\n");
}

/**
 * The line that closes a run.
 */
export function closingLine(rows) {
  const { passed, failed } = total(rows);
  return `${passed} passed, ${failed} failed`;
}
