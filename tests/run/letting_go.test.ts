import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { capabilitiesHere } from "./adapter.ts";

const program = fileURLToPath(new URL("letting_go.ts", import.meta.url));

/** What starts a TypeScript program on the runtime that this file runs on. */
const flags = "Deno" in globalThis ? ["run", "-A"] : "Bun" in globalThis ? [] : ["--import", "tsx"];

test.each(capabilitiesHere.releasesWrites === true ? ["idle", "writing"] : ["idle"])(
  "program that released a child ends, though a stray process holds its pipes: A-21 (%s)",
  async (mode) => {
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, program, mode], { timeout: 15_000 });
    const stray = Number(stdout);
    expect(process.kill(stray, "SIGKILL")).toBe(true);
  },
);
