import { whenAborted } from "../kernel/abort.ts";
import type { Clock, Timer } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";

/** What a log may take for the events of something that is over. */
const OVER_MS = 5000;

/** Whose events are written. */
export interface Writer {
  /** `the call of mcp.echo.echo`: what cannot go on without the log. */
  readonly what: string;
  /** Fires when it is over. */
  readonly signal: AbortSignal;
  /** How long a log that does not answer is waited for. */
  readonly timeoutMs: number;
  readonly clock: Clock;
}

/**
 * Waits for events that are on their way into the log: for as long as for a server, and not for long once that which they
 * belong to is over. Rejects with what writing failed with, and `ERR_TIMEOUT`.
 */
export function written(writing: Promise<unknown>, { what, signal, timeoutMs, clock }: Writer): Promise<unknown> {
  return new Promise((resolve, reject) => {
    let timer: Timer;
    const wait = (delayMs: number): void => {
      const found = `the event log has not answered within ${delayMs} ms`;
      timer = clock.after(delayMs, () => {
        leave();
        reject(new HostError("ERR_TIMEOUT", `Cannot go on with ${what}: ${found}`));
      });
    };
    const overMs = Math.min(timeoutMs, OVER_MS);
    wait(signal.aborted ? overMs : timeoutMs);
    const leave = whenAborted(signal, () => {
      timer.cancel();
      wait(overMs);
    });
    writing.then(resolve, reject).finally(() => {
      timer.cancel();
      leave();
    });
  });
}
