import type { RoutedSource } from "../catalog/router_view.ts";
import { canonicalJson } from "../kernel/canonical.ts";
import { HostError } from "../kernel/errors.ts";
import { nearestWord } from "../kernel/nearest.ts";
import type { SecretRegistry } from "../kernel/secrets.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import { asConfigError, normaliseServer, placeOf, type ServerConfig } from "./config.ts";
import { registerSecrets, serverFingerprint } from "./config_secrets.ts";
import type { ServerStatus } from "./server.ts";
import { shownError } from "./shown_error.ts";
import { type StopReason, Supervisor, type SupervisorContext } from "./supervisor.ts";

/** What a manager and all of its servers work with. */
export interface ManagerContext extends Omit<SupervisorContext, "onChange"> {
  readonly secrets: SecretRegistry;
  /** Fails rather than withhold a text, which would make two configurations look alike. Default: `scrubber`. */
  readonly strictScrubber?: Scrubber;
}

/**
 * A set of servers, one source of a session's tools. Each server has its own life; what one of them does, or fails to
 * do, never touches another.
 */
export class ServerManager implements RoutedSource<Supervisor>, AsyncDisposable {
  readonly #context: ManagerContext;
  readonly #servers = new Map<string, Supervisor>();
  #version = 0;
  #closing: Promise<void> | undefined;

  constructor(context: ManagerContext) {
    this.#context = context;
  }

  /** `global`, `private`, or the name it was made with. */
  get source(): string {
    return this.#context.source;
  }

  get servers(): ReadonlyMap<string, Supervisor> {
    return this.#servers;
  }

  /** Rises whenever a server comes, goes, or changes its state or its tools. */
  get version(): number {
    return this.#version;
  }

  /**
   * Starts a server, once, and keeps it up from then on. Resolves with its number of tools. Rejects with what the start
   * failed with, `ERR_CONFIG`, `ERR_DUPLICATE_SERVER`, or `ERR_CLOSED` when the manager closes meanwhile; nothing of it is left then. A disabled one is kept and not started.
   */
  async add(input: unknown): Promise<number> {
    let server: Supervisor | undefined;
    try {
      server = await this.#create(normaliseServer(input));
      if (!server.config.enabled) return 0;
      await server.startOnce();
      return server.toolCount;
    } catch (error) {
      if (server?.isStopped === false) this.#forget(server);
      throw this.#shown(error);
    }
  }

  /** Takes a server on, starts it in the background and keeps trying by the restart policy. */
  async manage(config: ServerConfig): Promise<Supervisor> {
    const server = await this.#create(config);
    server.supervise();
    return server;
  }

  /** Stops a server and forgets it; resolves once nothing of it is left. Rejects with `ERR_SERVER_NOT_FOUND` or `ERR_CLOSED`. */
  async remove(name: string, reason: StopReason = "removed"): Promise<void> {
    this.#checkOpen("remove a server");
    const server = this.find(name);
    await server.stop(reason);
    this.#forget(server);
  }

  /** Starts a server afresh, also one that was given up. Rejects with what the start failed with. */
  async restart(name: string): Promise<void> {
    this.#checkOpen("restart a server");
    const server = this.find(name);
    try {
      await server.restart();
    } catch (error) {
      throw this.#shown(error);
    }
  }

  /** Throws `ERR_SERVER_NOT_FOUND` for a name that no server has. */
  find(name: string): Supervisor {
    const server = this.#servers.get(name);
    if (server !== undefined) return server;
    const guess = nearestWord(name, this.#servers.keys());
    const hint = guess === undefined ? "" : `, did you mean "${guess}"`;
    throw new HostError(
      "ERR_SERVER_NOT_FOUND",
      `Cannot find server ${JSON.stringify(name.slice(0, 64))} among the ${this.source} servers${hint}`,
      {
        facts: { source: this.source },
      },
    );
  }

  status(): ServerStatus[] {
    return Array.from(this.#servers.values(), (server) => server.status());
  }

  /** Disconnects servers that no call has used for `thresholdMs`; resolves with their names once they are gone. */
  async disconnectIdle(thresholdMs: number): Promise<string[]> {
    const gone = [...this.#servers.values()].flatMap((server) => {
      const disconnected = server.disconnectIfIdle(thresholdMs);
      return disconnected === undefined ? [] : [{ name: server.name, disconnected }];
    });
    await Promise.all(gone.map(({ disconnected }) => disconnected));
    return gone.map(({ name }) => name);
  }

  /** Ends all servers; resolves once nothing of them is left. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const servers = [...this.#servers.values()];
    await Promise.all(servers.map((server) => server.stop("closed")));
    for (const server of servers) this.#forget(server);
  }

  async #create(config: ServerConfig): Promise<Supervisor> {
    const { secrets, scrubber, strictScrubber = scrubber } = this.#context;
    let fingerprint: string;
    try {
      registerSecrets(config, secrets);
      fingerprint = await serverFingerprint(config, strictScrubber);
    } catch (error) {
      throw asConfigError(error, placeOf(config));
    }
    // A name is free again once its last owner is gone for good: one process a name, at any instant.
    for (let old = this.#servers.get(config.name); old !== undefined; old = this.#servers.get(config.name)) {
      if (!old.isStopped) throw duplicate(config.name, this.source);
      await old.stop("removed");
      this.#forget(old);
    }
    this.#checkOpen(`add server "${config.name}"`);
    const server = new Supervisor(config, fingerprint, { ...this.#context, onChange: () => this.#version++ });
    this.#servers.set(config.name, server);
    this.#version++;
    return server;
  }

  #shown(error: unknown): unknown {
    return shownError(error, this.#context.scrubber);
  }

  #checkOpen(action: string): void {
    if (this.#closing !== undefined) {
      throw new HostError("ERR_CLOSED", `Cannot ${action}: the ${this.source} servers are closed`);
    }
  }

  #forget(server: Supervisor): void {
    if (this.#servers.get(server.name) !== server) return;
    this.#servers.delete(server.name);
    this.#version++;
  }
}

function duplicate(name: string, source: string): HostError {
  return new HostError("ERR_DUPLICATE_SERVER", `Cannot add server "${name}": ${source} has one of that name`, {
    facts: { server: name, source },
  });
}

/** True for configurations that lead to the same server. */
export function isSameConfig(a: ServerConfig, b: ServerConfig): boolean {
  return canonicalJson(a) === canonicalJson(b);
}
