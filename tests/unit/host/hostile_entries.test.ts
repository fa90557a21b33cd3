import { describe, expect, it } from "vitest";
import { createHost } from "../../../src/host.ts";
import { fakeRuntime } from "../../fixtures/fake_runtime.ts";
import { rejection } from "../servers/supervisor_setup.ts";

const throwing = (): never => {
  throw new RangeError("no");
};
const getter = (key: string, rest: object = {}): never =>
  Object.defineProperty({ ...rest }, key, { get: throwing, enumerable: true }) as never;
const named = { name: "bad", command: "echo" };

const ENTRIES: [string, string, never][] = [
  ["a proxy whose every access throws", "server without a name", new Proxy({}, { get: throwing }) as never],
  [
    "a proxy that hides its keys",
    "bad",
    new Proxy(named, { ownKeys: throwing, getOwnPropertyDescriptor: throwing }) as never,
  ],
  ["a name that throws", "server without a name", getter("name", { command: "echo" })],
  ["a command that throws", "bad", getter("command", { name: "bad" })],
  ["a member that throws", "bad", getter("env", named)],
  ["a variable that throws", "bad", { ...named, env: getter("A") } as never],
  [
    "a credential that throws",
    "bad",
    { name: "bad", url: "https://x.test", auth: getter("token", { type: "bearer" }) } as never,
  ],
  ["a sandbox that throws", "bad", { ...named, sandbox: { deep: getter("x") } } as never],
  ["required that throws", "bad", getter("required", named)],
];

describe("a server's entry that cannot be read", () => {
  it.each(ENTRIES)("%s is that server's typed error and stops no other", async (_what, name, entry) => {
    const host = await createHost({
      runtime: fakeRuntime({ echo: { tools: ["echo"] } }),
      servers: [entry, { name: "good", command: "echo" }],
    });
    const reports = await host.ready();
    const bad = reports.find((report) => report.name === name)!;
    expect(bad).toMatchObject({ name, state: "rejected" });
    expect(bad.error).toMatch(/^Cannot use server/);
    expect(reports.find((report) => report.name === "good")).toMatchObject({ state: "ready" });
    const failed = (await host.readEvents()).filter(({ type }) => type === "mcp.server.failed");
    expect(failed.map(({ payload }) => payload["error"])).toMatchObject([{ code: "ERR_CONFIG" }]);
    const session = await host.session();
    expect(await rejection(session.addMcp(entry))).toMatchObject({ code: "ERR_CONFIG" });
    expect(await host.syncGlobalMcpServers([entry, { name: "good", command: "echo" }])).toMatchObject([
      { state: "removed", error: { code: "ERR_CONFIG" } },
      { name: "good", action: "unchanged" },
    ]);
    await host.close();
  });
});

describe("a host that closes", () => {
  it("refuses what comes meanwhile and after, with the code for that", async () => {
    const host = await createHost({
      runtime: fakeRuntime({ echo: { tools: ["echo"] }, silent: { tools: [] } }),
      servers: [{ name: "echo", command: "echo" }],
    });
    await host.ready();
    const session = await host.session();
    const manager = host.createManager({ name: "mine" });
    const early = [
      session.addMcp({ name: "a", command: "echo" }),
      manager.add({ name: "b", command: "echo" }),
    ].map(rejection);
    const closed = host.close();
    const late = [
      session.addMcp({ name: "late", command: "echo" }),
      session.removeMcpServer("nothing"),
      session.restartMcpServer("nothing"),
      manager.add({ name: "c", command: "echo" }),
      manager.remove("b"),
      manager.restart("b"),
      host.restartMcpServer("echo"),
    ].map(rejection);
    await closed;
    const codes = async (all: Promise<{ code?: string }>[]) => (await Promise.all(all)).map(({ code }) => code);
    expect(await codes(early)).toEqual(["ERR_SESSION_CLOSED", "ERR_CLOSED"]);
    const [add, remove, restart, ...others] = await codes(late);
    expect([add, remove, restart]).toEqual(Array(3).fill("ERR_SESSION_CLOSED"));
    expect(others.slice(0, 1)).toEqual(["ERR_CLOSED"]);
    const after = [manager.add(named), manager.remove("b"), manager.restart("b"), host.restartMcpServer("echo")];
    expect(await codes(after.map(rejection))).toEqual(Array(4).fill("ERR_CLOSED"));
    expect(await codes([rejection(session.addMcp(named))])).toEqual(["ERR_SESSION_CLOSED"]);
  });
});
