import type { Catalog } from "../catalog/catalog.ts";
import { passesFilter, spellingsOfTool } from "../catalog/filter.ts";
import type { ServerFacts } from "../client/client.ts";
import type { EventInput } from "../events/event.ts";
import type { Timer } from "../kernel/clock.ts";
import type { ServerConfig } from "./config.ts";
import type { Loss } from "./connection.ts";
import { faultOf } from "./fault.ts";
import { Life } from "./life.ts";
import type { LifeContext, LifeOwner, LifeView } from "./life_owner.ts";
import { Notices } from "./notices.ts";
import { Offers } from "./offers.ts";
import { refusalOf } from "./refusal.ts";
import type { Server, ServerLease, ServerState, ServerStatus } from "./server.ts";
import { idleDisconnectedEvent, restartingEvent, shutdownEvent } from "./server_events.ts";
import { lastWords } from "./start_error.ts";
import { Waiters } from "./waiters.ts";

/** Why a server was told to end. */
export type StopReason = "removed" | "disabled" | "closed" | "config_changed";

/** What all servers of one manager share. */
export interface SupervisorContext extends LifeContext {
  readonly source: string;
  /** The state or the catalog of a server has changed. */
  readonly onChange: () => void;
}

/**
 * One server. Status, tool list and dispatch are all derived from its one state, which changes in one step. At any
 * instant at most one connection of it exists, callers of a start under way share it, and a stop wins over all that is
 * pending.
 */
export class Supervisor implements Server, LifeOwner {
  readonly config: ServerConfig;
  readonly fingerprint: string;
  readonly notices: Notices;
  readonly offers: Offers;
  readonly #context: SupervisorContext;
  readonly #waiters: Waiters;
  #state: ServerState;
  #life: Life | undefined;
  /** The end of the life before, which the next one waits for. */
  #teardown: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;
  #catalog: Catalog | undefined;
  #facts: ServerFacts | undefined;
  #error: string | undefined;
  #lastWords: string | undefined;
  #activeAt: number | undefined;
  #idleTimer: Timer | undefined;

  /** `fingerprint` is that of the configuration. Starts nothing. */
  constructor(config: ServerConfig, fingerprint: string, context: SupervisorContext) {
    this.config = config;
    this.fingerprint = fingerprint;
    this.#context = context;
    this.#state = config.enabled ? "not_started" : "disabled";
    this.#waiters = new Waiters(context.clock);
    this.notices = new Notices(config.name, context.clock, context.scrubber, (event) => {
      context.append([event]).catch(context.onError);
    }, config.logLevel);
    const { timeoutMs, maxTotalMs } = config;
    this.offers = new Offers(config.name, { timeoutMs, maxTotalMs }, this.notices, context);
  }

  get name(): string {
    return this.config.name;
  }

  get source(): string {
    return this.#context.source;
  }

  get state(): ServerState {
    return this.#state;
  }

  get catalog(): Catalog | undefined {
    return this.#catalog;
  }

  /** Tools of the last list that the user's filter lets through. */
  get toolCount(): number {
    const { allow, deny } = this.config.tools;
    if (this.catalog === undefined || allow.length + deny.length === 0) return this.catalog?.size ?? 0;
    let count = 0;
    for (const { name, alias } of this.catalog.entries()) {
      if (passesFilter(this.config.tools, spellingsOfTool(this.name, name, alias))) count++;
    }
    return count;
  }

  /** Calls that use its connection at this moment. */
  get inFlight(): number {
    return this.#life?.connection?.inFlight ?? 0;
  }

  get givenUp(): string | undefined {
    return this.#life?.givenUp;
  }

  /** True from the moment that a stop was asked for. */
  get isStopped(): boolean {
    return this.#stopped !== undefined;
  }

  /** Settles with the latest start, as `restart` does; at once where none was made. */
  get latestStart(): Promise<void> {
    return this.#life?.latestStart ?? Promise.resolve();
  }

