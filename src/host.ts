import { createLocalTools } from "./catalog/local_tool.ts";
import { connectClient } from "./client/connect.ts";
import type { HostEvent } from "./events/event.ts";
import { createLog, type EventLog, type EventSink } from "./events/log.ts";
import { memoryLog } from "./events/memory_store.ts";
import type { EventStore } from "./events/store.ts";
import type { HostOptions } from "./host_options.ts";
import { systemClock } from "./kernel/clock.ts";
import { HostError } from "./kernel/errors.ts";
import { randomIds } from "./kernel/ids.ts";
import { isSecretName, SecretRegistry } from "./kernel/secrets.ts";
import { createDesk, type Desk, type DeskAsk, type DeskDecision } from "./permission/desk.ts";
import { createGate } from "./permission/gate.ts";
import { compilePolicy } from "./permission/policy.ts";
import type { Approval, Gate } from "./permission/request.ts";
import { chainScrubbers } from "./scrub/chain.ts";
import { createScrubber } from "./scrub/known_values.ts";
import type { Scrubber } from "./scrub/scrubber.ts";
import { normaliseServer, placeOf } from "./servers/config.ts";
import type { ServerConfigInput } from "./servers/config_input.ts";
import { dialServer } from "./servers/dial.ts";
import { type Fault, faultOf } from "./servers/fault.ts";
import { type ManagerContext, ServerManager } from "./servers/manager.ts";
import { exponentialBackoff } from "./servers/restart_policy.ts";
import type { ServerState, ServerStatus } from "./servers/server.ts";
import { failedEvent } from "./servers/server_events.ts";
import { Slots } from "./servers/slots.ts";
import { type SyncReport, syncServers } from "./servers/sync.ts";
import { Session } from "./session/session.ts";
import { memoryArtifacts } from "./store/memory_artifacts.ts";
import { memoryKeyValue } from "./store/memory_kv.ts";

/** What became of one server by the time `ready()` resolved. */
export interface ReadyReport {
  readonly name: string;
  /** `rejected`: its entry could not be used, and nothing was started. */
  readonly state: ServerState | "rejected";
  readonly toolCount: number;
  readonly error?: string;
}

/** Asks of all sessions, and deciding them. */
export interface HostApprovals {
  list(): Promise<readonly DeskAsk[]>;
  /** Rejects with `ERR_ALREADY_DECIDED` for the second decision and `ERR_INVALID_ARGUMENTS` for an unknown ask. */
  resolve(requestId: string, approval: Approval): Promise<DeskDecision>;
}

const MAX_PARALLEL_STARTS = 16;
const PREVIEW_BYTES = 4 << 10;
const MAX_OUTPUT_BYTES = 256 << 10;
const READY_TIMEOUT_MS = 60_000;

/**
 * Opens a host: checks the options, opens the log and the stores, starts the servers. Resolves once the servers marked
 * `required` are ready; the others start meanwhile. Throws `ERR_CONFIG`, `ERR_NAME_COLLISION`, what the log fails to open
 * with, and what a required server fails to start with; nothing is left then.
 *
 * @example
 * ```ts
 * import { createHost } from "portcullis";
 * import { nodeRuntime } from "portcullis/node";
 *
 * const host = await createHost({
 *   runtime: nodeRuntime(),
 *   servers: [{ name: "files", transport: { type: "stdio", command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] } }],
 * });
 * ```
 */
export async function createHost(options: HostOptions): Promise<Host> {
  const { runtime, clock = systemClock, ids = randomIds, onError = () => {} } = options;
  const localTools = createLocalTools(options.localTools ?? []);
  const policy = compilePolicy(options.permission);
  const secrets = new SecretRegistry();
  for (const { label, value } of options.secrets ?? []) secrets.add(label, value);
  for (const [name, value] of Object.entries(runtime.environment())) {
    if (isSecretName(name) && !PLACE_NAME.test(name)) secrets.add(`env.${name}`, value);
  }
  const scrubber = chainScrubbers(createScrubber(secrets), ...(options.scrubbers ?? []));
  const store = await (options.log ?? memoryLog()).open({ runtime, clock, ids });
  const log = createLog({ store, scrubber, clock, ids });
  const desk = createDesk({
    kv: options.store ?? memoryKeyValue(),
    clock,
    scrubber,
    ...(options.store === undefined ? { pollMs: 0 } : {}),
  });
  const { approve } = options;
  const gate = options.gate ??
    createGate({ policy, desk, clock, ids, scrubber, ...(approve === undefined ? {} : { approve }) });
  const stream = `host:${options.name ?? "main"}`;
  let sink: EventSink;
  try {
    sink = await log.open(
      stream,
      { type: "host.opened", payload: { sources: ["global"], level: store.level } },
      openOptions(options),
    );
  } catch (error) {
    await log.close();
    throw error;
  }
  const managing: Omit<ManagerContext, "source" | "append"> = {
    clock,
    scrubber,
    secrets,
    onError,
    slots: new Slots(options.maxParallelStarts ?? MAX_PARALLEL_STARTS),
    connect: connectClient,
    verdicts: options.verdicts ?? new Map(),
    policy: options.restartPolicy ?? exponentialBackoff(),
    dial: (config) =>
      dialServer(config, {
        runtime,
        clock,
        secrets,
        ...(options.auth === undefined ? {} : { auth: options.auth }),
        ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
      }),
  };
  const host = new Host(options, { log, level: store.level, desk, gate, sink, scrubber, managing, localTools });
  try {
    await host.start(options.servers ?? []);
    return host;
  } catch (error) {
    await host.close();
    throw error;
  }
}

