import { describe, expect, test } from "vitest";
import type { ChildProcess } from "../../../src/kernel/runtime.ts";
import { stopTree } from "../../../src/transport/stop_tree.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";

/** How a child and what it started take what is done to them. Times are milliseconds after it; never, where absent. */
interface Temper {
  readonly afterEof?: number;
  readonly afterTerm?: number;
  /** What is left of the group after the leader has gone. */
  readonly restAfterTerm?: number;
  readonly rest?: boolean;
  readonly restAfterKill?: number;
}

async function stop(
  temper: Temper,
  politely: boolean,
  graceMs = 5000,
  exited = false,
): Promise<{ steps: string[]; timers: number }> {
  const clock = new FakeClock();
  const steps: string[] = [];
  const log = (step: string): void => void steps.push(`${step} ${clock.monotonic()}`);
  let leaderLives = !exited;
  let restLives = temper.rest === true;
  let onExit: (() => void) | undefined;
  const exit = (): void => {
    if (!leaderLives) return;
    leaderLives = false;
    log("exit");
    onExit?.();
  };
  const later = (delayMs: number | undefined, run: () => void): void => {
    if (delayMs !== undefined) clock.after(delayMs, run);
  };
  const endRest = (): void => void (restLives = false);
  const child: ChildProcess = {
    pid: 1,
    containment: "process_group",
    write: () => {},
    closeInput() {
      log("eof");
      later(temper.afterEof, exit);
    },
    kill(signal) {
      log(signal);
      if (signal === "SIGKILL") {
        later(1, exit);
        later(temper.restAfterKill ?? 1, endRest);
      } else {
        later(temper.afterTerm, exit);
        later(temper.restAfterTerm, endRest);
      }
    },
    groupAlive: () => leaderLives || restLives,
    release: () => log("release"),
  };
  let over = false;
  const stopping = stopTree(child, {
    clock,
    graceMs,
    politely,
    exited: () => !leaderLives,
    onExit: (listener) => onExit = listener,
  }).then(() => over = true);
  await settle();
  for (let step = 0; step < 1000 && !over; step++) await clock.advance(10);
  await stopping;
  expect(onExit).toBeUndefined();
  return { steps, timers: clock.timers };
}

describe("stop of a process tree", () => {
  const rows: [
    claim: string,
    temper: Temper,
    politely: boolean,
    steps: string[],
    graceMs?: number,
    exited?: boolean,
  ][] = [
    ["a child that leaves at the end of its input", { afterEof: 30 }, true, ["eof 0", "exit 30", "release 30"]],
    ["a child that leaves at SIGTERM", { afterTerm: 40 }, true, ["eof 0", "SIGTERM 1000", "exit 1040", "release 1040"]],
    ["a child that ignores both (FR-08)", {}, true, [
      "eof 0",
      "SIGTERM 1000",
      "SIGKILL 5000",
      "exit 5001",
      "release 5001",
    ]],
    ["a child that is not asked politely", { afterEof: 1, afterTerm: 40 }, false, [
      "SIGTERM 0",
      "exit 40",
      "release 40",
    ]],
    ["a child that has gone", {}, true, ["release 0"], 5000, true],
    ["a wrapper whose grandchild leaves at SIGTERM (FR-08)", { afterEof: 30, rest: true, restAfterTerm: 50 }, true, [
      "eof 0",
      "exit 30",
      "SIGTERM 30",
      "release 90",
    ]],
    ["a wrapper whose grandchild ignores SIGTERM (FR-08)", { afterEof: 30, rest: true }, true, [
      "eof 0",
      "exit 30",
      "SIGTERM 30",
      "SIGKILL 5010",
      "release 5030",
    ]],
    ["what a crash has left", { rest: true, restAfterTerm: 50 }, false, ["SIGTERM 0", "release 60"], 5000, true],
    [
      "a group that even SIGKILL does not end",
      { rest: true, restAfterKill: 60_000 },
      false,
      ["SIGTERM 0", "SIGKILL 5000", "release 6000"],
      5000,
      true,
    ],
    ["a child without any patience", { afterEof: 1, afterTerm: 1 }, true, [
      "eof 0",
      "SIGTERM 0",
      "SIGKILL 0",
      "exit 1",
      "release 1",
    ], 0],
    ["a child with a short grace", { afterTerm: 10 }, true, ["eof 0", "SIGTERM 20", "exit 30", "release 30"], 100],
  ];
  test.each(rows)("%s", async (_claim, temper, politely, steps, graceMs, exited) => {
    expect(await stop(temper, politely, graceMs, exited)).toMatchObject({ steps });
  });
});
