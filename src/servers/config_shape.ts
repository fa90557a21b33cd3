import * as v from "valibot";
import { HostError } from "../kernel/errors.ts";
import { kindOf } from "../kernel/kind_of.ts";
import type { ServerConfigInput } from "./config_input.ts";
import { nearestWord } from "../kernel/nearest.ts";

// Each schema's message says what is wanted, never what was found: a misplaced value may be a secret.
const text = v.string("a string");
const filled = v.pipe(text, v.nonEmpty("a string that is not empty"));
const flag = v.boolean("true or false");
const list = v.array(text, "a list of strings");
const variables = v.record(text, text, "an object of strings");
const anything = v.record(text, v.unknown(), "an object");
/** The longest delay that every runtime's timers can hold. */
const MAX_DELAY_MS = 2_147_483_647;
const MS = `a whole number of milliseconds from 1 to ${MAX_DELAY_MS}`;
const ms = v.pipe(v.number(MS), v.integer(MS), v.minValue(1, MS), v.maxValue(MAX_DELAY_MS, MS));
const SECONDS = `a number of seconds above 0, at most ${Math.floor(MAX_DELAY_MS / 1000)}`;
const seconds = v.pipe(v.number(SECONDS), v.gtValue(0, SECONDS), v.maxValue(MAX_DELAY_MS / 1000, SECONDS));
const COUNT = "a whole number from 0 to 1000";
const count = v.pipe(v.number(COUNT), v.integer(COUNT), v.minValue(0, COUNT), v.maxValue(1000, COUNT));

function choice<const T extends readonly string[]>(...words: T): v.PicklistSchema<T, string> {
  return v.picklist(words, `one of ${words.map((word) => `"${word}"`).join(", ")}`);
}

const risk = choice("read", "write", "execute", "network", "credential", "destructive");
const inheritEnv = choice("base", "all", "none");
const transportType = choice("stdio", "http", "streamable-http", "sse");

const stdioMembers = {
  command: filled,
  args: v.optional(list),
  env: v.optional(variables),
  cwd: v.optional(filled),
  inheritEnv: v.optional(inheritEnv),
};
const httpMembers = { url: filled, headers: v.optional(variables), endpointPrefix: v.optional(filled) };

const stdioTransport = v.strictObject({ type: choice("stdio"), ...stdioMembers }, "an object");
const httpTransport = v.strictObject({ type: choice("http", "streamable-http", "sse"), ...httpMembers }, "an object");
const transport = v.variant("type", [stdioTransport, httpTransport], transportType.message as string);

const members = {
  name: filled,
  transport: v.optional(transport),
  type: v.optional(transportType),
  command: v.optional(filled),
  args: stdioMembers.args,
  env: stdioMembers.env,
  cwd: stdioMembers.cwd,
  inheritEnv: stdioMembers.inheritEnv,
  url: v.optional(filled),
  headers: httpMembers.headers,
  enabled: v.optional(flag),
  timeoutMs: v.optional(ms),
  timeout_ms: v.optional(ms),
  toolTimeoutMs: v.optional(ms),
  toolTimeoutSecs: v.optional(seconds),
  tool_timeout_secs: v.optional(seconds),
  maxTotalMs: v.optional(ms),
  startTimeoutMs: v.optional(ms),
  probeTimeoutMs: v.optional(ms),
  stopGraceMs: v.optional(ms),
  restart: v.optional(v.strictObject({
    auto: v.optional(flag),
    maxRestarts: v.optional(count),
    baseMs: v.optional(ms),
    capMs: v.optional(ms),
    resetAfterMs: v.optional(ms),
  }, "an object")),
  auth: v.optional(
    v.looseObject({ type: choice("none", "bearer", "oauth", "client_credentials", "mtls") }, "an object"),
  ),
  oauth: v.nullish(anything),
  tools: v.optional(v.strictObject({
    allow: v.optional(list),
    deny: v.optional(list),
    risk: v.optional(v.record(text, risk, "an object")),
  }, "an object")),
  trustAnnotations: v.optional(flag),
  onToolChange: v.optional(choice("ask", "block", "allow")),
  sandbox: v.optional(anything),
  idleMs: v.optional(ms),
  pingMs: v.optional(ms),
  logLevel: v.optional(choice("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")),
  reconnect: v.optional(choice("never", "lazy")),
  protocol: v.optional(v.strictObject({ pin: v.optional(filled) }, "an object")),
  required: v.optional(flag),
};
const server = v.strictObject(members, "an object");

const KNOWN_KEYS: Readonly<Record<string, readonly string[]>> = Object.freeze({
  "": Object.keys(members),
  transport: Object.keys({ type: 0, ...stdioMembers, ...httpMembers }),
  restart: ["auto", "maxRestarts", "baseMs", "capMs", "resetAfterMs"],
  tools: ["allow", "deny", "risk"],
  protocol: ["pin"],
});

/** Checks the shape and nothing else. Throws `ERR_CONFIG` that names the place, what was found and what was wanted. */
export function parseServerShape(input: unknown, place: string): ServerConfigInput {
  const result = v.safeParse(server, input);
  if (result.success) return result.output;
  const issues = result.issues.map((issue) => describe(issue, input));
  // A mistyped key also shows up as a missing one; the unknown key is the better explanation.
  issues.sort((a, b) => Number(b.unknownKey) - Number(a.unknownKey));
  throw configError(place, issues[0]!.text, issues.slice(1).map((issue) => issue.text));
}

/** The error for a configuration that cannot be used; `others` are further faults of the same server. */
export function configError(place: string, fault: string, others: readonly string[] = []): HostError {
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  return new HostError("ERR_CONFIG", `Cannot use ${place}: ${fault}${more}`, {
    facts: { place, faults: [fault, ...others] },
  });
}

function describe(
  issue: v.BaseIssue<unknown>,
  input: unknown,
): { readonly text: string; readonly unknownKey: boolean } {
  const path = (issue.path ?? []).map((item) => String(item.key));
  const key = path[path.length - 1] ?? "";
  const parent = path.slice(0, -1).join(".");
  if (issue.type === "strict_object" && issue.expected === "never") {
    const guess = nearestWord(key, KNOWN_KEYS[parent] ?? []);
    const where = parent === "" ? "" : ` in "${parent}"`;
    return {
      text: `unknown key "${key.slice(0, 64)}"${where}${guess === undefined ? "" : `, did you mean "${guess}"`}`,
      unknownKey: true,
    };
  }
  if (path.length === 0) return { text: `found ${kindOf(input)}, wanted an object`, unknownKey: false };
  if (issue.kind === "schema" && issue.received === "undefined") {
    return { text: `"${path.join(".")}" is missing`, unknownKey: false };
  }
  const wanted = issue.message;
  return { text: `"${path.join(".")}" is ${kindOf(issue.input)}, wanted ${wanted}`, unknownKey: false };
}
