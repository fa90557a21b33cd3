/**
 * How fast the streaming parser is, beside `JSON.parse` of the same text held whole.
 *
 *     node bench/spill.mjs [--rounds=N] [--mib=N]
 *
 * also `npx bun bench/spill.mjs` and `npx deno run -A bench/spill.mjs`. Chunks are 64 KiB. The sink drops what it gets: a
 * real one also decodes, scrubs, hashes and writes, see `bench/large.mjs`.
 */
import { mkdirSync, rmSync } from "node:fs";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "5" }, mib: { type: "string", default: "64" } },
});
const rounds = Number(values.rounds);
const bytes = Number(values.mib) * 1024 * 1024;

const wrap = (text) => `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"${text}"}]}}`;
const ROWS = [
  ["one plain string", (size) => wrap("The quick brown fox jumps. ".repeat(size / 27))],
  ["an escape every 13 bytes", (size) => wrap("twelve bytes\\n".repeat(size / 14))],
  ["\\u escapes only", (size) => wrap("\\u4e2d".repeat(size / 6))],
  ["mixed scripts", (size) => wrap("Grüße, 世界 и мир 🌍 ".repeat(size / 35))],
  ["strings of 1 KiB, kept", (size) => `[${Array(size >> 10).fill(JSON.stringify("x".repeat(1021)))}]`, true],
  [
    "small objects, kept",
    (size) => `[${Array(Math.floor(size / 33)).fill('{"id":123,"name":"abcd","ok":true}')}]`,
    true,
  ],
  [
    "strings of 100 KB, diverted",
    (size) => `{"a":[${Array(Math.min(100, Math.floor(size / 1e5))).fill(JSON.stringify("y".repeat(1e5)))}]}`,
  ],
];

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const built = here(`../.cache/bench-spill-${process.pid}/`);
mkdirSync(built, { recursive: true });
try {
  await build({
    entryPoints: { spill: here("../src/jsonrpc/spill.ts"), bounded: here("../src/jsonrpc/bounded_parse.ts") },
    outdir: built,
    bundle: true,
    format: "esm",
    outExtension: { ".js": ".mjs" },
    logLevel: "warning",
  });
  await measure();
} finally {
  rmSync(built, { recursive: true, force: true });
}

async function measure() {
  const { SpillParser } = await import(pathToFileURL(`${built}spill.mjs`).href);
  const { boundedParse, DEFAULT_PARSE_LIMITS } = await import(pathToFileURL(`${built}bounded.mjs`).href);
  const runtime = process.versions.bun ? "bun" : process.versions.deno ? "deno" : "node";
  console.log(
    `${runtime} ${process.versions[runtime]}, MB of input a second of processor time, best / median of ${rounds}\n`,
  );

  const sink = { open: () => ({ write() {}, close() {}, abort() {} }) };
  for (const [name, unit, isWhole] of ROWS) {
    const text = isWhole ? unit(7 << 20) : unit(bytes);
    const input = new TextEncoder().encode(text);
    const spill = best(input.length, () => {
      const parser = new SpillParser({ sink });
      for (let at = 0; at < input.length; at += 65_536) parser.push(input.subarray(at, at + 65_536));
      const parsed = parser.end();
      if (!parsed.ok) throw new Error(parsed.reason);
    });
    const native = best(input.length, () => JSON.parse(new TextDecoder().decode(input)));
    console.log(`${name.padEnd(34)} spill ${spill}   decode and JSON.parse ${native}`);
  }
  const bombs = [
    ["20 MB of [", "[".repeat(20e6)],
    ["10 M empty arrays", `[${"[],".repeat(10e6)}0]`],
    ["8 M numbers", `[${"1,".repeat(8e6)}0]`],
  ];
  for (const [name, text] of bombs) {
    const input = new TextEncoder().encode(text);
    const startedAt = performance.now();
    const parser = new SpillParser({ sink });
    for (let at = 0; at < input.length; at += 65_536) parser.push(input.subarray(at, at + 65_536));
    const { reason } = parser.end();
    console.log(`${name.padEnd(34)} ${reason} after ${(performance.now() - startedAt).toFixed(1)} ms`);
  }
  // What looking for long integers costs a frame that has none.
  for (const size of [200, 10_000, 1_000_000]) {
    const text = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      result: { content: [{ type: "text", text: "a1 ".repeat(size / 3) }] },
    });
    const turns = Math.max(3, Math.round(2e7 / size));
    const speed = best(text.length * turns, () => {
      for (let turn = 0; turn < turns; turn++) boundedParse(text, DEFAULT_PARSE_LIMITS);
    });
    console.log(`${`whole frame of ${size} bytes`.padEnd(34)} bounded ${speed}`);
  }
}

function best(size, run) {
  run();
  const times = Array.from({ length: rounds }, () => {
    const startedAt = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(startedAt);
    return Math.max(1, user + system) / 1e3;
  }).sort((a, b) => a - b);
  const speed = (ms) => (size / 1e3 / ms).toFixed(0).padStart(5);
  return `${speed(times[0])} / ${speed(times[times.length >> 1])}`;
}
