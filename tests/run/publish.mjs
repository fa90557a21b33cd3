// Would both registries take the package, and does what they would hand out work? Slow; .ci/run calls it, npm test does not.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runChild } from "./child.mjs";
import { closingLine } from "./report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const bin = (name) => join(root, "node_modules", ".bin", name);
const deno = JSON.parse(readFileSync(join(root, "deno.json"), "utf8"));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const specifiers = Object.keys(manifest.exports).map((key) => manifest.name + key.slice(1));

/** Imports every entry by its published name and does one small thing with the core. */
const program = `
import { HostError, isHostError } from "${manifest.name}";
const names = ${JSON.stringify(specifiers)};
for (const name of names) {
  const exported = Object.keys(await import(name));
  if (exported.length === 0) throw new Error(name + " exports nothing");
  console.log(name, exported.length);
}
if (!isHostError(new HostError("ERR_TIMEOUT", "Call timed out"), "ERR_TIMEOUT")) throw new Error("wrong code");
`;

const consumer = `
${specifiers.map((name, index) => `import * as entry${index} from "${name}";`).join("\n")}
import { type ErrorCode, HostError } from "${manifest.name}";
const code: ErrorCode = new HostError("ERR_TIMEOUT", "Call timed out").code;
// @ts-expect-error: no such code; a package without types would take it.
const wrong: ErrorCode = "ERR_NONE";
export default [code, wrong, ${specifiers.map((_name, index) => `entry${index}`).join(", ")}];
`;

const compilerOptions = {
  target: "es2022",
  module: "nodenext",
  lib: ["es2022", "dom", "dom.iterable", "esnext.disposable"],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  noEmit: true,
};

/** What the pages say is enough: the types of Node, and no library of a browser. All declarations are looked at. */
const nodeOnly = {
  ...compilerOptions,
  lib: ["es2023"],
  types: ["node"],
  typeRoots: [join(root, "node_modules", "@types")],
  skipLibCheck: false,
};

/** Runs every check in order and calls `report` after each. Stops early where the rest would have nothing to look at. */
export async function checkPublishing(report) {
  const work = mkdtempSync(join(tmpdir(), "portcullis-publish-"));
  const user = join(work, "user");
  const run = async (name, command, cwd = root) => {
    const { code, timedOut, output, seconds } = await runChild(command, { cwd, timeoutMs: 5 * 60_000, quiet: true });
    const ok = code === 0 && !timedOut;
    report({ name, ok, seconds, output: ok ? "" : timedOut ? `${output}\nstopped: took too long` : output });
    return ok;
  };
  try {
    const entries = Object.values(deno.exports);
    await run("deno checks every entry", [bin("deno"), "check", ...entries]);
    await run("JSR would take the package", [bin("deno"), "publish", "--dry-run", "--allow-dirty"]);
    // As in a fresh clone, where nothing has been built: packing has to do it.
    rmSync(join(root, "dist"), { recursive: true, force: true });
    if (!await run("package builds and packs", ["npm", "pack", "--silent", "--pack-destination", work])) return;
    const tarball = join(work, readdirSync(work).find((name) => name.endsWith(".tgz")));
    await run("publint has nothing to say", [bin("publint"), "--strict", tarball]);
    await run("types resolve for every entry", [bin("attw"), tarball, "--profile", "esm-only"]);

    mkdirSync(user);
    writeFileSync(join(user, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }));
    writeFileSync(join(user, "program.mjs"), program);
    writeFileSync(join(user, "consumer.ts"), consumer);
    writeFileSync(join(user, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
    writeFileSync(
      join(user, "tsconfig.node.json"),
      JSON.stringify({ compilerOptions: nodeOnly, files: ["consumer.ts"] }),
    );
    const install = ["npm", "install", "--no-audit", "--no-fund", "--prefer-offline", tarball];
    if (!await run("package installs", install, user)) return;
    for (
      const [name, command] of [["Node", [process.execPath]], ["Bun", [bin("bun")]], ["Deno", [
        bin("deno"),
        "run",
        "-A",
      ]]]
    ) {
      await run(`installed package runs on ${name}`, [...command, "program.mjs"], user);
    }
    await run("installed package compiles in a strict project", [bin("tsc"), "-p", "."], user);
    await run("installed package compiles with the types of Node alone", [
      bin("tsc"),
      "-p",
      "tsconfig.node.json",
    ], user);
    for (const command of Object.keys(manifest.bin ?? {})) {
      await run(
        `installed command ${command} starts`,
        [join(user, "node_modules", ".bin", command), "--help"],
        user,
      );
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const row = {
    name: "publishing",
    version: "",
    passed: 0,
    failed: 0,
    failures: [],
    skipped: [],
    seconds: 0,
    note: "",
  };
  await checkPublishing(({ name, ok, seconds, output }) => {
    row.seconds += seconds;
    if (ok) row.passed++;
    else row.failed = row.failures.push(name);
    console.log(`${ok ? "ok    " : "FAILED"} ${name} (${seconds.toFixed(1)} s)`);
    if (!ok) console.log(output.trimEnd().replace(/^/gm, "       "));
  });
  const flag = process.argv.indexOf("--json");
  if (flag !== -1) writeFileSync(process.argv[flag + 1], JSON.stringify([row]));
  console.log(closingLine([row]));
  process.exitCode = row.failed === 0 ? 0 : 1;
}
