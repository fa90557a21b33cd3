import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../../src/config/load.ts";
import { createHost } from "../../../src/host.ts";
import type { HostOptions } from "../../../src/host_options.ts";
import { fakeRuntime } from "../../fixtures/fake_runtime.ts";

const file = "mcp.config.json";
const load = (text: string, env: Record<string, string> = {}) => loadConfig({ text, file, env });

/** Severity, code and message of everything that is wrong, in the order of the file. */
async function complaints(text: string, env?: Record<string, string>): Promise<string[]> {
  const { problems, warnings } = await load(text, env);
  return [...problems, ...warnings].map(({ severity, code, message }) => `${severity} ${code} ${message}`);
}

const entry = (text: string): string =>
  `{\n  "mcpServers": {\n    "ok": { "command": "node" },\n    "x": ${text}\n  }\n}`;

describe("configuration file", () => {
  it("comments, trailing commas and a byte order mark are accepted", async () => {
    const { servers, problems } = await load(
      '\uFEFF// servers\n{ "mcpServers": { /* one */ "a": { "command": "node", "args": ["x",], }, }, }',
    );
    expect(problems).toEqual([]);
    expect(servers).toEqual([{ name: "a", command: "node", args: ["x"] }]);
  });

  it("a file that is not JSON gives one fatal problem and no server", async () => {
    const { servers, problems } = await load('{\n  "mcpServers": {\n    "a": { "command": "x" }\n    "b": {}\n  }\n}');
    expect(servers).toEqual([]);
    expect(problems).toEqual([{
      severity: "fatal",
      code: "ERR_CONFIG",
      file,
      line: 4,
      column: 5,
      path: "",
      detail: "is not JSON: found a string, wanted a comma",
      message: "mcp.config.json:4:5: is not JSON: found a string, wanted a comma",
    }]);
  });

  it.each([
    ["", "1:1: is not JSON: found the end of the file, wanted a value"],
    ["// nothing\n", "2:1: is not JSON: found the end of the file, wanted a value"],
    ["{", "1:2: is not JSON: found the end of the file, wanted a closing brace"],
    ["hello", '1:1: is not JSON: found "h", wanted a JSON value'],
    ["{'a': 1}", '1:2: is not JSON: found "\'", wanted a JSON value'],
    ['{"mcpServers": }', '1:16: is not JSON: found "}", wanted a value'],
    ['{"a": "x\n"}', "1:7: is not JSON: found a string, wanted a closing double quote on the same line"],
    ['{"mcpServers": {}} }', '1:20: is not JSON: found "}", wanted the end of the file'],
    ["[1]", '1:1: found a list, wanted { "mcpServers": { ... } }'],
    ["null", '1:1: found null, wanted { "mcpServers": { ... } }'],
    [`{"mcpServers": ${"[".repeat(5000)}`, "1:79: found more than 64 levels, wanted at most that many"],
    [" ".repeat(1_048_577), "1:1: found 1048577 characters, wanted at most 1048576"],
  ])("text %# is refused with its place", async (text, message) => {
    expect(await complaints(text)).toEqual([`fatal ERR_CONFIG mcp.config.json:${message}`]);
  });

  it.each([
    ["{}", 'error ERR_CONFIG mcp.config.json:1:1: found no "mcpServers", wanted an object of servers'],
    [
      '{"mcpServers":[]}',
      "error ERR_CONFIG mcp.config.json:1:15: mcpServers: found a list, wanted an object of servers",
    ],
    [
      '{"servers":{}}',
      'error ERR_CONFIG mcp.config.json:1:2: servers: unknown key "servers", did you mean "mcpServers"',
    ],
    [
      '{"mcpServers":{},"colour":{}}',
      'error ERR_CONFIG mcp.config.json:1:18: colour: unknown key "colour", wanted one of $schema, mcpServers, permission, redaction, log, limits',
    ],
    [
      '{"mcpServers":{},"permisions":{}}',
      'fatal ERR_CONFIG mcp.config.json:1:18: permisions: unknown key "permisions", did you mean "permission"',
    ],
    [
      '{"mcpServers":{},"limits":{}}',
      'fatal ERR_UNSUPPORTED_HERE mcp.config.json:1:18: limits: section "limits" is not available here; leave it out, or give the option in code to createHost',
    ],
  ])("section %s is explained", async (text, message) => {
    expect(await complaints(text)).toEqual([message]);
  });

  it("an unknown section leaves the servers alone", async () => {
    const { servers } = await load('{"mcpServers":{"a":{"command":"x"}},"colour":{}}');
    expect(servers.map(({ name }) => name)).toEqual(["a"]);
  });

  it("any text is read without a rejection, and what it breaks is in the file", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.dictionary(fc.string(), fc.jsonValue()).map((mcpServers) => JSON.stringify({ mcpServers })),
        ),
        async (text) => {
          const { problems, warnings } = await load(text);
          const lines = text.split(/\r\n|\r|\n/);
          for (const { line, column } of [...problems, ...warnings]) {
            expect(line).toBeGreaterThan(0);
            expect(line).toBeLessThanOrEqual(lines.length);
            expect(column).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 300, seed: 1 },
    );
  });
});

