import { describe, expect, it } from "vitest";
import { HostError } from "../../../src/kernel/errors.ts";
import { SecretRegistry } from "../../../src/kernel/secrets.ts";
import { normaliseServer } from "../../../src/servers/config.ts";
import { ServerManager } from "../../../src/servers/manager.ts";
import { exponentialBackoff } from "../../../src/servers/restart_policy.ts";
import { Slots } from "../../../src/servers/slots.ts";
import { syncServers } from "../../../src/servers/sync.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle, until } from "../../fixtures/settle.ts";
import { type Dialling, FakeConnect } from "../../fixtures/fake_client.ts";
import { FakeSink } from "../../fixtures/fake_log.ts";
import { plainScrubber } from "../../fixtures/plain_scrubber.ts";
import { rejection } from "./supervisor_setup.ts";

function setup(options: { slots?: number } = {}) {
  const clock = new FakeClock();
  const connect = new FakeConnect();
  const sink = new FakeSink("host:test");
  const secrets = new SecretRegistry();
  const scrubber = plainScrubber();
  const manager = new ServerManager({
    source: "global",
    append: sink.append,
    connect: connect.connect,
    // The command stands in the key, so that a test can tell the servers apart.
    dial: (config) => ({
      dialer: { kind: "pipe", name: "stdio", key: config.name, dial: () => Promise.reject(new Error("unused")) },
      sandbox: {},
      containment: () => "none",
    }),
    clock,
    scrubber,
    secrets,
    policy: exponentialBackoff(() => 0.5),
    slots: new Slots(options.slots ?? 8),
    onError: () => {},
  });
  return { clock, connect, sink, secrets, scrubber, manager };
}

const config = (name: string, more = {}): object => ({ name, command: name, ...more });

