import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ProcessGroup } from "../../../runtimes/node/process_group.ts";
import { until } from "../../fixtures/settle.ts";

const isLinux = process.platform === "linux";

/** Starts `sh -c script` as the leader of a group and waits until it has exited. */
async function exited(script: string): Promise<{ readonly leader: ChildProcess; readonly output: string }> {
  const leader = spawn("sh", ["-c", script], { detached: true, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  leader.stdout!.on("data", (chunk) => output += String(chunk));
  await once(leader, "close");
  return { leader, output };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe("process group", () => {
  test("lives as long as its leader was not reaped", () => {
    expect(new ProcessGroup(0x7ffffff0).alive()).toBe(true);
  });

  test("is signalled by its negative number", async () => {
    const leader = spawn("sh", ["-c", "exec sleep 1000"], { detached: true, stdio: "ignore" });
    new ProcessGroup(leader.pid!).signal("SIGTERM");
    expect(await once(leader, "exit")).toEqual([null, "SIGTERM"]);
  });

  test("that was seen empty is never signalled again, since its number may be given to a stranger", async () => {
    const { leader } = await exited("exit 0");
    const group = new ProcessGroup(leader.pid!);
    group.leaderExited();
    const kill = vi.spyOn(process, "kill").mockReturnValue(true);
    group.signal("SIGKILL");
    expect(group.alive()).toBe(false);
    expect(kill).not.toHaveBeenCalled();
  });

  test("of which a member runs under another user lives, and takes a signal in silence", async () => {
    vi.spyOn(process, "kill").mockImplementation(() => {
      throw Object.assign(new Error("not permitted"), { code: "EPERM" });
    });
    const group = new ProcessGroup(0x7ffffff0);
    group.leaderExited();
    expect(group.alive()).toBe(true);
    group.signal("SIGKILL");
  });

  test.runIf(isLinux)("of which only an unreaped process is left counts as empty", async () => {
    // The inner shell starts a child and becomes a `sleep` outside the group, which never reaps it.
    const inner = "sleep 0 & exec setsid sleep 1000";
    const { leader, output } = await exited(`sh -c '${inner}' >/dev/null 2>&1 & echo $!; exit 0`);
    const stray = Number(output);
    try {
      const group = new ProcessGroup(leader.pid!);
      group.leaderExited();
      await until(() => !group.alive());
      expect(process.kill(-leader.pid!, 0), "the zombie is gone, so the test shows nothing").toBe(true);
    } finally {
      process.kill(stray, "SIGKILL");
    }
  });
});
