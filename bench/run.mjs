/**
 * What a call costs: our client, bare and behind the whole gate, beside a raw loop and the official client, on one
 * machine, in one run.
 *
 *     node bench/run.mjs [--only=TEXT] [--rounds=N] [--scale=N] [--contestants=a,b] [--cpu-prof=DIR]
 *
 * also `npx bun bench/run.mjs` and `npx deno run -A bench/run.mjs`. Each contestant is a process of its own and keeps its
 * connection; rounds alternate between them, all of equal length, after a warm-up of the same length.
 */
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { cpus } from "node:os";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    rounds: { type: "string", default: "5" },
    scale: { type: "string", default: "1" },
    contestants: { type: "string" },
    "cpu-prof": { type: "string" },
  },
});

const runtime = process.versions.bun ? "bun" : process.versions.deno ? "deno" : "node";
// The official client does not claim to run elsewhere than on Node.
const DEFAULT_CONTESTANTS = runtime === "node" ? "raw,ours,official,gate" : "raw,ours,gate";

/** Calls are chosen so that a round takes about a second. */
const ROWS = [
  { transport: "stdio", inFlight: 1, calls: 10_000 },
  { transport: "stdio", inFlight: 64, calls: 30_000 },
  { transport: "http", inFlight: 1, calls: 4_000 },
  { transport: "http", inFlight: 32, calls: 10_000 },
].flatMap((row) =>
  ["legacy", "modern"].map((era) => ({ ...row, era, name: `${row.transport} c${row.inFlight} ${era}` }))
);

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const BUILT = here(`../.cache/bench-${process.pid}/`);

const contestants = (values.contestants ?? DEFAULT_CONTESTANTS).split(",");
const rows = ROWS.filter((row) => row.name.includes(values.only));

const { stdout: nodeVersion } = await output("node", ["--version"]);
console.log(
  `${runtime} ${process.versions[runtime]}, servers on node ${nodeVersion.trim()}, ${cpus().length} x ${
    cpus()[0].model
  }`,
);
console.log(
  `cpu: microseconds of the client's process a call; ratios are to raw in the same round, minimum / median of ${values.rounds},
and of the best round of one to the best of the other, which a busy machine disturbs least\n`,
);

await compile();
const server = await startServer();
try {
  for (const row of rows) await measureRow(row);
} finally {
  server.child.stdin.end();
  rmSync(BUILT, { recursive: true, force: true });
}
console.log(`
Not shown: the server's share, memory, latency under foreign load, large results, SSE answers, connection set-up, a network.
The servers do next to nothing and run on the other core; absolute numbers belong to this machine. Only ours and gate start servers
in a session of their own; on a busy Linux that delays answers (compare with --contestants=raw,raw_detached,ours).`);

/**
 * Contestants are compiled once for all runtimes: loaders that translate on the fly wrap functions in helpers, and what
 * is measured should be what is published.
 */
async function compile() {
  await build({
    entryPoints: contestants.map((name) => here(`contestants/${name}.ts`)),
    outdir: BUILT,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "es2022",
    logLevel: "error",
  });
}

async function measureRow(row) {
  const calls = Math.round(row.calls * Number(values.scale));
  const target = { transport: row.transport, era: row.era, script: here("echo_stdio.mjs"), url: server.url };
  const workers = [];
  for (const name of contestants) workers.push(await startWorker(name, target, row.inFlight));
  for (const worker of workers) await worker.run(calls);
  const rounds = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    const measured = {};
    for (const worker of workers) measured[worker.name] = await worker.run(calls);
    rounds.push(measured);
  }
  for (const worker of workers) await worker.stop();

  console.log(`${row.name}, ${calls} calls a round`);
  for (const name of contestants) {
    const cpu = rounds.map((round) => round[name].cpuMicros);
    const rate = rounds.map((round) => round[name].perSecond);
    const columns = [
      name.padEnd(14),
      `cpu ${figure(Math.min(...cpu), 1)} / ${figure(median(cpu), 1)}`,
      `calls/s ${figure(Math.max(...rate), 0)} / ${figure(median(rate), 0)}`,
    ];
    if (contestants.includes("raw") && name !== "raw") {
      const ratios = rounds.map((round) => round[name].cpuMicros / round.raw.cpuMicros);
      const rates = rounds.map((round) => round[name].perSecond / round.raw.perSecond);
      columns.push(
        `cpu ratio ${figure(Math.min(...ratios), 2)} / ${figure(median(ratios), 2)}, best ${
          figure(Math.min(...cpu) / Math.min(...rounds.map((round) => round.raw.cpuMicros)), 2)
        }`,
        `rate ratio ${figure(median(rates), 2)}`,
      );
    }
    if (name === "gate" && contestants.includes("ours")) {
      const ratios = rounds.map((round) => round.gate.cpuMicros / round.ours.cpuMicros);
      columns.push(`cpu to ours ${figure(median(ratios), 2)}`);
    }
    console.log(`  ${columns.join("  ")}`);
  }
}

async function startWorker(name, target, inFlight) {
  const spec = JSON.stringify({ module: pathToFileURL(`${BUILT}${name}.mjs`).href, target, inFlight });
  const child = spawn(process.execPath, [...runtimeFlags(name, target, inFlight), here("worker.mjs"), spec], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${name} ended before it answered`);
    return value;
  };
  await next();
  return {
    name,
    async run(calls) {
      child.stdin.write(`${calls}\n`);
      return JSON.parse(await next());
    },
    stop() {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      return exited;
    },
  };
}

function runtimeFlags(name, { transport, era }, inFlight) {
  if (runtime === "deno") return ["run", "-A"];
  if (runtime === "bun") return ["run"];
  const dir = values["cpu-prof"];
  // The official client at 32 at a time warns thousands of times of listeners on its one signal; printing is no part of a call.
  if (dir === undefined) return ["--no-warnings"];
  return [
    "--no-warnings",
    "--cpu-prof",
    `--cpu-prof-dir=${dir}`,
    `--cpu-prof-name=${name}-${transport}-c${inFlight}-${era}.cpuprofile`,
  ];
}

async function startServer() {
  const child = spawn("node", [here("echo_http.mjs")], { stdio: ["pipe", "pipe", "inherit"] });
  const { value: url } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
  return { child, url };
}

async function output(command, args) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  let stdout = "";
  for await (const chunk of child.stdout) stdout += chunk;
  return { stdout };
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

function figure(value, digits) {
  return value.toFixed(digits).padStart(digits === 0 ? 6 : 5);
}
