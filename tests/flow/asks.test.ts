import { join } from "node:path";
import process from "node:process";
import { afterEach, describe, expect, test } from "vitest";
import {
  createHost,
  type Host,
  type HostAskContext,
  type HostAsks,
  memoryLog,
  type ServerConfigInput,
} from "../../mod.ts";
import { eventually } from "../contract/runtime_child.ts";
import { startOfficialHttp } from "../fixtures/official_servers.mjs";
import { runtimeHere } from "../run/adapter.ts";

const runtime = await runtimeHere();
const fixture = (name: string): string => join(import.meta.dirname, "..", "fixtures", name);
const START_MS = 120_000;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

type Place = Omit<ServerConfigInput, "name">;
const stdio = (kind: string) => (): Promise<Place> =>
  Promise.resolve({
    transport: { type: "stdio", command: process.execPath, args: [fixture("official_servers.mjs"), kind] },
  });
const http = (kind: "v1" | "v2") => async (): Promise<Place> => {
  const server = await startOfficialHttp(kind);
  closing.push(() => server.close());
  return { transport: { type: "http", url: server.url } };
};
const SERVERS: [name: string, place: () => Promise<Place>, version: string][] = [
  ["v1 over stdio", stdio("v1"), "2025-11-25"],
  ["v1 over HTTP", http("v1"), "2025-11-25"],
  ["v2 over stdio", stdio("v2"), "2026-07-28"],
  ["v2 over HTTP", http("v2"), "2026-07-28"],
];

async function open(place: Place, asks: HostAsks) {
  const host: Host = await createHost({
    runtime,
    log: memoryLog(),
    servers: [{ name: "them", startTimeoutMs: START_MS, ...place } as ServerConfigInput],
    permission: { rules: [{ decision: "allow" }] },
    asks,
  });
  closing.push(() => host.close());
  await host.ready({ timeoutMs: START_MS });
  const session = await host.session();
  const inputs = async (): Promise<unknown[]> =>
    (await host.readEvents({ stream: `session:${session.id}` })).flatMap(({ type, payload: { kind, action } }) =>
      type === "mcp.input.resolved" ? [[kind, action]] : []
    );
  return { host, session, inputs };
}

describe(`what real servers ask of a host on ${runtime.name}`, { timeout: START_MS + 60_000 }, () => {
  test.each(SERVERS)(
    "%s: a call, a read and a prompt are answered by the same handlers",
    async (_name, place, version) => {
      const contexts: HostAskContext[] = [];
      const { session, inputs } = await open(await place(), {
        form: (_ask, context) => {
          contexts.push(context);
          return { action: "accept", content: { name: "Ada" } };
        },
        sample: () => ({ role: "assistant", content: { type: "text", text: "said" }, model: "none" }),
        roots: () => [{ uri: "file:///place" }],
      });
      expect(session.mcpStatus()).toMatchObject([{ state: "ready", version }]);
      const called = await session.tool("mcp.them.survey", {});
      expect(JSON.parse(called.output)).toEqual(["accept", { name: "Ada", age: 36 }, "said", ["file:///place"]]);
      expect(await session.resources.read("survey://page")).toMatchObject({
        status: "completed",
        output: "accept Ada",
      });
      expect(await session.prompts.invoke("survey")).toMatchObject({
        status: "completed",
        messages: [{ role: "user", content: { type: "text", text: "accept Ada" } }],
      });
      expect(contexts.map(({ server, tool, uri, prompt }) => [server, tool ?? uri ?? prompt])).toEqual([
        ["them", "mcp.them.survey"],
        ["them", "survey://page"],
        ["them", "survey"],
      ]);
      const seen = await inputs();
      // Where they come in results, roots are asked for the sake of the call as the others are.
      expect(seen.filter((each) => (each as string[])[0] !== "roots")).toEqual([
        ["form", "accept"],
        ["sampling", "accept"],
        ["form", "accept"],
        ["form", "accept"],
      ]);
    },
  );

  test.each(SERVERS)("%s: tells of changes of a resource until that is taken back", async (_name, place, version) => {
    const { session } = await open(await place(), {});
    expect(session.mcpStatus()).toMatchObject([{ state: "ready", version }]);
    const updated: string[] = [];
    const subscription = await session.resources.subscribe("live://page", {
      onUpdated: (uri) => void updated.push(uri),
    });
    // A subscription stands only when the server says so: until then changes are not told, so they go on.
    await eventually("a change is told", async () => {
      await session.resources.read("live://touch");
      return updated.length > 0;
    });
    expect(new Set(updated)).toEqual(new Set(["live://page"]));
    expect((await session.resources.read("live://page")).output).toMatch(/^change \d+$/);
    subscription.close();
    const second: string[] = [];
    await session.resources.subscribe("survey://page", { onUpdated: (uri) => void second.push(uri) });
    const before = updated.length;
    await session.resources.read("live://touch");
    await session.resources.read("live://page");
    expect([updated.length, second]).toEqual([before, []]);
  });
});
