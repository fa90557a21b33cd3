import { deepEqual, equal, match } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { createHost, type Host, type HostEvent, memoryLog, type ServerConfigInput } from "../../mod.ts";
import type { Runtime } from "../../src/kernel/runtime.ts";
import { markedProcesses } from "../fixtures/marked_processes.ts";
import type { HttpServer } from "./http_servers.ts";
import { home, workplace } from "./more_servers.ts";
import type { Offered, RealServer } from "./real_servers.ts";

/** Kits of many megabytes take their time to load on a busy machine. */
const START_MS = 90_000;
/** Far more events than a start, a call and a stop give rise to, whatever a server prints and says. */
const MAX_EVENTS = 60;

const place = { uri: pathToFileURL(workplace).href, name: "files" };

/** The variable that marks the processes of one server. */
const markerOf = (name: string): string => `PORTCULLIS_EVERY_${process.pid}_${name}`;

interface HostUse {
  readonly runtime: Runtime;
  readonly config: ServerConfigInput;
  readonly roots?: boolean;
}

async function openHost({ runtime, config, roots = false }: HostUse): Promise<Host> {
  return await createHost({
    runtime,
    log: memoryLog(),
    servers: [{ ...config, startTimeoutMs: START_MS }],
    permission: { rules: [{ tool: "mcp.*", decision: "allow" }] },
    // Tools that call themselves destructive are asked about whatever a rule says.
    approve: () => Promise.resolve("allow"),
    ...(roots ? { asks: { roots: () => [place] } } : {}),
  });
}

function stdioConfig(server: RealServer, pin: string | undefined): ServerConfigInput {
  const { name, command, args, env } = server;
  return {
    name,
    transport: {
      type: "stdio",
      command,
      args: [...args],
      cwd: home,
      env: { HOME: home, ...env, [markerOf(name)]: "1" },
    },
    ...(pin === undefined ? {} : { protocol: { pin } }),
  };
}

/** What the host says of its server, once it has stopped trying to start it. */
async function settledStatus(host: Host): Promise<ReturnType<Host["globalMcpStatus"]>[number] | undefined> {
  await host.ready({ timeoutMs: START_MS });
  return host.globalMcpStatus()[0];
}

/** That what is listed is what is known of the server, of all four kinds. */
async function checkLists(host: Host, { tools, resources = 0, templates = 0, prompts = 0 }: Offered): Promise<void> {
  const session = await host.session();
  const lists = {
    tools: session.toolNames({ spelling: "qualified" }).length,
    resources: (await session.resources.list()).length,
    templates: (await session.resources.templates()).length,
    prompts: (await session.prompts.list()).length,
  };
  deepEqual(lists, { tools, resources, templates, prompts });
  await session.close();
}

async function checkCall(
  host: Host,
  name: string,
  call: RealServer["call"],
): Promise<void> {
  const session = await host.session();
  const outcome = await session.tool(`mcp.${name}.${call.tool}`, call.args);
  const text = outcome.content.some((block) => block.type === "image") ? "image" : outcome.output;
  equal(outcome.status, call.status ?? "completed", `${call.tool}: ${outcome.status}, ${text}`);
  match(text, call.text);
  await session.close();
}

const ofType = (events: readonly HostEvent[], type: string): HostEvent[] =>
  events.filter((event) => event.type === type);

/** That what is odd about the server was told, that nothing else was, and that it was told in few words. */
async function checkEvents(host: Host, server: RealServer): Promise<void> {
  const events = await host.readEvents();
  const kinds = new Set(ofType(events, "mcp.server.warning").map(({ payload }) => payload["kind"]));
  deepEqual([...kinds].sort(), [...server.warnings ?? []].sort(), "kinds of warnings");
  deepEqual(ofType(events, "mcp.server.crashed").map(({ payload }) => payload), []);
  equal(events.length <= MAX_EVENTS, true, `${events.length} events, at most ${MAX_EVENTS} wanted`);
}

/** Reaches a server, lists, calls once and stops it. `pin` holds it to a revision, and then the host has roots to show. */
export async function checkServer(
  runtime: Runtime,
  server: RealServer,
  { pin, calls }: { readonly pin?: string; readonly calls: boolean },
): Promise<void> {
  const roots = pin !== undefined;
  const tools = roots ? server.toolsWithRoots ?? server.tools : server.tools;
  const host = await openHost({ runtime, config: stdioConfig(server, pin), roots });
  try {
    const status = await settledStatus(host);
    const { state, version } = status ?? {};
    deepEqual({ state, version }, { state: "ready", version: pin ?? server.protocolVersion }, status?.error);
    await checkLists(host, { ...server, tools });
    if (calls) await checkCall(host, server.name, server.call);
    await checkEvents(host, server);
  } finally {
    await host.close();
  }

  deepEqual(markedProcesses(markerOf(server.name)), [], "processes are left");
}

