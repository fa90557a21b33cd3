import { causeCode, isHostError } from "../kernel/errors.ts";
import type { TransportEnd } from "../transport/transport.ts";

/** `mcp.server.crashed.reason` */
export type CrashReason =
  | "exit"
  | "signal"
  | "start_failed"
  | "start_timeout"
  | "frame_too_large"
  | "noise"
  | "flood"
  | "over_limit"
  | "unreachable";

/** How a server ended that was not asked to; texts are not scrubbed yet. */
export interface Crash {
  readonly reason: CrashReason;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly stderrTail?: string;
  /** Trying again cannot help: what is missing is not the server's. */
  readonly final: boolean;
  readonly error: unknown;
}

/** What starting again cannot change. */
const FINAL: ReadonlySet<string> = new Set([
  "ERR_CONFIG",
  "ERR_UNSUPPORTED_HERE",
  "ERR_SANDBOX_UNAVAILABLE",
  "ERR_NOT_LOGGED",
]);

/** A connection that was in use has ended by itself. */
export function crashOfEnd(end: TransportEnd): Crash {
  return {
    // A connection that is closed without our asking can only be one that we lost.
    reason: end.reason === "closed" ? "exit" : end.reason,
    ...(end.exitCode === undefined ? {} : { exitCode: end.exitCode }),
    ...(end.signal === undefined ? {} : { signal: end.signal }),
    ...(end.stderrTail === undefined ? {} : { stderrTail: end.stderrTail }),
    final: false,
    error: end.error,
  };
}

/** A start has failed. `end` is how the connection ended meanwhile, if it did. */
export function crashOfStart(error: unknown, end: TransportEnd | undefined): Crash {
  const facts = isHostError(error) ? error.facts : {};
  const exitCode = end?.exitCode ?? facts["exitCode"];
  const signal = end?.signal ?? facts["signal"];
  const stderrTail = end?.stderrTail ?? facts["stderrTail"];
  return {
    reason: startReason(error, end),
    ...(typeof exitCode === "number" ? { exitCode } : {}),
    ...(typeof signal === "string" ? { signal } : {}),
    ...(typeof stderrTail === "string" ? { stderrTail } : {}),
    final: FINAL.has(causeCode(error)),
    error,
  };
}

function startReason(error: unknown, end: TransportEnd | undefined): CrashReason {
  if (isHostError(error, "ERR_START_TIMEOUT") || isHostError(error, "ERR_TIMEOUT")) return "start_timeout";
  if (isHostError(error, "ERR_FRAME_TOO_LARGE")) return "frame_too_large";
  // Of a child process it would be a failed start: only a server elsewhere can be out of reach.
  if (end === undefined && isHostError(error, "ERR_CONNECTION_LOST")) return "unreachable";
  const ended = end?.reason ?? (isHostError(error) ? error.facts["ended"] : undefined);
  switch (ended) {
    case "frame_too_large":
    case "noise":
    case "flood":
    case "unreachable":
      return ended;
    default:
      return "start_failed";
  }
}