describe("manager", () => {
  it("adds a server and tells its number of tools", async () => {
    const { manager, connect } = setup();
    connect.onConnect = (dialling) => dialling.succeed(["a", "b"]);
    expect(await manager.add(config("echo"))).toBe(2);
    expect(manager.status()).toMatchObject([{ name: "echo", source: "global", state: "ready", toolCount: 2 }]);
  });

  it("counts only the tools that the user's filter lets through", async () => {
    const { manager, connect } = setup();
    connect.onConnect = (dialling) => dialling.succeed(["read_a", "read_b", "write_a"]);
    expect(await manager.add(config("echo", { tools: { allow: ["read_*"], deny: ["*_b"] } }))).toBe(1);
  });

  it("a start that fails leaves nothing behind and the name free", async () => {
    const { manager, connect } = setup();
    connect.onConnect = (dialling) => dialling.fail(new HostError("ERR_START_FAILED", "No"));
    expect(await rejection(manager.add(config("echo")))).toMatchObject({ code: "ERR_START_FAILED" });
    expect(manager.status()).toEqual([]);
    connect.onConnect = (dialling) => dialling.succeed();
    expect(await manager.add(config("echo"))).toBe(1);
  });

  it("refuses a name that is taken, also while its owner starts", async () => {
    const { manager, connect } = setup();
    // Which of the two is first is up to the hashing of their configurations.
    const both = Promise.allSettled([manager.add(config("echo")), manager.add(config("echo"))]);
    (await until(() => connect.pending[0])).succeed();
    const results = (await both).sort((a, b) => (a.status < b.status ? -1 : 1));
    expect(results).toMatchObject([
      { status: "fulfilled", value: 1 },
      { status: "rejected", reason: { code: "ERR_DUPLICATE_SERVER" } },
    ]);
    expect(connect.attempts).toBe(1);
  });

  it("removing during a start ends the start and the add", async () => {
    const { manager, connect } = setup();
    const added = rejection(manager.add(config("echo")));
    await until(() => connect.pending[0]);
    await manager.remove("echo");
    expect(await added).toMatchObject({ facts: { reason: "mcp_server_removed" } });
    expect(connect.pending).toHaveLength(0);
    expect(manager.status()).toEqual([]);
  });

  it("a name that is being removed can be added at once, and the old one is gone before the new one starts", async () => {
    const { manager, connect, sink } = setup();
    connect.onConnect = (dialling) => dialling.succeed();
    await manager.add(config("echo"));
    const removed = manager.remove("echo");
    const added = manager.add(config("echo"));
    await Promise.all([removed, added]);
    expect(connect.mostOpen).toBe(1);
    expect(sink.types.slice(2)).toEqual(["mcp.server.shutdown", "mcp.server.starting", "mcp.server.ready"]);
    expect(manager.status()).toMatchObject([{ state: "ready" }]);
  });

  it("a disabled server is shown and not started", async () => {
    const { manager, connect } = setup();
    expect(await manager.add(config("echo", { enabled: false }))).toBe(0);
    await manager.manage(normaliseServer(config("other", { enabled: false })));
    expect(manager.status()).toMatchObject([{ state: "disabled" }, { state: "disabled" }]);
    expect(connect.attempts).toBe(0);
  });

  it("knows the secrets of a server before it starts", async () => {
    const { manager, connect, secrets } = setup();
    connect.onConnect = (dialling) => {
      expect([...secrets.values()].map(({ value }) => value)).toEqual(["key-0123456789"]);
      dialling.succeed();
    };
    await manager.add(config("echo", { env: { API_KEY: "key-0123456789" } }));
  });

  it("an unknown name is told with the nearest one", async () => {
    const { manager, connect } = setup();
    connect.onConnect = (dialling) => dialling.succeed();
    await manager.add(config("echo"));
    expect(await rejection(manager.remove("ecko"))).toMatchObject({
      code: "ERR_SERVER_NOT_FOUND",
      message: 'Cannot find server "ecko" among the global servers, did you mean "echo"',
    });
    expect(await rejection(manager.restart("nothing"))).toMatchObject({ code: "ERR_SERVER_NOT_FOUND" });
  });

  it("FR-62 servers that hang do not hold up the others, within the cap of parallel starts", async () => {
    const { manager, connect } = setup({ slots: 3 });
    const name = (dialling: Dialling): string => dialling.options.dialer.key;
    connect.onConnect = (dialling) => name(dialling).startsWith("good") ? void dialling.succeed() : undefined;
    for (const each of ["hangs1", "hangs2", "good1", "good2", "good3"]) {
      await manager.manage(normaliseServer(config(each)));
    }
    await settle();
    expect(manager.status().filter((server) => server.state === "ready").map((server) => server.name)).toEqual([
      "good1",
      "good2",
      "good3",
    ]);
    expect(connect.mostOpen).toBeLessThanOrEqual(5);
  });

  it("one server's crash loop leaves the others alone", async () => {
    const { manager, connect, clock, sink } = setup();
    connect.onConnect = (dialling) =>
      dialling.options.dialer.key === "bad"
        ? dialling.fail(new HostError("ERR_START_FAILED", "No"))
        : void dialling.succeed();
    await manager.manage(normaliseServer(config("bad")));
    await manager.manage(normaliseServer(config("good")));
    await clock.advance(60_000);
    expect(manager.status().map((server) => server.state)).toEqual(["permanently_failed", "ready"]);
    expect(sink.ofType("mcp.server.crashed").every((event) => event.payload["server"] === "bad")).toBe(true);
  });

  it("closing stops all, once, and takes nothing new", async () => {
    const { manager, connect, sink, clock } = setup();
    connect.onConnect = (dialling) => dialling.succeed();
    await manager.add(config("a"));
    await manager.add(config("b"));
    await Promise.all([manager.close(), manager.close()]);
    expect(connect.clients.every((client) => !client.isOpen)).toBe(true);
    expect(sink.ofType("mcp.server.shutdown").map((event) => event.payload["reason"])).toEqual(["closed", "closed"]);
    expect(await rejection(manager.add(config("c")))).toMatchObject({ code: "ERR_CLOSED" });
    expect(clock.timers).toBe(0);
  });

  it("its version changes with every change that the router must see", async () => {
    const { manager, connect } = setup();
    connect.onConnect = (dialling) => dialling.succeed();
    let seen = manager.version;
    const changed = (): boolean => seen !== (seen = manager.version);
    await manager.add(config("echo"));
    expect(changed()).toBe(true);
    await connect.last.end();
    expect(changed()).toBe(true);
    await manager.remove("echo");
    expect(changed()).toBe(true);
    manager.status();
    expect(changed()).toBe(false);
  });

  it("disconnects idle servers and names them", async () => {
    const { manager, connect, clock } = setup();
    connect.onConnect = (dialling) => dialling.succeed();
    for (const name of ["a", "b", "c"]) await manager.add(config(name));
    await clock.advance(1000);
    manager.find("b").touch();
    const lease = manager.find("c").tryAcquire()!;
    expect(await manager.disconnectIdle(1000)).toEqual(["a"]);
    expect(manager.status().map((server) => server.state)).toEqual(["idle_disconnected", "ready", "ready"]);
    lease.release();
  });
});