/** Kills a server while it works on a call, or between two: it comes back, lists as before and answers. */
export async function checkKilled(runtime: Runtime, server: RealServer): Promise<void> {
  const host = await openHost({ runtime, config: stdioConfig(server, undefined) });
  try {
    await settledStatus(host);
    await checkCall(host, server.name, server.call);
    const before = await namesOf(host);
    const session = await host.session({ id: "killed" });
    const { killed } = server;
    if (typeof killed === "object") {
      const running = session.tool(`mcp.${server.name}.${killed.tool}`, killed.args);
      await eventOf(host, "session:killed", "mcp.call.started");
      killChildren(server.name);
      equal((await running).status, "unknown");
    } else {
      killChildren(server.name);
    }
    await eventOf(host, undefined, "mcp.server.ready", 2);
    deepEqual(await namesOf(host), before);
    await checkCall(host, server.name, server.call);
    const types = (await host.readEvents()).map(({ type }) => type);
    deepEqual(types.filter((type) => /crashed|restarting|ready$|failed/.test(type)), [
      "mcp.server.ready",
      "mcp.server.crashed",
      "mcp.server.restarting",
      "mcp.server.ready",
    ]);
  } finally {
    await host.close();
  }

  deepEqual(markedProcesses(markerOf(server.name)), [], "processes are left");
}

async function namesOf(host: Host): Promise<string[]> {
  const session = await host.session();
  const names = session.toolNames({ spelling: "qualified" });
  await session.close();
  return [...names];
}

/** Waits for the `count`th event of a type, as long as a start may take. */
async function eventOf(host: Host, stream: string | undefined, type: string, count = 1): Promise<void> {
  const signal = AbortSignal.timeout(START_MS);
  let seen = 0;
  for await (const event of host.events({ ...(stream === undefined ? {} : { stream }), signal })) {
    if (event.type === type && ++seen === count) return;
  }
  throw new Error(`saw ${seen} of ${count} ${type}`);
}

/** Kills what the host started itself and nothing below it: those are the host's to find. */
function killChildren(name: string): void {
  const children = markedProcesses(markerOf(name)).filter((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1").replace(/^.*\) /, "").split(" ");
    return Number(fields[1]) === process.pid;
  });
  equal(children.length, 1, `${children.length} children, wanted one`);
  process.kill(children[0]!, "SIGKILL");
}

/** Starts a server that listens on a port, reaches it, lists, calls once and closes. */
export async function checkHttpServer(runtime: Runtime, server: HttpServer, pin?: string): Promise<void> {
  const port = await freePort();
  const started = server.start(String(port));
  const marker = markerOf(server.name);
  const child = spawn(started.command, started.args, {
    cwd: home,
    env: { PATH: process.env["PATH"] ?? "", HOME: home, ...started.env, [marker]: "1" },
    stdio: "ignore",
    detached: true,
  });
  try {
    await listening(child, port);
    const url = `http://localhost:${port}${server.path}`;
    const config = {
      name: server.name,
      transport: { type: server.type, url },
      ...(pin === undefined ? {} : { protocol: { pin } }),
    };
    const host = await openHost({ runtime, config });
    try {
      await checkReached(host, server, pin ?? server.protocolVersion);
    } finally {
      await host.close();
    }
  } finally {
    const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
    for (const pid of markedProcesses(marker)) killed(pid);
    await ended;
  }
}

async function checkReached(host: Host, server: HttpServer, wanted: string): Promise<void> {
  const status = await settledStatus(host);
  if (server.unusable !== undefined) {
    equal(status?.connected, false);
    match(status?.error ?? "", server.unusable);
    return;
  }
  const { state, version } = status ?? {};
  deepEqual({ state, version }, { state: "ready", version: wanted }, status?.error);
  await checkLists(host, server);
  if (server.call !== undefined) await checkCall(host, server.name, server.call);
  const events = await host.readEvents();
  deepEqual(ofType(events, "mcp.server.warning").map(({ payload }) => payload), []);
}

function killed(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Ended meanwhile.
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("a server on a port has no port");
  return address.port;
}

/** Resolves once somebody takes connections there. Rejects when the program ends before, or takes too long. */
async function listening(child: ChildProcess, port: number): Promise<void> {
  const until = performance.now() + START_MS;
  while (performance.now() < until) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`ended with ${child.exitCode}`);
    if (await connects(port)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`does not listen on ${port} after ${START_MS} ms`);
}

async function connects(port: number): Promise<boolean> {
  const socket = connect({ port, host: "localhost" });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false; // Refused: not yet.
  } finally {
    socket.destroy();
  }
}
