import type { CheckedLocalTool } from "./catalog/local_tool.ts";
import { locked } from "./events/batch.ts";
import type { HostEvent } from "./events/event.ts";
import type { EventLog, EventSink } from "./events/log.ts";
import type { EventStore } from "./events/store.ts";
import {
  checkFollowOptions,
  checkManagerOptions,
  checkReadOptions,
  checkReadyOptions,
  checkSessionOptions,
} from "./host_option_rules.ts";
import type { HostOptions } from "./host_options.ts";
import { ConfiguredServers, type ReadyOptions, type ReadyReport } from "./host_servers.ts";
import { atMost, systemClock } from "./kernel/clock.ts";
import { HostError, unsupported } from "./kernel/errors.ts";
import { withPlace } from "./kernel/file_fault.ts";
import { randomIds } from "./kernel/ids.ts";
import { checkedApproval } from "./permission/approval.ts";
import type { Desk, DeskAsk, DeskDecision } from "./permission/desk.ts";
import type { Approval, Gate } from "./permission/request.ts";
import type { Scrubber } from "./scrub/scrubber.ts";
import type { ServerConfigInput } from "./servers/config_input.ts";
import { checkedTrace } from "./host_trace.ts";
import { type ManagerContext, ServerManager } from "./servers/manager.ts";
import type { ServerStatus } from "./servers/server.ts";
import { shownError } from "./servers/shown_error.ts";
import type { SyncReport } from "./servers/sync.ts";
import { type ChildContext, Session } from "./session/session.ts";
import { checkSessionId } from "./session/session_id.ts";
import { memoryArtifacts } from "./store/memory_artifacts.ts";

export type { ReadyReport } from "./host_servers.ts";

/** Asks of all sessions, and deciding them. */
export interface HostApprovals {
  list(): Promise<readonly DeskAsk[]>;
  /**
   * Rejects with `ERR_ALREADY_DECIDED` for the second decision and `ERR_INVALID_ARGUMENTS` for an unknown ask or an
   * approval that is none.
   */
  resolve(requestId: string, approval: Approval): Promise<DeskDecision>;
}

/** The kept content of calls and reads, to be looked up: `stat` and `read` of the store of artifacts. */
export type HostArtifacts = Pick<NonNullable<HostOptions["artifacts"]>, "stat" | "read">;

const PREVIEW_BYTES = 4 << 10;
const MAX_OUTPUT_BYTES = 256 << 10;
/** What a part of the user's may take to close before the host goes on without it. */
const CLOSE_MS = 10_000;
const RESERVED_SOURCES: ReadonlySet<string> = new Set(["global", "private", "local"]);

/** How a host opens its streams. */
export function openOptions({ takeOver }: HostOptions): { readonly takeOver?: boolean } {
  return takeOver === undefined ? {} : { takeOver };
}

/** What `createHost` has made for a host. */
export interface HostParts {
  readonly log: EventLog;
  readonly level: EventStore["level"];
  readonly desk: Desk;
  readonly gate: Gate;
  readonly sink: EventSink;
  readonly scrubber: Scrubber;
  readonly managing: Omit<ManagerContext, "source" | "append">;
  readonly localTools: ReadonlyMap<string, CheckedLocalTool>;
  /** True for what contains a secret that the host holds. */
  readonly holdsSecret: (value: Readonly<Record<string, unknown>>) => boolean;
}

/** Owns the servers that all sessions share, the log, the stores and the sessions. Made by `createHost`. */
export class Host implements AsyncDisposable {
  readonly approvals: HostApprovals;
  /** What outcomes and events name by its SHA-256: full outputs, and long texts and data of large results, scrubbed. */
  readonly artifacts: HostArtifacts;
  readonly #options: HostOptions;
  readonly #parts: HostParts;
  readonly #global: ServerManager;
  readonly #configured: ConfiguredServers;
  readonly #artifacts: NonNullable<HostOptions["artifacts"]>;
  readonly #sessions = new Map<string, Session>();
  /** Streams of sessions that are open, opening or closing. */
  readonly #owned = new Set<string>();
  /** Managers that were made to be handed in. */
  readonly #managers: ServerManager[] = [];
  #closing: Promise<void> | undefined;