describe("options of a configuration", () => {
  const wanted = "wanted { text, file, env }: the text of the file, how messages name it, and variables";
  it.each<[unknown, string]>([
    [undefined, `found nothing, ${wanted}`],
    ["mcp.config.json", `found a string, ${wanted}`],
    [["{}"], `found a list, ${wanted}`],
    [{ file: "x", env: {} }, '"text" is missing, wanted the whole text of the file'],
    [{ text: "{}", env: {} }, '"file" is missing, wanted a string, how messages name the file'],
    [{ text: "{}", file: "x" }, '"env" is missing, wanted an object of variables'],
    [{ text: "{}", file: "x", environment: {} }, 'unknown option "environment", wanted "text", "file", "env"'],
    [{ text: "{}", file: "x", env: {}, readFile: "x" }, '"readFile" is a string, wanted a function'],
  ])("%j are refused", async (options, found) => {
    const error: unknown = await loadConfig(options as never).catch((error: unknown) => error);
    expect(error).toMatchObject({
      code: "ERR_CONFIG",
      message: expect.stringContaining(`Cannot load a configuration: ${found}`),
    });
  });

  it("a variable that is undefined is as good as left out", async () => {
    const env: Record<string, string | undefined> = { A: "a", B: undefined };
    const { servers } = await loadConfig({ text: entry('{ "command": "${A}", "args": ["${B:-b}"] }'), file, env });
    expect(servers[1]).toMatchObject({ command: "a", args: ["b"] });
  });

  it("what is loaded fits the options of a host, also without rules", async () => {
    const { servers, permission, expandedSecrets } = await load("{}");
    const options: HostOptions = { runtime: fakeRuntime({}), servers, permission, secrets: expandedSecrets };
    const host = await createHost(options);
    expect(host.globalMcpStatus()).toEqual([]);
    await host.close();
  });
});

