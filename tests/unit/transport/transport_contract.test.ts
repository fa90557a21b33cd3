import process from "node:process";
import { fileURLToPath } from "node:url";
import { describe, test } from "vitest";
import { systemClock } from "../../../src/kernel/clock.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import type { ChildProcess } from "../../../src/kernel/runtime.ts";
import { httpDialer } from "../../../src/transport/http.ts";
import { memoryDialer, type MemoryServer } from "../../../src/transport/memory.ts";
import { stdioDialer } from "../../../src/transport/stdio.ts";
import { transportContract, type TransportUnderTest } from "../../contract/transport.ts";
import { type HttpServerOptions, startHttpServer } from "../../fixtures/http_server.mjs";
import { programHere, runtimeHere } from "../../run/adapter.ts";

const runtime = await runtimeHere();
const [command, ...before] = programHere;
const progress = { on: "tools/call", progress: "growing" } as const;

interface Request {
  readonly id?: number;
  readonly params?: {
    readonly name: string;
    readonly arguments: { readonly message?: string; readonly ms?: number };
    readonly _meta?: { readonly progressToken?: unknown };
  };
}

/** The two tools of the fixture, without a pipe or a socket between. */
function memory(): TransportUnderTest {
  const crashes = new Set<() => void>();
  const serve: MemoryServer = (connection) => {
    const timers = new Set<NodeJS.Timeout>();
    const crash = (): void => connection.end({ reason: "exit", error: new HostError("ERR_CONNECTION_LOST", "crash") });
    crashes.add(crash);
    return {
      onMessage(message) {
        const { id, params } = message as Request;
        if (id === undefined || params === undefined) return;
        const progressToken = params._meta?.progressToken;
        for (const each of progressToken === undefined ? [] : [1, 2, 3]) {
          const report = { progressToken, progress: each };
          connection.send({ jsonrpc: "2.0", method: "notifications/progress", params: report });
        }
        const { message: text = "slept", ms } = params.arguments;
        const answer = (): void =>
          connection.send({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
        if (ms === undefined) answer();
        else timers.add(setTimeout(answer, ms));
      },
      onClose() {
        crashes.delete(crash);
        for (const timer of timers) clearTimeout(timer);
      },
    };
  };
  return {
    dialer: memoryDialer(serve),
    crash: () => crashes.forEach((crash) => crash()),
    remains: () => crashes.size,
    close: () => {},
  };
}

function stdio(): TransportUnderTest {
  const children: ChildProcess[] = [];
  const server = fileURLToPath(new URL("../../fixtures/stdio_server.mjs", import.meta.url));
  return {
    dialer: stdioDialer({
      spawn: async (plan, handlers) => {
        const child = await runtime.spawn!(plan, handlers);
        children.push(child);
        return child;
      },
      command,
      args: [...before, server, "--era=legacy", "--on=tools/call", "--progress=growing"],
      env: { PATH: process.env["PATH"] ?? "", TOKEN: "secret" },
      clock: systemClock,
    }),
    crash: () => children.forEach((child) => child.kill("SIGKILL")),
    remains: () => children.filter((child) => child.groupAlive()).length,
    close: () => {},
  };
}

async function http(options: HttpServerOptions): Promise<TransportUnderTest> {
  const server = await startHttpServer({ era: "legacy", sessionless: true, rules: [progress], ...options });
  // An aborted fetch settles in its own time, and later on some runtimes; one that never does fails the test by its time.
  const pending = new Set<Promise<unknown>>();
  const fetch: typeof runtime.fetch = (url, init) => {
    const response = runtime.fetch(url, init);
    const settled = response.then(() => {}, () => {}).finally(() => pending.delete(settled));
    pending.add(settled);
    return response;
  };
  return {
    dialer: httpDialer({
      url: server.url,
      headers: { "x-key": "secret" },
      fetch,
      clock: systemClock,
      contentLengthIsDecoded: true,
    }),
    crash: () => server.close(),
    remains: async () => {
      await Promise.all(pending);
      return pending.size;
    },
    close: () => server.close(),
  };
}

const suites: [string, () => TransportUnderTest | Promise<TransportUnderTest>][] = [
  ["memory", memory],
  ["stdio", stdio],
  ["http, answers in JSON", () => http({ answer: "json" })],
  ["http, answers in events", () => http({ answer: "sse" })],
];
describe.each(suites)("over %s", (_name, open) => {
  for (const { name, run } of transportContract(open)) test(name, () => run());
});
