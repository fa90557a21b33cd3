import { describe, expect, it } from "vitest";
import type { HostAsks } from "../../../src/call/host_asks.ts";
import { createHost } from "../../../src/host.ts";
import { type FakeProcess, type FakeProgram, fakeRuntime } from "../../fixtures/fake_runtime.ts";
import { settle, until } from "../../fixtures/settle.ts";

const program: FakeProgram = { tools: ["echo"] };
const CHANGED = "notifications/roots/list_changed";
const told = (process: FakeProcess | undefined): number =>
  process!.heard.filter(({ method }) => method === CHANGED).length;

async function open(asks: HostAsks, programs: Record<string, FakeProgram> = { one: program, two: program }) {
  const runtime = fakeRuntime({ ...programs, private: program });
  const errors: unknown[] = [];
  const host = await createHost({
    runtime,
    servers: Object.keys(programs).map((name) => ({ name, command: name })),
    permission: { rules: [{ decision: "allow" }] },
    asks,
    onError: (error) => void errors.push(error),
  });
  await host.ready();
  const inputs = async () =>
    (await host.readEvents()).filter(({ type }) => type.startsWith("mcp.input.")).map(({ type, payload }) => ({
      type,
      payload,
    }));
  return { runtime, host, errors, inputs };
}

describe("roots of a host", () => {
  it("that change are told to every server that is connected, and asked for again (C-ROOT-02, C-ROOT-04)", async () => {
    let uri = "file:///old";
    const { runtime, host } = await open({ roots: () => [{ uri }], rootsListChanged: true });
    const session = await host.session();
    await session.addMcp({ name: "private", command: "private" });
    const [one, two, own] = runtime.processes;
    expect(await one!.ask("roots/list")).toMatchObject({ result: { roots: [{ uri: "file:///old" }] } });
    expect([one, two, own].map(told)).toEqual([0, 0, 0]);
    uri = "file:///new";
    host.rootsChanged();
    await until(() => [one, two, own].every((process) => told(process) === 1));
    expect(await one!.ask("roots/list")).toMatchObject({ result: { roots: [{ uri: "file:///new" }] } });

    await session.removeMcpServer("private");
    await host.restartMcpServer("one");
    host.rootsChanged();
    await until(() => told(two) === 2 && told(runtime.processes[3]) === 1);
    await settle();
    expect([one, own].map(told)).toEqual([1, 1]);
    await host.close();
    host.rootsChanged();
  });

  it("that change while a server starts are told as soon as it is connected (C-ROOT-02)", async () => {
    const { runtime, host } = await open({ roots: () => [], rootsListChanged: true }, {});
    const session = await host.session();
    const adding = session.addMcp({ name: "private", command: "private" });
    await until(() => runtime.processes.length === 1);
    host.rootsChanged();
    await adding;
    await until(() => told(runtime.processes[0]) === 1);
    await host.close();
  });

  it("that are not declared to change are not told as changed", async () => {
    const { runtime, host } = await open({ roots: () => [] });
    expect(() => host.rootsChanged()).toThrowError(expect.objectContaining({ code: "ERR_UNSUPPORTED_HERE" }) as Error);
    await settle();
    expect(runtime.processes.map(told)).toEqual([0, 0]);
    await host.close();
  });

  it("are the handler's to give or to refuse, server by server (C-ROOT-04, C-ROOT-05)", async () => {
    const { runtime, host, errors } = await open({
      roots: ({ server }) => {
        if (server === "two") throw new Error("a person said no");
        return [{ uri: "file:///for/one" }];
      },
    });
    const [one, two] = runtime.processes;
    expect(await one!.ask("roots/list")).toMatchObject({ result: { roots: [{ uri: "file:///for/one" }] } });
    expect(await two!.ask("roots/list")).toMatchObject({ error: { code: -32603, message: "Internal error" } });
    expect(errors).toMatchObject([{ message: "a person said no" }]);
    await host.close();
  });

  it("are in the log before they are given, once as long as they stay the same (C-ROOT-04)", async () => {
    let uri = "file:///a";
    const { runtime, host, inputs } = await open({
      roots: () => {
        if (uri === "") throw new Error("gone");
        return [{ uri }];
      },
    });
    const [one] = runtime.processes;
    await one!.ask("roots/list");
    const first = await inputs();
    const { requestId } = first[0]!.payload as { requestId: string };
    expect(first).toEqual([
      { type: "mcp.input.requested", payload: { requestId, server: "one", kind: "roots" } },
      { type: "mcp.input.resolved", payload: { requestId, server: "one", kind: "roots", action: "accept" } },
    ]);
    await one!.ask("roots/list");
    expect(await inputs()).toHaveLength(2);
    uri = "file:///b";
    await one!.ask("roots/list");
    uri = "";
    await one!.ask("roots/list");
    expect((await inputs()).slice(2).map(({ payload }) => payload["action"])).toEqual([
      undefined,
      "accept",
      undefined,
      "failed",
    ]);
    await host.close();
  });
});
