import { expect, test } from "vitest";
import { runCycles } from "../fault/cycles.ts";
import { runtimeHere } from "./adapter.ts";

test("20 connections leave no descriptor, process, timer or listener behind", { timeout: 60_000 }, async () => {
  const runtime = await runtimeHere();
  const { early, late } = await runCycles(runtime, 20, 8);
  expect(late, `${runtime.name} ${runtime.version}`).toEqual(early);
  expect(late).toMatchObject({ timers: 0, listeners: 0 });
});
