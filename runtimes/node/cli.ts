#!/usr/bin/env node
import { realpathSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Choose, chooseOnTerminal, type Output, runCommandLine } from "../../src/cli/mod.ts";
import type { Runtime } from "../../src/kernel/runtime.ts";
import { nodeRuntime } from "./runtime.ts";

/** npm hands on a Ctrl-C that the terminal has already given to the whole group; within this time it is the same one. */
const SAME_SIGNAL_MS = 500;

/** Whether this process was asked to end. */
export interface Interruption {
  /** Fires at the first Ctrl-C or SIGTERM, and when the terminal or the reader of the output has gone. */
  readonly signal: AbortSignal;
  /** As a Ctrl-C that came as a key. */
  interrupt(): void;
  /** Stops listening. */
  end(): void;
}

/**
 * Listens for Ctrl-C and SIGTERM: the first asks this process to end, the second ends it at once with 130. A terminal
 * that closes (SIGHUP) asks it to end as well.
 */
export function listenForInterruption(): Interruption {
  const controller = new AbortController();
  let firstAt: number | undefined;
  const interrupt = (): void => {
    const now = performance.now();
    firstAt ??= now;
    if (now - firstAt > SAME_SIGNAL_MS) process.exit(130);
    controller.abort();
  };
  const onLost = (): void => controller.abort();
  process.on("SIGINT", interrupt).on("SIGTERM", interrupt).on("SIGHUP", onLost);
  // Without a listener the loss of a reader would be an uncaught error, also of what is written after `end`.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", onLost);
  return {
    signal: controller.signal,
    interrupt,
    end: () => void process.off("SIGINT", interrupt).off("SIGTERM", interrupt).off("SIGHUP", onLost),
  };
}

/**
 * Runs the command line in this process and resolves to its exit code. It listens for interruptions itself unless it is
 * given one; whoever gives it ends it.
 */
export async function runCli(
  args: readonly string[],
  runtime: Runtime = nodeRuntime(),
  given?: Interruption,
): Promise<number> {
  const interruption = given ?? listenForInterruption();
  // A question takes Ctrl-C as a key.
  const choose: Choose = async (question, choices, signal) => {
    const answer = await chooseOnTerminal(question, choices, signal);
    if (answer === undefined && !signal.aborted) interruption.interrupt();
    return answer;
  };
  try {
    return await runCommandLine({
      runtime,
      args,
      out: outputOf(process.stdout),
      err: outputOf(process.stderr),
      choose: process.stdin.isTTY && process.stdout.isTTY ? choose : undefined,
      interrupted: interruption.signal,
    });
  } finally {
    if (given === undefined) interruption.end();
  }
}

function outputOf(stream: NodeJS.WriteStream): Output {
  return {
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.isTTY ? stream.columns : undefined;
    },
    write(text: string): void | Promise<void> {
      if (stream.destroyed || stream.write(text)) return;
      // A reader that goes away closes the stream instead of draining it.
      return new Promise((resolve) => {
        const done = (): void => {
          stream.off("drain", done).off("close", done);
          resolve();
        };
        stream.on("drain", done).on("close", done);
      });
    },
  };
}

/** True when this file is the program, also through a link in `node_modules/.bin`. */
function isProgram(): boolean {
  try {
    return process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url);
  } catch {
    // No file of that name: the program came from somewhere else.
    return false;
  }
}

if (isProgram()) process.exitCode = await runCli(process.argv.slice(2));
