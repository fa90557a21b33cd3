import { HostError, isHostError, isRemoteError } from "../kernel/errors.ts";
import type { Dialer, TransportEnd } from "../transport/transport.ts";

/** What is known of a start that has failed, beside its error. */
export interface StartFacts {
  readonly dialer: Dialer;
  readonly startTimeoutMs: number;
  readonly waitedMs: number;
  /** How the latest connection ended, if it did. */
  readonly end: TransportEnd | undefined;
}

/** The error that a start fails with: adds how the process ended, the last of its standard error and the time waited. */
export function startError(error: unknown, { dialer, startTimeoutMs, waitedMs, end }: StartFacts): unknown {
  if (!isHostError(error) && !isRemoteError(error)) return error;
  const facts = {
    ...(isHostError(error) ? error.facts : { remoteCode: error.code }),
    ...(end?.exitCode === undefined ? {} : { exitCode: end.exitCode }),
    ...(end?.stderrTail === undefined ? {} : { stderrTail: end.stderrTail }),
    waitedMs,
  };
  const failed = (reason: string): HostError =>
    new HostError("ERR_START_FAILED", `Cannot start a conversation: ${reason}`, { cause: error, facts });
  if (isRemoteError(error)) return failed(`the server answered with error ${error.code}`);
  if (error.code === "ERR_TIMEOUT") {
    const found = `no usable answer within ${startTimeoutMs} ms`;
    const message = `Cannot start a conversation over ${dialer.name}: ${found}`;
    return new HostError("ERR_START_TIMEOUT", message, { cause: error, facts });
  }
  const isOver = error.code === "ERR_CONNECTION_LOST" && dialer.kind === "pipe";
  // Only the caller cancels a start; a server that cancels its handshake has refused it.
  const isRefused = error.code === "ERR_CANCELLED" && error.facts["by"] === "server";
  if (isOver || isRefused) return failed(error.message.charAt(0).toLowerCase() + error.message.slice(1));
  return new HostError(error.code, error.message, { cause: error, facts });
}

/** The error for two ends without a revision in common. */
export function noCommonVersion(found: readonly string[], wanted: readonly string[]): HostError {
  const shown = found.slice(0, 10).map((version) => version.slice(0, 40));
  const speaks = `the server speaks ${shown.join(", ")}; wanted one of ${wanted.join(", ")}`;
  return new HostError("ERR_VERSION", `Cannot agree on a protocol revision: ${speaks}`, {
    facts: { found: shown, wanted },
  });
}
