// What .ci/run does, step by step. Needs Node and npm, installs the rest itself, reads nothing from standard input.
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { runChild } from "../tests/run/child.mjs";
import { closingLine, table, total } from "../tests/run/report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const folder = join(root, ".cache", "ci");
const report = (name) => join(folder, `${name}.json`);
const bin = (name) => join(root, "node_modules", ".bin", name);
const has = (path) => existsSync(join(root, path));
const minutes = (count) => count * 60_000;

/** The whole run ends before this, whatever hangs. */
const budgetMs = minutes(43);

const cases = resolve(root, "..", "shared");
const env = {
  CI: "true",
  NO_COLOR: "1",
  PORTCULLIS_SERVERS: "required",
  ...(existsSync(cases) ? { PORTCULLIS_CASES: cases } : {}),
};

/** What starts a TypeScript program. */
const runtimes = [
  { name: "Node", command: [process.execPath, "--import", "tsx"] },
  { name: "Bun", command: [bin("bun")] },
  { name: "Deno", command: [bin("deno"), "run", "-A"] },
];

/** For the servers that drive a browser; without one they are reached, listed and stopped, and not called. */
const installBrowser = `command -v chromium && exit
[ "$(id -u)" = 0 ] || sudo="sudo -n"
install="apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends chromium"
timeout 150 $sudo sh -c "$install" > /dev/null || echo "no chromium: it cannot be installed here"`;

/** In order. A step is one test, unless it leaves a report behind: rows as tests/run/report.d.mts has them. */
const steps = [
  { name: "install", command: ["npm", "ci", "--include=dev"], limitMs: minutes(8), needed: true },
  { name: "install servers", command: ["npm", "ci"], cwd: "tests/servers", limitMs: minutes(6) },
  { name: "install conformance suite", command: ["npm", "ci"], cwd: "tests/conformance/suite", limitMs: minutes(6) },
  { name: "core compiles", command: [bin("tsc"), "-p", "src"], limitMs: minutes(3) },
  { name: "everything compiles", command: [bin("tsc"), "-p", "."], limitMs: minutes(3) },
  { name: "format", command: [bin("deno"), "fmt", "--check"], limitMs: minutes(2) },
  { name: "lint", command: [bin("deno"), "lint"], limitMs: minutes(2) },
  {
    name: "npm test",
    command: ["npm", "test", "--", "--json", report("tests")],
    limitMs: minutes(28),
    reports: "tests",
  },
  {
    name: "publishing",
    command: [process.execPath, "tests/run/publish.mjs", "--json", report("publish")],
    limitMs: minutes(8),
    reports: "publish",
  },
  {
    name: "conformance",
    command: [
      "npm",
      "run",
      "--silent",
      "conformance",
      "--",
      "--runtime=node,bun,deno",
      "--json",
      report("conformance"),
    ],
    limitMs: minutes(14),
    reports: "conformance",
  },
  { name: "install every server", command: ["npm", "ci"], cwd: "tests/servers/more", limitMs: minutes(8) },
  { name: "install a browser", command: ["sh", "-c", installBrowser], limitMs: minutes(3) },
  {
    name: "every server",
    command: [...runtimes[0].command, join(root, "tests/flow/every_server.ts"), "--json", report("servers")],
    limitMs: minutes(8),
    reports: "servers",
  },
  ...runtimes.map(({ name, command }) => ({
    name: `200 connections on ${name}`,
    command: [...command, join(root, "tests/fault/cycles.ts"), "200"],
    limitMs: minutes(4),
  })),
  ...runtimes.map(({ name, command }) => ({
    name: `100,000 calls on ${name}`,
    command: [...command, join(root, "tests/fault/long_run.ts"), "100000", "20000"],
    limitMs: minutes(4),
  })),
  // 100,000 hostile inputs, the same ones each time; the program takes others when it is started by hand.
  ...[...runtimes, ...runtimes.slice(0, 1)].map(({ name, command }, index) => ({
    name: `hostile inputs on ${name}, slice ${index + 1}`,
    command: [...command, join(root, "tests/fault/fuzz.ts"), "25000", String(index + 1)],
    limitMs: minutes(3),
  })),
];

const rows = [];
const started = performance.now();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
try {
  for (const step of steps) {
    const row = await runStep(step);
    rows.push(row);
    console.log(
      `== ${step.name}: ${row.passed} passed, ${row.failed} failed, ${row.seconds.toFixed(1)} s ${row.note}`.trimEnd(),
    );
    if (step.needed && row.failed > 0) break;
  }
} catch (error) {
  console.error(error);
  rows.push({ ...emptyRow("this program"), failed: 1, note: "threw" });
}
console.log(`\n${table(rows)}\n\n${closingLine(rows)}`);
process.exitCode = total(rows).failed === 0 ? 0 : 1;

function emptyRow(name) {
  return { name, version: "", passed: 0, failed: 0, failures: [], skipped: [], seconds: 0, note: "" };
}

async function runStep({ name, command, limitMs, cwd = ".", reports }) {
  console.log(`\n== ${name}`);
  const row = emptyRow(name);
  const restMs = budgetMs - (performance.now() - started);
  if (restMs <= 0) return { ...row, failed: 1, note: "no time left" };
  const { code, timedOut, left, output, seconds } = await runChild(command, {
    cwd: join(root, cwd),
    env,
    timeoutMs: Math.min(limitMs, restMs),
  });
  if (output !== "") console.log(output);
  const counts = count(code, reports);
  if (timedOut) Object.assign(counts, { failed: Math.max(1, counts.failed), note: "stopped: took too long" });
  if (left > 0) Object.assign(counts, { failed: counts.failed + 1, note: `left ${left} processes behind` });
  return { ...row, ...counts, seconds };
}

/** What a step has to say for itself. One that failed, or that should have reported and did not, has a failure. */
function count(code, name) {
  const note = code === 0 ? "" : `ended with ${code}`;
  if (name === undefined) return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, note };
  const found = existsSync(report(name)) ? JSON.parse(readFileSync(report(name), "utf8")) : [];
  const { passed, failed } = total(found);
  const quiet = failed === 0 && (code !== 0 || passed === 0);
  const names = (list) => found.flatMap((row) => row[list].map((test) => `${row.name}: ${test}`));
  return { passed, failed: quiet ? 1 : failed, failures: names("failures"), skipped: names("skipped"), note };
}
