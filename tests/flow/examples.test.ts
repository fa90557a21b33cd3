import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { startEverythingHttp } from "../../examples/everything_http.mjs";
import { loadConfig } from "../../src/config/load.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");

describe("examples", () => {
  it("configuration has nothing to complain about, and the calls reach each server once", async () => {
    const { servers, problems, warnings } = await loadConfig({
      text: read("examples/mcp.config.json"),
      file: "examples/mcp.config.json",
      env: { EVERYTHING_URL: "http://127.0.0.1:1/mcp" },
    });
    expect([...problems, ...warnings]).toEqual([]);
    const calls = JSON.parse(read("examples/calls.json")) as { tool: string }[];
    expect(calls.map(({ tool }) => tool.split(".")[1]).sort()).toEqual(servers.map(({ name }) => name).sort());
  });

  it("server over HTTP listens on loopback alone and knows nothing but PATH", async () => {
    const server = await startEverythingHttp();
    try {
      const { port, hostname } = new URL(server.url);
      expect(hostname).toBe("127.0.0.1");
      expect(await accepts(Number(port), hostname)).toBe(true);
      for (const address of foreignAddresses()) expect(await accepts(Number(port), address)).toBe(false);
      expect(await callGetEnv(server.url)).toEqual(["PATH"]);
    } finally {
      await server.close();
    }
    await expect(fetch(server.url)).rejects.toThrow();
  });

  it("program that reads resources and fills in prompts is the one of README.md, whose test runs it", () => {
    const program = read("examples/resources.ts").replace("../mod.ts", "portcullis")
      .replace("../runtimes/node/mod.ts", "portcullis/node");
    expect(read("README.md")).toContain(`\`\`\`ts\n${program}\`\`\``);
  });

  it("npm start shows the servers, makes the calls and ends with 0", async () => {
    const log = mkdtempSync(join(tmpdir(), "portcullis-start-"));
    try {
      const { code, out } = await start("--once", "--log", log);
      expect(out).toMatch(/^everything +ready +legacy +2025-11-25 +\d+$/m);
      expect(out).toMatch(/^files +ready +legacy +2025-11-25 +\d+$/m);
      expect(out).toMatch(/^web +ready +legacy +2025-11-25 +\d+$/m);
      expect(out).toMatch(/^docs +ready +modern +2026-07-28 +\d+$/m);
      expect(out).toMatch(
        /mcp\.files\.read_text_file .*\n +completed .*\n +The gate is open for readers of this file\./,
      );
      expect(out).toMatch(/mcp\.everything\.echo .*\n +denied \(no_approver\)/);
      expect(out).toMatch(/mcp\.docs\.query-docs .*\n +denied \(permission_denied\)/);
      expect(out).toMatch(
        /mcp\.web\.get-resource-reference .*\n +the tool reports a failure .*\n +Invalid resourceId: -1/,
      );
      // deno-lint-ignore no-control-regex
      expect(out).not.toMatch(/\x1b/);
      expect(code).toBe(0);
    } finally {
      rmSync(log, { recursive: true, force: true });
    }
  }, 180_000);
});

function foreignAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((each) => each ?? [])
    .filter(({ family, internal }) => family === "IPv4" && !internal)
    .map(({ address }) => address);
}

/** Whether somebody takes connections there. */
function accepts(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect({ port, host });
    probe.once("error", () => resolve(false));
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
  });
}

/** Names of the variables that the server's own tool gives away. */
async function callGetEnv(url: string): Promise<string[]> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const post = (body: unknown, session?: string): Promise<Response> =>
    fetch(url, {
      method: "POST",
      headers: { ...headers, ...(session === undefined ? {} : { "mcp-session-id": session }) },
      body: JSON.stringify(body),
    });
  const clientInfo = { name: "test", version: "1" };
  const opened = await post({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo },
  });
  await opened.text();
  const session = opened.headers.get("mcp-session-id")!;
  const params = { name: "get-env", arguments: {} };
  const answer = await (await post({ jsonrpc: "2.0", id: 2, method: "tools/call", params }, session)).text();
  const data = answer.split("\n").filter((line) => line.startsWith("data: {")).at(-1)!.slice("data: ".length);
  const { result } = JSON.parse(data) as { result: { content: { text: string }[] } };
  return Object.keys(JSON.parse(result.content[0]!.text) as object).filter((name) => !name.startsWith("__CF"));
}

function start(...args: string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ["examples/start.mjs", ...args], { cwd: root, timeout: 170_000 }, (error, out) => {
      if (error !== null && typeof error.code !== "number") reject(error);
      else resolve({ code: error === null ? 0 : Number(error.code), out });
    });
  });
}
