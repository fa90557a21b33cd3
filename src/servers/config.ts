import { causeCode, isHostError } from "../kernel/errors.ts";
import type { Risk } from "../permission/request.ts";
import type { LogLevel } from "../protocol/request_meta.ts";
import { SERVER_DEFAULTS } from "./config_defaults.ts";
import type { AuthType, ServerConfigInput } from "./config_input.ts";
import { configError, parseServerShape } from "./config_shape.ts";
import { type HttpTransportConfig, type StdioTransportConfig, transportOf } from "./config_transport.ts";

export type { HttpTransportConfig, StdioTransportConfig } from "./config_transport.ts";

/** What to do when a server crashes. See the restart policy. */
export interface RestartConfig {
  readonly auto: boolean;
  readonly maxRestarts: number;
  readonly baseMs: number;
  readonly capMs: number;
  readonly resetAfterMs: number;
}

/** One server as the host uses it: validated, with every default filled in. */
export interface ServerConfig {
  readonly name: string;
  readonly transport: StdioTransportConfig | HttpTransportConfig;
  readonly enabled: boolean;
  /** Silence after which a call fails, ms; progress starts it again, and each further 64 KiB of a long answer. */
  readonly timeoutMs: number;
  /** Total after which a call fails, ms. */
  readonly maxTotalMs: number;
  readonly startTimeoutMs: number;
  readonly probeTimeoutMs: number;
  readonly stopGraceMs: number;
  readonly restart: RestartConfig;
  readonly auth: { readonly type: AuthType; readonly [key: string]: unknown };
  /** `allow` empty: all. */
  readonly tools: {
    readonly allow: readonly string[];
    readonly deny: readonly string[];
    readonly risk: Readonly<Record<string, Risk>>;
  };
  readonly trustAnnotations: boolean;
  readonly onToolChange: "ask" | "block" | "allow";
  readonly sandbox?: Readonly<Record<string, unknown>>;
  readonly idleMs?: number;
  readonly pingMs?: number;
  /** The least grave log messages that are wanted. Absent: what the server sends by itself, from `warning` up. */
  readonly logLevel?: LogLevel;
  readonly reconnect: "never" | "lazy";
  /** Speak this protocol revision and no other. */
  readonly pin?: string;
  readonly required: boolean;
}

/** What both spellings of a tool's name can carry; the catalog takes them apart by the same rule. */
const RESERVED: ReadonlySet<string> = new Set(["mcp", "local"]);
const NAME = /^(?!.*__)[A-Za-z0-9_-]{0,31}[A-Za-z0-9-]$/;

/**
 * Checks what a user wrote and fills in every default. `place` says where it was written, for messages; the server's
 * name if it is left out. Throws `ERR_CONFIG` that names the place, what was found and what was wanted, never a value;
 * nothing else, whatever the input does when it is read.
 */
export function normaliseServer(input: unknown, place: string = placeOf(input)): ServerConfig {
  try {
    return normalise(input, place);
  } catch (error) {
    throw asConfigError(error, place);
  }
}

/** What a configuration failed with: a getter or a proxy of the user's may have thrown anything. */
export function asConfigError(error: unknown, place: string): unknown {
  if (isHostError(error)) return error;
  return configError(place, `a member of it threw ${causeCode(error)} when it was read, wanted plain values`);
}

