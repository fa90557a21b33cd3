import { describe, expect, test } from "vitest";
import type { ChildProcess, ExitStatus, ProcessHandlers, SpawnPlan } from "../../../src/kernel/runtime.ts";
import { stdioDialer } from "../../../src/transport/stdio.ts";
import type { Transport } from "../../../src/transport/transport.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { listener, profile, type Told } from "./scripted_fetch.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const line = (value: object): Uint8Array => bytesOf(`${JSON.stringify(value)}\n`);
const answer = (id: number): Uint8Array => line({ jsonrpc: "2.0", id, result: {} });

/** A child that does what the test says and keeps what is done to it. */
class FakeChild implements ChildProcess {
  readonly pid = 7;
  readonly containment = "process_group";
  readonly done: string[] = [];
  readonly written: string[] = [];
  handlers!: ProcessHandlers;
  alive = true;
  /** Whether it leaves when its input ends. */
  polite = true;
  /** Keeps writes waiting until the test takes them. */
  waiting: (() => void)[] | undefined;

  write(text: string): void | Promise<void> {
    this.written.push(text);
    if (this.waiting !== undefined) return new Promise((resolve) => this.waiting!.push(resolve));
  }
  closeInput(): void {
    this.done.push("eof");
    if (this.polite) this.exit({ code: 0, signal: null });
  }
  kill(signal: "SIGTERM" | "SIGKILL"): void {
    this.done.push(signal);
    this.exit({ code: null, signal });
  }
  groupAlive(): boolean {
    return this.alive;
  }
  release(): void {
    this.done.push("release");
  }
  exit(status: ExitStatus): void {
    if (!this.alive) return;
    this.alive = false;
    this.handlers.onExit(status);
  }
}

interface Open {
  readonly child: FakeChild;
  readonly clock: FakeClock;
  readonly transport: Transport;
  readonly told: Told[];
  readonly plans: SpawnPlan[];
}

async function open(): Promise<Open> {
  const child = new FakeChild();
  const clock = new FakeClock();
  const { handlers, told } = listener();
  const plans: SpawnPlan[] = [];
  const dialer = stdioDialer({
    command: "server",
    args: ["--x", "a b"],
    env: { A: "1" },
    cwd: "/srv",
    clock,
    spawn: (plan, processHandlers) => {
      plans.push(plan);
      child.handlers = processHandlers;
      return Promise.resolve(child);
    },
  });
  return { child, clock, transport: await dialer.dial(profile(), handlers), told, plans };
}

const call = (id: number): { text: string; method: string; id: number } => ({ text: `call ${id}`, method: "m", id });

describe("start over stdio", () => {
  test("hands the plan over exactly as given: nothing is added to the environment (FR-10, C-STDIO-11)", async () => {
    const { plans, clock, told } = await open();
    expect(plans).toEqual([{ command: "server", args: ["--x", "a b"], env: { A: "1" }, cwd: "/srv" }]);
    expect([clock.timers, told]).toEqual([0, []]);
  });

  const failures: [code: string, text: string][] = [
    ["ENOENT", "was not found"],
    ["EACCES", "permission was denied"],
    ["E2BIG", "too large"],
    ["EMFILE", "the system answered EMFILE"],
  ];
  test.each(failures)("that fails with %s says what was tried and why, without the arguments", async (code, text) => {
    const spawn = (): Promise<never> => Promise.reject(Object.assign(new Error("spawn secret"), { code }));
    const { handlers, told } = listener();
    const dialer = stdioDialer({ spawn, command: "no server", args: ["secret"], clock: new FakeClock() });
    await expect(dialer.dial(profile(), handlers)).rejects.toMatchObject({
      code: "ERR_START_FAILED",
      facts: { command: "no server", cause: code },
      message: expect.stringContaining(text),
    });
    await expect(dialer.dial(profile(), handlers)).rejects.not.toMatchObject({
      message: expect.stringContaining("secret"),
    });
    expect(told).toEqual([]);
  });

  test("does not happen when its signal is aborted", async () => {
    const spawn = (): Promise<never> => Promise.reject(new Error("started"));
    const dialer = stdioDialer({ spawn, command: "server", clock: new FakeClock() });
    await expect(dialer.dial(profile(), listener().handlers, AbortSignal.abort())).rejects.toMatchObject({
      code: "ERR_CANCELLED",
    });
  });
});

