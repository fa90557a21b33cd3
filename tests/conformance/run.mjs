/**
 * Has the public conformance suite judge our client, each scenario in a process of its own and one after the other.
 *
 *     npm run conformance [-- --runtime=node,bun,deno] [--revision=2025-11-25] [--verbose] [scenario ...]
 *
 * Prints how many of the scenarios that count have passed in each revision. What is known to fail stands with its reason
 * in known_failures.json and must fail until it is taken out there.
 */
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { ensureInstalled } from "../../examples/setup.mjs";
import { versionOf } from "../run/child.mjs";
import { closingLine, table, total } from "../run/report.mjs";
import { rowOf, scoreLine, unknownNames } from "./verdict.mjs";

const REVISIONS = ["2025-11-25", "2026-07-28"];
const KNOWN = JSON.parse(readFileSync(new URL("known_failures.json", import.meta.url), "utf8"));

const { values, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    runtime: { type: "string", default: "node" },
    revision: { type: "string", default: REVISIONS.join(",") },
    json: { type: "string" },
    verbose: { type: "boolean", default: false },
  },
});

await ensureInstalled();
const suite = await import("./suite.mjs");
if (suite.suiteVersion() === undefined) await suite.installSuite();
if (suite.nodeForSuite() === undefined) {
  throw new Error(
    "Cannot run the conformance suite: it needs Node 22 or newer, and npm has not installed one beside it",
  );
}
console.log(
  `conformance suite ${suite.suiteVersion()} on Node ${versionOf(suite.nodeForSuite())}`,
);
await suite.buildDriver();

const rows = [];
for (const [index, runtime] of values.runtime.split(",").entries()) {
  const version = versionOf(suite.RUNTIMES[runtime][0]);
  for (const revision of values.revision.split(",")) rows.push(await judge(runtime, version, revision, index === 0));
}
console.log(`\n${table(rows)}\n`);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(rows));
console.log(closingLine(rows));
process.exitCode = total(rows).failed === 0 ? 0 : 1;

/** What is known to fail is tried on the first runtime alone: a table that is out of date shows there. */
async function judge(runtime, version, revision, isFirst) {
  const { scored, unscored } = suite.scenariosOf(revision);
  const scenarios = [...scored, ...unscored];
  const known = KNOWN[revision];
  const isWanted = (name) => wanted.length > 0 ? wanted.includes(name) : isFirst || !Object.hasOwn(known, name);
  const results = [];
  console.log(`\n== ${revision}, driver on ${runtime} ${version}`);
  for (const scenario of scenarios.filter(isWanted)) {
    const result = await suite.runScenario(scenario, revision, runtime);
    results.push(result);
    const mark = result.reasons.length === 0 ? "pass" : Object.hasOwn(known, scenario) ? "known" : "FAIL";
    console.log(`${mark.padEnd(5)} ${scenario} (${result.seconds.toFixed(1)} s)`);
    for (const reason of result.reasons) {
      console.log(`      ${reason.replaceAll("\n", "\n      ")}`);
    }
    if (values.verbose) console.log(result.output);
  }
  console.log(scoreLine(revision, results, scored));
  const row = rowOf(`${revision} on ${runtime}`, version, results, known);
  const strangers = unknownNames(known, scenarios).map((name) =>
    `known_failures.json names ${name}, which is no scenario`
  );
  return { ...row, failed: row.failed + strangers.length, failures: [...row.failures, ...strangers] };
}
