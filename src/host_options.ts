import type { HostAsks } from "./call/host_asks.ts";
import type { LocalTool } from "./catalog/local_tool.ts";
import type { LogFactory } from "./events/store.ts";
import type { Clock } from "./kernel/clock.ts";
import type { Ids } from "./kernel/ids.ts";
import type { Runtime } from "./kernel/runtime.ts";
import type { KnownSecret } from "./kernel/secrets.ts";
import type { PermissionConfig } from "./permission/policy.ts";
import type { Approve, Gate } from "./permission/request.ts";
import type { VerdictCache } from "./protocol/negotiate.ts";
import type { TraceContext } from "./protocol/trace.ts";
import type { Scrubber } from "./scrub/scrubber.ts";
import type { ServerConfigInput } from "./servers/config_input.ts";
import type { AuthPart, SandboxPart } from "./servers/dial.ts";
import type { RestartPolicy } from "./servers/restart_policy.ts";
import type { ArtifactStore } from "./store/artifacts.ts";
import type { KeyValue } from "./store/key_value.ts";

/** What a host is made of. Only the runtime has no default; `undefined` is as good as left out. */
export interface HostOptions {
  /** `nodeRuntime()`, `bunRuntime()`, `denoRuntime()`, `workerdRuntime()`, or one of your own. */
  readonly runtime: Runtime;
  /** Names the host's stream in the log, `host:<name>`. Default `main`. */
  readonly name?: string | undefined;
  /** Servers that every session sees. A faulty entry is reported and does not stop the others. */
  readonly servers?: readonly ServerConfigInput[] | undefined;
  /** Tools that run in this process, under the same gate and log. */
  readonly localTools?: readonly LocalTool[] | undefined;
  /**
   * Where events are kept: `fileLog(directory)`, or `memoryLog()` (default), which keeps the last 100,000 of each stream
   * until the host closes; `memoryLog({ maxEvents })` keeps fewer.
   */
  readonly log?: LogFactory | undefined;
  /** Open streams whose last owner did not let go of them. Only when that owner is known to be gone. */
  readonly takeOver?: boolean | undefined;
  /** Where long results are kept. Default: in memory, at most 256 MiB. The host closes it. */
  readonly artifacts?: ArtifactStore | undefined;
  /** Most bytes of the text of a result, `Outcome.output`; of a longer one the head and the tail. At least 1,024, default 262,144. */
  readonly maxOutputBytes?: number | undefined;
  /**
   * Most bytes that all messages together take while they are read, at least 4 MiB; beyond it reading waits. What long
   * strings of results go to, `artifacts`, does not count. Default 67,108,864, and 16,777,216 on workerd.
   */
  readonly maxFrameBytes?: number | undefined;
  /** Rules of the gate. Default: none, so that everything that is not `read` by your own word asks. */
  readonly permission?: PermissionConfig | undefined;
  /** Asks a person. Without it a call that must be asked about is denied, or waits at the desk if it says so. */
  readonly approve?: Approve | undefined;
  /**
   * Answers what servers ask while they work on a call: forms, addresses, sampling, roots. What has a handler is declared
   * to servers. Default: nothing is declared, and what is asked is refused.
   */
  readonly asks?: HostAsks | undefined;
  /** Values that must never be shown, beside those of the configuration and the environment. */
  readonly secrets?: readonly KnownSecret[] | undefined;
  /** Further scrubbers, applied after the one for known secrets, which is always there. */
  readonly scrubbers?: readonly Scrubber[] | undefined;
  /** Ways to prove to servers who calls. */
  readonly auth?: readonly AuthPart[] | undefined;
  /** Confines what servers do. */
  readonly sandbox?: SandboxPart | undefined;
  /** Where asks are kept. Default: in memory. The host closes it. */
  readonly store?: KeyValue | undefined;
  /** Another gate in the place of the one that `permission` and `approve` make. */
  readonly gate?: Gate | undefined;
  /** When a server that crashed is started again. Default: exponential backoff, three restarts. */
  readonly restartPolicy?: RestartPolicy | undefined;
  /** Remembers which revision each server speaks. Default: in memory. */
  readonly verdicts?: VerdictCache | undefined;
  /** Starts at a time. Default 16. */
  readonly maxParallelStarts?: number | undefined;
  /**
   * Where a call stands in a distributed trace (W3C Trace Context), asked for each request that a call sends; it goes out
   * in the request's metadata. A context that is in no format of the W3C is left out and told to `onError`. Default: none.
   */
  readonly trace?: (() => TraceContext | undefined) | undefined;
  readonly clock?: Clock | undefined;
  readonly ids?: Ids | undefined;
  /** Told of faults that have no caller, such as a log that takes no more while a server crashes. Default: dropped. */
  readonly onError?: ((error: unknown) => void) | undefined;
}
