import { spillStore } from "./call/spill_store.ts";
import { createLocalTools } from "./catalog/local_tool.ts";
import { ResponseCache } from "./client/cache.ts";
import type { HostAsks } from "./call/host_asks.ts";
import { capabilitiesOf } from "./client/asks.ts";
import { connectClient } from "./client/connect.ts";
import { TASKS_EXTENSION } from "./client/tasks.ts";
import { createLog, type EventSink } from "./events/log.ts";
import { memoryLog } from "./events/memory_store.ts";
import { correlatingMembers } from "./events/vocabulary.ts";
import { checkHostOptions } from "./host_option_rules.ts";
import type { HostOptions } from "./host_options.ts";
import { Host, openOptions } from "./host_owner.ts";
import { systemClock } from "./kernel/clock.ts";
import { HostError } from "./kernel/errors.ts";
import { withPlace } from "./kernel/file_fault.ts";
import { type Ids, randomIds } from "./kernel/ids.ts";
import { tell } from "./kernel/listener.ts";
import { isSecretName, SecretRegistry } from "./kernel/secrets.ts";
import { createDesk } from "./permission/desk.ts";
import { createGate } from "./permission/gate.ts";
import { compilePolicy } from "./permission/policy.ts";
import { chainScrubbers } from "./scrub/chain.ts";
import { createScrubber } from "./scrub/known_values.ts";
import type { Scrubber } from "./scrub/scrubber.ts";
import { withholding } from "./scrub/withholding.ts";
import { dialServer } from "./servers/dial.ts";
import type { ManagerContext } from "./servers/manager.ts";
import { RootsNews } from "./servers/roots.ts";
import type { ServerAsks } from "./servers/start.ts";
import { exponentialBackoff } from "./servers/restart_policy.ts";
import { credentialsOf, type UrlCredentials } from "./servers/url_credentials.ts";
import { Slots } from "./servers/slots.ts";
import { shownError } from "./servers/shown_error.ts";
import { checkedVerdicts, memoryVerdicts } from "./servers/verdicts.ts";
import { FrameBudget } from "./transport/frame_budget.ts";
import { largeFrames } from "./transport/large_frames.ts";
import { memoryArtifacts } from "./store/memory_artifacts.ts";
import { memoryKeyValue } from "./store/memory_kv.ts";

const MAX_PARALLEL_STARTS = 16;
/** What a connection URL carries: `postgres://user:password@host/`. */
function urlCredentials(text: string): UrlCredentials | undefined {
  try {
    return credentialsOf(new URL(text));
  } catch {
    return undefined; // no URL after all
  }
}

/** Most bytes of all messages that are being read. */
const MAX_FRAME_BYTES = 64 << 20;
/** Variables that name a place, whatever else their names say. */
const PLACE_NAME = /_(?:SOCK|FILE|PATH|DIR|HOME)$/i;

