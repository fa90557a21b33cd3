// Reads what test runners report and adds it up. The types are in report.d.mts.

/**
 * Adds up a report of vitest's JSON reporter. A file that did not load counts as one failure, and so does a run that
 * failed without saying where, or that ran nothing.
 */
export function readVitest(report, exitCode) {
  const files = report?.testResults ?? [];
  const cases = files.flatMap(({ assertionResults }) => assertionResults);
  const named = (...statuses) =>
    cases.filter(({ status }) => statuses.includes(status)).map(({ fullName }) => fullName);
  const passed = named("passed").length;
  const skipped = named("skipped", "pending", "todo", "disabled");
  const unloaded = files.filter(({ status, assertionResults }) =>
    status === "failed" && !assertionResults.some((result) => result.status === "failed")
  );
  const failures = [...named("failed"), ...unloaded.map(({ name }) => name)];
  let failed = cases.length - passed - skipped.length + unloaded.length;
  let note = unloaded.length === 0 ? "" : `${unloaded.length} files did not load or end`;
  if (failed === 0 && exitCode !== 0) [failed, note] = [1, `runner ended with ${exitCode ?? "no exit code"}`];
  if (failed === 0 && passed === 0) [failed, note] = [1, "ran no test"];
  return { passed, failed, failures, skipped, note };
}

/** What all rows together passed and failed. */
export function total(rows) {
  return {
    passed: rows.reduce((sum, { passed }) => sum + passed, 0),
    failed: rows.reduce((sum, { failed }) => sum + failed, 0),
  };
}

/** The table that ends a run: a line a row, the sum, and the names of what was skipped or failed. */
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
  return [
    ...lines,
    ...shortened(rows.flatMap(({ name, skipped }) => skipped.map((test) => `skipped on ${name}: ${test}`))),
    ...shortened(rows.flatMap(({ name, failures }) => failures.map((test) => `FAILED on ${name}: ${test}`))),
  ].join("\n");
}

/** The first 20, and how many more there are. */
function shortened(list) {
  return list.length > 20 ? [...list.slice(0, 20), `... and ${list.length - 20} more`] : list;
}

/** The line that closes a run. */
export function closingLine(rows) {
  const { passed, failed } = total(rows);
  return `${passed} passed, ${failed} failed`;
}
