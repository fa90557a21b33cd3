import { expect, test } from "vitest";
import { growths, runCycles } from "../fault/cycles.ts";
import { runtimeHere } from "./adapter.ts";

test("20 connections leave no descriptor, process, timer or listener behind", { timeout: 180_000 }, async () => {
  const runtime = await runtimeHere();
  const report = await runCycles(runtime, 20, 8);
  expect(growths(report), `${runtime.name} ${runtime.version}`).toEqual([]);
  expect(report.late).toMatchObject({ processes: report.early.processes, timers: 0, listeners: 0 });
});
