import { describe, expect, it } from "vitest";
import { createHost } from "../../../src/host.ts";
import type { RestartPolicy } from "../../../src/servers/restart_policy.ts";
import { type FakeProcess, type FakeProgram, fakeRuntime } from "../../fixtures/fake_runtime.ts";
import { settle, until } from "../../fixtures/settle.ts";

const UPDATED = "notifications/resources/updated";
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const restartPolicy: RestartPolicy = {
  nextStep: ({ crashes }) => ({ kind: "restart", crashes: crashes + 1, delayMs: 0 }),
};

interface Listen {
  readonly process: FakeProcess;
  readonly id: unknown;
  readonly filter: Readonly<Record<string, unknown>>;
}

/** A server of the newest revision with two documents. It tells of changes to whoever subscribes. */
function modern() {
  const listens: Listen[] = [];
  const capabilities = { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } };
  const program: FakeProgram = {
    tools: ["echo"],
    answer: (method, params, process, id) => {
      switch (method) {
        case "server/discover":
          return { supportedVersions: ["2026-07-28"], capabilities };
        case "resources/list":
          return { resources: ["doc://a", "doc://b"].map((uri) => ({ uri, name: uri })) };
        case "subscriptions/listen": {
          const filter = params["notifications"] as Listen["filter"];
          listens.push({ process, id, filter });
          const _meta = { [SUBSCRIPTION]: id };
          process.tell("notifications/subscriptions/acknowledged", { _meta, notifications: filter });
          return new Promise(() => {});
        }
      }
      return undefined;
    },
  };
  return { program, listens };
}

async function open() {
  const { program, listens } = modern();
  const runtime = fakeRuntime({ them: program });
  const host = await createHost({
    runtime,
    servers: [{ name: "them", command: "them" }],
    permission: { rules: [{ decision: "allow" }] },
    restartPolicy,
  });
  await host.ready();
  const session = await host.session();
  const watching = (): Listen[] => listens.filter(({ filter }) => "resourceSubscriptions" in filter);
  return { runtime, host, session, listens, watching };
}

describe("server of the newest revision on a pipe", () => {
  it("has its changes routed by the subscription that they name (C-STDIO-06)", async () => {
    const { host, session, listens, watching } = await open();
    const updated: string[] = [];
    await session.resources.subscribe("doc://a", { onUpdated: (uri) => void updated.push(uri) });
    await until(() => watching().length === 1);
    const [{ process, id }] = watching() as [Listen];
    const other = listens.find(({ filter }) => "toolsListChanged" in filter)!;
    expect(other.process).toBe(process);
    expect(other.id).not.toBe(id);
    const tell = (subscription: unknown, uri: string): void =>
      process.tell(UPDATED, { uri, _meta: { [SUBSCRIPTION]: subscription } });
    for (const wrong of [other.id, String(id), 999, undefined]) tell(wrong, "doc://a");
    tell(id, "doc://b");
    tell(id, "doc://a");
    await until(() => updated.length > 0);
    await settle();
    expect(updated).toEqual(["doc://a"]);
    await host.close();
  });

  it("is subscribed to again after it has come back, by each subscription (C-STDIO-08)", async () => {
    const { runtime, host, session, listens, watching } = await open();
    const updated: string[] = [];
    await session.resources.subscribe("doc://a", { onUpdated: (uri) => void updated.push(uri) });
    await until(() => watching().length === 1);
    const before = listens.map(({ filter }) => filter);
    runtime.processes[0]!.exit(1);
    await until(() => listens.length === 2 * before.length);
    const again = listens.slice(before.length);
    expect(again.every(({ process }) => process === runtime.processes[1])).toBe(true);
    expect(new Set(again.map(({ filter }) => JSON.stringify(filter)))).toEqual(
      new Set(before.map((filter) => JSON.stringify(filter))),
    );
    // What may have changed meanwhile counts as changed.
    await until(() => updated.length === 1);
    const { id, process } = watching()[1]!;
    process.tell(UPDATED, { uri: "doc://a", _meta: { [SUBSCRIPTION]: id } });
    await until(() => updated.length === 2);
    await host.close();
  });

  it("outlives every conversation, and serves the next one (C-STDIO-09)", async () => {
    const { runtime, host, session } = await open();
    expect((await session.tool("mcp.them.echo", { n: 1 })).status).toBe("completed");
    await session.close();
    const [process] = runtime.processes;
    expect(process!.isAlive).toBe(true);
    const [one, two] = [await host.session(), await host.session()];
    const outcomes = await Promise.all([one, two].map((each, n) => each.tool("mcp.them.echo", { n })));
    expect(outcomes.map(({ output }) => output)).toEqual(['{"n":0}', '{"n":1}']);
    await one.close();
    expect((await two.tool("mcp.them.echo", { n: 2 })).output).toBe('{"n":2}');
    expect([runtime.processes.length, process!.isAlive]).toEqual([1, true]);
    await host.close();
    expect(process!.isAlive).toBe(false);
  });
});
