import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { capabilitiesHere } from "./adapter.ts";

const program = fileURLToPath(new URL("letting_go.ts", import.meta.url));

/** What starts a TypeScript program on the runtime that this file runs on. */
const flags = "Deno" in globalThis ? ["run", "-A"] : "Bun" in globalThis ? [] : ["--import", "tsx"];

test.each(capabilitiesHere.releasesWrites === true ? ["idle", "writing"] : ["idle"])(
  "program that released a child ends, though a stray process holds its pipes: A-21 (%s)",
  { timeout: 120_000 },
  async (mode) => {
    const args = [...flags, program, mode];
    const ended = await new Promise<{ error: Error | null; stdout: string }>((resolve) => {
      execFile(process.execPath, args, { timeout: 90_000 }, (error, stdout) => resolve({ error, stdout }));
    });
    expect(process.kill(Number.parseInt(ended.stdout, 10), "SIGKILL")).toBe(true);
    expect(ended.error).toBeNull();
  },
);