function normalise(input: unknown, place: string): ServerConfig {
  const shape = parseServerShape(input, place);
  if (!NAME.test(shape.name) || RESERVED.has(shape.name)) {
    const wanted = 'wanted 1 to 32 of A-Z a-z 0-9 _ -, no "__", no "_" at the end, neither "mcp" nor "local"';
    throw configError(place, `"name" is not usable, ${wanted}`);
  }
  const timeoutMs = timeoutOf(shape, place);
  const restart = { ...SERVER_DEFAULTS.restart, ...withoutUndefined(shape.restart ?? {}) };
  if (restart.capMs < restart.baseMs) throw configError(place, `"restart.capMs" is below "restart.baseMs"`);
  const transport = transportOf(shape, place);
  return Object.freeze({
    name: shape.name,
    transport,
    enabled: shape.enabled ?? true,
    timeoutMs,
    maxTotalMs: shape.maxTotalMs ?? Math.max(SERVER_DEFAULTS.maxTotalMs, timeoutMs),
    startTimeoutMs: shape.startTimeoutMs ?? SERVER_DEFAULTS.startTimeoutMs,
    probeTimeoutMs: shape.probeTimeoutMs ?? SERVER_DEFAULTS.probeTimeoutMs,
    stopGraceMs: shape.stopGraceMs ?? SERVER_DEFAULTS.stopGraceMs,
    restart: Object.freeze(restart),
    auth: authOf(shape, transport, place),
    tools: Object.freeze({
      allow: shape.tools?.allow ?? [],
      deny: shape.tools?.deny ?? [],
      risk: shape.tools?.risk ?? {},
    }),
    trustAnnotations: shape.trustAnnotations ?? false,
    onToolChange: shape.onToolChange ?? "ask",
    ...(shape.sandbox === undefined ? {} : { sandbox: shape.sandbox }),
    ...(shape.idleMs === undefined ? {} : { idleMs: shape.idleMs }),
    ...(shape.pingMs === undefined ? {} : { pingMs: shape.pingMs }),
    ...(shape.logLevel === undefined ? {} : { logLevel: shape.logLevel }),
    reconnect: shape.reconnect ?? "never",
    ...(shape.protocol?.pin === undefined ? {} : { pin: shape.protocol.pin }),
    required: shape.required ?? false,
  });
}

/** How messages call a server that was given in code. */
export function placeOf(input: unknown): string {
  const name = memberOf(input, "name");
  return typeof name === "string" && name !== ""
    ? `server ${JSON.stringify(name.slice(0, 64))}`
    : "server without a name";
}

/** A member of what may be anything; `undefined` also where reading it fails, which is told where all of it is read. */
export function memberOf(input: unknown, key: string): unknown {
  try {
    return typeof input === "object" && input !== null ? (input as Record<string, unknown>)[key] : undefined;
  } catch {
    // Whoever reads the whole input meets the same fault and reports it.
    return undefined;
  }
}

function timeoutOf(shape: ServerConfigInput, place: string): number {
  const given = {
    timeoutMs: shape.timeoutMs,
    timeout_ms: shape.timeout_ms,
    toolTimeoutMs: shape.toolTimeoutMs,
    toolTimeoutSecs: shape.toolTimeoutSecs === undefined ? undefined : Math.ceil(shape.toolTimeoutSecs * 1000),
    tool_timeout_secs: shape.tool_timeout_secs === undefined ? undefined : Math.ceil(shape.tool_timeout_secs * 1000),
  };
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  if (set.length > 1) {
    throw configError(
      place,
      `${set.map(([key]) => `"${key}"`).join(" and ")} are spellings of one setting, wanted one of them`,
    );
  }
  return set[0]?.[1] ?? SERVER_DEFAULTS.timeoutMs;
}

function authOf(
  shape: ServerConfigInput,
  transport: StdioTransportConfig | HttpTransportConfig,
  place: string,
): ServerConfig["auth"] {
  const oauth = shape.oauth ?? undefined;
  if (oauth !== undefined && shape.auth !== undefined) {
    throw configError(place, `"oauth" and "auth" are given, wanted one of them`);
  }
  const auth: ServerConfig["auth"] = oauth === undefined ? shape.auth ?? { type: "none" } : { ...oauth, type: "oauth" };
  if (auth.type === "none") return Object.freeze(auth);
  if (transport.type === "stdio") {
    throw configError(place, `"auth" has no meaning for a server that is a child process, wanted "env"`);
  }
  if (auth.type !== "bearer") return Object.freeze(auth);
  const { token } = auth;
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) {
    throw configError(place, `"auth.token" is missing or not one word of printable characters`);
  }
  if (Object.keys(transport.headers).some((name) => name.toLowerCase() === "authorization")) {
    throw configError(place, `"auth" and a header "authorization" are given, wanted one of them`);
  }
  return Object.freeze(auth);
}

function withoutUndefined<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
