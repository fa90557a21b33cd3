import { type ChildProcess as NodeChild, spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { afterEach, expect } from "vitest";
import type { Client, ConnectOptions } from "../../src/client/client.ts";
import { connectClient } from "../../src/client/connect.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import type { ChildProcess } from "../../src/kernel/runtime.ts";
import { httpDialer, type HttpDialerOptions } from "../../src/transport/http.ts";
import { stdioDialer, type StdioDialerOptions } from "../../src/transport/stdio.ts";
import type { TransportEnd, WarningKind } from "../../src/transport/transport.ts";
import { eventually } from "../contract/runtime_child.ts";
import { type HttpServer, type HttpServerOptions, startHttpServer } from "../fixtures/http_server.mjs";
import { markedProcesses } from "../fixtures/marked_processes.ts";
import { programHere, runtimeHere } from "../run/adapter.ts";

export const runtime = await runtimeHere();
export const STDIO_SERVER = fileURLToPath(new URL("../fixtures/stdio_server.mjs", import.meta.url));
const HTTP_SERVER = fileURLToPath(new URL("../fixtures/http_server.mjs", import.meta.url));
/** How long a server may take that is well but shares a busy machine. */
const PATIENCE_MS = 60_000;
/** What every process of these tests has in its environment, whoever its parent is. */
const MARKER = `PORTCULLIS_FIELD_REPORTS_${process.pid}`;

const rejections: unknown[] = [];
process.on("unhandledRejection", (reason) => rejections.push(reason));

const cleanups: (() => unknown)[] = [];

/** Ends what a test has opened, and checks that nothing of it is left: no process, no rejection that nobody has seen. */
export function leaveNothing(): void {
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    await eventually("no process is left", () => markedProcesses(MARKER).length === 0);
    expect(rejections.splice(0)).toEqual([]);
  });
}

/** One attempt at a server, and everything that was told about it. */
export interface Attempt {
  readonly children: ChildProcess[];
  readonly warnings: [kind: WarningKind, excerpt: string | undefined][];
  readonly notifications: string[];
  readonly ends: TransportEnd[];
  /** Opens the connection; it is closed after the test. */
  connect(): Promise<Client>;
}

export type Options = Partial<ConnectOptions> & Partial<StdioDialerOptions>;

/** A server by its whole command line. */
export function command(line: readonly string[], options: Options = {}): Attempt {
  const children: ChildProcess[] = [];
  const [program = "", ...args] = line;
  const dialer = stdioDialer({
    spawn: async (plan, handlers) => {
      const child = await runtime.spawn!({ ...plan, env: { ...plan.env, [MARKER]: "1" } }, handlers);
      children.push(child);
      return child;
    },
    command: program,
    args,
    env: { PATH: process.env["PATH"] ?? "" },
    clock: systemClock,
    ...options,
  });
  return attempt({ dialer, ...options }, children);
}

/** The scriptable server on a pipe. */
export function stdio(flags: readonly string[], options: Options = {}): Attempt {
  return command([...programHere, STDIO_SERVER, ...flags], options);
}

/** A client of an HTTP server. */
export function web(url: string, options: Partial<ConnectOptions> & Partial<HttpDialerOptions> = {}): Attempt {
  const { contentLengthIsDecoded } = runtime;
  const dialer = httpDialer({ url, fetch: runtime.fetch, clock: systemClock, contentLengthIsDecoded, ...options });
  return attempt({ dialer, ...options }, []);
}

/** The scriptable server over HTTP, in this process. */
export async function serve(options: HttpServerOptions = {}): Promise<HttpServer> {
  const server = await startHttpServer(options);
  cleanups.push(() => server.close());
  return server;
}

/** The same in a process of its own, so that what it needs does not count as ours. */
export async function serveApart(flags: readonly string[]): Promise<string> {
  const child: NodeChild = spawn(process.execPath, [HTTP_SERVER, ...flags], {
    env: { ...process.env, [MARKER]: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  cleanups.push(() => void child.kill("SIGKILL"));
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => reject(new Error("the server has exited")));
    child.stdout!.setEncoding("utf8").once("data", (line: string) => resolve(line.trim()));
  });
}

function attempt(options: ConnectOptions, children: ChildProcess[]): Attempt {
  const told: Omit<Attempt, "connect"> = { children, warnings: [], notifications: [], ends: [] };
  return {
    ...told,
    async connect() {
      const client = await connectClient({
        startTimeoutMs: PATIENCE_MS,
        // An older server answers the probe too, as soon as a busy machine lets it; those that do not are said so.
        probeTimeoutMs: PATIENCE_MS,
        ...options,
        onNotification: (method) => void told.notifications.push(method),
        onWarning: (kind, excerpt) => void told.warnings.push([kind, excerpt]),
        onEnd: (end) => void told.ends.push(end),
      });
      cleanups.push(() => client.close());
      return client;
    },
  };
}

/** Calls `echo` and expects its answer. */
export async function echoes(client: Client, message = "é 漢"): Promise<void> {
  expect(await client.callTool("echo", { message })).toMatchObject({
    kind: "done",
    result: { content: [{ type: "text", text: message }] },
  });
}

/** The JSON text that a tool has answered with. */
export async function ask(client: Client, tool: string): Promise<unknown> {
  const reply = await client.callTool(tool, {});
  if (reply.kind !== "done") throw new Error(`${tool} did not answer: ${JSON.stringify(reply)}`);
  const [block] = reply.result["content"] as { readonly text: string }[];
  return JSON.parse(block!.text);
}

export { eventually };
