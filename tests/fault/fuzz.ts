/**
 * Throws random input at every place that reads what a server sends. Nothing may throw, nothing may hang, and how bytes
 * are cut must change nothing. Runs unchanged on Node, Bun and Deno; other inputs each time, unless a seed is given:
 *
 *     node --import tsx tests/fault/fuzz.ts [cases] [seed]
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { answerAsk, answering, answerInputs, type AskHandlers } from "../../src/client/asks.ts";
import type { Client } from "../../src/client/client.ts";
import { connectClient } from "../../src/client/connect.ts";
import type { Reply } from "../../src/client/reply.ts";
import { requestInRounds } from "../../src/client/rounds.ts";
import { DEFAULT_PARSE_LIMITS } from "../../src/jsonrpc/bounded_parse.ts";
import { readMessage } from "../../src/jsonrpc/message.ts";
import type { JsonObject } from "../../src/kernel/json.ts";
import { isHostError, isRemoteError, RemoteError } from "../../src/kernel/errors.ts";
import { classifyProbe } from "../../src/protocol/classify_probe.ts";
import { createLegacyEra } from "../../src/protocol/legacy.ts";
import { createModernEra } from "../../src/protocol/modern.ts";
import { asObject, readCallResult, readDiscover, readInitialize, readToolPage } from "../../src/protocol/results.ts";
import { LineSplitter } from "../../src/streams/lines.ts";
import { SseParser } from "../../src/streams/sse.ts";
import { httpDialer } from "../../src/transport/http.ts";
import { memoryDialer } from "../../src/transport/memory.ts";
import { stdioDialer } from "../../src/transport/stdio.ts";
import { FakeClock } from "../fixtures/fake_clock.ts";
import {
  cutAnywhere,
  hostileAsk,
  hostileEvents,
  hostileLines,
  hostileMessage,
  hostileResult,
  hostileText,
  probeError,
  shortLines,
} from "./hostile_messages.ts";
import { hostileAnswer, hostileChild, hostileFetch } from "./hostile_servers.ts";

type Try<Case extends unknown[]> = (...given: Case) => void | Promise<void>;

interface Target {
  readonly name: string;
  /** Of all cases. */
  readonly share: number;
  readonly property: fc.IAsyncProperty<unknown>;
}

/** After this long a case counts as one that hangs; most take a millisecond. */
const HANG_MS = 20_000;
const PINS = ["2025-11-25", "2025-03-26", "2026-07-28"];
const METHODS = ["tools/call", "tools/list", "resources/read", "server/discover", "x"];

const legacy = createLegacyEra();
legacy.agree("2025-11-25");
const ERAS = [legacy, createModernEra("2026-07-28", { name: "fuzz", version: "1" }, {})];

function target<Case extends unknown[]>(
  name: string,
  share: number,
  given: fc.Arbitrary<Case>,
  run: Try<Case>,
): Target {
  const property = fc.asyncProperty(given, async (each) => await run(...each));
  return { name, share, property: property as fc.IAsyncProperty<unknown> };
}

/** A share of 0.1 of 100,000 cases is 10,000. */
const TARGETS: readonly Target[] = [
  target("message", 0.25, fc.tuple(hostileText), (text) => {
    const message = readMessage(text, DEFAULT_PARSE_LIMITS);
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      // Whether it is JSON is the question.
      check(message.kind === "malformed", `${message.kind} was read from what is no JSON`);
    }
    if (message.kind !== "result") return;
    check(JSON.stringify(message.id) === JSON.stringify((value as { id: unknown }).id), "the id has changed");
  }),

  target("results", 0.2, fc.tuple(hostileResult, fc.constantFrom(...METHODS)), (result, method) => {
    for (const era of ERAS) era.read(method, result);
    readInitialize(result);
    readDiscover(result);
    classifyProbe({ ok: true, result, bytes: 1 }, true);
    const object = asObject(result);
    if (object === undefined) return;
    readCallResult(object);
    check(readToolPage(object)?.tools.every(({ name }) => typeof name === "string") !== false, "a tool has no name");
  }),

  target("asks", 0.05, fc.tuple(fc.array(hostileAsk, { minLength: 1, maxLength: 3 })), async (asks) => {
    const context = { signal: new AbortController().signal };
    for (const { method, params } of asks) {
      const answer = await answerAsk(HANDLERS, method, params, context).catch(onlyTyped);
      check(answer === undefined || asObject(answer) !== undefined, "an answer is no object");
    }
    await answerInputs(HANDLERS, Object.fromEntries(asks.entries()) as unknown as JsonObject, context).catch(onlyTyped);
  }),

  target("probes", 0.05, fc.tuple(probeError), ({ code, data }) => {
    classifyProbe({ ok: false, error: new RemoteError(code, "", data), sent: true, refused: false }, true);
  }),

  target(
    "cuts",
    0.15,
    fc.tuple(cutAnywhere(fc.oneof(hostileLines, hostileEvents, shortLines)), fc.integer({ min: 1, max: 60 })),
    (chunks, limit) => {
      const whole = Uint8Array.from(chunks.flatMap((chunk) => [...chunk]));
      check(framesOf(chunks, limit) === framesOf([whole], limit), "lines or events depend on how they were cut");
    },
  ),

  target("pipe", 0.1, fc.tuple(cutAnywhere(hostileLines), fc.constantFrom(...PINS)), async (chunks, pin) => {
    const clock = new FakeClock();
    let ends = 0;
    const dialer = stdioDialer({ spawn: hostileChild(chunks), command: "fuzz", clock });
    const client = await connectClient({ dialer, clock, pin, asks: ASKS, onEnd: () => void ends++ });
    const replies = await rushing(clock, everyCall(client, clock));
    check(!replies.some(isTimeout), "a call outlived its server");
    await rushing(clock, client.close());
    check(ends === 1, `the end was told ${ends} times`);
    check(clock.timers === 0, `${clock.timers} timers are left`);
  }),

  target(
    "web",
    0.1,
    fc.tuple(fc.array(hostileAnswer, { minLength: 1, maxLength: 4 }), fc.constantFrom(...PINS)),
    async (answers, pin) => {
      const clock = new FakeClock();
      let isOpen = false;
      const fetch = hostileFetch(answers, () => isOpen);
      const client = await connectClient({
        dialer: httpDialer({ url: "http://fuzz.test/", fetch, clock }),
        clock,
        pin,
      });
      isOpen = true;
      const replies = await rushing(clock, everyCall(client, clock));
      // Where streams are resumed, a server may keep a call waiting for ever.
      check(client.facts.era === "legacy" || !replies.some(isTimeout), "a call outlived its response");
      await rushing(clock, client.close());
      await clock.advance(2000);
      check(clock.timers === 0, `${clock.timers} timers are left`);
    },
  ),

  target("start", 0.1, fc.tuple(fc.array(hostileMessage, { maxLength: 5 }), fc.boolean()), async (messages, exits) => {
    const clock = new FakeClock();
    const dialer = memoryDialer((connection) => {
      const left = [...messages];
      return {
        onMessage: ({ id }) => {
          const message = left.shift();
          if (message === undefined) return exits ? connection.end() : undefined;
          const own = asObject(message);
          connection.send(own !== undefined && "jsonrpc" in own && id !== undefined ? { ...own, id } : message);
        },
      };
    });
    const client = await rushing(clock, connectClient({ dialer, clock }).catch(onlyTyped));
    if (client !== undefined) await rushing(clock, client.close());
    await clock.advance(1000);
    check(clock.timers === 0, `${clock.timers} timers are left`);
  }),
];

