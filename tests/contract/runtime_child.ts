import type { ChildProcess, ExitStatus, ProcessHandlers, Runtime, SpawnPlan } from "../../src/kernel/runtime.ts";
import { assert, AssertionFailed } from "./contract.ts";

/** A child under test and everything it has told so far. */
export interface Watched {
  readonly child: ChildProcess;
  readonly exit: Promise<ExitStatus>;
  readonly end: Promise<void>;
  /** Calls of each handler. */
  readonly calls: { data: number; errorData: number; end: number; exit: number; inputClosed: number };
  /** Bytes on standard output and standard error. */
  readonly bytes: { data: number; errorData: number };
  /** Standard output so far, as text. */
  text(): string;
  /** Resolves once standard output holds `part`. */
  until(part: string): Promise<void>;
}

/** Answers to the chunks of one child; by default nothing is paused. */
export interface Answers {
  onData?(chunk: Uint8Array): void | Promise<void>;
  onErrorData?(chunk: Uint8Array): void | Promise<void>;
}

/** The environment of children that need no more than to find their programs. */
export function pathOnly(runtime: Runtime): Record<string, string> {
  return { PATH: runtime.environment()["PATH"] ?? "/usr/bin:/bin" };
}

/** Runs `sh -c script` with further arguments, lets `use` work with it, and leaves nothing of it behind. */
export async function withShell<T>(
  runtime: Runtime,
  script: string,
  use: (watched: Watched) => Promise<T>,
  answers: Answers & { readonly args?: readonly string[] } = {},
): Promise<T> {
  const args = ["-c", script, "sh", ...answers.args ?? []];
  return await withChild(runtime, { command: "sh", args, env: pathOnly(runtime) }, use, answers);
}

/** Starts the plan, lets `use` work with the child, and leaves nothing of it behind. */
export async function withChild<T>(
  runtime: Runtime,
  plan: SpawnPlan,
  use: (watched: Watched) => Promise<T>,
  answers: Answers = {},
): Promise<T> {
  const watched = await watch(runtime, plan, answers);
  try {
    return await use(watched);
  } finally {
    watched.child.kill("SIGKILL");
    await watched.exit;
    watched.child.release();
  }
}

/** Runs a program to its end and gives its standard output. */
export async function outputOf(runtime: Runtime, plan: Omit<SpawnPlan, "env"> & Partial<SpawnPlan>): Promise<string> {
  return await withChild(runtime, { env: pathOnly(runtime), ...plan }, async ({ child, exit, end, text }) => {
    child.closeInput();
    await Promise.all([exit, end]);
    return text();
  });
}

async function watch(runtime: Runtime, plan: SpawnPlan, answers: Answers): Promise<Watched> {
  const { spawn } = runtime;
  assert(spawn !== undefined, "the runtime has no spawn");
  const chunks: Uint8Array[] = [];
  const waiting = new Set<() => void>();
  const calls = { data: 0, errorData: 0, end: 0, exit: 0, inputClosed: 0 };
  const bytes = { data: 0, errorData: 0 };
  const [exit, exited] = deferred<ExitStatus>();
  const [end, ended] = deferred<void>();
  const handlers: ProcessHandlers = {
    onData(chunk) {
      calls.data++;
      bytes.data += chunk.byteLength;
      chunks.push(chunk);
      for (const check of waiting) check();
      return answers.onData?.(chunk);
    },
    onErrorData(chunk) {
      calls.errorData++;
      bytes.errorData += chunk.byteLength;
      return answers.onErrorData?.(chunk);
    },
    onEnd() {
      calls.end++;
      ended();
    },
    onInputClosed() {
      calls.inputClosed++;
    },
    onExit(status) {
      calls.exit++;
      exited(status);
    },
  };
  const text = (): string => new TextDecoder().decode(join(chunks));
  const until = (part: string): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!text().includes(part)) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
    });
  return { child: await spawn(plan, handlers), exit, end, calls, bytes, text, until };
}

/** A promise and the function that resolves it. */
export function deferred<T>(): [promise: Promise<T>, resolve: (value: T) => void] {
  let resolve!: (value: T) => void;
  return [new Promise<T>((take) => resolve = take), resolve];
}

export function join(chunks: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.byteLength, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

/**
 * Looks again and again, for what the system tells nobody: that a group is empty, that a descriptor is closed. Fails
 * after half a minute, which is much on a busy machine too.
 */
export async function eventually(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!await check()) {
    if (Date.now() > deadline) throw new AssertionFailed(`waited half a minute in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Whether a process runs, as another process sees it. One that has ended and was not reaped does not run. */
export async function processRuns(runtime: Runtime, pid: number): Promise<boolean> {
  const script = `kill -0 "$1" 2>/dev/null || exit 0
    case "$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null)" in Z*|X*) exit 0;; esac
    echo runs`;
  return (await outputOf(runtime, { command: "sh", args: ["-c", script, "sh", String(pid)] })) === "runs\n";
}

/**
 * Lets the same machinery carry four megabytes of another child. What was to arrive meanwhile has had every chance,
 * so what has not, does not.
 */
export async function giveEveryChance(runtime: Runtime): Promise<void> {
  await withShell(runtime, "head -c 4194304 /dev/zero", async ({ exit, end }) => {
    await Promise.all([exit, end]);
  });
}
