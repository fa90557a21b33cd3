import { spawn } from "node:child_process";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import {
  createHost,
  type HostAskContext,
  type HostAsks,
  memoryLog,
  type ServerConfigInput,
  type UrlAsk,
} from "../../mod.ts";
import { eventually } from "../contract/runtime_child.ts";
import { runtimeHere } from "../run/adapter.ts";
import { root } from "./real_servers.ts";

const runtime = await runtimeHere();
const command = join(root, "node_modules", ".bin", "mcp-server-everything");
const START_MS = 120_000;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts it over HTTP; where somebody was faster to take the port, on another one. */
async function overHttp(): Promise<Omit<ServerConfigInput, "name">> {
  for (let attempts = 1;; attempts++) {
    const port = await freePort();
    const child = spawn(command, ["streamableHttp"], {
      env: { PATH: runtime.environment()["PATH"] ?? "", PORT: String(port) },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    closing.push(() => (child.kill("SIGKILL"), gone));
    let said = "";
    const isUp = new Promise<boolean>((resolve) => {
      child.stderr.on("data", (chunk: Uint8Array) => {
        said += new TextDecoder().decode(chunk);
        if (said.includes("listening on port")) resolve(true);
      });
      void gone.then(() => resolve(false));
    });
    if (await isUp) return { transport: { type: "http", url: `http://127.0.0.1:${port}/mcp` } };
    if (attempts === 5) throw new Error(`Cannot start the server: ${said.slice(-500)}`);
  }
}

const overPipes = (): Promise<Omit<ServerConfigInput, "name">> =>
  Promise.resolve({ transport: { type: "stdio", command, args: ["stdio"] } });

async function open(place: Omit<ServerConfigInput, "name">, asks: HostAsks) {
  const host = await createHost({
    runtime,
    log: memoryLog(),
    servers: [{ name: "every", startTimeoutMs: START_MS, ...place } as ServerConfigInput],
    permission: { rules: [{ decision: "allow" }] },
    asks,
  });
  closing.push(() => host.close());
  expect(await host.ready({ timeoutMs: START_MS })).toMatchObject([{ state: "ready" }]);
  const session = await host.session();
  const call = async (tool: string, args: object = {}): Promise<string> => {
    const outcome = await session.tool(`mcp.every.${tool}`, args);
    expect(outcome).toMatchObject({ status: "completed", isError: false });
    return outcome.output;
  };
  return { host, session, call };
}

describe.each([["pipes", overPipes], ["HTTP", overHttp]])(
  `@modelcontextprotocol/server-everything over %s on ${runtime.name}`,
  { timeout: START_MS + 60_000 },
  (_name, place) => {
    test("has its forms filled in, in a call and in the middle of a task, and its samples taken", async () => {
      const asked: HostAskContext[] = [];
      const { session, call } = await open(await place(), {
        form: ({ schema }, context) => {
          asked.push(context);
          const { properties = {} } = schema as { properties?: Record<string, unknown> };
          return {
            action: "accept",
            content: "interpretation" in properties ? { interpretation: "snake" } : { name: "Ada", check: true },
          };
        },
        sample: (params, context) => {
          asked.push(context);
          return {
            role: "assistant",
            content: { type: "text", text: JSON.stringify(params["messages"]) },
            model: "mine",
          };
        },
      });
      expect(await call("trigger-elicitation-request")).toContain("Ada");
      expect(await call("trigger-sampling-request", { prompt: "say hello" })).toContain("say hello");
      const report = await call("simulate-research-query", { topic: "python", ambiguous: true });
      expect(report).toContain("python (snake)");
      expect(asked.map(({ server, tool }) => [server, tool])).toEqual([
        ["every", "mcp.every.trigger-elicitation-request"],
        ["every", "mcp.every.trigger-sampling-request"],
        ["every", "mcp.every.simulate-research-query"],
      ]);
      expect(session.toolNames({ spelling: "qualified" })).not.toContain("mcp.every.get-roots-list");
    });

    test("has its addresses looked at by a person, those it asks for and those it fails with", async () => {
      const seen: UrlAsk[] = [];
      const { call, session } = await open(await place(), { url: (ask) => (seen.push(ask), { action: "accept" }) });
      expect(session.toolNames({ spelling: "qualified" })).not.toContain("mcp.every.trigger-sampling-request");
      const url = "https://example.com/consent?id=1";
      expect(await call("trigger-url-elicitation", { url })).toContain("completed the URL elicitation");
      expect(await call("trigger-url-elicitation", { url, errorPath: true })).toContain(
        "completed the URL elicitation",
      );
      expect(seen.map(({ url, host }) => [url, host])).toEqual([
        [url, "example.com"],
        ["https://modelcontextprotocol.io", "modelcontextprotocol.io"],
        [url, "example.com"],
      ]);
    });

    test("learns of roots, and of their change (C-ROOT-02)", async () => {
      let uri = "file:///old/place";
      let asks = 0;
      const { host, call } = await open(await place(), {
        roots: () => (asks++, [{ uri, name: "place" }]),
        rootsListChanged: true,
      });
      expect(await call("get-roots-list")).toContain("file:///old/place");
      uri = "file:///new/place";
      const before = asks;
      host.rootsChanged();
      await eventually("roots are asked for again", () => asks > before);
      await eventually("the server knows the new ones", async () => (await call("get-roots-list")).includes(uri));
    });
  },
);