function check(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** All lines and events of these bytes, as one text. */
function framesOf(chunks: readonly Uint8Array[], limit: number): string {
  const lines: unknown[] = [];
  const events: unknown[] = [];
  const splitter = new LineSplitter(limit, {
    onLine: (text, bytes) => void lines.push([bytes, text]),
    onTooLong: () => void lines.push("too long"),
  });
  const parser = new SseParser(limit, {
    onEvent: (event) => void events.push(event),
    onRetry: (delayMs) => void events.push(delayMs),
    onTooLarge: () => void events.push("too large"),
  });
  for (const chunk of chunks) {
    void splitter.push(chunk);
    void parser.push(chunk);
  }
  void splitter.end();
  return JSON.stringify([lines, events]);
}

const BROKEN = new Error("handler");
/** Answers of every kind, and a failure. */
const HANDLERS: AskHandlers = {
  form: ({ message }) => {
    if (message.length % 3 === 0) throw BROKEN;
    return message.length % 3 === 1 ? { action: "accept" } : { action: "decline" };
  },
  url: () => ({ action: "accept" }),
  sample: (params) => "tools" in params ? undefined : { role: "assistant", content: [], model: "m" },
  roots: () => [{ uri: "file:///a" }],
};
const ASKS = answering(HANDLERS);

/** Several requests at once; each has an outcome, whatever comes. */
async function everyCall(client: Client, clock: FakeClock): Promise<Reply[]> {
  const inRounds = requestInRounds(client, "tools/call", { name: "c" }, { asks: ASKS, clock });
  return await Promise.all([client.callTool("a", {}), client.request("tools/list", undefined), inRounds]);
}

function isTimeout(reply: Reply): boolean {
  return reply.kind === "failed" && isHostError(reply.error, "ERR_TIMEOUT");
}

/** Runs with time that passes as fast as it can. */
async function rushing<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let done = false;
  const end = (): void => void (done = true);
  work.then(end, end);
  while (!done) await clock.advance(1000);
  return await work;
}

/** What may come out of the library; a handler's own error is its own. */
function onlyTyped(error: unknown): undefined {
  if (!isHostError(error) && !isRemoteError(error) && error !== BROKEN) throw error;
}

/** Tries all targets and gives the number of cases of each. Throws what fast-check says of the smallest case that failed. */
export async function runFuzz(cases: number, seed: number): Promise<Readonly<Record<string, number>>> {
  const tried: Record<string, number> = {};
  let stray: { readonly error: unknown } | undefined;
  const onStray = (error: unknown): void => void (stray ??= { error });
  process.on("unhandledRejection", onStray);
  try {
    for (const { name, share, property } of TARGETS) {
      const numRuns = Math.max(1, Math.round(cases * share));
      try {
        await fc.assert(property, { numRuns, seed, timeout: HANG_MS });
        if (stray !== undefined) throw stray.error;
      } catch (cause) {
        throw new Error(`target ${name}, seed ${seed}: ${cause instanceof Error ? cause.message : cause}`, { cause });
      }
      tried[name] = numRuns;
    }
  } finally {
    process.off("unhandledRejection", onStray);
  }
  return tried;
}

if (process.argv[1] !== undefined && fileURLToPath(import.meta.url) === process.argv[1]) {
  const cases = Number(process.argv[2] ?? 10_000);
  const seed = Number(process.argv[3] ?? Date.now() % 2 ** 31);
  const started = performance.now();
  try {
    const tried = await runFuzz(cases, seed);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`${cases} cases, seed ${seed}, ${seconds} s: ${JSON.stringify(tried)}\n1 passed, 0 failed`);
    process.exit(0);
  } catch (error) {
    console.log(error);
    console.log("0 passed, 1 failed");
    process.exit(1);
  }
}