  /** @internal Use `createHost`. */
  constructor(options: HostOptions, parts: HostParts) {
    this.#options = options;
    this.#parts = parts;
    this.#artifacts = options.artifacts ?? memoryArtifacts();
    this.#global = new ServerManager({
      ...parts.managing,
      source: "global",
      append: async (events) => await parts.sink.append(events),
    });
    this.#configured = new ConfiguredServers(this.#global, parts.sink, parts.scrubber);
    const artifacts = this.#artifacts;
    this.artifacts = Object.freeze({
      stat: (sha256: string) => artifacts.stat(sha256),
      read: (sha256: string, options?: Parameters<HostArtifacts["read"]>[1]) => artifacts.read(sha256, options),
    });
    this.approvals = Object.freeze({
      list: () => parts.desk.list(),
      resolve: async (requestId: string, approval: Approval) =>
        await parts.desk.resolve(requestId, { ...checkedApproval(approval), actor: "user" }),
    });
  }

  /** @internal Takes the configured servers on; resolves once the required ones are ready. */
  start(inputs: readonly ServerConfigInput[]): Promise<void> {
    return this.#configured.start(inputs);
  }

  /**
   * Waits until each server (or each of `servers`) is ready or has been given up, at most `timeoutMs` (default 60,000),
   * and reports all of them. Never rejects because of a server, and with `ERR_SERVER_NOT_FOUND` for a name in `servers`
   * that none has.
   */
  async ready(options: ReadyOptions = {}): Promise<ReadyReport[]> {
    checkReadyOptions(options);
    return await this.#configured.ready(options);
  }

  /**
   * Opens a session. `id` (default a fresh one) names its stream in the log, `session:<id>`; `mcp` are managers whose
   * servers it sees, in order, after the host's. Rejects with `ERR_LOG_LOCKED` while that session is open.
   */
  async session(options: { readonly id?: string; readonly mcp?: readonly ServerManager[] } = {}): Promise<Session> {
    checkSessionOptions(options);
    checkSessionId(options.id, "open a session");
    return await this.#openSession({ id: options.id, inherited: [this.#global, ...(options.mcp ?? [])] });
  }

  /**
   * Makes an empty set of servers to be handed to sessions: `host.session({ mcp: [manager] })`. Its events go to the host's
   * stream. Whoever makes it closes it; what is still open when the host closes is closed then. Throws `ERR_CONFIG` for a
   * name that another source has.
   */
  createManager(options: { readonly name: string }): ServerManager {
    checkManagerOptions(options);
    const { name } = options;
    if (this.#closing !== undefined) throw new HostError("ERR_CLOSED", "Cannot make a manager: the host is closed");
    if (
      !/^[A-Za-z0-9_-]{1,64}$/.test(name) || RESERVED_SOURCES.has(name) ||
      this.#managers.some(({ source }) => source === name)
    ) {
      throw new HostError("ERR_CONFIG", `Cannot make a manager: its name is taken or not 1 to 64 of A-Z a-z 0-9 _ -`);
    }
    const { managing, sink } = this.#parts;
    const manager = new ServerManager({
      ...managing,
      source: name,
      append: async (events) => await sink.append(events),
    });
    this.#managers.push(manager);
    return manager;
  }

  async #openSession(
    options: Omit<ChildContext, "isVisible"> & { readonly isVisible?: ChildContext["isVisible"] },
  ): Promise<Session> {
    if (this.#closing !== undefined) throw new HostError("ERR_CLOSED", "Cannot open a session: the host is closed");
    const { log, desk, gate, scrubber, managing, localTools, level, holdsSecret } = this.#parts;
    const { clock = systemClock, ids = randomIds, approve, asks, trace, maxOutputBytes = MAX_OUTPUT_BYTES } =
      this.#options;
    const { onError } = managing;
    const { inherited, isVisible } = options;
    const id = options.id ?? ids.next("s");
    const sources = [...inherited.map(({ source }) => source), "private"];
    const stream = `session:${id}`;
    // Taking over is for streams of owners that are gone; this one is here.
    if (this.#owned.has(stream)) throw locked(stream);
    this.#owned.add(stream);
    const sink = await log.open(
      stream,
      { type: "session.opened", payload: { sources, level } },
      openOptions(this.#options),
    ).catch((error: unknown) => {
      this.#owned.delete(stream);
      throw shownError(withPlace(error), scrubber);
    });
    const session = new Session({
      id,
      sink,
      log,
      inherited,
      ...(isVisible === undefined ? {} : { isVisible }),
      openChild: (child) => this.#openSession(child),
      manager: new ServerManager({
        ...managing,
        source: "private",
        append: async (events) => await sink.append(events),
      }),
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
          scrubber: managing.strictScrubber ?? scrubber,
          artifacts: this.#artifacts,
          previewBytes: PREVIEW_BYTES,
          maxOutputBytes,
          onError,
          clock,
        },
        ...(trace === undefined ? {} : { trace: checkedTrace(trace, onError) }),
        ...(asks === undefined ? {} : { asks: { handlers: asks, holdsSecret } }),
      },
      onClosed: () => {
        this.#owned.delete(stream);
        this.#sessions.delete(id);
      },
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
    checkFollowOptions(options);
    return this.#parts.log.follow({ stream: this.#parts.sink.stream, ...options });
  }

  /** Stored events of a stream, default the host's own, after `after` (default 0), at most `limit` (default 1,000). */
  async readEvents(
    options: { readonly stream?: string; readonly after?: number; readonly limit?: number } = {},
  ): Promise<HostEvent[]> {
    checkReadOptions(options);
    return await this.#parts.log.read({ stream: this.#parts.sink.stream, ...options });
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
   * Reports each; never throws for a faulty one. Lists that come meanwhile wait for the one before.
   */
  syncGlobalMcpServers(list: readonly ServerConfigInput[]): Promise<SyncReport[]> {
    return this.#configured.sync(list);
  }

  /** Disconnects shared servers that no call has used for `thresholdMs`; resolves with their names. Their configuration stays. */
  disconnectIdleMcp(thresholdMs: number): Promise<string[]> {
    return this.#global.disconnectIdle(thresholdMs);
  }

  /** Counts as activity of a shared server. */
  touch(name: string): void {
    this.#global.servers.get(name)?.touch();
  }

  /**
   * Tells all servers, those of sessions too, that what `asks.roots` gives has changed: they ask for it again. Servers of
   * revisions that know no such word ask whenever they need roots. Throws `ERR_UNSUPPORTED_HERE` where `rootsListChanged`
   * was not declared.
   */
  rootsChanged(): void {
    const { rootsNews } = this.#parts.managing.asks ?? {};
    if (rootsNews === undefined) {
      throw unsupported("tell that roots have changed", 'hand roots and rootsListChanged to the host with "asks"');
    }
    rootsNews.tell();
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
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
    await Promise.all([this.#global, ...this.#managers].map((manager) => manager.close()));
    await this.#letGo("gate", () => gate.close());
    await this.#letGo("desk", () => desk.close());
    // The log waits for its streams by itself: one that does not answer is given its time once.
    await Promise.all([
      this.#letGo("stream of the host", () => sink.close({ type: "host.closed", payload: { reason: "closed" } })),
      this.#letGo("event log", () => log.close()),
    ]);
    await this.#letGo("store of artifacts", () => this.#artifacts.close());
    await this.#letGo("store of asks", () => this.#options.store?.close());
  }

  /** Each part is let go of, whatever the one before it made of its end: one of the user's may fail or never end. */
  async #letGo(part: string, close: () => unknown): Promise<void> {
    const { clock, onError } = this.#parts.managing;
    try {
      const closing = Promise.resolve(close()).then(() => true);
      if (await atMost(clock, CLOSE_MS, closing) === true) return;
      throw new HostError("ERR_TIMEOUT", `Cannot close the ${part}: it has not ended within ${CLOSE_MS} ms`);
    } catch (error) {
      onError(error);
    }
  }
}
