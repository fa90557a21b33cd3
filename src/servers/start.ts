import { buildCatalog, type Catalog, type RejectedTool } from "../catalog/catalog.ts";
import type { ResponseCache } from "../client/cache.ts";
import { answering } from "../client/asks.ts";
import type { Client, ConnectOptions, ToolList } from "../client/client.ts";
import { askForLogs } from "../client/logging.ts";
import type { EventInput } from "../events/event.ts";
import { cancelled } from "../kernel/abort.ts";
import { atMost, type Clock } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";
import type { Ids } from "../kernel/ids.ts";
import { tell } from "../kernel/listener.ts";
import type { ClientCapabilities, Tool } from "../protocol/model.ts";
import type { VerdictCache } from "../protocol/negotiate.ts";
import type { Scrubber } from "../scrub/scrubber.ts";
import type { TransportEnd } from "../transport/transport.ts";
import { followChanges, TOOLS_CHANGED } from "./changes.ts";
import type { ServerConfig } from "./config.ts";
import type { Dialed } from "./dial.ts";
import { faultOf } from "./fault.ts";
import type { Offers } from "./offers.ts";
import { type GiveRoots, loggedRoots, type RootsNews } from "./roots.ts";
import { catalogChangedEvent, concernEvents, readyEvent, rejectedEvents, startingEvent } from "./server_events.ts";
import type { Slots } from "./slots.ts";
import type { StartStep } from "./start_error.ts";

/** What servers are told that they may ask. All but roots is asked for the sake of a call or a read, which answers it. */
export interface ServerAsks {
  readonly capabilities: ClientCapabilities;
  readonly roots?: GiveRoots;
  readonly rootsNews?: RootsNews;
  readonly ids: Ids;
}

/** What starting a server needs besides its configuration. */
export interface StartContext {
  readonly clock: Clock;
  readonly scrubber: Scrubber;
  readonly slots: Slots;
  readonly connect: (options: ConnectOptions) => Promise<Client>;
  readonly verdicts?: VerdictCache;
  readonly cache?: ResponseCache;
  /** See `ListenOptions.random`; default: `Math.random`. */
  readonly random?: () => number;
  readonly asks?: ServerAsks;
  /** Told of faults that have no caller. */
  readonly onError: (error: unknown) => void;
}

export interface StartRequest {
  readonly config: ServerConfig;
  /** Of the configuration. */
  readonly fingerprint: string;
  readonly dialed: Dialed;
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** The tools of an earlier start. */
  readonly known: Catalog | undefined;
  /** Gets the connection as soon as there is one. */
  readonly offers: Offers;
  readonly append: (events: readonly EventInput[]) => Promise<unknown>;
  readonly onNotification: (method: string, params: unknown) => void;
  readonly onWarning: (kind: string, excerpt: string | undefined) => void;
  /** Fires when the connection is over, or the start has failed: what was begun on it ends. */
  readonly ended: AbortSignal;
  /** The connection of a start that succeeded has ended. Calls in flight settle once the promise has. */
  readonly onEnd: (end: TransportEnd) => void | Promise<void>;
}

/** What came of a start. Of one that failed nothing is left. */
export type Start = { readonly kind: "ready"; readonly client: Client; readonly catalog: Catalog } | FailedStart;

export interface FailedStart {
  readonly kind: "failed";
  readonly error: unknown;
  readonly end: TransportEnd | undefined;
  /** What the server had not done yet. */
  readonly step: StartStep;
}

/** How long a ready server may still take over its lists of resources and prompts before it is ready without them, ms. */
const OFFERS_MS = 1000;

/**
 * Connects, lists the tools and logs that the server is ready. Never rejects. The budget covers everything from the
 * dial to the last page of tools, and none of the waiting for a free slot.
 */
