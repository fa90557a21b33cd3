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

/** Run one after the other: two of them at once would only share the same cores. */
const suites = [
  { name: "Node", version: [process.execPath, "--version"], command: [process.execPath, vitest], places: [] },
  {
    name: "Bun",
    version: [bin("bun"), "--version"],
    command: [bin("bun"), "--bun", vitest],
    places: ["tests/unit", "tests/run"],
  },
  {
    name: "Deno",
    version: [bin("deno"), "--version"],
    command: [bin("deno"), "run", "-A", vitest],
    places: ["tests/unit", "tests/run"],
  },
];

/** Runs one suite and reports it as a row. A runtime that cannot be started is a failure. */
async function runSuite({ name, version, command, places }) {
  const found = versionOf(version);
  console.log(`\n== ${name} ${found ?? "(missing)"}`);
  if (found === undefined) {
    return {
      name,
      version: "missing",
      passed: 0,
      failed: 1,
      skipped: [],
      seconds: 0,
      note: `${version[0]} does not start`,
    };
  }
  const file = join(root, ".cache", "reports", `${name.toLowerCase()}.json`);
  mkdirSync(dirname(file), { recursive: true });
  rmSync(file, { force: true });
  const args = [
    "run",
    "--config",
    "tests/vitest.config.ts",
    "--reporter=dot",
    "--reporter=json",
    `--outputFile.json=${file}`,
    ...places,
  ];
  const { code, timedOut, left, seconds } = await runChild([...command, ...args], { cwd: root });
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
