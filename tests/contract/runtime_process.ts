import type { ExitStatus, Runtime } from "../../src/kernel/runtime.ts";
import { assert, assertEquals, assertRejects, type ContractCase } from "./contract.ts";
import type { RuntimeCapabilities, RuntimeHelpers } from "./runtime.ts";
import { eventually, outputOf, pathOnly, withChild, withShell } from "./runtime_child.ts";
import { runtimeGroupCases } from "./runtime_group.ts";
import { runtimePipeCases } from "./runtime_pipes.ts";

/** The part of the runtime contract about child processes: how they start and how they end. */
export function runtimeProcessCases(
  makeRuntime: () => Runtime,
  helpers: RuntimeHelpers,
  capabilities: RuntimeCapabilities,
): ContractCase[] {
  const on = (name: string, run: (runtime: Runtime) => Promise<void>): ContractCase => ({
    name,
    run: () => run(makeRuntime()),
  });

  return [
    on("spawn hands each argument over as it is: A-01 shell metacharacters", async (runtime) => {
      const directory = await helpers.makeDirectory();
      const args = [
        "x && touch PWNED; $(touch PWNED)",
        "`touch PWNED`",
        "| touch PWNED",
        "> PWNED",
        "a\nb\r\n",
        "",
        " ",
        "*",
        "~",
        "$HOME",
        "%PATH%",
        `'"\\`,
        "--",
        "ěšč 漢 😀",
      ];
      const script = 'for each in "$@"; do printf "%s\\0" "$each"; done';
      const found = await outputOf(runtime, { command: "sh", args: ["-c", script, "sh", ...args], cwd: directory });
      assertEquals(found.split("\0").slice(0, -1), args);
      assertEquals(await outputOf(runtime, { command: "ls", args: ["-A", directory] }), "");
    }),
    on("spawn gives the child the environment of the plan and nothing else: A-08", async (runtime) => {
      const env = { PATH: pathOnly(runtime)["PATH"]!, EMPTY: "", ODD: "a=b c$HOME", lower: "ž" };
      const { sample } = helpers;
      assertEquals(runtime.environment()[sample.name], sample.value, "the sample is not in this process");
      const found = await outputOf(runtime, { command: "env", args: [], env });
      assert(!found.includes(sample.value), "the value of a variable of this process has arrived");
      assertEquals(found.split("\n").sort(), [...Object.entries(env).map((pair) => pair.join("=")), ""].sort());
    }),
    on("spawn finds the command through the PATH of the plan", async (runtime) => {
      const directory = await helpers.makeDirectory();
      await outputOf(runtime, {
        command: "sh",
        args: ["-c", 'printf "#!/bin/sh\\necho found" > portcullis-probe; chmod 755 portcullis-probe'],
        cwd: directory,
      });
      const PATH = `${directory}:${pathOnly(runtime)["PATH"]}`;
      assertEquals(await outputOf(runtime, { command: "portcullis-probe", args: [], env: { PATH } }), "found\n");
      await refuses(runtime, { command: "portcullis-probe" }, "ENOENT");
    }),
    on("spawn starts the child in the directory of the plan", async (runtime) => {
      const directory = await helpers.makeDirectory();
      await outputOf(runtime, { command: "touch", args: ["left here"], cwd: directory });
      assertEquals(await outputOf(runtime, { command: "ls", args: [directory] }), "left here\n");
    }),
    on("spawn rejects a command that does not exist with ENOENT and calls no handler", async (runtime) => {
      await refuses(runtime, { command: "portcullis-no-such-command" }, "ENOENT");
      await refuses(runtime, { command: "/nonexistent/server" }, "ENOENT");
    }),
    on("spawn rejects a directory that does not exist with ENOENT and calls no handler", async (runtime) => {
      await refuses(runtime, { command: "sh", cwd: "/nonexistent" }, "ENOENT");
    }),
    on("spawn rejects a file that is no program with EACCES and calls no handler", async (runtime) => {
      await refuses(runtime, { command: "/etc/passwd" }, "EACCES");
    }),
    on("spawn rejects what the system refuses outright, and calls no handler", async (runtime) => {
      await refuses(runtime, { command: "" });
      await refuses(runtime, { command: "sh", args: ["-c", "exit 0", "a\0b"] });
      await refuses(runtime, { command: "sh", args: ["-c", "exit 0", "x".repeat(4_000_000)] }, "E2BIG");
    }),
    on("child's exit code is reported, once", async (runtime) => {
      for (const code of [0, 7, 143]) {
        await withShell(runtime, `exit ${code}`, async ({ exit, end, calls }) => {
          assertEquals(await exit, { code, signal: null } satisfies ExitStatus);
          await end;
          assertEquals({ exit: calls.exit, end: calls.end }, { exit: 1, end: 1 });
        });
      }
    }),
    on("child's signal is reported instead of a code", async (runtime) => {
      for (const name of ["KILL", "TERM"]) {
        await withShell(runtime, `kill -${name} $$`, async ({ exit }) => {
          assertEquals(await exit, { code: null, signal: `SIG${name}` } satisfies ExitStatus);
        });
      }
    }),
    on("child that has gone takes every call without complaint", async (runtime) => {
      await withShell(runtime, "exit 0", async ({ child, exit, end }) => {
        await Promise.all([exit, end]);
        for (let round = 0; round < 2; round++) {
          await child.write("nobody reads this\n");
          child.closeInput();
          child.kill("SIGTERM");
          child.kill("SIGKILL");
          assertEquals(child.groupAlive(), false);
          child.release();
        }
      });
    }),
    on("children and failed starts leave no descriptor behind", async (runtime) => {
      const once = async (): Promise<void> => {
        assertEquals(await outputOf(runtime, { command: "sh", args: ["-c", "echo out; echo err >&2"] }), "out\n");
        await refuses(runtime, { command: "/nonexistent/server" }, "ENOENT");
      };
      await once();
      const before = (await helpers.openDescriptors()).length;
      for (let round = 0; round < 20; round++) await once();
      await eventually(
        `no more than ${before} descriptors are open`,
        async () => (await helpers.openDescriptors()).length <= before,
      );
    }),
    ...runtimePipeCases(makeRuntime),
    ...runtimeGroupCases(makeRuntime, helpers, capabilities),
  ];
}

async function refuses(
  runtime: Runtime,
  plan: { readonly command: string; readonly args?: readonly string[]; readonly cwd?: string },
  code?: string,
): Promise<void> {
  let calls = 0;
  const count = (): void => void calls++;
  const handlers = { onData: count, onErrorData: count, onEnd: count, onExit: count };
  await assertRejects(() => runtime.spawn!({ args: [], env: pathOnly(runtime), ...plan }, handlers), code);
  await withChild(runtime, { command: "sh", args: ["-c", "exit 0"], env: pathOnly(runtime) }, async ({ exit, end }) => {
    await Promise.all([exit, end]);
  });
  assertEquals(calls, 0, "a handler was called for a child that did not start");
}
