import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { closedPort } from "../fixtures/closed_port.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** One that is there: Deno looks for a program before it asks whether it may start it. */
const program = JSON.stringify(process.execPath);
const head = `
  import { connectClient, httpDialer, stdioDialer, systemClock } from "./src/client/mod.ts";
  import { createHost } from "./src/host.ts";
  import { fileLog } from "./src/events/file_store.ts";
  import { denoRuntime } from "./runtimes/deno/mod.ts";
  const runtime = denoRuntime();
  const { fetch, spawn } = runtime;
  const clock = systemClock;
  const show = (work) => work.then(() => console.log("went well"), ({ code, message }) => console.log(code, message));
`;

/** Runs a program on Deno; one that stays is ended after the time that a busy machine may take, and fails the test. */
async function onDeno(text: string, ...flags: string[]): Promise<string> {
  const deno = `${root}/node_modules/.bin/deno`;
  const running = promisify(execFile)(deno, ["run", "--no-prompt", "--ext=ts", ...flags, "-"], {
    cwd: root,
    timeout: 50_000,
  });
  running.child.stdin?.end(head + text);
  return (await running).stdout.trim();
}

describe("a program that Deno permits too little", () => {
  test.each<[what: string, text: string, flags: string[], printed: string]>([
    [
      "to reach a server",
      `await show(connectClient({ dialer: httpDialer({ url: "http://127.0.0.1:5999/mcp", fetch, clock }) }));`,
      [],
      "Cannot send a request to 127.0.0.1:5999: Deno does not permit it; start it with --allow-net",
    ],
    [
      "to start a server",
      `await show(connectClient({ dialer: stdioDialer({ command: ${program}, env: {}, spawn, clock }) }));`,
      [],
      `Cannot start ${program}: Deno does not permit it; start it with --allow-run`,
    ],
    [
      "to read the environment",
      `await show(createHost({ runtime }));`,
      [],
      "Cannot read the environment: Deno does not permit it; start it with --allow-env",
    ],
    [
      "to write a log",
      `await show(createHost({ runtime, log: fileLog("no-such-directory") }));`,
      ["--allow-env"],
      `Cannot use "no-such-directory": Deno does not permit it; start it with --allow-write`,
    ],
  ])("ends by itself and says what it lacks: %s", async (_what, text, flags, printed) => {
    expect(await onDeno(text, ...flags)).toBe(`ERR_UNSUPPORTED_HERE ${printed}`);
  }, 60_000);
});

test("Deno says of a server that is not there what other runtimes say", async () => {
  const { port, letGo } = await closedPort();
  const url = `http://127.0.0.1:${port}/mcp`;
  const text = `await show(connectClient({ dialer: httpDialer({ url: "${url}", fetch, clock }) }));`;
  try {
    expect(await onDeno(text, "--allow-net")).toMatch(/^ERR_CONNECTION_LOST .*ECONNREFUSED$/);
  } finally {
    letGo();
  }
}, 60_000);
