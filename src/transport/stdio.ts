import { type Clock, systemClock, type Timer } from "../kernel/clock.ts";
import { causeCode, HostError, isHostError } from "../kernel/errors.ts";
import type { ChildProcess, ExitStatus, SpawnFunction, SpawnPlan } from "../kernel/runtime.ts";
import { cancelled } from "../kernel/abort.ts";
import type { LargeFrames } from "./frames.ts";
import { ByteRing } from "./byte_ring.ts";
import { PipeReader } from "./pipe_reader.ts";
import { PipeWriter } from "./pipe_writer.ts";
import { stopTree } from "./stop_tree.ts";
import type { Dialer, Outgoing, Transport, TransportEnd, TransportHandlers, WireProfile } from "./transport.ts";

/** What to start and how to stop it. */
export interface StdioDialerOptions {
  readonly spawn: SpawnFunction;
  readonly command: string;
  readonly args?: readonly string[];
  /** The child's whole environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Default: the runtime's. */
  readonly clock?: Clock;
  /** Time from closing its input to killing what is left, default 5,000. */
  readonly stopGraceMs?: number;
  /** How lines over 1 MiB are read. Default: they are held whole, and over 8 MiB the connection is given up. */
  readonly frames?: LargeFrames | undefined;
}

const STDERR_RING_BYTES = 64 << 10;
/** More than is shown: whoever shows it scrubs first and cuts then, so that no half secret is left at its beginning. */
const STDERR_TAIL_BYTES = 16 << 10;
/** Text that may wait for a child that does not read. */
const MAX_QUEUED = 64 << 20;
/** How long after the exit what is still in the pipe is waited for; a grandchild may hold the pipe open for ever. */
const DRAIN_MS = 250;
/** How long a child that has closed its output may take to exit. */
const EXIT_AFTER_EOF_MS = 1000;

/**
 * Reaches a server that is a child process, over its standard input and output (specification, basic/transports, stdio).
 * Each `dial` starts one process.
 */
export function stdioDialer(options: StdioDialerOptions): Dialer {
  const plan: SpawnPlan = {
    command: options.command,
    args: options.args ?? [],
    env: options.env ?? {},
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  };
  return {
    kind: "pipe",
    name: "stdio",
    key: `stdio:${JSON.stringify([plan.command, plan.args, plan.cwd ?? null])}`,
    async dial(profile, handlers, signal): Promise<Transport> {
      if (signal?.aborted) throw cancelled(`Start of ${quote(plan.command)}`, signal);
      const transport = new StdioTransport(profile, handlers, options);
      await transport.start(plan);
      return transport;
    },
  };
}

class StdioTransport implements Transport {
  readonly #handlers: TransportHandlers;
  readonly #clock: Clock;
  readonly #spawn: SpawnFunction;
  readonly #graceMs: number;
  readonly #reader: PipeReader;
  readonly #writer: PipeWriter;
  readonly #stderr = new ByteRing(STDERR_RING_BYTES);
  #child: ChildProcess | undefined;
  #timer: Timer | undefined;
  #exit: ExitStatus | undefined;
  #outputEnded = false;
  #ending: TransportEnd | undefined;
  #reported = false;
  #onExit: (() => void) | undefined;
  #stopped: Promise<void> | undefined;

  constructor(profile: WireProfile, handlers: TransportHandlers, options: StdioDialerOptions) {
    this.#handlers = handlers;
    this.#clock = options.clock ?? systemClock;
    this.#spawn = options.spawn;
    this.#graceMs = options.stopGraceMs ?? 5000;
    this.#reader = new PipeReader(profile, handlers, (end) => this.#end(end), undefined, options.frames);
    this.#writer = new PipeWriter((text) => this.#child?.write(text), MAX_QUEUED);
  }