  /** Starts it in the background and keeps it up, unless it is disabled or was started before. */
  supervise(): void {
    if (this.#state === "not_started") this.#begin(false);
  }

  /** Starts it, and keeps it up from then on. Rejects with what the start failed with; nothing is left of it then. */
  startOnce(): Promise<void> {
    return this.#begin(true).latestStart;
  }

  /**
   * Ends what runs and starts afresh, also out of `permanently_failed`. Whoever comes during a start shares that start.
   * Rejects with what the start failed with; the restart policy goes on.
   */
  restart(): Promise<void> {
    if (this.#state === "removed" || this.#state === "disabled") return Promise.reject(this.#refusal());
    if (this.#state === "starting" && this.#life !== undefined) return this.#life.latestStart;
    const event = this.#life?.connection === undefined ? undefined : restartingEvent(this.name, 1, 0);
    this.#endLife({ reason: "mcp_server_restarted" }, () => event);
    return this.#begin(false).latestStart;
  }

  /** Ends it for good; resolves once nothing is left and its event is written. The first reason stays. */
  stop(reason: StopReason): Promise<void> {
    if (this.#stopped !== undefined) return this.#stopped;
    const life = this.#life;
    const wasStarted = life !== undefined || this.#teardown !== undefined;
    const loss = { reason: reason === "closed" ? "session_closed" : "mcp_server_removed" };
    this.#stopped = this.#endLife(
      loss,
      () => wasStarted ? shutdownEvent(this.name, reason, life?.containment() ?? "none") : undefined,
    );
    this.#enter(reason === "disabled" ? "disabled" : "removed");
    return this.#stopped;
  }

  /**
   * Lets go of the connection if no call uses it and none has for `thresholdMs`; the catalog stays. The promise resolves
   * once nothing of the connection is left; `undefined` where it is kept.
   */
  disconnectIfIdle(thresholdMs: number): Promise<void> | undefined {
    const connection = this.#life?.connection;
    if (connection === undefined || connection.inFlight > 0) return undefined;
    const idleMs = this.#context.clock.now() - (this.#activeAt ?? -Infinity);
    if (idleMs < thresholdMs) return undefined;
    const gone = this.#endLife({ reason: "mcp_server_not_connected" }, () => idleDisconnectedEvent(this.name, idleMs));
    this.#enter("idle_disconnected");
    return gone;
  }

  /** Counts as activity of a server that is connected. */
  touch(): void {
    if (this.#state === "ready") this.#activeAt = this.#context.clock.now();
  }

  /** Waits until it is neither starting nor restarting. */
  settled(options: { readonly signal?: AbortSignal; readonly timeoutMs: number }): Promise<void> {
    const look = (): { readonly value: undefined } | undefined => this.#isUnderWay ? undefined : { value: undefined };
    return this.#waiters.wait(look, { ...options, action: this.#waiting });
  }

  status(): ServerStatus {
    // A server that was exchanged in mid-life introduces itself anew.
    const facts = this.#life?.connection?.client.facts ?? this.#facts;
    const info = facts?.serverInfo;
    const [resourceCount, promptCount] = [this.offers.count("resources"), this.offers.count("prompts")];
    return {
      name: this.name,
      source: this.source,
      transport: this.config.transport.type,
      state: this.#state,
      connected: this.#state === "ready",
      toolCount: this.toolCount,
      ...(resourceCount === undefined ? {} : { resourceCount }),
      ...(promptCount === undefined ? {} : { promptCount }),
      ...(this.#error === undefined ? {} : { error: this.#error }),
      ...(this.#lastWords === undefined ? {} : { stderrTail: this.#lastWords }),
      ...(this.#activeAt === undefined ? {} : { lastActivityAt: this.#activeAt }),
      ...(facts === undefined ? {} : { era: facts.era, version: facts.protocolVersion }),
      ...(info === undefined
        ? {}
        : { serverInfo: this.#context.scrubber.value({ name: info.name, version: info.version }) }),
    };
  }

  relist(): Promise<boolean> {
    return this.#life?.relist() ?? Promise.resolve(false);
  }

  tryAcquire(): ServerLease | undefined {
    return this.#life?.connection?.lease();
  }

  acquire(options: { readonly signal?: AbortSignal; readonly timeoutMs: number }): Promise<ServerLease> {
    const isDormant = this.#state === "idle_disconnected" || this.#state === "not_started";
    if (isDormant && this.config.reconnect === "lazy") this.#begin(false);
    const look = (): { readonly value: ServerLease } | undefined => {
      const lease = this.tryAcquire();
      if (lease !== undefined) return { value: lease };
      if (this.#isUnderWay || this.#life?.isAnnouncing === true) return undefined;
      throw this.#refusal();
    };
    return this.#waiters.wait(look, { ...options, action: this.#waiting });
  }

  learned(catalog: Catalog): void {
    this.#catalog = catalog;
    this.#context.onChange();
  }

  changed(life: LifeView, state: ServerState, error?: unknown, stderrTail?: string): void {
    // A life that was ended has no say any more.
    if (life !== this.#life || life.isOver) return;
    if (error !== undefined) this.#error = faultOf(error, this.#context.scrubber).message;
    if (error !== undefined || stderrTail !== undefined) {
      this.#lastWords = lastWords(stderrTail, this.#context.scrubber);
    }
    if (state === "ready") {
      this.#error = undefined;
      this.#lastWords = undefined;
      this.#facts = life.connection?.client.facts;
      this.#activeAt = this.#context.clock.now();
    }
    this.#enter(state);
  }

  onReleased(): void {
    this.#activeAt = this.#context.clock.now();
  }

  get #isUnderWay(): boolean {
    return this.#state === "starting" || this.#state === "restarting";
  }

  get #waiting(): string {
    return `Waiting for server "${this.name}"`;
  }

  #refusal(): Error {
    const { name, source, givenUp } = this;
    return refusalOf(name, this.#state, { source, givenUp, cause: this.#life?.cause, lastError: this.#error });
  }

  #begin(once: boolean): Life {
    const before = this.#teardown;
    this.#enter("starting");
    this.#life = new Life(this, this.#context, { once, before });
    return this.#life;
  }

  /** Ends the life that runs, if one does. Resolves once nothing of it is left and `farewell` is written; never rejects. */
  #endLife(loss: Loss, farewell: () => EventInput | undefined): Promise<void> {
    const life = this.#life;
    const before = this.#teardown;
    this.#life = undefined;
    life?.end(loss);
    const teardown = async (): Promise<void> => {
      await before;
      await life?.done;
      const event = farewell();
      if (event !== undefined) await this.#context.append([event]).catch(this.#context.onError);
    };
    this.#teardown = teardown();
    return this.#teardown;
  }

  #enter(state: ServerState): void {
    this.#state = state;
    this.#idleTimer?.cancel();
    this.#idleTimer = undefined;
    if (state === "ready" && this.config.idleMs !== undefined) this.#watchIdle(this.config.idleMs, this.config.idleMs);
    this.#context.onChange();
    this.#waiters.wake();
  }

  #watchIdle(idleMs: number, delayMs: number): void {
    this.#idleTimer = this.#context.clock.after(delayMs, () => {
      if (this.disconnectIfIdle(idleMs) !== undefined) return;
      const idleFor = this.inFlight > 0 ? 0 : this.#context.clock.now() - (this.#activeAt ?? 0);
      this.#watchIdle(idleMs, Math.max(1, idleMs - idleFor));
    });
  }
}
