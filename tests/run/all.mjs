// npm test: the whole suite on Node, then what runs there on Bun and Deno, then the contracts in workerd.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureInstalled } from "../../examples/setup.mjs";
import { runChild, versionOf } from "./child.mjs";
import { closingLine, readVitest, table, total } from "./report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const bin = (name) => join(root, "node_modules", ".bin", name);
const vitest = join(root, "node_modules", "vitest", "vitest.mjs");

const notInWorkerd = "--exclude=tests/run/workerd*.test.ts";
// The benchmark starts Node by itself.
const portable = ["tests/unit", "tests/run", notInWorkerd, "--exclude=tests/unit/bench/**"];
/** What servers do to a host: processes, sockets, parsers and memory are those of the runtime. */
const flows = ["attacks_", "field_reports_", "large_results", "legacy_http", "oauth_", "real_servers"]
  .map((name) => `tests/flow/${name}`);

/** Run one after the other: two of them at once would only share the same cores. `args` is what vitest is told. */
const suites = [
  { name: "Node", program: process.execPath, before: [], args: [notInWorkerd] },
  { name: "Bun", program: bin("bun"), before: ["--bun"], args: [...portable, ...flows] },
  { name: "Deno", program: bin("deno"), before: ["run", "-A"], args: [...portable, ...flows] },
  { name: "workerd", program: process.execPath, before: [], args: ["tests/run/workerd"], version: bin("workerd") },
];

/** Runs one suite and reports it as a row. A runtime that cannot be started is a failure. */
async function runSuite({ name, program, before, args, version = program }) {
  const found = versionOf(version);
  console.log(`\n== ${name} ${found ?? "(missing)"}`);
  if (found === undefined) {
    return {
      name,
      version: "missing",
      passed: 0,
      failed: 1,
      failures: [],
      skipped: [],
      seconds: 0,
      note: `${version} does not start`,
    };
  }
  const file = join(root, ".cache", "reports", `${name.toLowerCase()}.json`);
  mkdirSync(dirname(file), { recursive: true });
  rmSync(file, { force: true });
  const reporters = ["--reporter=dot", "--reporter=json", `--outputFile.json=${file}`];
  const command = [program, ...before, vitest, "run", "--config", "tests/vitest.config.ts", ...reporters, ...args];
  const { code, timedOut, left, seconds } = await runChild(command, { cwd: root });
  const result = readVitest(existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined, code);
  const row = { name, version: found, seconds, ...result };
  if (timedOut) return { ...row, failed: Math.max(1, row.failed), note: "stopped: took too long" };
  if (left > 0) return { ...row, failed: row.failed + 1, note: `left ${left} processes behind` };
  return row;
}

/** Runs every suite, prints the table and returns its rows. */
export async function runAll() {
  await ensureInstalled();
  const rows = [];
  for (const suite of suites) rows.push(await runSuite(suite));
  console.log(`\n${table(rows)}\n`);
  return rows;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = await runAll();
  const flag = process.argv.indexOf("--json");
  if (flag !== -1) writeFileSync(process.argv[flag + 1], JSON.stringify(rows));
  console.log(closingLine(rows));
  process.exitCode = total(rows).failed === 0 ? 0 : 1;
}