describe("server entry", () => {
  it.each([
    ['{ "args": ["x"] }', '4:10: mcpServers.x: no transport is given, wanted "transport", "command" or "url"'],
    [
      '{ "command": "a", "url": "http://b" }',
      '4:23: mcpServers.x.command: both "command" and "url" are given, wanted one of them',
    ],
    ['{ "command": 1 }', '4:23: mcpServers.x.command: "command" is 1, wanted a string'],
    [
      '{ "command": "" }',
      '4:23: mcpServers.x.command: "command" is an empty string, wanted a string that is not empty',
    ],
    ["null", "4:10: mcpServers.x: found null, wanted an object"],
    ["[]", "4:10: mcpServers.x: found a list, wanted an object"],
    ['{ "comand": "node" }', '4:12: mcpServers.x.comand: unknown key "comand", did you mean "command"'],
    [
      '{ "transport": { "type": "stdio", "command": "x", "arg": [] } }',
      '4:60: mcpServers.x.transport.arg: unknown key "arg" in "transport", did you mean "args"',
    ],
    ['{ "command": "x",\n      "args": ["a", 2] }', '5:21: mcpServers.x.args[1]: "args.1" is 2, wanted a string'],
    ['{ "url": "htp://x" }', '4:19: mcpServers.x.url: "url" has the scheme "htp:", wanted "https:" or "http:"'],
    [
      '{ "command": "x", "command": "y" }',
      '4:28: mcpServers.x.command: found the key "command" a second time, wanted it once',
    ],
    [
      '{ "command": "x", "__proto__": {} }',
      '4:28: mcpServers.x.__proto__: found the key "__proto__", wanted any other',
    ],
    [
      '{ "name": "y", "command": "x" }',
      '4:12: mcpServers.x.name: unknown key "name", wanted the name only as the key of the entry',
    ],
    [
      '{ "command": "x", "tools": { "risk": { "t": "reed" } } }',
      '4:54: mcpServers.x.tools.risk.t: "tools.risk.t" is a string, wanted one of "read", "write", "execute", "network", "credential", "destructive"',
    ],
  ])("entry %s is left out alone, with its place", async (text, message) => {
    expect(await complaints(entry(text))).toEqual([`error ERR_CONFIG mcp.config.json:${message}`]);
    expect((await load(entry(text))).servers.map(({ name }) => name)).toEqual(["ok"]);
  });

  it("all faults of an entry are reported, in the order of the file", async () => {
    expect(await complaints(entry('{ "comand": "x", "timeoutMs": -1 }'))).toEqual([
      'error ERR_CONFIG mcp.config.json:4:12: mcpServers.x.comand: unknown key "comand", did you mean "command"',
      expect.stringMatching(/4:40: mcpServers\.x\.timeoutMs: "timeoutMs" is -1, wanted a whole number/),
    ]);
  });

  it("a name that cannot be part of a tool's name is refused at the key", async () => {
    expect(await complaints('{"mcpServers":{"a__b":{"command":"x"}}}')).toEqual([
      expect.stringContaining('error ERR_CONFIG mcp.config.json:1:16: mcpServers.a__b: "name" is not usable, wanted'),
    ]);
  });

  it("of two entries with one name the first counts", async () => {
    const text = '{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}';
    expect(await complaints(text)).toEqual([
      'error ERR_DUPLICATE_SERVER mcp.config.json:1:36: mcpServers.a: found the key "a" a second time, wanted it once',
    ]);
    expect((await load(text)).servers).toEqual([{ name: "a", command: "x" }]);
  });

  it("a name that is special to objects reaches no prototype", async () => {
    const { servers } = await load('{"mcpServers":{"__proto__":{"command":"x"},"constructor":{"command":"x"}}}');
    expect(servers.map(({ name }) => name)).toEqual(["constructor"]);
    expect(({} as Record<string, unknown>)["command"]).toBeUndefined();
  });

  it("a place can be found for what turns out to be wrong later", async () => {
    const config = await load(entry('{ "command": "gone" }'));
    expect(config.placeOf("x")).toBe("mcp.config.json:4:5");
  });
});

describe("rules of the gate", () => {
  const rules = (text: string): string => `{"mcpServers":{"a":{"command":"x"}},\n"permission":${text}}`;

  it("rules are handed on", async () => {
    const { permission, servers } = await load(rules('{"rules":[{"tool":"mcp.a.*","decision":"allow"}]}'));
    expect(permission).toEqual({ rules: [{ tool: "mcp.a.*", decision: "allow" }] });
    expect(servers).toHaveLength(1);
  });

  it.each([
    [
      '{"rules":[{"tool":"x","decision":"alow"}]}',
      '2:47: permission.rules[0].decision: found "alow", wanted allow, ask or deny',
    ],
    ['{"rules":[{"tool":"x"}]}', '2:24: permission.rules[0]: "decision" is missing'],
    ['{"rules":[{"decision":"deny","reason":"x"}]}', '2:43: permission.rules[0].reason: unknown key "reason"'],
    ["[]", "2:14: permission: found a list, wanted an object"],
    ['{"rules":[],"rules":[]}', '2:26: permission.rules: found the key "rules" a second time, wanted it once'],
  ])("rules %s that cannot be read stop everything", async (text, message) => {
    expect(await complaints(rules(text))).toEqual([
      expect.stringContaining(`fatal ERR_CONFIG mcp.config.json:${message}`),
    ]);
    expect((await load(rules(text))).servers).toEqual([]);
  });
});
