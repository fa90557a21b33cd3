import { describe, expect, it } from "vitest";
import { expandText } from "../../../src/config/expand.ts";
import { loadConfig } from "../../../src/config/load.ts";

const env = { TOKEN: "t0ken-value", EMPTY: "", NESTED: "${TOKEN}", HOME: "/home/somebody" };
const notFound = Object.assign(new Error("no such file, open /run/gone"), { code: "ENOENT" });
const sources = {
  env,
  readFile: (path: string) => path === "/run/key" ? Promise.resolve("from-file\n") : Promise.reject(notFound),
  secrets: (name: string) => (name === "jira" ? "from-provider" : undefined),
};

describe("placeholders", () => {
  it.each([
    ["plain", "plain"],
    ["${TOKEN}", "t0ken-value"],
    ["Bearer ${TOKEN}!", "Bearer t0ken-value!"],
    ["${TOKEN}${TOKEN}", "t0ken-valuet0ken-value"],
    ["${GONE:-default}", "default"],
    ["${EMPTY:-default}", "default"],
    ["${TOKEN:-default}", "t0ken-value"],
    ["${GONE:-}", ""],
    ["${GONE:-a:-b\nc}", "a:-b\nc"],
    ["${EMPTY}", ""],
    ["${file:/run/key}", "from-file"],
    ["${secret:jira}", "from-provider"],
    ["$TOKEN", "$TOKEN"],
    ["$${TOKEN}", "${TOKEN}"],
    ["$${ ${TOKEN}", "${ t0ken-value"],
    ["a$b $", "a$b $"],
    ["${NESTED}", "${TOKEN}"],
  ])("%j becomes %j", async (text, expected) => {
    const expansion = await expandText(text, sources);
    expect(expansion.text).toBe(expected);
    expect(expansion.faults).toEqual([]);
  });

  it.each([
    ["${GONE}", "ERR_ENV_MISSING", "environment variable GONE is not set, wanted a value or ${GONE:-default}"],
    [
      "${constructor}",
      "ERR_ENV_MISSING",
      "environment variable constructor is not set, wanted a value or ${constructor:-default}",
    ],
    ["${file:/run/gone}", "ERR_ENV_MISSING", 'file "/run/gone" cannot be read: no such file'],
    ["${secret:gone}", "ERR_ENV_MISSING", 'the secrets provider has no "gone", wanted a secret that it knows'],
    [
      "${TOKEN",
      "ERR_CONFIG",
      'found "${" without "}", wanted ${NAME}, ${NAME:-default}, ${file:path} or ${secret:name}, or "$${" for the characters themselves',
    ],
    [
      "${env:TOKEN}",
      "ERR_CONFIG",
      'found the placeholder "${env:TOKEN}", wanted ${NAME}, ${NAME:-default}, ${file:path} or ${secret:name}, did you mean ${TOKEN}',
    ],
    [
      "${}",
      "ERR_CONFIG",
      'found the placeholder "${}", wanted ${NAME}, ${NAME:-default}, ${file:path} or ${secret:name}',
    ],
  ])("%j is refused", async (text, code, detail) => {
    const expansion = await expandText(text, sources);
    expect(expansion.faults).toEqual([{ code, detail }]);
    expect(expansion.text).toBe(text);
  });

  it("files and secrets are refused where nothing provides them", async () => {
    const { faults } = await expandText("${file:a} ${secret:b}", { env: {} });
    expect(faults.map(({ code }) => code)).toEqual(["ERR_UNSUPPORTED_HERE", "ERR_UNSUPPORTED_HERE"]);
  });

  it("what stood behind a placeholder is a secret, unless every program may see it or the file says it", async () => {
    const { secrets } = await expandText("${TOKEN} ${HOME} ${GONE:-d} ${file:/run/key} ${secret:jira}", sources);
    expect(secrets).toEqual([
      { label: "env.TOKEN", value: "t0ken-value" },
      { label: "file./run/key", value: "from-file" },
      { label: "secret.jira", value: "from-provider" },
    ]);
  });

  it("a place on this machine is no secret, unless its name says so", async () => {
    const places = { ROOT: "/home/me/project", WIN: "C:\\work", KEY_DIR: "/home/me/keys", ODD: "/x8kdP+aa=" };
    const { secrets } = await expandText("${ROOT} ${WIN} ${KEY_DIR} ${ODD}", { env: places });
    expect(secrets.map(({ label }) => label)).toEqual(["env.KEY_DIR", "env.ODD"]);
  });

  it("a failing provider is a fault that does not tell its message", async () => {
    const secrets = () => Promise.reject(new TypeError("password is hunter2"));
    expect((await expandText("${secret:a}", { env, secrets })).faults).toEqual([
      { code: "ERR_ENV_MISSING", detail: 'the secrets provider failed for "a" (TypeError)' },
    ]);
  });

  it("a file that is too long is a fault", async () => {
    const readFile = () => Promise.resolve("x".repeat(65_537));
    expect((await expandText("${file:big}", { env, readFile })).faults).toEqual([
      { code: "ERR_CONFIG", detail: 'file "big" has 65537 characters, wanted at most 65536' },
    ]);
  });
});

