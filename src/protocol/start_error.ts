import { HostError, isHostError, isRemoteError, type RemoteError } from "../kernel/errors.ts";
import { wholeText } from "../kernel/foreign_text.ts";
import type { Dialer, TransportEnd } from "../transport/transport.ts";

/** What is known of a start that has failed, beside its error. */
export interface StartFacts {
  readonly dialer: Dialer;
  readonly startTimeoutMs: number;
  readonly waitedMs: number;
  /** How the latest connection ended, if it did. */
  readonly end: TransportEnd | undefined;
  /** What had failed before it. */
  readonly tried: readonly Step[];
}

/** One step of a start that came to nothing. */
export interface Step {
  readonly step: "server/discover" | "initialize";
  readonly error: HostError | RemoteError;
}

/** True when what took the handshake is no endpoint for it (2025-11-25, basic/transports, backwards compatibility). */
export function isAbsent(error: HostError | RemoteError): error is HostError {
  const status = isHostError(error, "ERR_PROTOCOL") ? error.facts["status"] : undefined;
  return status === 400 || status === 404 || status === 405;
}

/**
 * The error that a start fails with: adds how the process ended, the last of its standard error, the time waited and each
 * step that had failed before. What the older transport fails with says nothing about why the newer one was left: that
 * cause comes first.
 */
export function startError(
  latest: unknown,
  { dialer, startTimeoutMs, waitedMs, end, tried }: StartFacts,
): unknown {
  if (!isHostError(latest) && !isRemoteError(latest)) return latest;
  const refused = tried.find(({ step }) => step === "initialize")?.error;
  const error = isHostError(refused) && latest !== refused
    ? new HostError(refused.code, `${refused.message}; over ${dialer.name}: ${said(latest)}`, {
      cause: latest,
      facts: refused.facts,
    })
    : latest;
  const facts = {
    ...(isHostError(error) ? error.facts : { remoteCode: error.code }),
    ...(end === undefined ? {} : { ended: end.reason }),
    ...(end?.exitCode === undefined ? {} : { exitCode: end.exitCode }),
    ...(end?.stderrTail === undefined ? {} : { stderrTail: end.stderrTail }),
    ...(tried.length === 0 ? {} : { tried: tried.map((each) => `${each.step}: ${said(each.error)}`) }),
    waitedMs,
  };
  const failed = (reason: string): HostError =>
    new HostError("ERR_START_FAILED", `Cannot start a conversation: ${reason}`, { cause: error, facts });
  if (isRemoteError(error)) return failed(said(error));
  if (error.code === "ERR_TIMEOUT") {
    const found = `no usable answer within ${startTimeoutMs} ms`;
    const message = `Cannot start a conversation over ${dialer.name}: ${found}`;
    return new HostError("ERR_START_TIMEOUT", message, { cause: error, facts });
  }
  const isOver = error.code === "ERR_CONNECTION_LOST" && dialer.kind === "pipe";
  // Only the caller cancels a start; a server that cancels its handshake has refused it.
  const isRefused = error.code === "ERR_CANCELLED" && error.facts["by"] === "server";
  if (isOver || isRefused) return failed(said(error));
  return new HostError(error.code, error.message, { cause: error, facts });
}

function said(error: HostError | RemoteError): string {
  if (isRemoteError(error)) return `the server answered with error ${error.code}`;
  return error.message.charAt(0).toLowerCase() + error.message.slice(1);
}

/** The error for two ends without a revision in common. */
export function noCommonVersion(found: readonly string[], wanted: readonly string[]): HostError {
  const shown = found.slice(0, 10).map((version) => wholeText(version));
  const speaks = `the server speaks ${shown.join(", ")}; wanted one of ${wanted.join(", ")}`;
  return new HostError("ERR_VERSION", `Cannot agree on a protocol revision: ${speaks}`, {
    facts: { found: shown, wanted },
  });
}