describe("sync", () => {
  it("adds, changes, removes, connects again, and leaves alone", async () => {
    const { manager, connect, scrubber, clock } = setup();
    connect.onConnect = (dialling) => dialling.succeed();
    await syncServers(manager, [config("same"), config("changes"), config("leaves"), config("idle")], scrubber);
    for (const name of ["same", "changes", "leaves"]) manager.find(name).touch();
    await clock.advance(10);
    for (const name of ["same", "changes", "leaves"]) manager.find(name).touch();
    await manager.disconnectIdle(10);
    const reports = await syncServers(manager, [
      config("same"),
      config("changes", { args: ["x"] }),
      config("idle"),
      config("comes"),
    ], scrubber);
    expect(reports.map(({ name, action, state }) => [name, action, state])).toEqual([
      ["leaves", "removed", "removed"],
      ["same", "unchanged", "ready"],
      ["changes", "changed", "ready"],
      ["idle", "reconnected", "ready"],
      ["comes", "added", "ready"],
    ]);
    expect(manager.status().map((server) => server.name).sort()).toEqual(["changes", "comes", "idle", "same"]);
  });

  it("one bad entry is reported and touches no other, and its server stays as it is", async () => {
    const { manager, connect, scrubber } = setup();
    connect.onConnect = (dialling) => dialling.succeed();
    await syncServers(manager, [config("kept")], scrubber);
    const reports = await syncServers(
      manager,
      [{ name: "kept", comand: "x" }, 3, config("good"), config("good")],
      scrubber,
    );
    expect(reports.map(({ name, action, state, error }) => [name, action, state, error?.code])).toEqual([
      ["kept", "rejected", "ready", "ERR_CONFIG"],
      ["entry 1 of the list", "rejected", "removed", "ERR_CONFIG"],
      ["good", "rejected", "removed", "ERR_DUPLICATE_SERVER"],
      ["good", "added", "ready", undefined],
    ]);
  });

  it("a server that cannot start is reported and kept trying", async () => {
    const { manager, connect, scrubber, clock } = setup();
    connect.onConnect = (dialling) => dialling.fail(new HostError("ERR_START_FAILED", "No"));
    expect(await syncServers(manager, [config("bad")], scrubber)).toMatchObject([{
      name: "bad",
      action: "added",
      state: "restarting",
      error: { code: "ERR_START_FAILED" },
    }]);
    connect.onConnect = (dialling) => dialling.succeed();
    await clock.advance(500);
    expect(manager.find("bad").state).toBe("ready");
  });

  it("disabling stops and keeps, and says why", async () => {
    const { manager, connect, scrubber, sink } = setup();
    connect.onConnect = (dialling) => dialling.succeed();
    await syncServers(manager, [config("a")], scrubber);
    const [report] = await syncServers(manager, [config("a", { enabled: false })], scrubber);
    expect(report).toMatchObject({ action: "changed", state: "disabled" });
    expect(sink.events.at(-1)).toMatchObject({ type: "mcp.server.shutdown", payload: { reason: "disabled" } });
  });
});
