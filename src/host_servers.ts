import type { EventSink } from "./events/log.ts";
import { HostError } from "./kernel/errors.ts";
import { nearestWord } from "./kernel/nearest.ts";
import type { Scrubber } from "./scrub/scrubber.ts";
import { memberOf, normaliseServer, placeOf } from "./servers/config.ts";
import type { ServerConfigInput } from "./servers/config_input.ts";
import { faultOf } from "./servers/fault.ts";
import type { ServerManager } from "./servers/manager.ts";
import type { ServerState } from "./servers/server.ts";
import { failedEvent } from "./servers/server_events.ts";
import { type SyncReport, syncServers } from "./servers/sync.ts";

/** What became of one server by the time `ready()` resolved. */
export interface ReadyReport {
  readonly name: string;
  /** `rejected`: its entry could not be used, and nothing was started. */
  readonly state: ServerState | "rejected";
  readonly toolCount: number;
  readonly error?: string;
}

/** Which servers `ready()` waits for, and how long. */
export interface ReadyOptions {
  /** Names of servers that the host has. Default: all. */
  readonly servers?: readonly string[];
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const READY_TIMEOUT_MS = 60_000;

/** The servers that a host is told to have: takes entries on, remembers those it could not use, and reports on all. */
export class ConfiguredServers {
  readonly #manager: ServerManager;
  readonly #sink: EventSink;
  readonly #scrubber: Scrubber;
  #rejected: ReadyReport[] = [];
  #syncing: Promise<unknown> = Promise.resolve();

  constructor(manager: ServerManager, sink: EventSink, scrubber: Scrubber) {
    this.#manager = manager;
    this.#sink = sink;
    this.#scrubber = scrubber;
  }

  /** Takes servers on; resolves once the required ones are ready. */
  async start(inputs: readonly ServerConfigInput[]): Promise<void> {
    const required: Promise<void>[] = [];
    for (const input of inputs) {
      try {
        const config = normaliseServer(input);
        const server = await this.#manager.manage(config);
        if (config.required) required.push(server.latestStart);
      } catch (error) {
        if (memberOf(input, "required") === true) throw error;
        await this.#reject(input, error);
      }
    }
    await Promise.all(required);
  }

  /** See `Host.ready`. */
  async ready({ servers, timeoutMs = READY_TIMEOUT_MS, signal }: ReadyOptions): Promise<ReadyReport[]> {
    if (servers !== undefined) this.#checkKnown(servers);
    const isWanted = (name: string): boolean => servers === undefined || servers.includes(name);
    const wanted = [...this.#manager.servers.values()].filter(({ name }) => isWanted(name));
    const waiting = { timeoutMs, ...(signal === undefined ? {} : { signal }) };
    // What a wait ends with is in the state that is reported.
    await Promise.all(wanted.map((server) => server.settled(waiting).catch(() => undefined)));
    const reports = wanted.map((server): ReadyReport => {
      const { name, state, toolCount, error } = server.status();
      return { name, state, toolCount, ...(error === undefined ? {} : { error }) };
    });
    return [...this.#rejected.filter(({ name }) => isWanted(name)), ...reports];
  }

  /** Makes them exactly those of a list. Lists that come meanwhile wait for the one before. */
  sync(list: readonly ServerConfigInput[]): Promise<SyncReport[]> {
    if (!Array.isArray(list)) {
      const found = list === null ? "null" : typeof list;
      return Promise.reject(
        new HostError("ERR_INVALID_ARGUMENTS", `Cannot take servers over: found ${found}, wanted a list of them`),
      );
    }
    const synced = this.#syncing.then(async () => {
      const reports = await syncServers(this.#manager, list, this.#scrubber);
      this.#rejected = reports.flatMap(({ name, action, error }) =>
        action === "rejected" && !this.#manager.servers.has(name) ? [rejected(name, error?.message)] : []
      );
      return reports;
    });
    this.#syncing = synced.catch(() => {/* told to whoever asked for it */});
    return synced;
  }

  /** Throws `ERR_SERVER_NOT_FOUND`. Entries that could not be used are known too: what is wrong with them is reported. */
  #checkKnown(servers: readonly string[]): void {
    const known = new Set([...this.#manager.servers.keys(), ...this.#rejected.map(({ name }) => name)]);
    for (const name of servers) {
      if (known.has(name)) continue;
      const guess = nearestWord(name, known);
      const hint = guess === undefined ? "" : `, did you mean "${guess}"`;
      const shown = JSON.stringify(name.slice(0, 64));
      throw new HostError(
        "ERR_SERVER_NOT_FOUND",
        `Cannot wait for server ${shown}: the host has none of that name${hint}`,
      );
    }
  }

  async #reject(input: unknown, error: unknown): Promise<void> {
    const given = memberOf(input, "name");
    const name = typeof given === "string" && given !== "" ? given.slice(0, 64) : placeOf(input);
    this.#rejected.push(rejected(name, faultOf(error, this.#scrubber).message));
    await this.#sink.append([failedEvent(name, error, this.#scrubber)]);
  }
}

function rejected(name: string, error: string | undefined): ReadyReport {
  return { name, state: "rejected", toolCount: 0, ...(error === undefined ? {} : { error }) };
}
