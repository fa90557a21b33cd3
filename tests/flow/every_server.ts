/**
 * Speaks through a host to every server by another maker that this project knows of, over stdio and over HTTP: reaches
 * it, lists, calls, stops; the same at an older revision; some are killed. Needs what `npm ci` installs in
 * `tests/servers` and in `tests/servers/more`. Names after the options choose some of them:
 *
 *     node --import tsx tests/flow/every_server.ts [--json FILE] [NAME ...]
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import type { Runtime } from "../../src/kernel/runtime.ts";
import { runtimeHere } from "../run/adapter.ts";
import { closingLine, type Row, table, total } from "../run/report.mjs";
import { httpServers } from "./http_servers.ts";
import { chromium, moreDirectory, moreServers, writeFiles } from "./more_servers.ts";
import { otherServers, PINS, type RealServer, scratch, serversDirectory, startServers } from "./real_servers.ts";
import { checkHttpServer, checkKilled, checkServer } from "./server_checks.ts";

/** At a time: each is a kit of many megabytes, or a browser. */
const AT_A_TIME = 2;
/** Nothing that is checked takes this long, whatever hangs. */
const CHECK_MS = 150_000;

interface Subject {
  readonly name: string;
  readonly package: string;
  readonly note: string;
  readonly checks: readonly { readonly name: string; readonly run: () => Promise<void> }[];
  readonly skipped: readonly string[];
}

function stdioSubject(runtime: Runtime, server: RealServer): Subject {
  const calls = server.callNeeds === undefined || chromium !== undefined;
  const check = (name: string, run: () => Promise<void>): Subject["checks"][number] => ({ name, run });
  const { killed } = server;
  return {
    name: server.name,
    package: server.package,
    note: `${server.protocolVersion}, ${server.made}`,
    checks: [
      check("is reached, lists, answers and leaves nothing behind", () => checkServer(runtime, server, { calls })),
      ...(server.pins ?? PINS).map((pin) =>
        check(`the same at ${pin}, with roots`, () => checkServer(runtime, server, { pin, calls }))
      ),
      ...(killed === undefined || !calls ? [] : [
        check(
          `comes back when it is killed ${killed === "between calls" ? killed : "in the middle of a call"}`,
          () => checkKilled(runtime, server),
        ),
      ]),
    ],
    skipped: calls ? [] : [`a call, which needs ${server.callNeeds}`],
  };
}

function subjects(runtime: Runtime): Subject[] {
  return [
    ...[...startServers, ...otherServers, ...moreServers].map((server) => stdioSubject(runtime, server)),
    ...httpServers.map((server): Subject => ({
      name: server.name,
      package: server.package,
      note: server.unusable === undefined ? server.protocolVersion : `cannot be used: ${server.unusable}`,
      checks: [
        {
          name: server.unusable === undefined ? "is reached, lists and answers" : "fails in words, and in time",
          run: () => checkHttpServer(runtime, server),
        },
        ...(server.pins ?? PINS).map((pin) => ({
          name: `the same at ${pin}`,
          run: () => checkHttpServer(runtime, server, pin),
        })),
      ],
      skipped: server.call === undefined && server.unusable === undefined ? ["a call, which needs chromium"] : [],
    })),
  ];
}

async function runSubject({ name, package: folder, note, checks, skipped }: Subject): Promise<Row> {
  const started = performance.now();
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string };
  const failures: string[] = [];
  for (const check of checks) {
    try {
      await inTime(check.run());
    } catch (error) {
      failures.push(check.name);
      console.log(`FAILED ${name} ${check.name}: ${error instanceof Error ? error.stack : String(error)}`);
    }
  }
  const seconds = (performance.now() - started) / 1000;
  console.log(`${name} ${version}: ${checks.length - failures.length} of ${checks.length}, ${seconds.toFixed(1)} s`);
  return {
    name,
    version,
    passed: checks.length - failures.length,
    failed: failures.length,
    failures,
    skipped,
    seconds,
    note,
  };
}

async function inTime(running: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`took more than ${CHECK_MS} ms`)), CHECK_MS);
  });
  try {
    await Promise.race([running, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Runs all, a few at a time; rows come in the order of the subjects. */
async function runAll(list: readonly Subject[]): Promise<Row[]> {
  const rows: Row[] = [];
  const rest = list.entries();
  const worker = async (): Promise<void> => {
    for (const [index, subject] of rest) rows[index] = await runSubject(subject);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, worker));
  return rows;
}

process.once("exit", () => rmSync(scratch, { recursive: true, force: true }));
const { values, positionals } = parseArgs({ options: { json: { type: "string" } }, allowPositionals: true });
const missing = [serversDirectory, moreDirectory].filter((folder) => !existsSync(join(folder, "node_modules")));
if (missing.length > 0) {
  const required = process.env["PORTCULLIS_SERVERS"] === "required";
  console.log(`skipped: servers are not installed; run npm ci in ${missing.join(" and ")}`);
  process.exit(required ? 1 : 0);
}
if (chromium === undefined) console.log("there is no chromium: the servers that drive a browser are not called");
writeFiles();
const all = subjects(await runtimeHere());
const unknown = positionals.filter((name) => !all.some((subject) => subject.name === name));
if (unknown.length > 0) throw new Error(`no server is called ${unknown.join(" or ")}`);
const rows = await runAll(all.filter(({ name }) => positionals.length === 0 || positionals.includes(name)));
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(rows));
console.log(`\n${table(rows)}\n\n${closingLine(rows)}`);
process.exit(total(rows).failed === 0 ? 0 : 1);
