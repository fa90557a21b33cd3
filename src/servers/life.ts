import type { Catalog } from "../catalog/catalog.ts";
import type { Client } from "../client/client.ts";
import type { EventCursor, EventInput } from "../events/event.ts";
import { atMost, sleep } from "../kernel/clock.ts";
import { HostError, isHostError } from "../kernel/errors.ts";
import { isThenable } from "../kernel/listener.ts";
import type { TransportEnd } from "../transport/transport.ts";
import { type Attempt, newAttempt } from "./attempt.ts";
import { CatalogRefresh } from "./catalog_refresh.ts";
import { TOOLS_CHANGED } from "./changes.ts";
import { Connection, type Loss } from "./connection.ts";
import { type Crash, crashOfEnd, crashOfStart } from "./crash.ts";
import type { Dialed } from "./dial.ts";
import { faultOf } from "./fault.ts";
import { KeepAlive } from "./keep_alive.ts";
import type { LifeContext, LifeOwner } from "./life_owner.ts";
import { closedMeanwhile, refusalOf, whyGivenUp } from "./refusal.ts";
import { isRestartStep, lossReason, nextStep, type RestartStep } from "./restart_policy.ts";
import {
  authRequiredEvent,
  catalogChangedEvent,
  crashedEvent,
  failedEvent,
  permanentlyFailedEvent,
  restartingEvent,
} from "./server_events.ts";
import { type FailedStart, readCatalog, startServer } from "./start.ts";
import { shownError } from "./shown_error.ts";
import { startError, statusError } from "./start_error.ts";

/** How long a crash waits for its event and for the calls that it cut off: a slow log must not hold up a restart. */
const SETTLE_MS = 1000;

/**
 * One run of a server from its first start to its end: starts it, keeps it up by the restart policy, and stops for good
 * when it is told to or when the policy gives up. Never more than one connection at a time.
 */
export class Life {
  /** Resolves once nothing of it is left. Never rejects. */
  readonly done: Promise<void>;
  /** Set while the server is ready, and only then. */
  connection: Connection | undefined;
  /** True while the event of a crash is on its way to the log: nothing may be settled by it before. */
  isAnnouncing = false;
  /** The last crash. */
  cause: EventCursor | undefined;
  /** See `Server`. */
  givenUp: string | undefined;
  /** What stopping reaches, as of the last start. */
  containment: () => string = () => "none";

  readonly #owner: LifeOwner;
  readonly #context: LifeContext;
  readonly #abort = new AbortController();
  #attempt: Attempt = newAttempt();
  #crashes = 0;
  /** Crashes in a row that were starts which failed. */
  #failedStarts = 0;
  /** Ends the wait for the end of a ready server: with what follows a crash, or with nothing when we end it. */
  #onEnded: ((step: RestartStep | undefined) => void) | undefined;
  #endedEarly: TransportEnd | undefined;
  #closing: Promise<void> | undefined;
  #refresh: CatalogRefresh | undefined;
  #changedEarly = false;
  /** The list that is under way or was the last. Never rejects. */
  #listing: Promise<unknown> = Promise.resolve();
  /** The one after it, which whoever comes meanwhile shares. */
  #nextList: Promise<Relisted> | undefined;
  /** What a start fails with that never came to an end. */
  #unfinished: HostError | undefined;

  /** `once`: a first start that fails is final. `before` is what has to be over first. */
  constructor(
    owner: LifeOwner,
    context: LifeContext,
    options: { readonly once: boolean; readonly before: Promise<void> | undefined },
  ) {
    this.#owner = owner;
    this.#context = context;
    this.done = this.#run(options.once, options.before);
  }

  /** Settles with the latest start: rejects with what it failed with, or why it never came to an end. */
  get latestStart(): Promise<void> {
    return this.#attempt.outcome;
  }

  get isOver(): boolean {
    return this.#abort.signal.aborted;
  }

  /** See `Server`. */
  async relist(): Promise<boolean> {
    return this.connection !== undefined && await this.#relist(this.connection) !== "failed";
  }

  /** Ends it. Calls in flight end with `loss`. */
  end(loss: Loss): void {
    if (loss.reason === "session_closed") this.#unfinished = closedMeanwhile(this.#owner.config.name);
    this.connection?.lose(loss);
    this.connection = undefined;
    this.#owner.offers.disconnected();
    this.#refresh?.stop();
    this.#abort.abort();
    this.#onEnded?.(undefined);
  }

