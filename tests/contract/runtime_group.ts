import type { ExitStatus, Runtime } from "../../src/kernel/runtime.ts";
import { assert, assertEquals, type ContractCase } from "./contract.ts";
import type { RuntimeCapabilities, RuntimeHelpers } from "./runtime.ts";
import { eventually, outputOf, processRuns, type Watched, withShell } from "./runtime_child.ts";

/** The part of the runtime contract about process groups: what is left when a launcher has gone. */
export function runtimeGroupCases(
  makeRuntime: () => Runtime,
  helpers: RuntimeHelpers,
  { releasesWrites }: RuntimeCapabilities,
): ContractCase[] {
  const on = (name: string, run: (runtime: Runtime) => Promise<void>): ContractCase => ({
    name,
    run: () => run(makeRuntime()),
  });

  return [
    on("child leads a process group of its own", async (runtime) => {
      await withShell(runtime, "echo up; exec sleep 1000", async ({ child, until }) => {
        await until("up");
        assertEquals(child.containment, "process_group");
        assertEquals(await processRuns(runtime, child.pid), true);
        assertEquals(await isGroup(runtime, child.pid), true);
      });
    }),
    on("kill reaches the grandchildren: FR-08", async (runtime) => {
      await withShell(runtime, "sleep 1000 & echo $! up; sleep 1000", async (watched) => {
        const grandchild = await firstNumber(watched);
        watched.child.kill("SIGTERM");
        assertEquals(await watched.exit, { code: null, signal: "SIGTERM" } satisfies ExitStatus);
        await eventually("the group is empty", () => !watched.child.groupAlive());
        assertEquals(await processRuns(runtime, grandchild), false);
      });
    }),
    on("kill reaches what is left of the group after the child has gone: FR-08", async (runtime) => {
      await withShell(runtime, "sleep 1000 & echo $! up; exit 0", async (watched) => {
        const { child, exit } = watched;
        const grandchild = await firstNumber(watched);
        assertEquals((await exit).code, 0);
        assertEquals(child.groupAlive(), true);
        assertEquals(await processRuns(runtime, grandchild), true);
        child.kill("SIGTERM");
        await eventually("the group is empty", () => !child.groupAlive());
        assertEquals(await processRuns(runtime, grandchild), false);
        child.kill("SIGKILL");
        assertEquals(child.groupAlive(), false);
      });
    }),
    on("child that ignores SIGTERM dies by SIGKILL: A-21", async (runtime) => {
      const script = 'trap "" TERM; echo up; read -r line; echo "$line"; sleep 1000';
      await withShell(runtime, script, async ({ child, exit, until }) => {
        await until("up");
        child.kill("SIGTERM");
        await child.write("still here\n");
        await until("still here");
        assertEquals(child.groupAlive(), true);
        child.kill("SIGKILL");
        assertEquals((await exit).signal, "SIGKILL");
        await eventually("the group is empty", () => !child.groupAlive());
      });
    }),
    on("grandchild that holds the output does not delay the exit: A-21", async (runtime) => {
      await withShell(runtime, "sleep 1000 & echo up; exit 4", async ({ exit, calls }) => {
        assertEquals((await exit).code, 4);
        assertEquals(calls.end, 0);
      });
    }),
    on("release closes pipes that a grandchild outside the group holds: A-21", async (runtime) => {
      await withStray(runtime, helpers, async ({ child, exit, calls }, pipes) => {
        await child.write("go\n");
        assertEquals((await exit).code, 0);
        assertEquals(calls.end, 0);
        child.release();
        await eventually("the pipes are closed", async () => (await pipes()).length === 0);
        assertEquals(calls.end, 0);
      });
    }),
    on(
      releasesWrites === true
        ? "release closes an input that a grandchild holds and does not read: A-21"
        : `release leaves only the input open that a grandchild holds and does not read: ${releasesWrites.absent}`,
      async (runtime) => {
        const left = releasesWrites === true ? 0 : 1;
        await withStray(runtime, helpers, async ({ child, exit }, pipes) => {
          const write = child.write("go\n" + "x".repeat(5_000_000));
          await exit;
          child.release();
          await write;
          await eventually(`${left} pipes are open`, async () => (await pipes()).length === left);
        });
      },
    ),
  ];
}

/**
 * Starts a child that exits after one line of input and leaves a process behind which its group does not reach and which holds its pipes.
 * `pipes` tells which of the descriptors that were opened for it are still open.
 */
async function withStray(
  runtime: Runtime,
  { openDescriptors }: RuntimeHelpers,
  use: (watched: Watched, pipes: () => Promise<string[]>) => Promise<void>,
): Promise<void> {
  const before = new Set(await openDescriptors());
  const script = "exec 3<&0; setsid sleep 1000 <&3 & echo $! up; read -r go";
  await withShell(runtime, script, async (watched) => {
    const opened = (await openDescriptors()).filter((each) => !before.has(each) && /^\d+$|pipe|socket/.test(each));
    const stray = await firstNumber(watched);
    try {
      assert(opened.length >= 3, `found ${opened.length} new pipes, expected one for each stream`);
      await use(watched, async () => (await openDescriptors()).filter((each) => opened.includes(each)));
      assertEquals(await processRuns(runtime, stray), true);
    } finally {
      await outputOf(runtime, { command: "kill", args: ["-KILL", String(stray)] });
    }
  });
}

/** The number that a script prints before the word `up`. */
async function firstNumber({ until, text }: Watched): Promise<number> {
  await until(" up\n");
  return Number.parseInt(text(), 10);
}

/** Whether there is a process group of this number, as another process sees it. */
async function isGroup(runtime: Runtime, id: number): Promise<boolean> {
  const script = 'kill -s 0 -- "-$1" 2>/dev/null && echo yes';
  return (await outputOf(runtime, { command: "sh", args: ["-c", script, "sh", String(id)] })) === "yes\n";
}
