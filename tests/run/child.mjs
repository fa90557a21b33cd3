// Runs one program at a time and leaves nothing of it behind. Plain JavaScript: it works before anything is installed.
import { spawn, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

const MARK = "PORTCULLIS_RUN_MARK";

/**
 * Runs a program in a process group of its own, with nothing on standard input, and waits for its end.
 * A program that outlives `timeoutMs` is killed with its group. What is left of the group, or still carries the mark
 * that the program was started with, is killed and counted in `left`.
 *
 * @param {readonly string[]} command program and arguments; no shell
 * @param {{ cwd?: string, env?: Record<string, string>, timeoutMs?: number, quiet?: boolean }} [options]
 * @returns {Promise<{ code: number | null, timedOut: boolean, left: number, output: string, seconds: number }>}
 */
export async function runChild([program, ...args], { cwd, env = {}, timeoutMs = 15 * 60_000, quiet = false } = {}) {
  const mark = `${process.pid}-${Math.random().toString(36).slice(2)}`;
  const started = performance.now();
  const child = spawn(program, args, {
    cwd,
    env: { ...process.env, ...env, [MARK]: mark },
    stdio: ["ignore", quiet ? "pipe" : "inherit", quiet ? "pipe" : "inherit"],
    detached: true,
  });
  let output = "";
  const keep = (chunk) => output = (output + chunk).slice(-64 * 1024);
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  const stop = (signal) => {
    killGroup(child.pid);
    process.kill(process.pid, signal);
  };
  process.once("SIGINT", stop).once("SIGTERM", stop);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    killGroup(child.pid);
  }, timeoutMs);
  const code = await new Promise((resolve) => {
    child.once("error", (error) => {
      output += error.message;
      resolve(null);
    });
    child.once("exit", (status) => resolve(status));
  });
  clearTimeout(timer);
  process.off("SIGINT", stop).off("SIGTERM", stop);
  const left = timedOut ? [] : await survivors(mark);
  for (const pid of leftovers(mark)) kill(pid);
  killGroup(child.pid);
  child.stdout?.destroy();
  child.stderr?.destroy();
  return { code, timedOut, left: left.length, output, seconds: (performance.now() - started) / 1000 };
}

/** The version that a program says it has, or undefined when it cannot be started or names none. */
export function versionOf(program) {
  const { status, stdout } = spawnSync(program, ["--version"], { encoding: "utf8", timeout: 30_000 });
  return status === 0 ? /\d[\w.-]*/.exec(stdout)?.[0] : undefined;
}

/** What is still there after some grace: workers of a test runner end after it, on a busy machine long after it. */
async function survivors(mark) {
  for (let attempts = 0; attempts < 200 && leftovers(mark).length > 0; attempts++) await delay(100);
  return leftovers(mark);
}

/** Living processes whose environment carries the mark; none where there is no /proc. */
function leftovers(mark) {
  const found = [];
  for (const name of listProcesses()) {
    try {
      const fields = readFileSync(`/proc/${name}/environ`, "utf8").split("\0");
      if (fields.includes(`${MARK}=${mark}`)) found.push(Number(name));
    } catch {
      // Ended meanwhile, or not ours to read.
    }
  }
  return found;
}

function listProcesses() {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return []; // No /proc on this system: the process group has to do.
  }
}

function killGroup(pid) {
  if (pid !== undefined) kill(-pid);
}

function kill(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Already gone.
  }
}