export async function startServer(request: StartRequest, context: StartContext): Promise<Start> {
  const { config, dialed, attempt, signal, append, offers } = request;
  const { clock, slots } = context;
  let end: TransportEnd | undefined;
  let isReady = false;
  let client: Client | undefined;
  let giveBack: (() => void) | undefined;
  let tellLogLevel: (() => void) | undefined;
  try {
    giveBack = await slots.take(`Start of server "${config.name}"`, signal);
    const startedAt = clock.monotonic();
    await append([startingEvent(config.name, dialed.dialer.name, attempt, dialed.sandbox)]);
    if (signal.aborted) throw cancelled(`Start of server "${config.name}"`, signal);
    const onRootsNews = context.asks?.rootsNews?.open(request.ended);
    client = await context.connect({
      dialer: dialed.dialer,
      clock,
      signal,
      startTimeoutMs: config.startTimeoutMs,
      probeTimeoutMs: config.probeTimeoutMs,
      ...(config.pin === undefined ? {} : { pin: config.pin }),
      ...(context.verdicts === undefined ? {} : { verdicts: context.verdicts }),
      ...(context.cache === undefined ? {} : { cache: cacheOf(context.cache, request.fingerprint) }),
      ...(context.asks === undefined ? {} : asking(request, context.asks)),
      onError: context.onError,
      // Whoever reads what the server says has no say in whether the server lives.
      onNotification: (method, params) => reported(() => request.onNotification(method, params), context),
      onWarning: (kind, excerpt) => reported(() => request.onWarning(kind, excerpt), context),
      // What it offers may be other than what was listed.
      onRenewed: () => {
        request.onNotification(TOOLS_CHANGED, undefined);
        offers.missed(true);
        tellLogLevel?.();
      },
      onEnd: (ended) => {
        end = ended;
        return isReady ? request.onEnd(ended) : undefined;
      },
    });
    onRootsNews?.(client);
    const changes = followChanges(client, {
      clock,
      random: context.random ?? Math.random,
      signal: request.ended,
      onMissed: () => {
        request.onNotification(TOOLS_CHANGED, undefined);
        offers.missed(false);
      },
      onWarning: request.onWarning,
    });
    const listed = firstLists(client, request, context);
    const connected = client;
    tellLogLevel = () => void wantLogs(connected, request, context);
    tellLogLevel();
    const remainingMs = Math.max(1, config.startTimeoutMs - (clock.monotonic() - startedAt));
    const list = await client.listTools({ signal, timeoutMs: remainingMs, maxTotalMs: remainingMs, fresh: true });
    changes.onListed();
    const { catalog, events } = await readCatalog(config, list, context.scrubber, request.onWarning);
    await atMost(clock, OFFERS_MS, listed);
    const startMs = Math.round(clock.monotonic() - startedAt);
    const changed = request.known === undefined ? undefined : catalogChangedEvent(config.name, request.known, catalog);
    await append([
      readyEvent(
        config.name,
        client.facts,
        {
          tools: catalog.size,
          resources: offers.count("resources"),
          prompts: offers.count("prompts"),
        },
        startMs,
        context.scrubber,
      ),
      ...(changed === undefined ? [] : [changed]),
      ...events,
    ]);
    if (signal.aborted) throw cancelled(`Start of server "${config.name}"`, signal);
    if (end !== undefined) throw lostDuringStart(end);
    isReady = true;
    return { kind: "ready", client, catalog };
  } catch (error) {
    offers.disconnected();
    await client?.close().catch(context.onError);
    return { kind: "failed", error, end, step: client === undefined ? "answered" : "listed its tools" };
  } finally {
    giveBack?.();
  }
}

/** Tells the server which log messages are wanted, where the user says so. Never rejects. */
async function wantLogs(
  client: Client,
  { config, onWarning }: StartRequest,
  { scrubber }: StartContext,
): Promise<void> {
  const { logLevel, timeoutMs, maxTotalMs } = config;
  if (logLevel === undefined) return;
  try {
    await askForLogs(client, logLevel, { timeoutMs, maxTotalMs });
  } catch (error) {
    if (client.isOpen) onWarning("log_level_refused", faultOf(error, scrubber).message);
  }
}

/** Asks for what a server offers besides tools, where it says that it does. Never rejects: a server is of use without. */
async function firstLists(
  client: Client,
  { offers, onWarning }: StartRequest,
  { scrubber }: StartContext,
): Promise<void> {
  offers.connected(client);
  const { capabilities } = client.facts;
  await Promise.all((["resources", "prompts"] as const).map(async (kind) => {
    if (capabilities[kind] === undefined) return;
    try {
      await offers.list(kind, client);
    } catch (error) {
      if (client.isOpen) onWarning("list_failed", `${kind}: ${faultOf(error, scrubber).message}`);
    }
  }));
}

/** The catalog of a list, and the events for what in it is unusable. What the user filters out is still in the catalog. */
export async function readCatalog(
  config: ServerConfig,
  list: ToolList,
  scrubber: Scrubber,
  warn: (kind: string, excerpt: string | undefined) => void,
): Promise<{ readonly catalog: Catalog; readonly events: readonly EventInput[] }> {
  const { shown, secret } = withoutSecretNames(list.tools, scrubber);
  const { catalog, rejected, concerns } = await buildCatalog(config.name, shown);
  const malformed = list.malformed.map(({ name, why }) => ({ tool: name ?? "", why }));
  if (list.truncated !== undefined) warn("list_truncated", list.truncated);
  return {
    catalog,
    events: [
      ...rejectedEvents(config.name, [...malformed, ...secret, ...rejected], scrubber),
      ...concernEvents(config.name, concerns, scrubber),
    ],
  };
}

/** A name is shown wherever its tool is, and cannot be scrubbed: the server knows the tool by no other. */
function withoutSecretNames(
  tools: readonly Tool[],
  scrubber: Scrubber,
): { readonly shown: readonly Tool[]; readonly secret: readonly RejectedTool[] } {
  const secret: RejectedTool[] = [];
  const shown = tools.filter(({ name }) => {
    // What is no name is the catalog's to refuse.
    const clean = typeof name === "string" ? scrubber.text(name) : name;
    if (clean !== name) secret.push({ tool: clean, why: "its name holds a secret of this host" });
    return clean === name;
  });
  return { shown, secret };
}

function asking(
  { config, append }: StartRequest,
  { capabilities, roots, ids }: ServerAsks,
): Pick<ConnectOptions, "capabilities" | "asks"> {
  return {
    capabilities,
    asks: answering(roots === undefined ? {} : { roots: loggedRoots(config.name, roots, ids, append) }),
  };
}

/**
 * Addresses that differ in no more than their query are servers of their own. Fingerprints do not tell credentials apart:
 * what is private stays with its connection.
 */
function cacheOf(cache: ResponseCache, fingerprint: string): NonNullable<ConnectOptions["cache"]> {
  return { connection: () => cache.connection(fingerprint, undefined) };
}

function reported(listen: () => void, { onError }: StartContext): void {
  tell(listen, onError);
}

function lostDuringStart(end: TransportEnd): HostError {
  return end.error ?? new HostError("ERR_CONNECTION_LOST", "Connection to the server was lost during the start");
}
