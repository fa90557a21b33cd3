import process from "node:process";
import * as v from "valibot";
import { afterEach, expect } from "vitest";
import type { HostEvent } from "../../src/events/event.ts";
import type { EventPayloads } from "../../src/events/payloads.ts";
import { eventSchema, payloadSchemas } from "../../src/events/schema.ts";
import { createHost } from "../../src/host.ts";
import type { HostOptions } from "../../src/host_options.ts";
import type { Host } from "../../src/host_owner.ts";
import type { FetchFunction, Runtime } from "../../src/kernel/runtime.ts";
import type { ServerConfigInput } from "../../src/servers/config_input.ts";
import type { Session } from "../../src/session/session.ts";
import { type HostileProgram, spawnHostile } from "../fixtures/hostile_program.ts";
import { runtimeHere } from "../run/adapter.ts";

export const runtime: Runtime = await runtimeHere();
export const PATH: string = process.env["PATH"] ?? "";
/** A value that the host of every scene is told to be a secret. */
export const SECRET: string = ["s3cret", "value", "of", "the", "user"].join("-");

const rejections: unknown[] = [];
process.on("unhandledRejection", (reason) => rejections.push(reason));

const scenes: Scene[] = [];
const cleanups: (() => unknown)[] = [];

/**
 * Checks after every test what holds for all attacks: another server and another session go on, every stream of the log
 * can be read, without a gap, in known shapes and without a secret, nobody's prototype has changed, and no rejection
 * went unseen.
 */
export function surviveAll(): void {
  afterEach(async () => {
    try {
      for (const scene of scenes.splice(0)) await survives(scene);
    } finally {
      for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
    }
    expect(rejections.splice(0)).toEqual([]);
  });
}

/** Runs after the test, last come first served. */
export function after(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

/** A host with a hostile server and one that is well, and a session that works with the hostile one. */
export interface Scene {
  readonly host: Host;
  readonly session: Session;
  /** Addresses that were asked for, in order. */
  readonly fetched: readonly string[];
  /** What had no caller. */
  readonly errors: readonly unknown[];
  /** Events of one type in the stream of the host and then of the session. */
  events<T extends keyof EventPayloads>(type: T): Promise<(HostEvent & { readonly payload: EventPayloads[T] })[]>;
  /** The whole log as text. */
  log(): Promise<string>;
}

export interface SceneOptions extends Partial<HostOptions> {
  readonly fetch?: FetchFunction;
}

/**
 * Opens a host over a hostile program of this process, or over a server by its configuration. All of its calls are
 * allowed.
 */
export async function attackedBy(
  hostile: HostileProgram | Omit<ServerConfigInput, "name">,
  options: SceneOptions = {},
  config: Partial<ServerConfigInput> = {},
): Promise<Scene> {
  const isConfig = "command" in hostile || "url" in hostile || "transport" in hostile;
  const fetched: string[] = [];
  const errors: unknown[] = [];
  const { runtime: given = runtime, fetch = given.fetch, ...more } = options;
  const programs: Record<string, HostileProgram> = {
    bystander: {},
    ...(isConfig ? {} : { hostile: hostile as HostileProgram }),
  };
  const host = await createHost({
    runtime: {
      ...given,
      spawn: spawnHostile(programs, given.spawn),
      fetch: (input, init) => {
        fetched.push(input);
        return fetch(input, init);
      },
    },
    servers: [
      {
        ...(isConfig ? hostile as Omit<ServerConfigInput, "name"> : { command: "hostile" }),
        ...config,
        name: "hostile",
      },
      { name: "bystander", command: "bystander" },
    ],
    permission: { rules: [{ decision: "allow" }] },
    secrets: [{ label: "secret", value: SECRET }],
    onError: (error) => void errors.push(error),
    ...more,
  });
  cleanups.push(() => host.close());
  const session = await host.session({ id: "attacked" });
  const scene: Scene = {
    host,
    session,
    fetched,
    errors,
    events: async (type) => {
      const found: HostEvent[] = [];
      for (const stream of ["host:main", "session:attacked"]) {
        found.push(...(await everything(host, stream)).filter((event) => event.type === type));
      }
      return found as never;
    },
    log: async () => {
      const streams = await host.streams();
      return JSON.stringify(await Promise.all(streams.map((stream) => everything(host, stream))));
    },
  };
  scenes.push(scene);
  return scene;
}

/** Calls the tool `run` of the hostile server. */
export function run(scene: Scene, args: unknown = {}, options: object = {}): ReturnType<Session["tool"]> {
  return scene.session.tool("mcp.hostile.run", args, options);
}

/** By kind, how often the host was warned. */
export async function warnings(scene: Scene): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const { payload } of await scene.events("mcp.server.warning")) {
    found[payload.kind] = Math.max(found[payload.kind] ?? 0, payload.count);
  }
  return found;
}

async function everything(host: Host, stream: string): Promise<HostEvent[]> {
  const events: HostEvent[] = [];
  for (;;) {
    const next = await host.readEvents({ stream, after: events.length, limit: 1000 });
    if (next.length === 0) return events;
    events.push(...next);
  }
}

async function survives({ host, log }: Scene): Promise<void> {
  const other = await host.session({ id: "other" });
  const outcome = await other.tool("mcp.bystander.run", { still: "here" });
  expect([outcome.status, outcome.output]).toEqual(["completed", '{"still":"here"}']);
  for (const stream of await host.streams()) {
    const events = await everything(host, stream);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => at + 1));
    for (const event of events) {
      v.parse(eventSchema, event);
      v.parse(payloadSchemas[event.type as keyof EventPayloads], event.payload);
    }
  }
  expect(await log()).not.toContain(SECRET);
  const polluted = ["polluted", "p2"].filter((name) => name in {} || name in [] || name in (() => {}));
  expect(polluted).toEqual([]);
}
