import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const program = fileURLToPath(new URL("../fault/long_run.ts", import.meta.url));

/** What starts a TypeScript program on the runtime that this file runs on. */
const flags = "Deno" in globalThis ? ["run", "-A"] : "Bun" in globalThis ? [] : ["--import", "tsx"];

test("2,000 calls leave no entry of a map, no timer and no listener behind", { timeout: 180_000 }, async () => {
  const args = [...flags, program, "2000", "2000"];
  const output = await new Promise<string>((resolve) => {
    execFile(process.execPath, args, { timeout: 150_000 }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
  expect(output).toContain("1 passed, 0 failed");
});
