import { spawn } from "node:child_process";
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import type { Readable } from "node:stream";
import type { ChildProcess, ProcessHandlers, SpawnFunction, SpawnPlan } from "../../src/kernel/runtime.ts";
import { ProcessGroup } from "./process_group.ts";
import { endWindowsTree, windowsLaunch } from "./windows.ts";

const isWindows = process.platform === "win32";

/** Starts a child through `node:child_process`; serves Node and Bun. */
export const spawnNodeProcess: SpawnFunction = async (plan: SpawnPlan, handlers: ProcessHandlers) => {
  const launch = isWindows ? windowsLaunch(plan, existsSync) : { ...plan, verbatim: false };
  const child = spawn(launch.command, launch.args, {
    ...(plan.cwd === undefined ? {} : { cwd: plan.cwd }),
    env: { ...plan.env },
    stdio: ["pipe", "pipe", "pipe"],
    detached: !isWindows,
    windowsHide: true,
    windowsVerbatimArguments: launch.verbatim,
  });
  if (child.pid === undefined) throw await new Promise((resolve) => child.once("error", resolve));
  return new NodeChild(child, child.pid, handlers);
};

class NodeChild implements ChildProcess {
  readonly pid: number;
  readonly containment: "process_group" | "none" = isWindows ? "none" : "process_group";
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #group: ProcessGroup | undefined;
  readonly #writes = new Set<() => void>();
  #exited = false;
  #released = false;

  constructor(child: ChildProcessWithoutNullStreams, pid: number, handlers: ProcessHandlers) {
    this.pid = pid;
    this.#child = child;
    this.#group = isWindows ? undefined : new ProcessGroup(pid);
    child.on("error", () => {/* a signal that could not be sent; whether the child lives is told by its exit */});
    child.stdin.once("error", () => {
      // EPIPE: the reader has gone. If it is about to exit, that is reported by itself.
      child.stdin.on("error", () => {/* said once */});
      if (!this.#exited && !this.#released) handlers.onInputClosed?.();
    });
    child.once("exit", (code, signal) => {
      this.#exited = true;
      this.#group?.leaderExited();
      this.#dropInput();
      handlers.onExit(signal === null ? { code, signal } : { code: null, signal });
    });
    pump(child.stdout, (chunk) => this.#released ? undefined : handlers.onData(chunk), () => {
      if (!this.#released) handlers.onEnd();
    });
    child.stderr.on("error", () => {/* nothing depends on its end */});
    child.stderr.on("data", (chunk: Uint8Array) => {
      if (!this.#released) handlers.onErrorData(chunk);
    });
  }

  write(text: string): void | Promise<void> {
    const { stdin } = this.#child;
    if (!stdin.writable) return;
    let taken = false;
    let settle = (): void => {
      taken = true;
    };
    const room = stdin.write(text, () => settle());
    // Node calls back a tick later, but empties its buffer at once; Bun calls back at once, but reports no buffer.
    if (taken || (room && stdin.writableLength === 0)) return;
    return new Promise((resolve) => {
      settle = (): void => {
        this.#writes.delete(settle);
        resolve();
      };
      this.#writes.add(settle);
    });
  }

  closeInput(): void {
    this.#child.stdin.end();
  }

  kill(signal: "SIGTERM" | "SIGKILL"): void {
    if (this.#group !== undefined) return this.#group.signal(signal);
    if (!this.#exited) endWindowsTree(this.pid, () => this.#child.kill(signal));
  }

  groupAlive(): boolean {
    return this.#group?.alive() ?? !this.#exited;
  }

  release(): void {
    this.#released = true;
    this.#dropInput();
    this.#child.stdout.destroy();
    this.#child.stderr.destroy();
    this.#child.unref();
  }

  /** Nobody reads any more. Bun calls nobody back whose write was waiting, so they are told here. */
  #dropInput(): void {
    this.#child.stdin.destroy();
    for (const settle of this.#writes) settle();
  }
}

/**
 * Feeds a stream's chunks to `deliver`, pauses while a promise of it is open, and calls `end` after the last. When the
 * child exits, Node resumes its streams whatever their state (`flushStdio`), so a chunk or end that comes during a
 * pause is kept until it is over.
 */
function pump(stream: Readable, deliver: (chunk: Uint8Array) => void | Promise<void>, end: () => void): void {
  const early: Uint8Array[] = [];
  let paused = false;
  let state: "open" | "ended" | "told" = "open";
  const take = (chunk: Uint8Array): void => {
    const pause = deliver(chunk);
    if (pause === undefined) return;
    paused = true;
    stream.pause();
    void pause.finally(resume);
  };
  const resume = (): void => {
    paused = false;
    while (!paused && early.length > 0) take(early.shift()!);
    if (paused) return;
    stream.resume();
    tellEnd();
  };
  const tellEnd = (): void => {
    if (state !== "ended" || paused) return;
    state = "told";
    end();
  };
  const onEnd = (): void => {
    if (state === "open") state = "ended";
    tellEnd();
  };
  stream.on("data", (chunk: Uint8Array) => {
    if (!paused) return take(chunk);
    early.push(chunk);
    stream.pause();
  });
  stream.once("end", onEnd);
  stream.on("error", onEnd); // a broken pipe ends like a closed one
}
