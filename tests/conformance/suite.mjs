// Where the conformance suite is, what it wants of a client, and how one scenario of it is run.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { runChild } from "../run/child.mjs";
import { reasonsAgainst } from "./verdict.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
/** A manifest of its own: both are large, and nothing else wants them. */
const installed = join(here, "suite");
const suite = join(installed, "node_modules", "@modelcontextprotocol", "conformance");
const work = join(root, ".cache", "conformance");
/** Relative to the root, where it is started: the suite cuts commands at their spaces. */
const driver = join(".cache", "conformance", "driver.mjs");

/** Those in which a client that gives up has done the right thing. The suite marks them so. */
const MAY_FAIL = new Set([
  "http-invalid-tool-headers",
  "auth/scope-retry-limit",
  "auth/resource-mismatch",
  "auth/iss-supported-missing",
  "auth/iss-wrong-issuer",
  "auth/iss-unexpected",
  "auth/iss-normalized",
  "auth/metadata-issuer-mismatch",
]);

/** The suite's own limit for one scenario, and what it may take beside it. */
const LIMIT_MS = 30_000;
const MARGIN_MS = 20_000;

/** What starts a program on each runtime that the driver runs on. */
export const RUNTIMES = {
  node: [process.execPath],
  bun: [join(root, "node_modules", ".bin", "bun")],
  deno: [join(root, "node_modules", ".bin", "deno"), "run", "-A"],
};

/** A Node that the suite runs on, 22 or newer: the one that runs this, or the one installed beside the suite. */
export function nodeForSuite() {
  if (Number.parseInt(process.versions.node, 10) >= 22) return process.execPath;
  const own = join(installed, "node_modules", "node", "bin", "node");
  return existsSync(own) ? own : undefined;
}

/** The suite's version, or undefined when it is not installed. */
export function suiteVersion() {
  const manifest = join(suite, "package.json");
  return existsSync(manifest) ? JSON.parse(readFileSync(manifest, "utf8")).version : undefined;
}

/** Installs the suite, and the Node that it needs, in the exact versions of the lock file beside this. */
export async function installSuite() {
  const { code, output } = await runChild(["npm", "ci", "--no-audit", "--no-fund"], { cwd: installed, quiet: true });
  if (code !== 0) {
    throw new Error(`Cannot install the conformance suite: npm ci ended with ${code}\n${output}`);
  }
}

/** What a revision requires of a client, and what the suite only wants to see beside it. */
export function scenariosOf(revision) {
  const { parse } = createRequire(join(suite, "package.json"))("yaml");
  const { client, not_scored } = parse(readFileSync(join(suite, "requirements", `${revision}.yaml`), "utf8"));
  const unscored = not_scored.filter(({ scenario, leg, reason }) =>
    leg === "client" && (reason !== "extension" || scenario.startsWith("auth/"))
  );
  return { scored: client, unscored: [...unscored.map(({ scenario }) => scenario), ...(OLDER[revision] ?? [])] };
}

/** Scenarios of older ways that no list of requirements has. */
const OLDER = {
  "2025-11-25": ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"],
};

/** Makes the one file that is judged. */
export async function buildDriver() {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  await build({
    entryPoints: [join(here, "driver.ts")],
    outfile: join(root, driver),
    bundle: true,
    format: "esm",
    target: "es2022",
    platform: "neutral",
    mainFields: ["module", "main"],
    external: ["node:*"],
    logLevel: "error",
  });
}

/** Runs one scenario by itself, on a runtime named in {@link RUNTIMES}. */
export async function runScenario(scenario, revision, runtime) {
  const results = join(work, `${runtime}-${revision}-${scenario.replaceAll("/", "-")}`);
  const command = [
    ...[nodeForSuite(), join(suite, "dist", "index.js"), "client"],
    ...["--scenario", scenario, "--spec-version", revision, "--timeout", String(LIMIT_MS), "--force", "-o", results],
    // "--force" for scenarios of extensions, which belong to no revision. Without "exec" only the shell would be stopped when time is up.
    ...["--command", ["exec", ...RUNTIMES[runtime], driver].join(" ")],
  ];
  const options = {
    cwd: root,
    timeoutMs: LIMIT_MS + MARGIN_MS,
    quiet: true,
    env: { NO_COLOR: "1" },
  };
  const { code, timedOut, left, output, seconds } = await runChild(command, options);
  const read = (name) => {
    const file = filesIn(results).find((path) => path.endsWith(name));
    return file === undefined ? undefined : readFileSync(file, "utf8");
  };
  const checks = read("checks.json");
  const evidence = {
    code,
    timedOut,
    checks: checks === undefined ? undefined : JSON.parse(checks),
    stdout: read("stdout.txt") ?? "",
    stderr: read("stderr.txt") ?? "",
  };
  const reasons = reasonsAgainst(evidence, MAY_FAIL.has(scenario));
  if (left > 0) reasons.push(`left ${left} processes behind`);
  return { scenario, reasons, seconds, output };
}

function filesIn(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name)));
}