/** Variables that name a place, whatever else their names say. */
const PLACE_NAME = /_(?:SOCK|FILE|PATH|DIR|HOME)$/i;

function openOptions({ takeOver }: HostOptions): { readonly takeOver?: boolean } {
  return takeOver === undefined ? {} : { takeOver };
}

interface Parts {
  readonly log: EventLog;
  readonly level: EventStore["level"];
  readonly desk: Desk;
  readonly gate: Gate;
  readonly sink: EventSink;
  readonly scrubber: Scrubber;
  readonly managing: Omit<ManagerContext, "source" | "append">;
  readonly localTools: ReturnType<typeof createLocalTools>;
}

/** Owns the servers that all sessions share, the log, the stores and the sessions. Made by {@link createHost}. */
export class Host implements AsyncDisposable {
  readonly approvals: HostApprovals;
  readonly #options: HostOptions;
  readonly #parts: Parts;
  readonly #global: ServerManager;
  readonly #artifacts: NonNullable<HostOptions["artifacts"]>;
  readonly #sessions = new Map<string, Session>();
  readonly #rejected: ReadyReport[] = [];
  #closing: Promise<void> | undefined;

  /** @internal Use {@link createHost}. */
  constructor(options: HostOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#artifacts = options.artifacts ?? memoryArtifacts();
    this.#global = new ServerManager({
      ...parts.managing,
      source: "global",
      append: (events) => parts.sink.append(events),
    });
    this.approvals = Object.freeze({
      list: () => parts.desk.list(),
      resolve: (requestId: string, approval: Approval) => parts.desk.resolve(requestId, { ...approval, actor: "user" }),
    });
  }

  /** @internal Takes the configured servers on; resolves once the required ones are ready. */
  async start(inputs: readonly ServerConfigInput[]): Promise<void> {
    const required: Promise<void>[] = [];
    for (const input of inputs) {
      try {
        const config = normaliseServer(input);
        const server = await this.#global.manage(config);
        if (config.required) required.push(server.latestStart);
      } catch (error) {
        if ((input as { readonly required?: unknown } | null)?.required === true) throw error;
        await this.#reject(input, error);
      }
    }
    await Promise.all(required);
  }

  /**
   * Waits until each server (or each of `servers`) is ready or has been given up, at most `timeoutMs` (default 60,000),
   * and reports all of them. Never throws because of a server.
   */
  async ready(
    options: { readonly servers?: readonly string[]; readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<ReadyReport[]> {
    const { servers, timeoutMs = READY_TIMEOUT_MS, signal } = options;
    const isWanted = (name: string): boolean => servers === undefined || servers.includes(name);
    const wanted = [...this.#global.servers.values()].filter(({ name }) => isWanted(name));
    const waiting = { timeoutMs, ...(signal === undefined ? {} : { signal }) };
    // What a wait ends with is in the state that is reported.
    await Promise.all(wanted.map((server) => server.settled(waiting).catch(() => undefined)));
    const reports = wanted.map((server): ReadyReport => {
      const { name, state, toolCount, error } = server.status();
      return { name, state, toolCount, ...(error === undefined ? {} : { error }) };
    });
    return [...this.#rejected.filter(({ name }) => isWanted(name)), ...reports];
  }

  /**
   * Opens a session. `id` (default a fresh one) names its stream in the log, `session:<id>`; `mcp` are managers whose
   * servers it sees, in order, after the host's. Rejects with `ERR_LOG_LOCKED` while that session is open.
   */
  async session(options: { readonly id?: string; readonly mcp?: readonly ServerManager[] } = {}): Promise<Session> {
    if (this.#closing !== undefined) throw new HostError("ERR_CLOSED", "Cannot open a session: the host is closed");
    const { log, desk, gate, scrubber, managing, localTools, level } = this.#parts;
    const { clock = systemClock, ids = randomIds, onError = () => {}, approve } = this.#options;
    const id = options.id ?? ids.next("s");
    const inherited = [this.#global, ...(options.mcp ?? [])];
    const sources = [...inherited.map(({ source }) => source), "private"];
    const sink = await log.open(
      `session:${id}`,
      { type: "session.opened", payload: { sources, level } },
      openOptions(this.#options),
    );
    const session = new Session({
      id,
      sink,
      log,
      inherited,
      manager: new ServerManager({ ...managing, source: "private", append: (events) => sink.append(events) }),
      localTools,
      gate,
      desk,
      hasApprover: approve !== undefined,
      ids,
      call: {
        clock,
        scrubber,
        onError,
        output: {
          scrubber,
          artifacts: this.#artifacts,
          previewBytes: PREVIEW_BYTES,
          maxOutputBytes: MAX_OUTPUT_BYTES,
          onError,
        },
      },
      onClosed: () => this.#sessions.delete(id),
    });
    if (this.#closing !== undefined) {
      await session.close();
      throw new HostError("ERR_CLOSED", "Cannot open a session: the host is closed");
    }
    this.#sessions.set(id, session);
    return session;
  }

  /** Open sessions. */
  sessions(): Session[] {
    return [...this.#sessions.values()];
  }

  /**
   * Events of a stream, default the host's own, after `after` (default 0), then each as it is written, until the signal
   * fires or the host closes.
   */
  events(
    options: { readonly stream?: string; readonly after?: number; readonly signal?: AbortSignal } = {},
  ): AsyncIterable<HostEvent> {
    return this.#parts.log.follow({ stream: this.#parts.sink.stream, ...options });
  }

  /** Stored events of a stream, default the host's own, after `after` (default 0), at most `limit` (default 1,000). */
  readEvents(
    options: { readonly stream?: string; readonly after?: number; readonly limit?: number } = {},
  ): Promise<HostEvent[]> {
    return this.#parts.log.read({ stream: this.#parts.sink.stream, ...options });
  }

  /** Names of all streams in the log. */
  streams(): Promise<string[]> {
    return this.#parts.log.streams();
  }

  /** The servers that all sessions share. */
  globalMcpStatus(): ServerStatus[] {
    return this.#global.status();
  }

  /** Starts a shared server afresh, also one that was given up. Rejects with what the start failed with. */
  restartMcpServer(name: string): Promise<void> {
    return this.#global.restart(name);
  }

  /**
   * Makes the shared servers exactly those of a list: adds, restarts changed ones, reconnects, removes what is left out.
   * Reports each; never throws for a faulty one.
   */
  syncGlobalMcpServers(list: readonly ServerConfigInput[]): Promise<SyncReport[]> {
    return syncServers(this.#global, list, this.#parts.scrubber);
  }

  /** Disconnects shared servers that no call has used for `thresholdMs`; resolves with their names. Their configuration stays. */
  disconnectIdleMcp(thresholdMs: number): Promise<string[]> {
    return this.#global.disconnectIdle(thresholdMs);
  }

  /** Counts as activity of a shared server. */
  touch(name: string): void {
    this.#global.servers.get(name)?.touch();
  }

  /** Closes all sessions, then the servers, then the log. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { gate, desk, sink, log } = this.#parts;
    const { onError = () => {} } = this.#options;
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
    await this.#global.close();
    gate.close();
    desk.close();
    // Each part is let go of, whatever the one before it made of its end.
    await sink.close({ type: "host.closed", payload: { reason: "closed" } }).catch(onError);
    await log.close().catch(onError);
    await this.#artifacts.close().catch(onError);
    await this.#options.store?.close().catch(onError);
  }

  async #reject(input: unknown, error: unknown): Promise<void> {
    const { scrubber, sink } = this.#parts;
    const fault: Fault = faultOf(error, scrubber);
    const given = (input as { readonly name?: unknown } | null)?.name;
    const name = typeof given === "string" && given !== "" ? given.slice(0, 64) : placeOf(input);
    this.#rejected.push({ name, state: "rejected", toolCount: 0, error: fault.message });
    await sink.append([failedEvent(name, error, scrubber)]);
  }
}
