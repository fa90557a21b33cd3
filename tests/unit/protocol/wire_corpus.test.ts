import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { connectClient } from "../../../src/client/connect.ts";
import type { Client } from "../../../src/client/client.ts";
import { HostError, RemoteError } from "../../../src/kernel/errors.ts";
import type { Settled } from "../../../src/jsonrpc/pending.ts";
import type { Verdict, VerdictCache } from "../../../src/protocol/negotiate.ts";
import { DEFAULT_PARSE_LIMITS } from "../../../src/jsonrpc/bounded_parse.ts";
import { readMessage } from "../../../src/jsonrpc/message.ts";
import { classifyProbe } from "../../../src/protocol/classify_probe.ts";
import { eraOf, LEGACY_VERSIONS, MODERN_VERSIONS } from "../../../src/protocol/versions.ts";
import { httpDialer } from "../../../src/transport/http.ts";
import { stdioDialer } from "../../../src/transport/stdio.ts";
import type { Dialer, WarningKind } from "../../../src/transport/transport.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";

/** What came back for one message: lines of a pipe, with how it ended if it did, or an HTTP response. */
interface Received {
  readonly lines?: readonly string[];
  readonly exit?: number | null;
  readonly silent?: boolean;
  readonly status?: number;
  readonly type?: string;
  readonly body?: string;
}

interface Conversation {
  readonly revision: string;
  /** The revision that the server agreed to; absent when it did not. */
  readonly agreed?: string;
  /** How many tools it listed, where it was asked. */
  readonly tools?: number;
  readonly exchanges: readonly {
    readonly sent: { readonly method: string; readonly id?: number };
    readonly received?: Received;
  }[];
}

/** What `tests/fixtures/wire/record.mjs` has written. */
interface Recording {
  readonly server: string;
  readonly version: string;
  readonly transport: "stdio" | "http";
  readonly call: {
    readonly tool: string;
    readonly args: Record<string, unknown>;
  };
  readonly conversations: readonly Conversation[];
}

const folder = new URL("../../fixtures/wire/", import.meta.url);
const recordings = readdirSync(folder).filter((name) => name.endsWith(".json"))
  .map((name) => JSON.parse(readFileSync(new URL(name, folder), "utf8")) as Recording);

/** The recorded answer to a method, with the id that is asked for now. */
function answerTo({ exchanges }: Conversation, method: string, id: number): Received | undefined {
  const exchange = exchanges.find(({ sent }) => sent.method === method);
  if (exchange?.received === undefined) return undefined;
  const renumbered = (text: string): string =>
    text.replace(new RegExp(`("id":)${exchange.sent.id}(?=[,}])`), `$1${id}`);
  const { received } = exchange;
  return {
    ...received,
    ...(received.lines === undefined ? {} : { lines: received.lines.map(renumbered) }),
    ...(received.body === undefined ? {} : { body: renumbered(received.body) }),
  };
}

/** A server that says again what it once said: to the probe as it did to the probe, to the rest as in `conversation`. */
function replaying(recording: Recording, conversation: Conversation, clock: FakeClock): Dialer {
  const probe = recording.conversations.find(({ revision }) => eraOf(revision) === "modern")!;
  const find = (method: string, id: number): Received | undefined =>
    answerTo(method === "server/discover" ? probe : conversation, method, id);
  if (recording.transport === "http") return replayingWeb(find, clock);
  return stdioDialer({
    command: recording.server,
    clock,
    spawn: (_plan, handlers) => {
      let alive = true;
      const exit = (code: number | null): void => {
        if (!alive) return;
        alive = false;
        handlers.onEnd();
        handlers.onExit({ code: code ?? 1, signal: null });
      };
      const hear = (line: string): void => {
        const { method, id } = JSON.parse(line) as { method: string; id?: number };
        const received = id === undefined ? undefined : find(method, id);
        if (received === undefined) return;
        const text = (received.lines ?? []).map((each) => `${each}\n`).join("");
        if (text !== "") void handlers.onData(new TextEncoder().encode(text));
        if (received.exit !== undefined) exit(received.exit);
      };
      return Promise.resolve({
        pid: 1,
        containment: "process_group",
        write: (text) => {
          for (const line of text.split("\n")) if (line !== "") queueMicrotask(() => alive && hear(line));
        },
        closeInput: () => exit(0),
        kill: () => exit(0),
        groupAlive: () => alive,
        release: () => {},
      });
    },
  });
}