describe("placeholders in a configuration", () => {
  const load = (entry: unknown) =>
    loadConfig({ text: JSON.stringify({ mcpServers: { x: entry } }), file: "c.json", ...sources });

  it("they are replaced in command, args, env, cwd, url, headers and auth, and nowhere else", async () => {
    const stdio = {
      command: "${TOKEN}",
      args: ["a", "--x=${TOKEN}"],
      env: { A: "${TOKEN}" },
      cwd: "${HOME}/x",
      tools: { allow: ["${TOKEN}"] },
    };
    expect((await load(stdio)).servers).toEqual([{
      name: "x",
      command: "t0ken-value",
      args: ["a", "--x=t0ken-value"],
      env: { A: "t0ken-value" },
      cwd: "/home/somebody/x",
      tools: { allow: ["${TOKEN}"] },
    }]);
    const http = {
      transport: { type: "http", url: "https://x.test/${TOKEN}", headers: { "x-a": "${secret:jira}" } },
      auth: { type: "bearer", token: "${TOKEN}" },
    };
    expect((await load(http)).servers).toEqual([{
      name: "x",
      transport: { type: "http", url: "https://x.test/t0ken-value", headers: { "x-a": "from-provider" } },
      auth: { type: "bearer", token: "t0ken-value" },
    }]);
  });

  it("a missing one leaves out its server and names every place", async () => {
    const { servers, problems } = await load({ url: "https://x.test/${A}", headers: { "x-b": "${B}" } });
    expect(servers).toEqual([]);
    expect(problems.map(({ code, path, server }) => [code, path, server])).toEqual([
      ["ERR_ENV_MISSING", "mcpServers.x.url", "x"],
      ["ERR_ENV_MISSING", "mcpServers.x.headers.x-b", "x"],
    ]);
  });

  it("a missing one in a server that is switched off is a warning", async () => {
    const { problems, warnings } = await load({ command: "${GONE}", enabled: false });
    expect(problems).toEqual([]);
    expect(warnings.map(({ code, path }) => [code, path])).toEqual([["ERR_ENV_MISSING", "mcpServers.x.command"]]);
  });

  it.each([
    [{ command: "x", env: { API_KEY: "some-literal" } }, ["mcpServers.x.env.API_KEY"]],
    [{ command: "x", args: ["--token", "some-literal", "--verbose", "some-literal"] }, ["mcpServers.x.args[1]"]],
    [{ url: "https://x.test", headers: { "X-Api-Key": "some-literal" } }, ["mcpServers.x.headers.X-Api-Key"]],
    [{ command: "x", args: ["--api-key=some-literal", "--depth=some-literal"] }, ["mcpServers.x.args[0]"]],
    [{ command: "x", args: ["run", `gh${"p_"}${"Ab1".repeat(12)}`] }, ["mcpServers.x.args[1]"]],
    [{ url: "https://user:some-literal@x.test/" }, ["mcpServers.x.url"]],
    [{ url: "https://x.test/?api_key=some-literal&page=some-literal" }, ["mcpServers.x.url"]],
    [{ url: "https://x.test/?page=some-literal", auth: { type: "bearer", token: "some-literal" } }, [
      "mcpServers.x.auth.token",
    ]],
    [{ command: "x", env: { API_KEY: "${TOKEN}", TOKEN_URL: "https://x.test/token", PASSWORD: "short" } }, []],
  ])("literal credentials of %j are warned about", async (entry, places) => {
    const { servers, warnings } = await load(entry);
    expect(servers).toHaveLength(1);
    expect(warnings.map(({ path }) => path)).toEqual(places);
    expect(JSON.stringify(warnings)).not.toContain("some-literal");
  });
});
