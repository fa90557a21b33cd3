import type { ChildProcess, ExitStatus, ProcessHandlers, SpawnFunction, SpawnPlan } from "../../src/kernel/runtime.ts";
import { ProcessGroup } from "../node/process_group.ts";
import { endWindowsTree } from "../node/windows.ts";
import { refusalOf } from "./permission.ts";
import { pump } from "./pump.ts";

/** Asked where it is needed: importing an entry does nothing, on other runtimes too. */
const isWindows = (): boolean => Deno.build.os === "windows";

/** Starts a child through `Deno.Command`, which needs far less memory for much output than `node:child_process`. */
export const spawnDenoProcess: SpawnFunction = async (plan: SpawnPlan, handlers: ProcessHandlers) => {
  const command = new Deno.Command(plan.command, {
    args: [...plan.args],
    ...(plan.cwd === undefined ? {} : { cwd: plan.cwd }),
    env: { ...plan.env },
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
    detached: !isWindows(),
  });
  let child: Deno.ChildProcess;
  try {
    child = command.spawn();
  } catch (error) {
    throw refusalOf(error, `start ${JSON.stringify(plan.command)}`);
  }
  return new DenoChild(child, handlers);
};

class DenoChild implements ChildProcess {
  readonly pid: number;
  readonly containment: "process_group" | "none" = isWindows() ? "none" : "process_group";
  readonly #child: Deno.ChildProcess;
  readonly #group: ProcessGroup | undefined;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  readonly #readers: readonly ReadableStreamBYOBReader[];
  readonly #handlers: ProcessHandlers;
  readonly #encoder = new TextEncoder();
  readonly #writes = new Set<() => void>();
  #inputOpen = true;
  #exited = false;
  #released = false;

  constructor(child: Deno.ChildProcess, handlers: ProcessHandlers) {
    this.pid = child.pid;
    this.#child = child;
    this.#handlers = handlers;
    this.#group = isWindows() ? undefined : new ProcessGroup(child.pid);
    this.#input = child.stdin.getWriter();
    const output = child.stdout.getReader({ mode: "byob" });
    const errors = child.stderr.getReader({ mode: "byob" });
    this.#readers = [output, errors];
    void child.status.then((status) => {
      this.#exited = true;
      this.#group?.leaderExited();
      this.#dropInput();
      handlers.onExit(exitStatus(status));
    });
    void pump(output, (chunk) => this.#released ? undefined : handlers.onData(chunk)).then(() => {
      if (!this.#released) handlers.onEnd();
    });
    void pump(errors, (chunk) => {
      if (!this.#released) handlers.onErrorData(chunk);
    });
  }

  write(text: string): void | Promise<void> {
    if (!this.#inputOpen) return;
    const writing = this.#input.write(this.#encoder.encode(text));
    return new Promise((resolve) => {
      const settle = (): void => {
        this.#writes.delete(settle);
        resolve();
      };
      this.#writes.add(settle);
      writing.then(settle, () => {
        settle();
        this.#onWriteFailed();
      });
    });
  }

  /** The reader has gone. If it is about to exit, that is reported by itself. */
  #onWriteFailed(): void {
    if (!this.#inputOpen || this.#exited) return;
    this.#inputOpen = false;
    this.#handlers.onInputClosed?.();
  }

  closeInput(): void {
    if (!this.#inputOpen) return;
    this.#inputOpen = false;
    this.#input.close().catch(() => {/* the reader has gone; its exit is reported */});
  }

  kill(signal: "SIGTERM" | "SIGKILL"): void {
    if (this.#group !== undefined) return this.#group.signal(signal);
    if (!this.#exited) endWindowsTree(this.pid, () => this.#killAlone(signal));
  }

  groupAlive(): boolean {
    return this.#group?.alive() ?? !this.#exited;
  }

  release(): void {
    this.#released = true;
    this.#dropInput();
    for (const reader of this.#readers) reader.cancel().catch(() => {/* it had broken before */});
    this.#child.unref();
  }

  #killAlone(signal: "SIGTERM" | "SIGKILL"): void {
    try {
      this.#child.kill(signal);
    } catch {
      // It has ended since; the exit is reported by itself.
    }
  }

  /**
   * Nobody reads any more. Deno (2.9) has no way to take back a write that the system has not taken: its caller is told
   * here, while the pipe, and this process with it, stays open until the last reader goes.
   */
  #dropInput(): void {
    this.#inputOpen = false;
    this.#input.abort().catch(() => {/* it was closed or had broken before */});
    for (const settle of this.#writes) settle();
  }
}

/** Deno sets both members for a signal: `code` is then 128 and the signal's number. */
function exitStatus({ code, signal }: Deno.CommandStatus): ExitStatus {
  return signal === null ? { code, signal } : { code: null, signal };
}
