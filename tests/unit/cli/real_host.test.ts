import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runCommandLine } from "../../../src/cli/main.ts";
import { programHere, runtimeHere } from "../../run/adapter.ts";
import { type FakeTerminal, fakeTerminal } from "./fakes.ts";

const runtime = await runtimeHere();
const [command, ...before] = programHere;
const fixture = fileURLToPath(new URL("../../fixtures/stdio_server.mjs", import.meta.url));

describe("command line over a real host", () => {
  let directory: string;
  let config: string;
  let log: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "portcullis-cli-"));
    config = join(directory, "mcp.config.json");
    log = join(directory, "log");
    write({});
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  function write(more: Record<string, unknown>): void {
    const a = { command, args: [...before, fixture, "--era=legacy"] };
    const rules = [{ tool: "mcp.a.echo", decision: "allow" }, { tool: "mcp.a.add", decision: "deny" }];
    writeFileSync(config, JSON.stringify({ mcpServers: { a, ...more }, permission: { rules } }));
  }

  const terminalFor = (args: string[]): FakeTerminal => fakeTerminal([...args, "--config", config], { runtime });

  async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
    const terminal = terminalFor(args);
    const code = await runCommandLine(terminal);
    return { code, ...terminal.written };
  }

  it("status shows what started and what did not, each for itself", async () => {
    write({
      gone: { command: "no-such-program", restart: { auto: false } },
      typo: { comand: "x" },
    });
    const { code, out, err } = await run("status");
    expect(code).toBe(2);
    expect(out).toMatch(/^a +ready +legacy +[\d-]+ +\d+/m);
    expect(out).toMatch(/^gone +permanently_failed +- +- +0\n {4}Cannot start "no-such-program"/m);
    expect(err).toContain('mcpServers.typo.comand: unknown key "comand", did you mean "command"');
    expect(err).toMatch(/mcp\.config\.json:1:\d+: mcpServers\.gone: Cannot start "no-such-program"/);
  });

  it("tools lists full names", async () => {
    const { code, out } = await run("tools", "--json");
    expect(code).toBe(0);
    const tools = JSON.parse(out) as { name: string; alias: string }[];
    expect(tools.map(({ name }) => name)).toContain("mcp.a.echo");
    expect(tools.map(({ alias }) => alias)).toContain("mcp__a__echo");
  });

  it.each([
    [
      ["serve", "--once"],
      2,
      /^error: Cannot use the log in "(.*)": "\1\/streams.*" lies in a file, wanted a directory\n$/,
    ],
    [["log"], 2, /^error: Cannot read the log in "(.*)": "\1\/streams" lies in a file, wanted a directory\n$/],
    [["tools"], 1, /: the store failed with EEXIST: "\/.*\/mcp\.config\.json" is a file, wanted a directory\n$/],
  ])("%j with a file for a log says so, and where", async (args, exitCode, message) => {
    const { code, out, err } = await run(...args, "--log", config);
    expect([code, out]).toEqual([exitCode, ""]);
    expect(err).toMatch(message);
  });

  it("calls pass the gate and are in the log", async () => {
    expect(await run("call", "mcp.a.echo", '{"message":"hello"}', "--log", log)).toMatchObject({ code: 0, err: "" });
    expect(await run("call", "mcp.a.add", '{"a":1,"b":2}', "--log", log)).toMatchObject({
      code: 3,
      out: "",
      err: expect.stringContaining("error: denied (permission_denied)") as string,
    });
    expect(await run("call", "mcp.a.gone", "--log", log)).toMatchObject({
      code: 2,
      err: expect.stringContaining("error: failed (not_found)") as string,
    });
    const shown = await run("log", "--log", log);
    expect(shown).toMatchObject({ code: 0, err: "" });
    const types = shown.out.trimEnd().split("\n").map((line) => line.split("  ")[2]);
    expect(types.filter((type) => type?.startsWith("permission") || type?.startsWith("tool"))).toEqual([
      "permission.requested",
      "permission.resolved",
      "tool.started",
      "tool.completed",
      "permission.requested",
      "permission.resolved",
      "tool.failed",
      "tool.not_found",
    ]);
    expect(types.filter((type) => type === "host.opened")).toHaveLength(3);
    expect(types.filter((type) => type === "host.closed")).toHaveLength(3);
  });

  it("serve makes its calls, follows the log and ends when it is interrupted", async () => {
    const calls = join(directory, "calls.json");
    writeFileSync(calls, JSON.stringify([{ tool: "mcp.a.echo", arguments: { message: "hello" } }]));
    expect(await run("serve", "--calls", calls, "--log", log, "--once")).toMatchObject({ code: 0, err: "" });

    const terminal = terminalFor(["serve", "--log", log]);
    const out = {
      ...terminal.out,
      write: (text: string): void => {
        void terminal.out.write(text);
        // The two streams are followed side by side.
        const shown = terminal.written.out;
        if (shown.includes("session.opened") && shown.includes("mcp.server.ready")) terminal.interrupt();
      },
    };
    expect(await runCommandLine({ ...terminal, out })).toBe(0);
    const followed = terminal.written.out.split("(Ctrl-C ends)\n")[1]!;
    // Only this run's events, not those of the one before.
    expect(followed.match(/host\.opened/g)).toHaveLength(1);
    expect(followed).not.toContain("host.closed");
    expect(followed).toMatch(/mcp\.server\.ready {2}a /);
  });
});
