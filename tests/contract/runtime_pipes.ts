import type { Runtime } from "../../src/kernel/runtime.ts";
import { assert, assertEquals, type ContractCase } from "./contract.ts";
import { deferred, eventually, giveEveryChance, outputOf, withShell } from "./runtime_child.ts";

const FIVE_MEGABYTES = 5_000_000;

/** The part of the runtime contract about standard input, output and error. */
export function runtimePipeCases(makeRuntime: () => Runtime): ContractCase[] {
  const on = (name: string, run: (runtime: Runtime) => Promise<void>): ContractCase => ({
    name,
    run: () => run(makeRuntime()),
  });

  return [
    on("text comes back from the child as it was written", async (runtime) => {
      await withShell(runtime, "exec cat", async ({ child, exit, end, text, until }) => {
        await child.write('{"id":1}\n');
        await until("\n");
        await child.write("ěšč 漢字 😀 \u0000 \ud800 lone\n");
        child.closeInput();
        assertEquals((await exit).code, 0);
        await end;
        assertEquals(text(), '{"id":1}\něšč 漢字 😀 \u0000 \ufffd lone\n');
      });
    }),
    on("closing the input waits for what was written before", async (runtime) => {
      await withShell(runtime, "exec wc -c", async ({ child, end, text }) => {
        const pending = Array.from({ length: 5 }, () => child.write("é".repeat(500_000)));
        child.closeInput();
        await Promise.all([...pending, end]);
        assertEquals(Number(text()), FIVE_MEGABYTES);
      });
    }),
    on("megabytes go through in both directions whole and in order", async (runtime) => {
      const line = (index: number): string => `${index} ${"x".repeat(1_000)}\n`;
      await withShell(runtime, "exec cat", async ({ child, end, text }) => {
        for (let from = 0; from < 5_000; from += 500) {
          await child.write(Array.from({ length: 500 }, (_, index) => line(from + index)).join(""));
        }
        child.closeInput();
        await end;
        assert(text() === Array.from({ length: 5_000 }, (_, index) => line(index)).join(""), "text came back changed");
      });
    }),
    on("output of a child that has already exited arrives whole", async (runtime) => {
      await withShell(runtime, "head -c 16777216 /dev/zero", async ({ exit, end, bytes, calls }) => {
        await Promise.all([exit, end]);
        assertEquals(bytes.data, 16_777_216);
        assertEquals(calls.end, 1);
      });
    }),
    on("chunks belong to the receiver and keep their bytes", async (runtime) => {
      const script = 'for each in 1 2 3 4 5; do echo "line $each"; read -r next; done; head -c 400000 /dev/zero';
      await withShell(runtime, script, async ({ child, end, text, until }) => {
        for (const each of [1, 2, 3, 4, 5]) {
          await until(`line ${each}\n`);
          await child.write("next\n");
        }
        await end;
        assertEquals(text().slice(0, 35), "line 1\nline 2\nline 3\nline 4\nline 5\n");
      });
    }),
    on("write says by a promise that not all is out yet", async (runtime) => {
      // The child reads nothing before it is told to, so that the pipe is full however busy the machine is.
      const script = "trap 'exec cat > /dev/null' USR1; echo $$; while :; do sleep 0.01; done";
      await withShell(runtime, script, async ({ child, exit, text, until }) => {
        await until("\n");
        const write = child.write("x".repeat(FIVE_MEGABYTES));
        assert(write instanceof Promise, "more than a pipe holds was said to be taken at once");
        await outputOf(runtime, { command: "sh", args: ["-c", `kill -USR1 ${text().trim()}`] });
        await write;
        child.closeInput();
        assertEquals((await exit).code, 0);
      });
    }),
    on("child that exits at once while megabytes are written settles every write: FR-06", async (runtime) => {
      for (let round = 0; round < 5; round++) {
        await withShell(runtime, "exit 3", async ({ child, exit }) => {
          const writes = Array.from({ length: 5 }, () => child.write("x".repeat(FIVE_MEGABYTES / 5)));
          assertEquals((await exit).code, 3);
          await Promise.all(writes);
          await child.write("late");
        });
      }
    }),
    on("child that closes its input and lives on settles every write and is told of once: FR-06", async (runtime) => {
      await withShell(runtime, "exec 0<&-; echo closed; exec sleep 1000", async ({ child, until, calls }) => {
        await until("closed");
        await child.write("x".repeat(FIVE_MEGABYTES));
        await child.write("again");
        await eventually("the closed input is told of", () => calls.inputClosed > 0);
        child.closeInput();
        assertEquals(calls.exit, 0);
        assertEquals(calls.inputClosed, 1);
      });
    }),
    on("child killed while megabytes are written settles the write: FR-06", async (runtime) => {
      await withShell(runtime, "echo up; exec sleep 1000", async ({ child, until, exit }) => {
        await until("up");
        const write = child.write("x".repeat(FIVE_MEGABYTES));
        child.kill("SIGKILL");
        assertEquals((await exit).signal, "SIGKILL");
        await write;
      });
    }),
    on("release settles a write that nobody reads, and the child can still be ended", async (runtime) => {
      await withShell(runtime, "echo up; exec sleep 1000", async ({ child, until, exit }) => {
        await until("up");
        const write = child.write("x".repeat(FIVE_MEGABYTES));
        child.release();
        await write;
        assertEquals(child.groupAlive(), true);
        child.kill("SIGKILL");
        assertEquals((await exit).signal, "SIGKILL");
      });
    }),
    on("standard error is drained before the answer comes: FR-05", async (runtime) => {
      const script = "head -c 262144 /dev/zero >&2; echo answer";
      await withShell(runtime, script, async ({ exit, end, text, bytes }) => {
        await Promise.all([exit, end]);
        assertEquals(text(), "answer\n");
        // It is a pipe of its own: neither the exit nor the end of the other says that it is empty.
        await eventually("all of standard error has come", () => bytes.errorData === 262_144);
      });
    }),
    on("standard error is drained whatever its handler waits for: A-15", async (runtime) => {
      const script = "head -c 33554432 /dev/zero >&2; echo answer";
      const never = new Promise<void>(() => {});
      await withShell(runtime, script, async ({ exit, end, text }) => {
        await Promise.all([exit, end]);
        assertEquals(text(), "answer\n");
      }, { onErrorData: () => never });
    }),
    on("a promise of the handler pauses standard output until it settles", async (runtime) => {
      const [pause, goOn] = deferred<void>();
      const [first, seen] = deferred<void>();
      const onData = (): Promise<void> => {
        seen();
        return pause;
      };
      await withShell(runtime, "head -c 8388608 /dev/zero", async ({ end, calls, bytes }) => {
        await first;
        await giveEveryChance(runtime);
        assertEquals(calls, { data: 1, errorData: 0, end: 0, exit: 0, inputClosed: 0 });
        goOn();
        await end;
        assertEquals(bytes.data, 8_388_608);
      }, { onData });
    }),
    on("a pause outlasts the exit of the child", async (runtime) => {
      const [pause, goOn] = deferred<void>();
      await withShell(
        runtime,
        "printf one; read -r go; printf two",
        async ({ child, exit, end, calls, text, until }) => {
          await until("one");
          await child.write("go\n");
          await exit;
          await giveEveryChance(runtime);
          assertEquals([text(), calls.data, calls.end], ["one", 1, 0]);
          goOn();
          await end;
          assertEquals(text(), "onetwo");
        },
        { onData: () => pause },
      );
    }),
    on("a released child calls no handler but that of its exit", async (runtime) => {
      const script = "echo up; read -r go; echo more; echo more >&2; exit 5";
      await withShell(runtime, script, async ({ child, exit, calls, until }) => {
        await until("up");
        child.release();
        await exit;
        await giveEveryChance(runtime);
        assertEquals(calls, { data: 1, errorData: 0, end: 0, exit: 1, inputClosed: 0 });
      });
    }),
  ];
}
