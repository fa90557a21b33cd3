import { HostError } from "../kernel/errors.ts";
import type { HostEvent } from "./event.ts";

/** The error for an append whose owner has been replaced or whose place in the stream is taken. */
export function fenced(stream: string, found: string): HostError {
  return new HostError("ERR_FENCED", `Cannot append to stream "${stream}": ${found}`, { facts: { stream } });
}

/** Throws `ERR_FENCED` unless a batch goes on exactly where the stream ends, without a gap inside. */
export function checkBatch(stream: string, head: number, expectedSeq: number, events: readonly HostEvent[]): void {
  if (expectedSeq !== head) {
    throw fenced(stream, `it ends at seq ${head}, the append expected ${expectedSeq}`);
  }
  let seq = head;
  for (const event of events) {
    if (event.seq !== ++seq) throw fenced(stream, `found an event with seq ${event.seq}, wanted ${seq}`);
  }
}

/** The error for a stream that another owner in this process holds. */
export function locked(stream: string): HostError {
  return new HostError(
    "ERR_LOG_LOCKED",
    `Cannot open stream "${stream}": another owner holds it; close that one, or take over`,
    { facts: { stream } },
  );
}

/** The error for a directory whose lock somebody has; `endsInMs` from now it ends unless its owner lives. */
export function lockedDirectory(stream: string, directory: string, endsInMs: number | undefined): HostError {
  const wait = endsInMs === undefined ? "" : `wait ${Math.ceil(endsInMs / 1000)} s, after which its lock ends, or `;
  return new HostError(
    "ERR_LOG_LOCKED",
    `Cannot open stream "${stream}": another process has the log; close that one; if it is gone, ${wait}open the host with takeOver: true`,
    { facts: { stream, directory, ...(endsInMs === undefined ? {} : { endsInMs }) } },
  );
}
