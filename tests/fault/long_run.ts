/**
 * Makes very many calls on one connection, and holds what is there after the first of them against what is there after the
 * last: bytes of memory, entries of maps and sets, timers, abort listeners. Runs unchanged on Node, Bun and Deno. The first
 * number is of calls of a client in each era, over HTTP a quarter of it; the second is of calls through a host, with its
 * gate and its log:
 *
 *     node --import tsx tests/fault/long_run.ts 100000 20000
 */
import process from "node:process";
import type { Client } from "../../src/client/client.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import type { ChildProcess, Runtime } from "../../src/kernel/runtime.ts";
import type { Dialer } from "../../src/transport/transport.ts";
import { heldBytes } from "../fixtures/held_memory.ts";

/** What is there at one moment. */
interface Holdings {
  readonly bytes: number;
  /** Maps and sets that live, and how many entries they have together. */
  readonly collections: number;
  readonly entries: number;
  readonly timers: number;
  readonly listeners: number;
}

/** Calls at a time. */
const WIDTH = 16;
/** What is kept of calls that have ended fills up within so many of them: the last 1,000 outcomes and events. */
const HOST_WARM_UP = 1500;
/** Below, what a runtime compiles while it warms up is more than what so many calls could leave behind. */
const MEMORY_COUNTS_FROM = 20_000;
/** What a runtime's own memory comes and goes by. */
const MAX_GROWTH_BYTES = 1 << 20;
/** The collector of Bun keeps what something on the stack looks like the address of: now and then a few more or less. */
const STRAY_COLLECTIONS = 16;
const STRAY_ENTRIES = 16;

// Before anything of the product is loaded: what it makes from now on is counted.
const collections = countCollections();
const { connectClient, httpDialer } = await import("../../src/client/mod.ts");
const { countingClock, countListeners } = await import("../fixtures/counting.ts");
const { memoryDialer } = await import("../../src/transport/memory.ts");
const { createHost } = await import("../../src/host.ts");
const { memoryLog } = await import("../../src/events/memory_store.ts");

type Era = "legacy" | "modern";
interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params: { readonly protocolVersion?: string; readonly arguments?: unknown };
}

/** What the server answers; `undefined` to a notification. */
function answer(era: Era, { id, method, params }: Request): object | undefined {
  if (id === undefined) return undefined;
  const capabilities = { tools: {} };
  const serverInfo = { name: "echo", version: "1" };
  switch (`${era} ${method}`) {
    case "modern server/discover":
      return result(id, { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities });
    case "legacy initialize":
      return result(id, { protocolVersion: params.protocolVersion, capabilities, serverInfo });
    case `${era} tools/list`:
      return result(id, { tools: [{ name: "echo", inputSchema: { type: "object" } }] });
    case `${era} tools/call`:
      return result(id, { content: [{ type: "text", text: JSON.stringify(params.arguments) }] });
  }
  return { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } };
}

const result = (id: number, value: object): object => ({ jsonrpc: "2.0", id, result: value });

function inMemory(era: Era): Dialer {
  return memoryDialer(({ send }) => ({
    onMessage(message) {
      const reply = answer(era, message as unknown as Request);
      if (reply !== undefined) send(reply);
    },
  }));
}

function fetchOf(era: Era): Runtime["fetch"] {
  return (_url, { method, body } = {}) => {
    const reply = method === "POST" ? answer(era, JSON.parse(String(body))) : undefined;
    if (reply === undefined) return Promise.resolve(new Response(null, { status: method === "POST" ? 202 : 405 }));
    const text = JSON.stringify(reply);
    const headers = { "content-type": "application/json", "content-length": String(text.length) };
    return Promise.resolve(new Response(text, { headers }));
  };
}

/** A runtime whose every program is the server. */
const runtime: Runtime = {
  name: "fake",
  version: "1",
  contentLengthIsDecoded: true,
  fetch: () => Promise.reject(new TypeError("no network")),
  environment: () => ({}),
  spawn(_plan, { onData, onExit }): Promise<ChildProcess> {
    const exit = (): void => onExit({ code: 0, signal: null });
    return Promise.resolve({
      pid: 7,
      containment: "process_group",
      write(text) {
        const replies = text.trimEnd().split("\n").map((line) => answer("modern", JSON.parse(line)));
        const lines = replies.filter((reply) => reply !== undefined).map((reply) => `${JSON.stringify(reply)}\n`);
        if (lines.length > 0) queueMicrotask(() => void onData(new TextEncoder().encode(lines.join(""))));
      },
      closeInput: exit,
      kill: exit,
      groupAlive: () => false,
      release() {},
    });
  },
};

/** Makes calls of a client: with the signal of all, with one of their own, with none; some are given up. */
async function callClient(client: Client, at: number, all: AbortSignal): Promise<void> {
  const own = at % 10 === 0 ? new AbortController() : undefined;
  const signal = own?.signal ?? (at % 3 === 0 ? undefined : all);
  const calling = client.callTool("echo", { at }, {
    ...(signal === undefined ? {} : { signal }),
    ...(at % 5 === 0 ? { onProgress() {} } : {}),
  });
  if (at % 100 === 0) own!.abort();
  const { kind } = await calling;
  if ((kind === "done") === (at % 100 === 0)) throw new Error(`Call ${at} came to ${kind}`);
}

