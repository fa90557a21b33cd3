import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type EverythingHttp, startEverythingHttp } from "../../examples/everything_http.mjs";
import { createHost } from "../../mod.ts";
import { nodeRuntime } from "../../runtimes/node/mod.ts";
import { loadConfig } from "../../src/config/mod.ts";
import type { ServerConfigInput } from "../../src/servers/config_input.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");
const entries = (JSON.parse(readFileSync(join(root, "deno.json"), "utf8")) as { exports: Record<string, string> })
  .exports;

/** Where the page says that the example server listens. */
const EVERYTHING = "http://127.0.0.1:3001/mcp";

/** A program that the page shows, and what it says that it prints. */
interface Program {
  readonly title: string;
  readonly text: string;
  readonly prints: string;
}

function readPrograms(page: string): Program[] {
  return [...page.matchAll(/^```ts\n([^]*?)^```\n\n```text\n([^]*?)^```$/gm)].map((match) => ({
    title: [...page.slice(0, match.index).matchAll(/^#+ (.*)$/gm)].at(-1)![1]!,
    text: match[1]!,
    prints: match[2]!,
  }));
}

/** The program as it runs here: the package's names are its sources. */
function onSources(text: string): string {
  return text.replace(/"portcullis(\/[a-z]+)?"/g, (_all, entry: string | undefined) => {
    return JSON.stringify(pathToFileURL(join(root, entries[`.${entry ?? ""}`]!)).href);
  });
}

describe("README", () => {
  const programs = readPrograms(readme);
  let directory: string;
  let everything: EverythingHttp;

  beforeAll(async () => {
    everything = await startEverythingHttp();
  });
  afterAll(() => everything.close());
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "portcullis-readme-"));
    symlinkSync(join(root, "node_modules"), join(directory, "node_modules"), "junction");
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  it("every program says what it prints", () => {
    expect(programs.length).toBeGreaterThan(5);
    expect(programs).toHaveLength([...readme.matchAll(/^```ts$/gm)].length);
  });

  it.each(programs.map((program) => [program.title, program] as const))(
    "program prints what stands below it, and ends: %s",
    async (_title, { text, prints }) => {
      writeFileSync(join(directory, "host.mts"), onSources(text.replace(EVERYTHING, everything.url)));
      const { code, out, err } = await runProgram(directory, "host.mts");
      expect([code, err]).toEqual([0, ""]);
      // Runtimes write lists with one or the other kind of quotes.
      expect(out.replaceAll("'", '"')).toBe(prints.replaceAll("'", '"'));
    },
    120_000,
  );

  it("configuration that the page shows can be used", async () => {
    const [, text] = /^```jsonc\n([^]*?)^```$/m.exec(readme)!;
    const loaded = await loadConfig({ text: text!, file: "mcp.config.json", env: { DOCS_TOKEN: "t" } });
    expect([...loaded.problems, ...loaded.warnings]).toEqual([]);
    expect(loaded.servers.map(({ name }) => name)).toEqual(["files", "docs"]);
    expect(loaded.permission?.rules).toHaveLength(1);
  });

  it.each<[string, Partial<ServerConfigInput>]>([
    ["OAuth", { url: "http://127.0.0.1:1/mcp", auth: { type: "oauth" } }],
    ["client credentials", { url: "http://127.0.0.1:1/mcp", auth: { type: "client_credentials" } }],
    ["mutual TLS", { url: "http://127.0.0.1:1/mcp", auth: { type: "mtls" } }],
    ["a sandbox", { command: "no-such-program", sandbox: {} }],
    ["holding back changed tools", { command: "no-such-program", onToolChange: "block" }],
  ])("what is not there says so: %s", async (_what, config) => {
    const host = await createHost({ runtime: nodeRuntime() });
    try {
      const session = await host.session();
      await expect(session.addMcp({ name: "a", ...config })).rejects.toMatchObject({ code: "ERR_UNSUPPORTED_HERE" });
    } finally {
      await host.close();
    }
  });
});

function runProgram(cwd: string, file: string): Promise<{ code: number; out: string; err: string }> {
  const tsx = pathToFileURL(join(root, "node_modules", "tsx", "dist", "loader.mjs")).href;
  const env = { PATH: process.env["PATH"] ?? "", NO_COLOR: "1" };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ["--import", tsx, file], { cwd, env, timeout: 110_000 }, (error, out, err) => {
      if (error !== null && typeof error.code !== "number") reject(error);
      else resolve({ code: error === null ? 0 : Number(error.code), out, err });
    });
  });
}
