import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { EXIT, EXIT_HELP } from "../../../src/cli/exit_codes.ts";
import { runCommandLine } from "../../../src/cli/main.ts";
import type { ServerRow } from "../../../src/cli/host_port.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import { event, fakeHost, fakeTerminal, run } from "./fakes.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const config = '{ "mcpServers": { "a": { "command": "node" } } }';
const files = { "mcp.config.json": config };
const ready: ServerRow = { name: "a", transport: "stdio", state: "ready", toolCount: 2, era: "modern", version: "v" };
const failed: ServerRow = {
  name: "a",
  transport: "stdio",
  state: "permanently_failed",
  toolCount: 0,
  error: "found no program\x1b[2J",
};

describe("command line", () => {
  it("help lists the commands and the exit codes", async () => {
    const { code, out, err } = await run(["--help"]);
    expect([code, err]).toEqual([0, ""]);
    expect([...out.matchAll(/^ {2}([a-z]+) [[<]/gm)].map((match) => match[1])).toEqual([
      "serve",
      "tools",
      "call",
      "resources",
      "read",
      "prompt",
      "status",
      "log",
      "help",
    ]);
    expect(out).toContain("3    the gate denied the call, or nobody was there to approve it");
  });

  it.each(["--version", "-V"])("%s prints the version of the package", async (flag) => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
    expect(await run([flag])).toMatchObject({ code: 0, out: `${version}\n`, err: "" });
  });

  it("help of a command tells the exit codes too, and README tells the same", async () => {
    const told = EXIT_HELP.split("\n").flatMap((line) => {
      const match = /^ {2}(\d+) +(.*)$/.exec(line);
      return match === null ? [] : [[match[1]!, match[2]!]];
    });
    expect(told.map(([code]) => Number(code))).toEqual([...Object.values(EXIT), 130]);
    expect((await run(["call", "--help"])).out).toContain(EXIT_HELP);
    const rows = [...readFileSync(join(root, "README.md"), "utf8").matchAll(/^\| (\d+) +\| (.*?) +\|$/gm)];
    expect(rows.map((row) => [row[1], row[2]])).toEqual(told);
  });

  it.each([0, undefined])("a terminal that says it is %s wide is taken to be 80 wide", async (columns) => {
    const tools = [{ qualified: "mcp.a.b", name: "b", description: "x".repeat(200), inputSchema: {} }];
    const terminal = { files, isTerminal: true, env: { NO_COLOR: "1" }, ...(columns === undefined ? {} : { columns }) };
    const { out } = await run(["tools"], terminal, { servers: [ready], tools });
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBe(80);
    const help = await run(["--help"], terminal);
    expect(Math.max(...help.out.split("\n").map((line) => line.length))).toBeGreaterThan(60);
  });

  it("a reason of several lines is one line in the table, and its last lines stand in the error", async () => {
    const error = ["it exited with code 1", "one", "two", "three", "", "four", "five", "six"].join("\n");
    const { out, err } = await run(["status"], { files }, { servers: [{ ...failed, error }] });
    expect(out).toMatch(/0\n {4}it exited with code 1 one two three four five six\n$/);
    expect(err).toBe(
      "error: mcp.config.json:1:19: mcpServers.a: it exited with code 1\n" +
        ["two", "three", "four", "five", "six"].map((line) => `    ${line}\n`).join(""),
    );
  });

  it("an interruption is answered on a terminal before servers have ended", async () => {
    const terminal = fakeTerminal(["serve"], { files, isTerminal: true, env: { NO_COLOR: "1" } });
    const host = fakeHost({ ready: () => new Promise(() => terminal.interrupt()) });
    expect(await runCommandLine(terminal, host.open)).toBe(0);
    expect(terminal.written.err).toBe("\nEnding the servers and the log; Ctrl-C again ends at once\n");
  });

  it.each([
    [[], /Usage: portcullis/],
    [["tolls"], /unknown command 'tolls'\n\(Did you mean tools\?\)/],
    [["tools", "--jsn"], /unknown option '--jsn'\n\(Did you mean --json\?\)/],
    [["call"], /missing required argument 'tool'/],
    [["log", "--after", "x"], /argument 'x' is invalid. Wanted a whole number from 0 up./],
    [["tools"], /^error: Cannot read config "mcp.config.json": no such file\n$/],
    [
      ["call", "mcp.a.b", "{x"],
      /^error: Cannot read the arguments: found no JSON, wanted an object such as {"a": 1}\n$/,
    ],
    [["call", "mcp.a.b", "[1]"], /^error: Cannot read the arguments: found other JSON/],
    [["serve", "--calls", "gone.json"], /^error: Cannot read calls "gone.json": no such file\n$/],
  ])("mistake %j is explained and exits 2", async (args, message) => {
    const { code, out, err } = await run(args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(message);
    expect(err).not.toContain("    at ");
  });

  it("a configuration that is not JSON opens no host", async () => {
    const { code, err, seen } = await run(["status"], { files: { "mcp.config.json": "{" } });
    expect(code).toBe(2);
    expect(err).toBe("error: mcp.config.json:1:2: is not JSON: found the end of the file, wanted a closing brace\n");
    expect(seen.opened).toEqual([]);
  });

  it("one bad entry is reported, and the others start", async () => {
    const text = '{ "mcpServers": { "a": { "command": "node" }, "b": { "comand": "node" } } }';
    const { code, out, err, seen } = await run(["status"], { files: { "x/c.json": text } }, { servers: [ready] });
    expect(code).toBe(2);
    expect(err).toContain('Cannot read config "mcp.config.json": no such file');
    expect([out, seen.opened]).toEqual(["", []]);

    const second = await run(["status", "--config", "x/c.json"], { files: { "x/c.json": text } }, { servers: [ready] });
    expect(second.code).toBe(2);
    expect(second.err).toBe(
      'error: x/c.json:1:54: mcpServers.b.comand: unknown key "comand", did you mean "command"\n',
    );
    expect(second.out).toMatch(/^SERVER +STATE +ERA +VERSION +TOOLS\na +ready +modern +v +2\n$/);
    expect(second.seen.opened[0]!.servers).toEqual([{ name: "a", command: "node" }]);
  });

  it("what stood behind placeholders is handed to the host as secrets", async () => {
    const text =
      '{ "mcpServers": { "a": { "command": "x", "env": { "K": "${K}", "F": "${file:key}" } } }, "permission": { "rules": [] } }';
    const { seen } = await run(["status", "--config", "d/c.json"], {
      files: { "d/c.json": text, "d/key": "from-file\n" },
      env: { K: "k-value-1" },
    });
    expect(seen.opened[0]).toMatchObject({
      secrets: [{ label: "env.K", value: "k-value-1" }, { label: "file.key", value: "from-file" }],
      permission: { rules: [] },
    });
  });

  it("a server that does not start is named with its place, and exits 4", async () => {
    const { code, out, err, seen } = await run(["status"], { files }, { servers: [failed] });
    expect(code).toBe(4);
    expect(err).toBe("error: mcp.config.json:1:19: mcpServers.a: found no program\n");
    expect(out).toMatch(/a +permanently_failed +- +- +0\n {4}found no program\n$/);
    expect(seen.closed).toBe(1);
  });

  it("a failure to open the host keeps its code's exit code and shows no stack", async () => {
    const terminal = fakeTerminal(["status"], { files });
    const code = await runCommandLine(
      terminal,
      () =>
        Promise.reject(
          new HostError("ERR_LOG_LOCKED", "Cannot open the log: close its owner, or open the host with takeOver: true"),
        ),
    );
    expect(code).toBe(1);
    expect(terminal.written.err).toBe(
      "error: Cannot open the log: close its owner, or use --take-over\n",
    );
  });

  it("an error that is nobody's mistake but ours shows where it came from", async () => {
    const terminal = fakeTerminal(["status"], { files });
    expect(await runCommandLine(terminal, () => Promise.reject(new TypeError("x is not a function")))).toBe(1);
    expect(terminal.written.err).toMatch(/^error: unexpected failure\nTypeError: x is not a function\n {4}at /);
  });

  it.each([["serve", 0], ["status", 1]])(
    "an interruption while servers start closes the host: %s",
    async (name, code) => {
      const terminal = fakeTerminal([name], { files });
      const host = fakeHost({ ready: () => new Promise(() => terminal.interrupt()) });
      expect(await runCommandLine(terminal, host.open)).toBe(code);
      expect(terminal.written.out).toBe("");
      expect(host.seen.closed).toBe(1);
      expect(terminal.written.err).toBe("");
    },
  );
});

describe("tools", () => {
  const tools = [
    {
      qualified: "mcp.a.one",
      name: "mcp__a__one",
      description: "First\x1b[31m\nline",
      inputSchema: { type: "object" },
    },
    { qualified: "two", name: "two", title: "Second", inputSchema: { type: "object" } },
  ];

  it("are listed under their full names", async () => {
    const { code, out } = await run(["tools"], { files }, { servers: [ready], tools });
    expect(code).toBe(0);
    expect(out).toBe("TOOL       DESCRIPTION\nmcp.a.one  First line\ntwo        Second\n");
  });

  it("are listed as JSON that means what the server said", async () => {
    const { out } = await run(["tools", "--json"], { files }, { servers: [ready], tools });
    expect(JSON.parse(out)).toEqual([
      { name: "mcp.a.one", alias: "mcp__a__one", description: "First\x1b[31m\nline", inputSchema: { type: "object" } },
      { name: "two", alias: "two", title: "Second", inputSchema: { type: "object" } },
    ]);
    expect(out).not.toContain("\x1b");
  });
});

describe("call", () => {
  const calls = (outcome: object) => ({ servers: [ready], answer: () => Promise.resolve(outcome) });

  it.each([
    [{ output: "hi\x1b[2J" }, 0, "hi\n", ""],
    [{ output: "no such file", isError: true }, 1, "no such file\n", "error: the tool reports a failure\n"],
    [
      {
        status: "denied",
        error: {
          code: "ERR_DENIED",
          message:
            `Cannot call x: nobody is there; to allow it, hand "approve" to the host or put {} into permission.rules`,
          reason: "no_approver",
        },
      },
      3,
      "",
      "error: denied (no_approver): Cannot call x: nobody is there; to allow it, run it on a terminal, where you are asked or put {} into permission.rules\n",
    ],
    [
      { status: "failed", error: { code: "ERR_TOOL_NOT_FOUND", message: "Cannot call x: no such tool" } },
      2,
      "",
      /ERR_TOOL_NOT_FOUND/,
    ],
    [
      {
        status: "failed",
        error: { code: "ERR_SERVER_NOT_CONNECTED", message: "m", reason: "mcp_server_permanently_failed" },
      },
      4,
      "",
      /permanently_failed/,
    ],
    [
      { status: "cancelled", error: { code: "ERR_CANCELLED", message: "m", reason: "cancelled" } },
      1,
      "",
      "error: cancelled\n",
    ],
    [
      { status: "unknown", error: { code: "ERR_TIMEOUT", message: "m", reason: "timeout" } },
      1,
      "",
      "error: unknown (timeout): m\n",
    ],
  ])("outcome %j exits %i", async (outcome, exitCode, expectedOut, expectedErr) => {
    const { code, out, err } = await run(["call", "mcp.a.b", '{"x":1}'], { files }, calls(outcome));
    expect([code, out]).toEqual([exitCode, expectedOut]);
    if (typeof expectedErr === "string") expect(err).toBe(expectedErr);
    else expect(err).toMatch(expectedErr);
  });

  it("the whole outcome is JSON on request", async () => {
    const { out, seen } = await run(["call", "mcp.a.b", '{"x":1}', "--json"], { files }, calls({ output: "hi" }));
    expect(JSON.parse(out)).toEqual({ status: "completed", output: "hi", isError: false, durationMs: 1 });
    expect(seen.calls).toEqual([["mcp.a.b", { x: 1 }, "deny"]]);
    expect(seen.opened[0]!.approve).toBeUndefined();
  });

  it("without a terminal an ask is denied, with one it waits for the person", async () => {
    const questions: string[] = [];
    const { seen, out } = await run(["call", "mcp.a.b", '{"x":1}'], {
      files,
      choose: (question, choices) => {
        questions.push(question, choices.map(({ value }) => value).join());
        return Promise.resolve("session");
      },
    }, { answer: async (_tool, _args, ask) => ({ output: JSON.stringify(await ask()) }) });
    expect(seen.calls[0]![2]).toBe("wait");
    expect(questions).toEqual([
      'Allow mcp.a.b? Risk: network. Wanted by: this program. Arguments: {\n  "x": 1\n}',
      "once,session,deny",
    ]);
    expect(out).toBe('{"decision":"allow","scope":"session"}\n');
  });

  it("leaving the question denies", async () => {
    const { code, out, seen } = await run(["call", "mcp.a.b"], { files, choose: () => Promise.resolve(undefined) }, {
      answer: async (_tool, _args, ask) => ({ output: JSON.stringify(await ask()) }),
    });
    expect(out).toBe('{"decision":"deny"}\n');
    expect([code, seen.closed]).toEqual([0, 1]);
  });
});

describe("serve", () => {
  const calls = JSON.stringify([
    { tool: "mcp.a.ok", arguments: { x: 1 }, note: "allowed" },
    { tool: "mcp.a.no" },
  ]);
  const answer = (tool: string) =>
    Promise.resolve(
      tool === "mcp.a.ok" ? { output: "line 1\nline 2" } : {
        status: "denied" as const,
        error: { code: "ERR_DENIED", message: "Cannot call it", reason: "permission_denied" },
      },
    );

  it("shows the servers, makes the calls and ends with --once", async () => {
    const terminal = { files: { ...files, "calls.json": calls } };
    const { code, out, err, seen } = await run(["serve", "--calls", "calls.json", "--once"], terminal, {
      servers: [ready],
      answer,
    });
    expect([code, err]).toEqual([0, ""]);
    expect(out).toBe([
      "SERVER  STATE  ERA     VERSION  TOOLS",
      "a       ready  modern  v        2",
      "",
      "1/2  mcp.a.ok  allowed",
      "     completed  1 ms",
      "     line 1",
      "     line 2",
      "",
      "2/2  mcp.a.no",
      "     denied (permission_denied): Cannot call it  1 ms",
      "",
    ].join("\n"));
    expect(seen.calls).toEqual([["mcp.a.ok", { x: 1 }, "deny"], ["mcp.a.no", {}, "deny"]]);
    expect(seen.closed).toBe(1);
  });

  it("follows the log until it is interrupted, and exits 0", async () => {
    const terminal = fakeTerminal(["serve"], { files });
    const host = fakeHost({ servers: [ready], events: [event(1, "host.opened", {}, { stream: "host:main" })] });
    const ended = runCommandLine({
      ...terminal,
      out: {
        ...terminal.out,
        write: (text) => {
          void terminal.out.write(text);
          if (text.includes("host.opened")) terminal.interrupt();
        },
      },
    }, host.open);
    expect(await ended).toBe(0);
    expect(terminal.written.out).toContain(
      "The log of this run, times in UTC (Ctrl-C ends)\n10:53:20.001  host:main 1  host.opened\n",
    );
    expect(host.seen.closed).toBe(1);
  });

  it.each([
    ["{}", "found no list"],
    ["[1", "found no JSON"],
    ['[{"tool":"a"},{"tool":1}]', "found another shape at [1]"],
    ['[{"tool":"a","arguments":[]}]', "found another shape at [0]"],
    ["[null]", "found another shape at [0]"],
  ])("calls %s are refused before anything starts", async (text, found) => {
    const { code, err, seen } = await run(["serve", "--calls", "c.json"], { files: { ...files, "c.json": text } });
    expect(code).toBe(2);
    expect(err).toBe(
      `error: Cannot read calls "c.json": ${found}, wanted a list of { "tool", "arguments"?, "note"? }\n`,
    );
    expect(seen.opened).toEqual([]);
  });
});