function replayingWeb(find: (method: string, id: number) => Received | undefined, clock: FakeClock): Dialer {
  return httpDialer({
    url: "http://replay.test/mcp",
    clock,
    fetch: (_url, init) => {
      if (init?.method === "GET") return Promise.resolve(new Response(null, { status: 405 }));
      const { method, id } = JSON.parse(String(init?.body || "{}")) as { method?: string; id?: number };
      if (method === undefined || id === undefined) return Promise.resolve(new Response(null, { status: 202 }));
      const received = find(method, id);
      if (received === undefined) return Promise.reject(new TypeError(`${method} was not recorded`));
      const headers = { "content-type": received.type ?? "" };
      return Promise.resolve(new Response(received.body, { status: received.status ?? 200, headers }));
    },
  });
}

/** Runs with time that passes as fast as it can. */
async function rushing<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let done = false;
  void work.catch(() => {/* thrown below, where it is awaited */}).finally(() => done = true);
  while (!done) await clock.advance(100);
  return await work;
}

/** The messages in an answer; lines for people are left out. */
function messagesIn(received: Received | undefined): Record<string, unknown>[] {
  const texts = received?.lines ?? received?.body?.split("\n").map((line) => line.replace(/^data: ?/, "")) ?? [];
  return texts.flatMap((text) => {
    try {
      return [JSON.parse(text) as Record<string, unknown>];
    } catch {
      return []; // no message
    }
  });
}

/** The settlement that a recorded answer of a pipe leads to. */
function settledFrom(received: Received | undefined, id: number): Settled {
  for (const text of received?.lines ?? []) {
    const message = readMessage(text, DEFAULT_PARSE_LIMITS);
    if (message.kind === "result" && message.id === id) return { ok: true, result: message.result, bytes: 1 };
    if (message.kind === "error") {
      const { code, message: words, data } = message.error;
      return { ok: false, error: new RemoteError(code, words, data), sent: true, refused: false };
    }
  }
  const code = received?.exit === undefined ? "ERR_TIMEOUT" : "ERR_CONNECTION_LOST";
  return { ok: false, error: new HostError(code, "no answer"), sent: true, refused: false };
}

describe.each(recordings)("recording of $server $version over $transport", (recording) => {
  const { conversations, call, transport } = recording;

  test.each(conversations)("first answer to $revision is read as what it is", ({ revision, agreed, exchanges }) => {
    const { sent, received } = exchanges[0]!;
    for (const text of received?.lines ?? []) {
      const { kind } = readMessage(text, DEFAULT_PARSE_LIMITS);
      // One of the servers prints a line for people.
      if (kind === "malformed") expect(() => JSON.parse(text) as unknown).toThrow();
    }
    if (eraOf(revision) !== "modern" || transport !== "stdio") return;
    const exits = received?.exit !== undefined;
    const verdict = classifyProbe(settledFrom(received, sent.id!), !exits);
    expect(verdict.kind).toBe(agreed !== undefined ? "modern" : exits ? "gone" : "legacy");
  });

  const spoken = conversations.filter(({ tools }) => tools !== undefined);
  test.each(spoken)("conversation in $agreed is understood again: list and call", async (conversation) => {
    const clock = new FakeClock();
    const warnings: WarningKind[] = [];
    // A server of both eras is led to the older one by what an earlier contact remembers.
    const era = eraOf(conversation.revision)!;
    const verdict: Verdict = { era, protocolVersion: conversation.revision, at: clock.now() };
    const verdicts: VerdictCache = { get: () => verdict, set: () => {}, delete: () => {} };
    const dialer = replaying(recording, conversation, clock);
    const opening = connectClient({ dialer, clock, verdicts, onWarning: (kind) => void warnings.push(kind) });
    const client: Client = await rushing(clock, opening);
    expect(client.facts).toMatchObject({ era, protocolVersion: conversation.agreed });
    const list = await rushing(clock, client.listTools());
    expect([list.tools.length, list.malformed]).toEqual([conversation.tools, []]);
    const reply = await rushing(clock, client.callTool(call.tool, call.args));
    const { sent, received } = conversation.exchanges.at(-1)!;
    const answer = messagesIn(received).find(({ id }) => id === sent.id)!;
    expect(reply.kind).toBe("error" in answer ? "failed" : "done");
    await rushing(clock, client.close());
    // One of the servers answers notifications.
    const strays = conversation.exchanges.flatMap((exchange) => messagesIn(exchange.received))
      .filter((message) => !("id" in message || "method" in message));
    expect(warnings.filter((kind) => kind !== "noise")).toEqual(strays.map(() => "malformed"));
  });
});

describe("corpus of recordings", () => {
  test("corpus has conversations in every revision that we speak", () => {
    const agreed = new Set(recordings.flatMap(({ conversations }) => conversations.map((each) => each.agreed)));
    expect([...MODERN_VERSIONS, ...LEGACY_VERSIONS].filter((version) => !agreed.has(version))).toEqual([]);
  });
});
