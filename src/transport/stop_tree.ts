import type { Clock } from "../kernel/clock.ts";
import { sleep } from "../kernel/clock.ts";
import type { ChildProcess } from "../kernel/runtime.ts";

export interface StopTreeOptions {
  readonly clock: Clock;
  /** From the first step to the last resort. */
  readonly graceMs: number;
  /** Close the input first and give the server time to leave by itself. */
  readonly politely: boolean;
  exited(): boolean;
  /** Registers the one listener for the direct child's exit. */
  onExit(listener: (() => void) | undefined): void;
}

/** How often a group without its leader is looked at: nothing tells when the last of it goes. */
const LOOK_MS = 20;
/** How long what was killed may take to be gone; one in an uninterruptible wait may take for ever. */
const KILL_MS = 1000;

/**
 * Stops a child and everything it started: close its input, wait, SIGTERM to the group, wait, SIGKILL to the group
 * (specification, basic/lifecycle, shutdown over stdio). Never waits for pipes to close, since a grandchild may hold
 * them. Resolves when the group is empty, or a second after it was killed; never rejects.
 */
export async function stopTree(child: ChildProcess, options: StopTreeOptions): Promise<void> {
  const { clock, graceMs } = options;
  const start = clock.monotonic();
  const patience = graceMs / 5;
  if (options.politely && !options.exited()) {
    child.closeInput();
    await exitWithin(options, patience);
  }
  if (isGone(child, options)) return child.release();
  child.kill("SIGTERM");
  await goneBefore(start + graceMs, child, options);
  if (!isGone(child, options)) {
    child.kill("SIGKILL");
    await goneBefore(clock.monotonic() + KILL_MS, child, options);
  }
  child.release();
}

async function goneBefore(deadline: number, child: ChildProcess, options: StopTreeOptions): Promise<void> {
  const { clock } = options;
  await exitWithin(options, deadline - clock.monotonic());
  while (!isGone(child, options) && clock.monotonic() < deadline) await sleep(clock, LOOK_MS);
}

function isGone(child: ChildProcess, options: StopTreeOptions): boolean {
  return options.exited() && !child.groupAlive();
}

function exitWithin(options: StopTreeOptions, delayMs: number): Promise<void> {
  if (options.exited() || delayMs <= 0) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = options.clock.after(delayMs, done);
    options.onExit(done);
    function done(): void {
      timer.cancel();
      options.onExit(undefined);
      resolve();
    }
  });
}
