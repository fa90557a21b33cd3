import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { programHere } from "../../run/adapter.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const fixture = join(root, "tests", "fixtures", "stdio_server.mjs");
const tsx = pathToFileURL(join(root, "node_modules", "tsx", "dist", "loader.mjs")).href;

/** The command line's own program, as this runtime starts it. */
const program: readonly string[] = "Deno" in globalThis
  ? ["run", "-A", join(root, "runtimes/deno/cli.ts")]
  : "Bun" in globalThis
  ? [join(root, "runtimes/bun/cli.ts")]
  : ["--import", tsx, join(root, "runtimes/node/cli.ts")];

const LONG = 60_000;

describe.skipIf(process.platform === "win32")("command line as a process", () => {
  let directory: string;
  let running: Running[];

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "portcullis-cli-"));
    running = [];
  });
  afterEach(() => {
    for (const { child } of running) child.kill("SIGKILL");
    if (existsSync(join(directory, "pid"))) kill(serverGroup());
    rmSync(directory, { recursive: true, force: true });
  });

  /** Starts `serve` over one server and waits until it follows the log. */
  async function serve(...vices: string[]): Promise<Running> {
    const server = [...programHere, fixture, "--era=legacy", ...vices];
    const a = { command: "sh", args: ["-c", 'echo $$ > pid; exec "$0" "$@"', ...server], stopGraceMs: LONG };
    writeFileSync(join(directory, "mcp.config.json"), JSON.stringify({ mcpServers: { a } }));
    const started = new Running(spawn(process.execPath, [...program, "serve"], { cwd: directory }));
    running.push(started);
    await started.printed(/mcp\.server\.ready/);
    return started;
  }

  const serverGroup = (): number => -Number(readFileSync(join(directory, "pid"), "utf8"));

  it("one Ctrl-C ends the servers, closes the log and exits 0", async () => {
    const served = await serve();
    served.interrupt();
    expect(await served.exit).toEqual({ code: 0, signal: null });
    expect(served.err).toBe("");
    expect(kill(serverGroup())).toBe(false);
    const stream = join(directory, ".portcullis", "log", "streams", "host=main");
    expect(readdirSync(stream).map((name) => readFileSync(join(stream, name), "utf8")).join()).toContain("host.closed");
  }, LONG);

  it("a terminal that closes ends the servers and closes the log too", async () => {
    const served = await serve();
    served.interrupt("SIGHUP");
    expect(await served.exit).toEqual({ code: 0, signal: null });
    expect(kill(serverGroup())).toBe(false);
  }, LONG);

  it("the same Ctrl-C that comes twice, as from npm and from the terminal, counts once", async () => {
    const served = await serve();
    served.interrupt();
    served.interrupt();
    expect(await served.exit).toEqual({ code: 0, signal: null });
  }, LONG);

  it("a second Ctrl-C ends it at once with 130, whatever a server waits for", async () => {
    const served = await serve("--ignore-sigterm");
    const again = setInterval(() => served.interrupt(), 100);
    try {
      expect(await served.exit).toEqual({ code: 130, signal: null });
    } finally {
      clearInterval(again);
    }
  }, LONG);
});

/** Kills a process or group; false when there is none. */
function kill(id: number): boolean {
  try {
    return process.kill(id, "SIGKILL");
  } catch {
    // ESRCH: it has ended.
    return false;
  }
}

/** A process and what it has written. */
class Running {
  readonly child: ChildProcess;
  readonly exit: Promise<{ code: number | null; signal: string | null }>;
  out = "";
  err = "";
  #onOutput: () => void = () => {};

  constructor(child: ChildProcess) {
    this.child = child;
    this.exit = new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code, signal) => resolve({ code, signal }));
    });
    child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      this.out += text;
      this.#onOutput();
    });
    child.stderr!.setEncoding("utf8").on("data", (text: string) => this.err += text);
  }

  interrupt(signal: NodeJS.Signals = "SIGINT"): void {
    // Deno reports a process that was sent a signal through `child` as ended by it, whatever the process made of it.
    process.kill(this.child.pid!, signal);
  }

  /** Waits until it has written something; rejects when it ends before. */
  async printed(pattern: RegExp): Promise<void> {
    const seen = new Promise<void>((resolve) => {
      this.#onOutput = (): void => {
        if (pattern.test(this.out)) resolve();
      };
    });
    this.#onOutput();
    const ended = this.exit.then(({ code }) => {
      throw new Error(`ended with ${code} before it printed ${pattern}: ${this.out}${this.err}`);
    });
    await Promise.race([seen, ended]);
    ended.catch(() => {/* from now on its end is expected */});
  }
}
