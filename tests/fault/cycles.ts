/**
 * Connects to a server and closes again, many times, over stdio and over HTTP in turn, and counts what is left: file
 * descriptors, child processes, timers, abort listeners. Runs unchanged on Node, Bun and Deno:
 *
 *     node --import tsx tests/fault/cycles.ts 200
 */
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { connectClient, httpDialer, stdioDialer } from "../../src/client/mod.ts";
import type { Runtime } from "../../src/kernel/runtime.ts";
import { countingClock, countListeners } from "../fixtures/counting.ts";
import { markedProcesses } from "../fixtures/marked_processes.ts";
import { runtimeHere } from "../run/adapter.ts";

/** What is held at one moment. */
export interface Holdings {
  readonly descriptors: number;
  readonly processes: number;
  readonly timers: number;
  readonly listeners: number;
}

/** The start of a process or a connection is not what is tested, and may take long on a busy machine. */
const PATIENT = { startTimeoutMs: 60_000, probeTimeoutMs: 60_000 };

export interface CycleReport {
  readonly cycles: number;
  /** After the first cycles, when pools and caches are warm. */
  readonly early: Holdings;
  readonly late: Holdings;
}

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

/** Runs the cycles; `warmUp` is the cycle whose holdings the last one's are held against. */
export async function runCycles(runtime: Runtime, cycles: number, warmUp: number): Promise<CycleReport> {
  const marker = `PORTCULLIS_CYCLES_${Math.random().toString(36).slice(2)}`;
  const env = { PATH: process.env["PATH"] ?? "", [marker]: "1" };
  const clock = countingClock();
  const controller = new AbortController();
  const listeners = countListeners(controller.signal);
  const eras = ["legacy", "modern"];
  const https = [await startHttpFixture(env, eras[0]!), await startHttpFixture(env, eras[1]!)];
  const holdings = (): Holdings => ({
    descriptors: readdirSync("/proc/self/fd").length,
    processes: markedProcesses(marker).length,
    timers: clock.active(),
    listeners: listeners(),
  });
  try {
    let early: Holdings | undefined;
    for (let cycle = 1; cycle <= cycles; cycle++) {
      const era = (cycle >> 1) % 2;
      const dialer = cycle % 2 === 0
        ? httpDialer({
          url: https[era]!.url,
          fetch: runtime.fetch,
          contentLengthIsDecoded: runtime.contentLengthIsDecoded,
          clock,
        })
        : stdioDialer({
          spawn: runtime.spawn!,
          command: "node",
          args: [fixture("stdio_server.mjs"), `--era=${eras[era]}`],
          env,
          clock,
        });
      const client = await connectClient({ dialer, clock, signal: controller.signal, ...PATIENT });
      const { tools } = await client.listTools({ signal: controller.signal });
      const reply = await client.callTool("echo", { message: "hi" }, { signal: controller.signal });
      if (tools.length === 0 || reply.kind !== "done") {
        throw new Error(`cycle ${cycle}: ${tools.length} tools, reply ${JSON.stringify(reply)}`);
      }
      await client.close();
      if (cycle === warmUp) early = await steady(holdings);
    }
    return { cycles, early: early!, late: await steady(holdings) };
  } finally {
    for (const http of https) http.stop();
  }
}

/** What there is more of in the end. Of descriptors there may be fewer: an idle connection is closed in its time. */
export function growths({ early, late }: CycleReport): string[] {
  const names = ["descriptors", "processes", "timers", "listeners"] as const;
  return names.filter((name) => late[name] > early[name]).map((name) => `${late[name] - early[name]} ${name}`);
}

/** Looks until nothing has changed for a while: pipes and sockets are closed in their own time. */
async function steady(look: () => Holdings): Promise<Holdings> {
  let held = look();
  for (let looks = 0, same = 0; looks < 1000 && same < 10; looks++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const now = look();
    same = JSON.stringify(now) === JSON.stringify(held) ? same + 1 : 0;
    held = now;
  }
  return held;
}

async function startHttpFixture(env: Record<string, string>, era: string): Promise<{ url: string; stop(): void }> {
  const child = spawn("node", [fixture("http_server.mjs"), `--era=${era}`], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk: Uint8Array) => {
      text += new TextDecoder().decode(chunk);
      const found = /http:\/\/\S+/.exec(text);
      if (found !== null) resolve(found[0]);
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`HTTP fixture exited with ${code}: ${text}`)));
  });
  return { url, stop: () => void child.kill("SIGKILL") };
}

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === process.argv[1]) {
  const cycles = Number(process.argv[2] ?? 200);
  const runtime = await runtimeHere();
  const started = performance.now();
  const report = await runCycles(runtime, cycles, 20);
  const grown = growths(report);
  console.log(
    `${runtime.name} ${runtime.version}: ${cycles} cycles in ${((performance.now() - started) / 1000).toFixed(1)} s`,
  );
  console.log(`  at cycle 20:  ${JSON.stringify(report.early)}`);
  console.log(`  at cycle ${cycles}: ${JSON.stringify(report.late)}`);
  console.log(grown.length === 0 ? "1 passed, 0 failed" : `0 passed, 1 failed: left ${grown.join(", ")}`);
  process.exit(grown.length === 0 ? 0 : 1);
}
