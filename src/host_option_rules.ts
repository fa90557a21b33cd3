import type { HostAsks } from "./call/host_asks.ts";
import type { HostOptions } from "./host_options.ts";
import type { ReadyOptions } from "./host_servers.ts";
import {
  aDelay,
  aFilledText,
  aFlag,
  aFunction,
  aList,
  anObject,
  aSignal,
  aText,
  type CheckedUse,
  checkOptions,
  hasMethods,
  having,
  option,
  type OptionRules,
  texts,
  wholeFrom,
} from "./kernel/options.ts";

const aRuntime = option(
  "what nodeRuntime(), bunRuntime(), denoRuntime() or workerdRuntime() gives",
  (value) => hasMethods(value, ["fetch", "environment"]),
);
const scrubbers = option(
  "a list of scrubbers, with text, value and stream",
  (value) => Array.isArray(value) && value.every((each) => hasMethods(each, ["text", "value", "stream"])),
);

/** What the name of a stream leaves for it: the longest are 200, with `host:` before it. */
const aStreamPart = option(
  "1 to 195 visible ASCII characters",
  (value) => typeof value === "string" && /^[\x21-\x7e]{1,195}$/.test(value),
);

const hostRules: OptionRules<HostOptions> = Object.freeze({
  runtime: aRuntime,
  name: aStreamPart,
  servers: aList,
  localTools: aList,
  log: having("what memoryLog() or fileLog(directory) gives", "open"),
  takeOver: aFlag,
  artifacts: having("what memoryArtifacts() or fileArtifacts(...) gives", "create", "read", "close"),
  maxOutputBytes: wholeFrom(1024),
  maxFrameBytes: wholeFrom(4 << 20),
  permission: option("an object such as { rules: [...] }", anObject.fits),
  approve: aFunction,
  asks: anObject,
  secrets: aList,
  scrubbers,
  auth: option(
    "a list of parts, with types and authorise",
    (value) => Array.isArray(value) && value.every((each) => hasMethods(each, ["authorise"])),
  ),
  sandbox: having("a part with confine and enforced", "confine", "enforced"),
  store: having("what memoryKeyValue() gives", "get", "putIfAbsent", "compareAndSet", "delete", "list", "close"),
  gate: having("a gate with decide, endSession and close", "decide", "endSession", "close"),
  restartPolicy: having("an object with nextStep", "nextStep"),
  verdicts: having("an object with get, set and delete", "get", "set", "delete"),
  maxParallelStarts: wholeFrom(1),
  trace: aFunction,
  clock: having("a clock with now, monotonic and after", "now", "monotonic", "after"),
  ids: having("an object with next", "next"),
  onError: aFunction,
});

const asksRules: OptionRules<HostAsks> = Object.freeze({
  form: aFunction,
  url: aFunction,
  sample: aFunction,
  sampleTools: aFlag,
  roots: aFunction,
  rootsListChanged: aFlag,
});

/** Checks what a host is to be made of, as far as no part of it checks its own. Throws `ERR_CONFIG`. */
export function checkHostOptions(options: unknown): asserts options is HostOptions {
  checkOptions(options, hostRules, { action: "open a host", code: "ERR_CONFIG", required: ["runtime"] });
  const { asks } = options as HostOptions;
  if (asks !== undefined) {
    checkOptions(asks, asksRules, { action: 'open a host with its "asks"', code: "ERR_CONFIG" });
  }
}

function use(action: string, required: readonly string[] = []): CheckedUse {
  return { action, code: "ERR_INVALID_ARGUMENTS", required };
}

export interface SessionOptions {
  readonly id?: string;
  readonly mcp?: readonly unknown[];
}

const managers = option(
  "a list of managers, as createManager gives them",
  (value) => Array.isArray(value) && value.every((each) => hasMethods(each, ["status", "add"])),
);
const sessionRules: OptionRules<SessionOptions> = Object.freeze({ id: aFilledText, mcp: managers });
export function checkSessionOptions(options: unknown): void {
  checkOptions(options, sessionRules, use("open a session"));
}

const readyRules: OptionRules<ReadyOptions> = Object.freeze({ servers: texts, timeoutMs: aDelay, signal: aSignal });
export function checkReadyOptions(options: unknown): void {
  checkOptions(options, readyRules, use("wait for servers"));
}

const managerRules: OptionRules<{ readonly name: string }> = Object.freeze({ name: aText });
export function checkManagerOptions(options: unknown): void {
  checkOptions(options, managerRules, { ...use("make a manager", ["name"]), code: "ERR_CONFIG" });
}

const followRules: OptionRules<{ stream: string; after: number; signal: AbortSignal }> = Object.freeze({
  stream: aFilledText,
  after: wholeFrom(0),
  signal: aSignal,
});
export function checkFollowOptions(options: unknown): void {
  checkOptions(options, followRules, use("follow a stream"));
}

const readRules: OptionRules<{ stream: string; after: number; limit: number }> = Object.freeze({
  stream: aFilledText,
  after: wholeFrom(0),
  limit: wholeFrom(1),
});
export function checkReadOptions(options: unknown): void {
  checkOptions(options, readRules, use("read a stream"));
}