interface Run {
  call(at: number): Promise<void>;
  close(): Promise<void>;
}

async function openClient(dialer: Dialer, clock: Clock, all: AbortSignal): Promise<Run> {
  const client = await connectClient({ dialer, clock });
  return { call: (at) => callClient(client, at, all), close: () => client.close() };
}

async function openHost(clock: Clock, all: AbortSignal): Promise<Run> {
  const host = await createHost({
    runtime,
    clock,
    log: memoryLog({ maxEvents: 1000 }),
    servers: [{ name: "s", command: "server", required: true }],
    permission: { rules: [{ tool: "mcp.s.*", decision: "allow" }] },
  });
  const session = await host.session({ id: "long" });
  return {
    async call(at) {
      const { status } = await session.tool("mcp.s.echo", { at }, {
        ...(at % 3 === 0 ? {} : { signal: at % 10 === 0 ? new AbortController().signal : all }),
        ...(at % 4 === 0 ? {} : { toolCallId: `call-${at}` }),
      });
      if (status !== "completed") throw new Error(`Call ${at} came to ${status}`);
    },
    close: () => host.close(),
  };
}

/** Makes the calls and gives what is there more of in the end, in words. */
async function run(
  name: string,
  calls: number,
  warmUp: number,
  open: (clock: Clock, all: AbortSignal) => Promise<Run>,
): Promise<string[]> {
  const started = performance.now();
  const clock = countingClock();
  const { signal } = new AbortController();
  const listeners = countListeners(signal);
  const { call, close } = await open(clock, signal);
  const upTo = async (from: number, to: number): Promise<void> => {
    let at = from;
    await Promise.all(Array.from({ length: WIDTH }, async () => {
      while (at < to) await call(at++);
    }));
  };
  const look = async (): Promise<Holdings> => {
    // Deadlines are looked at every 250 ms at most, and what nobody needs any more is let go of then.
    for (let same = 0; same < 20 && clock.active() + listeners() > 0; same++) {
      const before = [clock.active(), listeners()].join();
      await turnOf(20);
      if ([clock.active(), listeners()].join() !== before) same = 0;
    }
    // What was collected is struck off the list of what was made, which would count itself otherwise.
    heldBytes();
    await turnOf(0);
    const counted = collections();
    return { bytes: heldBytes(), ...counted, timers: clock.active(), listeners: listeners() };
  };
  await upTo(0, warmUp);
  const early = await look();
  await upTo(warmUp, calls);
  const late = await look();
  await close();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`${name}: ${calls} calls in ${seconds} s`);
  console.log(`  after ${warmUp}: ${JSON.stringify(early)}\n  after ${calls}: ${JSON.stringify(late)}`);
  const bounds: [keyof Holdings, number][] = [
    ["collections", STRAY_COLLECTIONS],
    ["entries", STRAY_ENTRIES],
    ["timers", 0],
    ["listeners", 0],
  ];
  if (calls >= MEMORY_COUNTS_FROM) bounds.push(["bytes", MAX_GROWTH_BYTES]);
  return bounds.filter(([what, most]) => late[what] - early[what] > most)
    .map(([what]) => `${name}: ${late[what] - early[what]} ${what} more`);
}

const turnOf = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Puts other classes in the place of Map and Set, which tell how many of them live and what they hold. */
function countCollections(): () => Pick<Holdings, "collections" | "entries"> {
  let made: WeakRef<Map<unknown, unknown> | Set<unknown>>[] = [];
  globalThis.Map = class<K, V> extends Map<K, V> {
    constructor(...given: ConstructorParameters<typeof Map<K, V>>) {
      super(...given);
      made.push(new WeakRef(this));
    }
  } as MapConstructor;
  globalThis.Set = class<T> extends Set<T> {
    constructor(...given: ConstructorParameters<typeof Set<T>>) {
      super(...given);
      made.push(new WeakRef(this));
    }
  } as SetConstructor;
  return () => {
    made = made.filter((each) => each.deref() !== undefined);
    return { collections: made.length, entries: made.reduce((sum, each) => sum + (each.deref()?.size ?? 0), 0) };
  };
}

const [calls, hostCalls] = [Number(process.argv[2] ?? 100_000), Number(process.argv[3] ?? 20_000)];
const url = "https://mcp.test/mcp";
const found: string[] = [];
for (const era of ["legacy", "modern"] as const) {
  found.push(
    ...await run(`${era}, in memory`, calls, calls / 10, (clock, all) => openClient(inMemory(era), clock, all)),
    ...await run(
      `${era}, over HTTP`,
      calls / 4,
      calls / 40,
      (clock, all) =>
        openClient(httpDialer({ url, fetch: fetchOf(era), clock, contentLengthIsDecoded: true }), clock, all),
    ),
  );
}
found.push(...await run("through a host", hostCalls, Math.max(HOST_WARM_UP, hostCalls / 10), openHost));
console.log(found.length === 0 ? "1 passed, 0 failed" : `0 passed, 1 failed: ${found.join(", ")}`);
process.exit(found.length === 0 ? 0 : 1);
