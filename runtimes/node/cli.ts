#!/usr/bin/env node
import { realpathSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type Choose, chooseOnTerminal, type Output, runCommandLine } from "../../src/cli/mod.ts";
import type { Runtime } from "../../src/kernel/runtime.ts";
import { nodeRuntime } from "./runtime.ts";

/** npm hands on a Ctrl-C that the terminal has already given to the whole group; within this time it is the same one. */
const SAME_SIGNAL_MS = 250;

/**
 * Runs the command line in this process and resolves to its exit code. The first Ctrl-C, SIGTERM, or loss of the
 * reader asks it to end; the second Ctrl-C or SIGTERM ends the process at once.
 */
export async function runCli(args: readonly string[], runtime: Runtime = nodeRuntime()): Promise<number> {
  const interruption = new AbortController();
  let firstSignalAt: number | undefined;
  const onSignal = (): void => {
    const now = performance.now();
    firstSignalAt ??= now;
    if (now - firstSignalAt > SAME_SIGNAL_MS) process.exit(130);
    interruption.abort();
  };
  // A question takes Ctrl-C as a key.
  const choose: Choose = async (question, choices, signal) => {
    const answer = await chooseOnTerminal(question, choices, signal);
    if (answer === undefined && !signal.aborted) onSignal();
    return answer;
  };
  const onLost = (): void => interruption.abort();
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  for (const stream of [process.stdout, process.stderr]) stream.on("error", onLost);
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
    process.off("SIGINT", onSignal).off("SIGTERM", onSignal);
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