/**
 * Opens a host: checks the options, of which unknown ones are refused, opens the log and the stores, starts the servers. Resolves once the servers marked
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
  checkHostOptions(options);
  const { runtime, clock = systemClock, ids = randomIds } = options;
  const maxFrameBytes = options.maxFrameBytes ?? runtime.maxFrameBytes ?? MAX_FRAME_BYTES;
  const localTools = createLocalTools(options.localTools ?? []);
  const policy = compilePolicy(options.permission);
  const secrets = new SecretRegistry();
  for (const [index, secret] of (options.secrets ?? []).entries()) {
    const { label, value } = (secret ?? {}) as { label?: unknown; value?: unknown };
    if (typeof label !== "string" || typeof value !== "string") {
      const found = typeof label === "string" ? `a value of type ${typeof value}` : "no label";
      throw new HostError(
        "ERR_CONFIG",
        `Cannot use secrets[${index}]: found ${found}, wanted two strings, label and value`,
      );
    }
    secrets.add(label, value);
  }
  for (const [name, value] of Object.entries(runtime.environment())) {
    if (isSecretName(name) && !PLACE_NAME.test(name)) secrets.add(`env.${name}`, value);
    const credentials = /^[a-z][a-z0-9+.-]*:\/\/[^/@\s]*@/i.test(value) ? urlCredentials(value) : undefined;
    if (credentials !== undefined) {
      secrets.add(`env.${name}`, credentials.password);
      secrets.add(`env.${name}`, credentials.basic);
    }
  }
  const known = createScrubber(secrets);
  const onError = guarded(options.onError, known);
  const strictScrubber = chainScrubbers(known, ...(options.scrubbers ?? []));
  // What has to be written in any case must not fail with a scrubber of the user's.
  const scrubber = strictScrubber === known
    ? known
    : withholding(strictScrubber, { known, onError, keep: correlatingMembers });
  const shown = (error: unknown): never => {
    throw shownError(error, scrubber);
  };
  const store = await Promise.resolve((options.log ?? memoryLog()).open({ runtime, clock, ids })).catch(shown);
  const log = createLog({ store, scrubber, clock, ids });
  const desk = createDesk({
    kv: options.store ?? memoryKeyValue(),
    clock,
    scrubber,
    onError,
    ...(options.store === undefined ? { pollMs: 0 } : {}),
  });
  // Only what the host holds makes a call one of credentials, not what merely looks like a secret.
  const holdsSecret = (value: Readonly<Record<string, unknown>>): boolean => known.value(value) !== value;
  const { approve } = options;
  const gate = options.gate ??
    createGate({
      policy,
      desk,
      clock,
      ids,
      scrubber: strictScrubber,
      holdsSecret,
      onError,
      ...(approve === undefined ? {} : { approve }),
    });
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
    return shown(withPlace(error));
  }
  const artifacts = options.artifacts ?? memoryArtifacts();
  const frames = largeFrames({
    sink: spillStore({ artifacts, scrubber: strictScrubber, onError }),
    budget: new FrameBudget({ maxBytes: maxFrameBytes, clock }),
  });
  const managing: Omit<ManagerContext, "source" | "append"> = {
    clock,
    scrubber,
    strictScrubber,
    secrets,
    onError,
    slots: new Slots(options.maxParallelStarts ?? MAX_PARALLEL_STARTS),
    connect: connectClient,
    asks: declaredTo(options.asks ?? {}, ids),
    verdicts: options.verdicts === undefined ? memoryVerdicts() : checkedVerdicts(options.verdicts, onError),
    cache: new ResponseCache({ clock }),
    policy: options.restartPolicy ?? exponentialBackoff(),
    dial: (config) =>
      dialServer(config, {
        runtime,
        clock,
        secrets,
        frames,
        ...(options.auth === undefined ? {} : { auth: options.auth }),
        ...(options.sandbox === undefined ? {} : { sandbox: options.sandbox }),
      }),
  };
  const host = new Host({ ...options, artifacts }, {
    log,
    level: store.level,
    desk,
    gate,
    sink,
    scrubber,
    managing,
    localTools,
    holdsSecret,
  });
  try {
    await host.start(options.servers ?? []);
    return host;
  } catch (error) {
    await host.close();
    return shown(error);
  }
}

/** What servers are told: what there are handlers for, and that a call may become a task. */
function declaredTo(asks: HostAsks, ids: Ids): ServerAsks {
  const capabilities = { ...capabilitiesOf(asks), extensions: TASKS_EXTENSION };
  const { roots, rootsListChanged } = asks;
  return {
    capabilities,
    ids,
    ...(roots === undefined ? {} : { roots, ...(rootsListChanged === true ? { rootsNews: new RootsNews() } : {}) }),
  };
}

/** A listener of the user's that fails must not end what it is told about. */
function guarded(listener: HostOptions["onError"], scrubber: Scrubber): (error: unknown) => void {
  return (error) => {
    if (listener === undefined) return;
    tell(() => listener(shownError(error, scrubber)), () => {/* there is nobody left to tell */});
  };
}
