// What a run of the suite is worth: stricter than the suite's own exit code, and free of any disk. Types: verdict.d.mts.

const GOOD = new Set(["SUCCESS", "INFO", "SKIPPED"]);

/**
 * Judges one scenario. It passes when the suite ended with 0 in time, every check is good and one at least succeeded,
 * and the driver came to its own end without a word on standard error. Gives the reasons against it, none for a pass.
 */
export function reasonsAgainst({ code, timedOut, checks, stdout, stderr }, mayFail = false) {
  if (timedOut) return ["stopped: took too long"];
  const reasons = [];
  for (const { id, status, errorMessage } of checks ?? []) {
    if (!GOOD.has(status)) {
      reasons.push(`${id} ${status}${errorMessage ? `: ${errorMessage}` : ""}`);
    }
  }
  if (checks === undefined) reasons.push("left no checks behind");
  else if (!checks.some(({ status }) => status === "SUCCESS")) {
    reasons.push("no check succeeded");
  }
  const ended = /^driver: (.*)$/m.exec(stdout)?.[1];
  if (ended === undefined) reasons.push("the driver did not come to its end");
  else if (ended !== "done" && !mayFail) reasons.push(`the driver ${ended}`);
  if (stderr.trim() !== "") {
    reasons.push(`standard error: ${stderr.trim().slice(0, 500)}`);
  }
  if (code !== 0) reasons.push(`the suite ended with ${code}`);
  return reasons;
}

/**
 * Holds the results of one revision against the failures that are known. A known failure that passes is as wrong as an
 * unknown one that fails, and so is one that names no scenario.
 *
 * @returns {import("../run/report.d.mts").Row} with known failures as skipped tests
 */
export function rowOf(name, version, results, known) {
  const failures = [];
  const skipped = [];
  let passed = 0;
  for (const { scenario, reasons } of results) {
    const why = Object.hasOwn(known, scenario) ? known[scenario] : undefined;
    if (reasons.length === 0 && why === undefined) passed++;
    else if (reasons.length === 0) {
      failures.push(`${scenario} passes: take it out of known_failures.json (${why})`);
    } else if (why === undefined) {
      failures.push(`${scenario}: ${shortened(reasons)}`);
    } else skipped.push(`${scenario}, known to fail: ${why}`);
  }
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0);
  return {
    name,
    version,
    passed,
    failed: failures.length,
    failures,
    skipped,
    seconds,
    note: "",
  };
}

/** The first reason; the run itself has printed them all. */
function shortened([first, ...more]) {
  return `${first.slice(0, 200)}${more.length === 0 ? "" : ` and ${more.length} more`}`;
}

/** Scenarios that the table of known failures names and the revision does not have. */
export function unknownNames(known, scenarios) {
  return Object.keys(known).filter((name) => !scenarios.includes(name));
}

/** How many scenarios of those that count have passed: `client 2025-11-25: 4/18`. */
export function scoreLine(revision, results, scored) {
  const passed = results.filter(({ scenario, reasons }) => reasons.length === 0 && scored.includes(scenario));
  return `client ${revision}: ${passed.length}/${scored.length}`;
}
