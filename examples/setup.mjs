// First-time set-up: installs the exact versions of package-lock.json when node_modules does not hold them.
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * Installs the locked dependencies if they are not there, development ones included. What npm prints goes to standard
 * error, so that standard output stays with the program that called.
 */
export async function ensureInstalled() {
  if (await isInstalled()) return;
  process.stderr.write("Installing the dependencies of package-lock.json ...\n");
  const npm = process.env.npm_execpath;
  const [command, ...before] = npm !== undefined && basename(npm) === "npm-cli.js" ? [process.execPath, npm] : ["npm"];
  const code = await new Promise((resolve, reject) => {
    const child = spawn(command, [...before, "ci", "--include=dev", "--no-audit", "--no-fund"], {
      cwd: root,
      stdio: ["ignore", 2, 2],
    });
    child.on("error", reject);
    child.on("exit", (exitCode, signal) => resolve(exitCode ?? signal));
  });
  if (code !== 0) throw new Error(`Cannot install dependencies: npm ci ended with ${code}`);
}

/** npm keeps a lock file of what it has installed; contents are compared, since times do not survive a copy. */
async function isInstalled() {
  const wanted = await packagesOf("package-lock.json");
  const found = await packagesOf("node_modules/.package-lock.json");
  if (wanted === undefined) throw new Error("Cannot install dependencies: package-lock.json is missing");
  if (found === undefined) return false;
  return Object.entries(wanted).every(([path, { version, optional, integrity }]) => {
    const there = found[path];
    if (there === undefined) return path === "" || optional === true;
    return there.version === version && there.integrity === integrity;
  });
}

async function packagesOf(path) {
  try {
    return JSON.parse(await readFile(new URL(`../${path}`, import.meta.url), "utf8")).packages;
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}