  async start(plan: SpawnPlan): Promise<void> {
    try {
      this.#child = await this.#spawn(plan, {
        onData: (chunk) => this.#reader.push(chunk),
        onErrorData: (chunk) => this.#stderr.push(chunk),
        onEnd: () => this.#onOutputEnd(),
        onInputClosed: () => this.#endUnlessExits("it closed its input without exiting"),
        onExit: (status) => this.#onChildExit(status),
      });
    } catch (cause) {
      if (isHostError(cause)) throw cause;
      const code = causeCode(cause);
      throw new HostError(
        "ERR_START_FAILED",
        `Cannot start ${quote(plan.command)}: ${START_TEXT[code] ?? `the system answered ${code}`}`,
        {
          cause,
          facts: { command: plan.command, cause: code },
        },
      );
    }
  }

  send(message: Outgoing): void | Promise<void> {
    if (!this.#writer.send(message)) {
      if (message.id === undefined) return;
      const error = new HostError(
        "ERR_TOO_LARGE",
        `Cannot send ${message.method}: the server has left over ${MAX_QUEUED} characters unread`,
      );
      return this.#handlers.onLost(message.id, { error, sent: false, refused: false });
    }
    return message.id === undefined ? this.#writer.flushed : undefined;
  }

  abandon(): void {
    // One pipe for all: there is nothing to let go of.
  }

  close(): Promise<void> {
    this.#end({ reason: "closed" });
    return this.#stopped ?? Promise.resolve();
  }

  #onOutputEnd(): void {
    this.#outputEnded = true;
    this.#reader.end();
    if (this.#ending !== undefined) return;
    if (this.#exit !== undefined) return this.#endByExit(this.#exit);
    this.#endUnlessExits("it closed its output without exiting");
  }

  /** A server that goes closes its pipes a little before it exits, and its exit says more. */
  #endUnlessExits(why: string): void {
    if (this.#ending !== undefined || this.#exit !== undefined) return;
    this.#timer?.cancel();
    this.#timer = this.#clock.after(EXIT_AFTER_EOF_MS, () => {
      const error = new HostError("ERR_CONNECTION_LOST", `Connection to the server was lost: ${why}`);
      this.#end({ reason: "exit", error });
    });
  }

  #onChildExit(status: ExitStatus): void {
    this.#exit = status;
    this.#onExit?.();
    if (this.#ending !== undefined) return;
    this.#timer?.cancel();
    if (this.#outputEnded) return this.#endByExit(status);
    this.#timer = this.#clock.after(DRAIN_MS, () => this.#endByExit(status));
  }

  #endByExit(status: ExitStatus): void {
    this.#reader.end();
    const how = status.signal === null ? `code ${status.code}` : `signal ${status.signal}`;
    this.#end({
      reason: status.signal === null ? "exit" : "signal",
      error: new HostError("ERR_CONNECTION_LOST", `Connection to the server was lost: it exited with ${how}`, {
        facts: { exitCode: status.code, signal: status.signal },
      }),
      ...(status.code === null ? {} : { exitCode: status.code }),
      ...(status.signal === null ? {} : { signal: status.signal }),
    });
  }

  /** The first reason wins. Everything of the process is stopped whatever the reason. */
  #end(end: TransportEnd): void {
    if (this.#ending !== undefined) return;
    this.#timer?.cancel();
    this.#ending = end;
    const unsent = this.#writer.close();
    this.#stopped = this.#stop(end.reason === "closed");
    const report = (): void => {
      if (this.#reported) return;
      this.#reported = true;
      const stderrTail = this.#stderr.tail(STDERR_TAIL_BYTES);
      this.#handlers.onClosed({ ...end, ...(stderrTail === "" ? {} : { stderrTail }) }, unsent);
    };
    // Asked for, the end is told once nothing is left; otherwise calls in flight must not wait for the stop.
    if (end.reason === "closed") this.#stopped.then(report);
    else report();
  }

  async #stop(politely: boolean): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    await stopTree(child, {
      clock: this.#clock,
      graceMs: this.#graceMs,
      politely,
      exited: () => this.#exit !== undefined,
      onExit: (listener) => {
        this.#onExit = listener;
      },
    });
    this.#reader.end();
  }
}

function quote(command: string): string {
  return JSON.stringify(command);
}

const START_TEXT: Readonly<Record<string, string>> = Object.freeze({
  ENOENT: "the command or its working directory was not found",
  NotFound: "the command or its working directory was not found",
  EACCES: "it is not executable, or permission was denied",
  PermissionDenied: "permission was denied",
  E2BIG: "its arguments and environment are too large",
});
