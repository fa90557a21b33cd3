/**
 * What a very large result costs: memory beyond what the process had, and megabytes a second, from the wire through
 * parser, scrubber and hash into a file.
 *
 *     node bench/large.mjs [--only=TEXT] [--mib=N]
 *
 * also `npx bun bench/large.mjs` and `npx deno run -A bench/large.mjs`. Each row is a process of its own. The server runs
 * beside it on the same machine and takes its part of the processor; `cpu` is the host's alone. It does not show what a
 * network costs, nor a disk that is slower than its cache.
 */
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs, promisify } from "node:util";
import { build } from "esbuild";

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    mib: { type: "string" },
    row: { type: "string" },
    built: { type: "string" },
  },
});

/** Sizes are those of the goals. */
const ROWS = [
  { name: "stdio plain", transport: "stdio", kind: "plain", mib: 100 },
  { name: "stdio escapes", transport: "stdio", kind: "escapes", mib: 100 },
  { name: "http json plain", transport: "http", kind: "plain", mib: 1024 },
  { name: "http json escapes", transport: "http", kind: "escapes", mib: 1024 },
  { name: "http sse plain", transport: "http", sse: true, kind: "plain", mib: 1024 },
  { name: "http sse escapes", transport: "http", sse: true, kind: "escapes", mib: 1024 },
];

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const runtime = process.versions.bun ? "bun" : process.versions.deno ? "deno" : "node";

if (values.row !== undefined) await measure(JSON.parse(values.row), values.built);
else await all();

async function all() {
  const built = here(`../.cache/bench-large-${process.pid}/`);
  mkdirSync(built, { recursive: true });
  console.log(`${runtime} ${process.versions[runtime]}\n`);
  try {
    await build({
      entryPoints: { mod: here("../mod.ts"), runtime: here("./runtime_here.ts") },
      outdir: built,
      bundle: true,
      splitting: true,
      format: "esm",
      platform: "node",
      outExtension: { ".js": ".mjs" },
      external: ["cloudflare:*", "bun", "bun:*"],
      logLevel: "warning",
    });
    for (const row of ROWS.filter(({ name }) => name.includes(values.only))) {
      const mib = values.mib === undefined ? row.mib : Number(values.mib);
      const args = [here("large.mjs"), `--row=${JSON.stringify({ ...row, mib })}`, `--built=${built}`];
      const { stdout } = await promisify(execFile)(
        process.execPath,
        runtime === "deno" ? ["run", "-A", ...args] : args,
      );
      const { wallMs, cpuMs, growth, peak, status, stored } = JSON.parse(stdout);
      const speed = (ms) => (mib * 1.048576 / ms * 1e3).toFixed(0);
      console.log(
        `${row.name.padEnd(20)} ${mib} MiB  ${status}, ${stored} bytes kept  ${speed(wallMs)} MB/s, ${
          speed(cpuMs)
        } MB a second of cpu  RSS +${growth} MB over ${peak - growth}`,
      );
    }
  } finally {
    rmSync(built, { recursive: true, force: true });
  }
}

async function measure({ transport, kind, sse, mib }, built) {
  const load = (name) => import(pathToFileURL(join(built, name)).href);
  const { createHost, fileArtifacts } = await load("mod.mjs");
  const { runtimeHere } = await load("runtime.mjs");
  const own = await runtimeHere();
  const directory = mkdtempSync(join(tmpdir(), "portcullis-large-"));
  const server = transport === "http" ? await startHttp(sse) : undefined;
  let count = 0;
  const host = await createHost({
    runtime: own,
    artifacts: fileArtifacts({
      files: own.files,
      directory,
      sha256: own.sha256,
      ids: { next: (prefix) => `${prefix}_${++count}` },
    }),
    servers: [{
      name: "large",
      ...(server === undefined
        ? { command: "node", args: [here("../tests/fixtures/large_stdio.mjs")] }
        : { url: server.url }),
      tools: { risk: { large: "read" } },
      required: true,
    }],
    permission: { rules: [{ tool: "mcp.large.*", decision: "allow" }] },
    onError: (error) => console.error(error),
  });
  try {
    const session = await host.session();
    const call = (bytes) => session.tool("mcp.large.large", { bytes, kind }, { timeoutMs: 600_000 });
    // Code is compiled and buffers have their size before memory is looked at.
    await call(8 << 20);
    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    let peak = before;
    const timer = setInterval(() => peak = Math.max(peak, process.memoryUsage().rss), 5);
    const cpu = process.cpuUsage();
    const startedAt = performance.now();
    const { status, artifact, error } = await call(mib << 20 >>> 0 || mib * 1048576);
    const wallMs = performance.now() - startedAt;
    const { user, system } = process.cpuUsage(cpu);
    clearInterval(timer);
    if (status !== "completed") console.error(error);
    const mb = (bytes) => Math.round(bytes / 1e6);
    console.log(JSON.stringify({
      wallMs,
      cpuMs: (user + system) / 1e3,
      growth: mb(peak - before),
      peak: mb(peak),
      status,
      stored: artifact?.bytes ?? 0,
    }));
  } finally {
    await host.close();
    server?.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function startHttp(sse) {
  const child = spawn("node", [here("../tests/fixtures/large_http.mjs"), ...(sse ? ["--sse"] : [])], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  for await (const url of createInterface({ input: child.stdout })) return { url, stop: () => child.kill() };
  throw new Error("Server ended before it said where it is");
}