describe("exit of the child", () => {
  test("with a code ends the connection when its output has, with the tail of its errors", async () => {
    const { child, told, clock } = await open();
    child.handlers.onErrorData(bytesOf("one\ntwo\n"));
    child.exit({ code: 3, signal: null });
    child.handlers.onData(answer(1));
    expect(told.map(({ on }) => on)).toEqual(["message"]);
    child.handlers.onEnd();
    expect(told.slice(1)).toMatchObject([{
      on: "closed",
      end: {
        reason: "exit",
        exitCode: 3,
        stderrTail: "one\ntwo",
        error: { code: "ERR_CONNECTION_LOST", facts: { exitCode: 3 } },
      },
    }]);
    await clock.advance(10_000);
    expect([child.done, told.length, clock.timers]).toEqual([["release"], 2, 0]);
  });

  test("by a signal is told as that", async () => {
    const { child, told } = await open();
    child.exit({ code: null, signal: "SIGSEGV" });
    child.handlers.onEnd();
    expect(told).toMatchObject([{ on: "closed", end: { reason: "signal", signal: "SIGSEGV" } }]);
  });

  test("after the end of its output ends the connection at once", async () => {
    const { child, told, clock } = await open();
    child.handlers.onEnd();
    expect([told, clock.timers]).toEqual([[], 1]);
    child.exit({ code: 0, signal: null });
    expect(told).toMatchObject([{ on: "closed", end: { reason: "exit", exitCode: 0 } }]);
    await settle();
    expect(clock.timers).toBe(0);
  });

  test("does not wait for an output that a grandchild holds (FR-08)", async () => {
    const { child, told, clock } = await open();
    child.exit({ code: 0, signal: null });
    await clock.advance(249);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toMatchObject([{ on: "closed", end: { reason: "exit" } }]);
    child.handlers.onData(answer(1));
    child.handlers.onEnd();
    expect(told).toHaveLength(1);
  });

  test("delivers an unfinished last line first (FR-02)", async () => {
    const { child, told } = await open();
    child.handlers.onData(answer(1).subarray(0, -1));
    child.exit({ code: 0, signal: null });
    child.handlers.onEnd();
    expect(told.map(({ on }) => on)).toEqual(["message", "closed"]);
  });

  test("that never follows the end of the input is forced, and says so (FR-06)", async () => {
    const { child, told, clock } = await open();
    child.handlers.onInputClosed!();
    await clock.advance(999);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toMatchObject([{ on: "closed", end: { reason: "exit", error: { code: "ERR_CONNECTION_LOST" } } }]);
    expect(child.done).toEqual(["SIGTERM", "release"]);
  });

  test("that follows the end of the input says more than it", async () => {
    const { child, told } = await open();
    child.handlers.onInputClosed!();
    child.exit({ code: 3, signal: null });
    child.handlers.onEnd();
    expect(told).toMatchObject([{ on: "closed", end: { reason: "exit", exitCode: 3 } }]);
  });

  test("that never follows the end of the output is forced", async () => {
    const { child, told, clock } = await open();
    child.handlers.onEnd();
    await clock.advance(1000);
    expect(told).toMatchObject([{ on: "closed", end: { reason: "exit", error: { code: "ERR_CONNECTION_LOST" } } }]);
    expect(child.done).toEqual(["SIGTERM", "release"]);
  });
});

describe("fault of the child", () => {
  test.each([["an endless line", "a".repeat(9 << 20), "frame_too_large"], [
    "nothing but noise",
    "noise\n".repeat(200),
    "noise",
  ]])(
    "%s ends the connection at once and the process after it",
    async (_claim, text, reason) => {
      const { child, told, clock, transport } = await open();
      child.handlers.onData(bytesOf(text));
      expect(told.at(-1)).toMatchObject({ on: "closed", end: { reason, error: {} } });
      const { length } = told;
      child.handlers.onData(answer(1));
      await clock.advance(6000);
      await transport.close();
      expect(told).toHaveLength(length);
      expect(child.done).toEqual(["SIGTERM", "release"]);
    },
  );
});

describe("close over stdio", () => {
  test("asks politely, waits, and tells its end when nothing is left (C-STDIO-04)", async () => {
    const { child, told, transport, clock } = await open();
    const closing = transport.close();
    expect(told).toEqual([]);
    await Promise.all([closing, transport.close()]);
    expect(child.done).toEqual(["eof", "release"]);
    expect(told).toEqual([{ on: "closed", end: { reason: "closed" }, unsent: [] }]);
    expect(clock.timers).toBe(0);
  });

  test("still takes answers until the child has left", async () => {
    const { child, told, transport, clock } = await open();
    child.polite = false;
    const closing = transport.close();
    child.handlers.onData(answer(1));
    await clock.advance(1000);
    await closing;
    expect(told.map(({ on }) => on)).toEqual(["message", "closed"]);
  });

  test("after the child has exited stops nothing twice", async () => {
    const { child, told, transport } = await open();
    child.exit({ code: 1, signal: null });
    child.handlers.onEnd();
    await transport.close();
    expect(child.done).toEqual(["release"]);
    expect(told).toHaveLength(1);
  });

  test("names the requests that never left", async () => {
    const { child, told, transport } = await open();
    child.waiting = [];
    for (const id of [1, 2, 3]) void transport.send(call(id));
    await transport.close();
    expect(child.written).toEqual(["call 1\n"]);
    expect(told).toMatchObject([{ on: "closed", unsent: [2, 3] }]);
  });
});

describe("send over stdio", () => {
  test("tells of a notification when it has left, and costs a request nothing", async () => {
    const { child, transport } = await open();
    await transport.send({ text: "n", method: "n" });
    expect(child.written.at(-1)).toBe("n\n");
    child.waiting = [];
    expect(transport.send(call(1))).toBeUndefined();
    let left = false;
    void Promise.resolve(transport.send({ text: "n", method: "n" })).then(() => left = true);
    child.waiting.shift()!();
    await settle();
    expect([child.written.at(-1), left]).toEqual(["n\n", false]);
    child.waiting.shift()!();
    await settle();
    expect(left).toBe(true);
  });

  test("to a child that does not read is refused before it fills the memory", async () => {
    const { child, told, transport } = await open();
    child.waiting = [];
    const big = { text: "x".repeat((16 << 20) - 1), method: "m" };
    for (let id = 1; id <= 6; id++) void transport.send({ ...big, id });
    expect(told).toMatchObject([{
      on: "lost",
      id: 6,
      lost: { sent: false, refused: false, error: { code: "ERR_TOO_LARGE" } },
    }]);
    void transport.send(big);
    expect(told).toHaveLength(1);
  });

  test("after the end is silent", async () => {
    const { child, told, transport } = await open();
    child.exit({ code: 0, signal: null });
    child.handlers.onEnd();
    void transport.send(call(1));
    transport.abandon(1);
    expect([child.written, told.length]).toEqual([[], 1]);
  });
});