  async #run(once: boolean, before: Promise<void> | undefined): Promise<void> {
    const { name } = this.#owner.config;
    try {
      await before;
      for (let isFirst = true; !this.isOver; isFirst = false) {
        const step = await this.#startAndServe(once && isFirst);
        if (step === undefined || this.isOver) return;
        if (step.kind === "give_up") return;
        await this.#context.append([restartingEvent(name, step.crashes, step.delayMs)]);
        await sleep(this.#context.clock, step.delayMs, this.#abort.signal);
        await this.#closing;
        if (this.isOver) return;
        this.#attempt = newAttempt();
        this.#owner.changed(this, "starting");
      }
    } catch (error) {
      // Being ended cuts the sleep short. Anything else is a log that takes no more; nothing may start behind its back.
      if (this.isOver) return;
      this.#context.onError(error);
      this.givenUp = "as the event log takes nothing more";
      this.#attempt.fail(shownError(error, this.#context.scrubber));
      this.#owner.changed(this, "permanently_failed", error);
    } finally {
      this.#attempt.fail(this.#unfinished ?? refusalOf(name, "removed"));
      await this.#closing;
    }
  }

  /** One start and all that it leads to. Resolves with what the policy makes of its end; `undefined` when it is over. */
  async #startAndServe(once: boolean): Promise<RestartStep | undefined> {
    const ended = new AbortController();
    try {
      return await this.#serveUntil(ended.signal, once);
    } finally {
      ended.abort();
    }
  }

  /** `ended` fires once it has resolved. */
  async #serveUntil(ended: AbortSignal, once: boolean): Promise<RestartStep | undefined> {
    const { config, notices } = this.#owner;
    this.#endedEarly = undefined;
    this.#changedEarly = false;
    let noise: string | undefined;
    let dialed: Dialed;
    try {
      dialed = this.#context.dial(config);
    } catch (error) {
      return await this.#failedStart({ error, end: undefined, step: "answered" }, noise, once);
    }
    this.containment = dialed.containment;
    const start = await startServer({
      config,
      fingerprint: this.#owner.fingerprint,
      dialed,
      attempt: this.#crashes + 1,
      signal: this.#abort.signal,
      ended,
      known: this.#owner.catalog,
      offers: this.#owner.offers,
      append: this.#context.append,
      onNotification: (method, params) => this.#onNotification(method, params),
      onWarning: (kind, excerpt) => {
        if (kind === "noise") noise ??= excerpt;
        notices.warn(kind, excerpt);
      },
      onEnd: (end) => this.#onEnd(end),
    }, this.#context);
    if (start.kind === "failed") {
      return this.isOver ? undefined : await this.#failedStart(start, noise, once);
    }
    return await this.#serve(start.client, start.catalog);
  }

  /** `noise` is the first line that was no message. */
  async #failedStart(
    { error, end, step }: Omit<FailedStart, "kind">,
    noise: string | undefined,
    once: boolean,
  ): Promise<RestartStep | undefined> {
    const { append, scrubber } = this.#context;
    const { name } = this.#owner.config;
    const crash = crashOfStart(error, end);
    const failure = startError(name, crash, { step, noise }, scrubber);
    const shown = statusError(error, failure);
    try {
      if (once) {
        this.#owner.changed(this, "removed", shown, crash.stderrTail);
        await append([failedEvent(name, error, scrubber)]);
        return undefined;
      }
      if (isHostError(error, "ERR_AUTH_REQUIRED")) {
        this.#owner.changed(this, "auth_required", shown, crash.stderrTail);
        await append([authRequiredEvent(name, error.facts, scrubber)]);
        return undefined;
      }
      return await this.#crash(crash, undefined, shown);
    } finally {
      this.#attempt.fail(failure);
    }
  }

  async #serve(client: Client, catalog: Catalog): Promise<RestartStep | undefined> {
    const { clock } = this.#context;
    if (this.isOver) {
      this.#close(client);
      return undefined;
    }
    const connection = new Connection(client, clock.monotonic(), () => this.#owner.onReleased());
    this.connection = connection;
    this.#owner.learned(catalog);
    this.#refresh = new CatalogRefresh(clock, async () => await this.#relist(connection) === "changed");
    const ended = new Promise<RestartStep | undefined>((resolve) => this.#onEnded = resolve);
    this.#owner.changed(this, "ready");
    this.#attempt.succeed();
    if (this.#endedEarly !== undefined) void this.#onEnd(this.#endedEarly);
    else if (this.#changedEarly) this.#refresh.request();
    const keepAlive = this.#keepAlive(connection);
    const step = await ended;
    keepAlive?.stop();
    this.#onEnded = undefined;
    this.#refresh.stop();
    this.#close(client);
    // A crash has settled its calls, or is about to. An end that was asked for settles them by closing.
    if (step === undefined) await this.#closing;
    await connection.drained(clock, SETTLE_MS);
    return step;
  }

  #keepAlive(connection: Connection): KeepAlive | undefined {
    const { pingMs } = this.#owner.config;
    return pingMs === undefined ? undefined : new KeepAlive({
      client: connection.client,
      clock: this.#context.clock,
      pingMs,
      isBusy: () => connection.inFlight > 0,
      onSilent: (error) => {
        if (this.connection === connection) void this.#onEnd({ reason: "unreachable", error });
      },
    });
  }

  #close(client: Client): void {
    this.#closing = client.close().catch((error: unknown) => this.#context.onError(error));
  }

  #onEnd(end: TransportEnd): void | Promise<void> {
    if (this.isOver) return;
    const { connection } = this;
    if (connection !== undefined) return this.#crash(crashOfEnd(end), connection).then((step) => this.#onEnded?.(step));
    this.#endedEarly = end;
  }

  /**
   * Withdraws the server in one step, makes the crash durable, and only then lets its calls know. `shown` is what the
   * status says. Never rejects.
   */
  async #crash(crash: Crash, connection: Connection | undefined, shown: unknown = crash.error): Promise<RestartStep> {
    const { clock, scrubber } = this.#context;
    const { config } = this.#owner;
    const readyForMs = connection === undefined ? undefined : clock.monotonic() - connection.readyAt;
    const step = crash.final ? giveUp(this.#crashes) : this.#nextStep(readyForMs);
    this.#crashes = step.crashes;
    this.#failedStarts = connection === undefined ? this.#failedStarts + 1 : 0;
    if (step.kind === "give_up") {
      this.givenUp = whyGivenUp(crash.final, config.restart.auto, this.#crashes, this.#failedStarts);
    }
    this.connection = undefined;
    this.#owner.offers.disconnected();
    this.isAnnouncing = true;
    const crashed = crashedEvent(config.name, crash, connection?.inFlight ?? 0, scrubber);
    // Both at once: whoever sees that it was given up may close the host before another event could follow.
    const givenUp = step.kind === "restart" ? [] : [permanentlyFailedEvent(config.name, step.crashes, crash.reason)];
    const announced = this.#announce([crashed, ...givenUp]);
    connection?.loseWith(
      announced.then((cause) => ({ reason: lossReason(step), ...(cause === undefined ? {} : { cause }) })),
    );
    const state = step.kind === "restart" ? "restarting" : "permanently_failed";
    this.#owner.changed(this, state, shown, crash.stderrTail);
    this.cause = await announced;
    this.isAnnouncing = false;
    await connection?.lossKnown;
    this.#owner.changed(this, state);
    return step;
  }

  #nextStep(readyForMs: number | undefined): RestartStep {
    const { policy, onError } = this.#context;
    const history = { crashes: this.#crashes, readyForMs };
    const { restart } = this.#owner.config;
    try {
      const step: unknown = policy.nextStep(history, restart);
      if (isRestartStep(step)) return step;
      if (isThenable(step)) Promise.resolve(step).catch(onError);
      onError(
        new HostError(
          "ERR_CONFIG",
          "Cannot use a restart policy: its answer is no step, wanted one at once, with a delay of 0 to 2147483647 ms",
        ),
      );
    } catch (error) {
      onError(error);
    }
    // A policy of the user's that fails must not leave a server between two states.
    return nextStep(history, restart, Math.random);
  }

  /** Where the first event came to stand; `undefined` when the log did not take them in time. */
  async #announce(events: readonly EventInput[]): Promise<EventCursor | undefined> {
    const { append, clock, onError } = this.#context;
    try {
      const written = (await atMost(clock, SETTLE_MS, append(events)))?.[0];
      return written === undefined ? undefined : { stream: written.stream, seq: written.seq };
    } catch (error) {
      onError(error);
      return undefined;
    }
  }

  #onNotification(method: string, params: unknown): void {
    this.#owner.offers.notified(method, params);
    if (method === "notifications/message") this.#owner.notices.log(params);
    else if (method !== TOOLS_CHANGED) return;
    else if (this.connection === undefined) this.#changedEarly = true;
    else this.#refresh?.request();
  }

  /** One list at a time, so that none that was begun earlier is learned later. Never rejects. */
  #relist(connection: Connection): Promise<Relisted> {
    this.#nextList ??= this.#listing.then(() => {
      this.#nextList = undefined;
      const list = this.#list(connection);
      this.#listing = list;
      return list;
    });
    return this.#nextList;
  }

  async #list(connection: Connection): Promise<Relisted> {
    const { config, notices } = this.#owner;
    const { append, scrubber } = this.#context;
    try {
      const list = await connection.client.listTools({
        timeoutMs: config.timeoutMs,
        maxTotalMs: config.maxTotalMs,
        signal: this.#abort.signal,
        fresh: true,
      });
      const { catalog, events } = await readCatalog(
        config,
        list,
        scrubber,
        (kind, excerpt) => notices.warn(kind, excerpt),
      );
      const change = this.#owner.catalog === undefined
        ? undefined
        : catalogChangedEvent(config.name, this.#owner.catalog, catalog);
      if (this.connection !== connection) return "failed";
      if (change === undefined) return "same";
      await append([change, ...events]);
      if (this.connection !== connection) return "failed";
      this.#owner.learned(catalog);
      return "changed";
    } catch (error) {
      // With the connection gone its crash says all there is to say.
      if (this.connection === connection) notices.warn("list_failed", faultOf(error, scrubber).message);
      return "failed";
    }
  }
}

/** What came of one more list of the tools. */
type Relisted = "changed" | "same" | "failed";

function giveUp(crashes: number): RestartStep {
  return { kind: "give_up", crashes: crashes + 1 };
}
