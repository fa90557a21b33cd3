import { describe, expect, it } from "vitest";
import { isHostError } from "../../../src/kernel/errors.ts";
import { normaliseServer } from "../../../src/servers/config.ts";

function refusal(input: unknown, place?: string): string {
  try {
    normaliseServer(input, place);
  } catch (error) {
    if (!isHostError(error, "ERR_CONFIG")) throw error;
    return error.message;
  }
  throw new Error("Expected ERR_CONFIG, got none");
}

describe("server config", () => {
  it("fills in every default", () => {
    expect(normaliseServer({ name: "files", transport: { type: "stdio", command: "npx" } })).toEqual({
      name: "files",
      transport: { type: "stdio", command: "npx", args: [], env: {}, inheritEnv: "base" },
      enabled: true,
      timeoutMs: 60_000,
      maxTotalMs: 600_000,
      startTimeoutMs: 30_000,
      probeTimeoutMs: 3000,
      stopGraceMs: 5000,
      restart: { auto: true, maxRestarts: 3, baseMs: 500, capMs: 10_000, resetAfterMs: 60_000 },
      auth: { type: "none" },
      tools: { allow: [], deny: [], risk: {} },
      trustAnnotations: false,
      onToolChange: "ask",
      reconnect: "never",
      required: false,
    });
  });

  it.each([
    ["nested", { name: "a", transport: { type: "stdio", command: "node", args: ["x"], env: { A: "1" }, cwd: "/tmp" } }],
    ["flat", { name: "a", command: "node", args: ["x"], env: { A: "1" }, cwd: "/tmp" }],
    ["flat with type", { name: "a", type: "stdio", command: "node", args: ["x"], env: { A: "1" }, cwd: "/tmp" }],
    ["env beside a nested transport", {
      name: "a",
      transport: { type: "stdio", command: "node", args: ["x"], cwd: "/tmp" },
      env: { A: "1" },
    }],
    ["other language bindings", {
      name: "a",
      transport: { type: "stdio", command: "node", args: ["x"], env: { A: "1" }, cwd: "/tmp" },
      env: {},
      oauth: null,
      enabled: true,
    }],
  ])("stdio in the %s shape is the same server", (_shape, input) => {
    expect(normaliseServer(input).transport).toEqual({
      type: "stdio",
      command: "node",
      args: ["x"],
      env: { A: "1" },
      inheritEnv: "base",
      cwd: "/tmp",
    });
  });

  it.each([
    [{ name: "a", url: "https://x.test/mcp", headers: { "X-A": "1" } }, "http"],
    [{ name: "a", type: "http", url: "https://x.test/mcp", headers: { "X-A": "1" } }, "http"],
    [{ name: "a", transport: { type: "streamable-http", url: "https://x.test/mcp", headers: { "X-A": "1" } } }, "http"],
    [{ name: "a", transport: { type: "sse", url: "https://x.test/mcp", headers: { "X-A": "1" } } }, "sse"],
  ])("http server %j", (input, type) => {
    expect(normaliseServer(input).transport).toEqual({ type, url: "https://x.test/mcp", headers: { "X-A": "1" } });
  });

  it.each([["timeoutMs", 30_000], ["timeout_ms", 30_000], ["toolTimeoutMs", 30_000], ["toolTimeoutSecs", 30], [
    "tool_timeout_secs",
    30,
  ]])(
    "%s is a spelling of the call timeout",
    (key, value) => {
      expect(normaliseServer({ name: "a", command: "x", [key]: value }).timeoutMs).toBe(30_000);
    },
  );

  it("a call timeout above the default total raises the total", () => {
    expect(normaliseServer({ name: "a", command: "x", timeoutMs: 1_800_000 }).maxTotalMs).toBe(1_800_000);
  });

  it("oauth is a spelling of auth", () => {
    expect(normaliseServer({ name: "a", url: "https://x.test", oauth: { clientId: "c" } }).auth).toEqual({
      type: "oauth",
      clientId: "c",
    });
  });

  it.each([
    ["a number", 3, "Cannot use server without a name: found 3, wanted an object"],
    ["null", null, "Cannot use server without a name: found null, wanted an object"],
    ["no name", { command: "x" }, 'Cannot use server without a name: "name" is missing'],
    [
      "a mistyped key",
      { name: "a", comand: "x" },
      'Cannot use server "a": unknown key "comand", did you mean "command"',
    ],
    [
      "a key of other hosts",
      { name: "a", command: "x", disabled: true },
      'Cannot use server "a": unknown key "disabled"',
    ],
    [
      "a mistyped key inside",
      { name: "a", transport: { type: "stdio", commnd: "x" } },
      'Cannot use server "a": unknown key "commnd" in "transport", did you mean "command" (and 1 more)',
    ],
    [
      "a key like nothing known",
      { name: "a", command: "x", qqqqqqqqq: 1 },
      'Cannot use server "a": unknown key "qqqqqqqqq"',
    ],
    ["a wrong type", { name: "a", command: 1 }, 'Cannot use server "a": "command" is 1, wanted a string'],
    [
      "a wrong type inside",
      { name: "a", command: "x", args: ["a", 2] },
      'Cannot use server "a": "args.1" is 2, wanted a string',
    ],
    [
      "a wrong word",
      { name: "a", command: "x", reconnect: "often" },
      'Cannot use server "a": "reconnect" is a string, wanted one of "never", "lazy"',
    ],
    [
      "an unknown transport",
      { name: "a", transport: { type: "websocket", url: "x" } },
      'Cannot use server "a": "transport.type" is a string, wanted one of "stdio", "http", "streamable-http", "sse"',
    ],
    [
      "no transport",
      { name: "a" },
      'Cannot use server "a": no transport is given, wanted "transport", "command" or "url"',
    ],
    [
      "args alone",
      { name: "a", args: ["x"] },
      'Cannot use server "a": no transport is given, wanted "transport", "command" or "url"',
    ],
    [
      "both",
      { name: "a", command: "x", url: "https://x.test" },
      'Cannot use server "a": both "command" and "url" are given, wanted one of them',
    ],
    [
      "flat beside nested",
      { name: "a", command: "x", transport: { type: "stdio", command: "y" } },
      'Cannot use server "a": "command" stands beside "transport", wanted it inside or no "transport"',
    ],
    [
      "an empty command",
      { name: "a", command: "" },
      'Cannot use server "a": "command" is an empty string, wanted a string that is not empty',
    ],
    ["a blank command", { name: "a", command: "  " }, 'Cannot use server "a": "command" is blank'],
    [
      "a URL of another scheme",
      { name: "a", url: "file:///etc/passwd" },
      'Cannot use server "a": "url" has the scheme "file:", wanted "https:" or "http:"',
    ],
    [
      "no URL",
      { name: "a", url: "x.test/mcp" },
      'Cannot use server "a": "url" is no absolute URL, wanted one that begins with https:// or http://',
    ],
    [
      "a zero timeout",
      { name: "a", command: "x", timeoutMs: 0 },
      'Cannot use server "a": "timeoutMs" is 0, wanted a whole number of milliseconds from 1 to 2147483647',
    ],
    [
      "two timeouts",
      { name: "a", command: "x", timeoutMs: 1, timeout_ms: 1 },
      'Cannot use server "a": "timeoutMs" and "timeout_ms" are spellings of one setting, wanted one of them',
    ],
    [
      "a zero byte",
      { name: "a", command: "x", args: ["a\0b"] },
      'Cannot use server "a": "command", "args" or "cwd" holds a zero character',
    ],
    ["a variable given twice", {
      name: "a",
      transport: { type: "stdio", command: "x", env: { A: "1" } },
      env: { A: "2" },
    }, 'Cannot use server "a": variable "A" is given in "env" and in "transport.env"'],
    [
      "env for a URL",
      { name: "a", url: "https://x.test", env: { A: "1" } },
      'Cannot use server "a": "env" has no meaning for a server behind "url"',
    ],
    [
      "a header that smuggles",
      { name: "a", url: "https://x.test", headers: { "X-A": "1\r\nX-B: 2" } },
      'Cannot use server "a": "headers" has an entry "X-A" that is no valid header',
    ],
    [
      "bearer without token",
      { name: "a", url: "https://x.test", auth: { type: "bearer" } },
      'Cannot use server "a": "auth.token" is missing or not one word of printable characters',
    ],
    [
      "auth for a child",
      { name: "a", command: "x", auth: { type: "bearer", token: "t" } },
      'Cannot use server "a": "auth" has no meaning for a server that is a child process, wanted "env"',
    ],
    [
      "a cap below the base",
      { name: "a", command: "x", restart: { baseMs: 100, capMs: 10 } },
      'Cannot use server "a": "restart.capMs" is below "restart.baseMs"',
    ],
    [
      "a wrong risk",
      { name: "a", command: "x", tools: { risk: { echo: "none" } } },
      'Cannot use server "a": "tools.risk.echo" is a string, wanted one of "read", "write", "execute", "network", "credential", "destructive"',
    ],
  ])("%s is refused by place, finding and want", (_what, input, message) => {
    expect(refusal(input)).toBe(message);
  });

  it.each(["", "a_", "a__b", "a.b", "a b", "é", "x".repeat(33), "mcp", "local", "__proto__"])(
    "name %j is refused",
    (name) => {
      expect(() => normaliseServer({ name, command: "x" })).toThrow("name");
    },
  );

  it.each(["a", "_a", "A-1", "x".repeat(32), "a_b"])("name %j is taken", (name) => {
    expect(normaliseServer({ name, command: "x" }).name).toBe(name);
  });

  it("a given place stands in the message", () => {
    expect(refusal({ name: "a" }, "mcp.config.json, mcpServers.a")).toMatch(
      /^Cannot use mcp\.config\.json, mcpServers\.a: /,
    );
  });

  it("no message shows a value", () => {
    const secret = "hunter2hunter2";
    const inputs = [
      { name: "a", command: [secret] },
      { name: "a", url: `https://${secret}` + ":bad:port" },
      { name: "a", url: "https://x.test", headers: { "X-A": `${secret}\n${secret}` } },
      { name: "a", command: "x", reconnect: secret },
      { name: "a", url: "https://x.test", auth: { type: "bearer", token: `${secret} ${secret}` } },
    ];
    for (const input of inputs) expect(refusal(input)).not.toContain(secret);
  });

  it("A-30 prototype keys do no harm", () => {
    const input = JSON.parse('{"name":"a","command":"x","__proto__":{"polluted":1},"env":{"constructor":"c"}}');
    expect(refusal(input)).toContain("__proto__");
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
