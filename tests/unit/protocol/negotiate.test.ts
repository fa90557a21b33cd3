import { describe, expect, test } from "vitest";
import { sleep } from "../../../src/kernel/clock.ts";
import { HostError } from "../../../src/kernel/errors.ts";
import type { Verdict, VerdictCache } from "../../../src/protocol/negotiate.ts";
import { LEGACY_VERSIONS } from "../../../src/protocol/versions.ts";
import type { Dialer, Transport } from "../../../src/transport/transport.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import {
  answer,
  attempt,
  attempted,
  discovered,
  exits,
  failure,
  initialized,
  type Script,
  ScriptedServer,
} from "./scripted_server.ts";

const MODERN = "2026-07-28";
const NEWEST = LEGACY_VERSIONS[0]!;

class Verdicts implements VerdictCache {
  readonly map = new Map<string, Verdict>();
  get = (key: string): Verdict | undefined => this.map.get(key);
  set = (key: string, verdict: Verdict): void => void this.map.set(key, verdict);
  delete = (key: string): void => void this.map.delete(key);
}

describe("negotiation on a pipe", () => {
  const rows: [claim: string, scripts: Script | Script[], heard: string[], version: string][] = [
    ["server of our revision", { "server/discover": discovered(MODERN) }, ["server/discover"], MODERN],
    ["server of both", { "server/discover": discovered(MODERN, NEWEST), "initialize": initialized(NEWEST) }, [
      "server/discover",
    ], MODERN],
    [
      "server that names another first and then answers (C-VER-02)",
      {
        "server/discover": (() => {
          let asked = 0;
          return () => asked++ === 0 ? failure(-32022, { supported: [MODERN] }) : discovered(MODERN);
        })(),
      },
      ["server/discover", "server/discover"],
      MODERN,
    ],
    ["older server that knows no probe (C-VER-03, C-LIFE-03)", {
      "server/discover": failure(-32601),
      "initialize": initialized(NEWEST),
    }, [
      "server/discover",
      "initialize",
      "notifications/initialized",
    ], NEWEST],
    [
      "older server that answers anything (FR-12, C-VER-04)",
      { "server/discover": answer({ ok: true }), "initialize": initialized(NEWEST) },
      ["server/discover", "initialize", "notifications/initialized"],
      NEWEST,
    ],
    [
      "modern server without a common revision, but an older one",
      { "server/discover": failure(-32022, { supported: ["2024-11-05"] }), "initialize": initialized("2024-11-05") },
      ["server/discover", "initialize", "notifications/initialized"],
      "2024-11-05",
    ],
    [
      "server that exits on anything but a handshake (C-VER-12)",
      [{ "server/discover": exits(1) }, { "initialize": initialized(NEWEST) }],
      ["server/discover", "initialize", "notifications/initialized"],
      NEWEST,
    ],
    [
      "server that wants an older revision (FR-32)",
      { "server/discover": failure(-32601), "initialize": initialized("2025-03-26") },
      ["server/discover", "initialize", "notifications/initialized"],
      "2025-03-26",
    ],
    [
      "server that refuses ours and names older ones",
      {
        "server/discover": failure(-32601),
        "initialize": (_connection, _id, params) =>
          (params as { protocolVersion: string }).protocolVersion === "2025-03-26"
            ? initialized("2025-03-26")
            : failure(-32602, { supported: ["x", "2025-03-26"] }),
      },
      ["server/discover", "initialize", "initialize", "notifications/initialized"],
      "2025-03-26",
    ],
  ];
  test.each(rows)("%s", async (_claim, scripts, heard, version) => {
    const server = new ScriptedServer(scripts);
    const { outcome, error, clock } = await attempted(server.dialer);
    expect(error).toBeUndefined();
    expect([outcome?.era.protocolVersion, server.heard, server.open]).toEqual([version, heard, 1]);
    expect(server.dials).toBe(Array.isArray(scripts) ? scripts.length : 1);
    await outcome!.peer.close();
    await clock.advance(1000);
    expect([server.open, clock.timers]).toEqual([0, 0]);
  });

  test("silence to the probe costs its short time only, on the same pipe (FR-12, C-VER-03)", async () => {
    const server = new ScriptedServer({ "initialize": initialized(NEWEST) });
    const running = attempt(server.dialer);
    await running.clock.advance(2999);
    expect(server.heard).toEqual(["server/discover"]);
    await running.clock.advance(1);
    expect(running.outcome?.era.protocolVersion).toBe(NEWEST);
    expect(server.dials).toBe(1);
  });

  test("an error under a foreign id is silence (FR-12)", async () => {
    const warnings: string[] = [];
    const server = new ScriptedServer({
      "server/discover": (connection) => connection.send({ jsonrpc: "2.0", id: 987, ...failure(-32601) }),
      "initialize": initialized(NEWEST),
    });
    const running = attempt(server.dialer, {
      handlers: { onNotification: () => {}, onWarning: (kind) => warnings.push(kind), onEnd: () => {} },
    });
    await running.clock.advance(3000);
    expect(running.outcome?.era.protocolVersion).toBe(NEWEST);
    expect(warnings).toEqual(["unknown_id"]);
  });

  const failures: [claim: string, script: Script | Script[], error: object, dials: number][] = [
    ["server without a revision of ours", { "server/discover": discovered("2099-01-01") }, {
      code: "ERR_VERSION",
      facts: { found: ["2099-01-01"] },
    }, 1],
    ["server that names ours again and again (C-VER-11)", {
      "server/discover": failure(-32022, { supported: [MODERN] }),
    }, {
      code: "ERR_VERSION",
    }, 1],
    ["server that lacks a capability of ours", { "server/discover": failure(-32021) }, {
      code: "ERR_START_FAILED",
      facts: { remoteCode: -32021 },
    }, 1],
    [
      "handshake with a revision nobody knows (FR-32, C-LIFE-05)",
      { "server/discover": failure(-32601), "initialize": initialized("1999-01-01") },
      { code: "ERR_VERSION", facts: { found: ["1999-01-01"] } },
      1,
    ],
    [
      "handshake with a later revision (FR-32)",
      { "server/discover": failure(-32601), "initialize": initialized("2099-01-01") },
      { code: "ERR_VERSION" },
      1,
    ],
    ["handshake with our own modern one", { "server/discover": failure(-32601), "initialize": initialized(MODERN) }, {
      code: "ERR_VERSION",
    }, 1],
    [
      "handshake without a revision (FR-32)",
      { "server/discover": failure(-32601), "initialize": initialized(undefined) },
      { code: "ERR_PROTOCOL" },
      1,
    ],
    [
      "handshake with a number as revision (FR-32)",
      { "server/discover": failure(-32601), "initialize": initialized(20251125) },
      { code: "ERR_PROTOCOL" },
      1,
    ],
    ["handshake that is refused", { "server/discover": failure(-32601), "initialize": failure(-32603) }, {
      code: "ERR_START_FAILED",
      facts: { remoteCode: -32603 },
    }, 1],
    [
      "handshake that is refused twice with revisions",
      { "server/discover": failure(-32601), "initialize": failure(-32602, { supported: ["2024-11-05"] }) },
      { code: "ERR_VERSION" },
      1,
    ],
    [
      "handshake that the server cancels (FR-39)",
      {
        "server/discover": failure(-32601),
        "initialize": (connection, requestId) =>
          connection.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } }),
      },
      { code: "ERR_START_FAILED" },
      1,
    ],
    ["server that exits at once, twice", { "server/discover": exits(1), "initialize": exits(3) }, {
      code: "ERR_START_FAILED",
      facts: { exitCode: 3, stderrTail: "why" },
    }, 2],
  ];
  test.each(failures)("%s fails, and leaves nothing", async (_claim, script, error, dials) => {
    const server = new ScriptedServer(script);
    const running = await attempted(server.dialer);
    expect(running.outcome).toBeUndefined();
    expect(running.error).toMatchObject(error);
    expect(running.error).toMatchObject({ facts: { waitedMs: 0 } });
    expect([server.dials, server.open, running.clock.timers]).toEqual([dials, 0, 0]);
  });

  test("noise instead of an answer is no reason to start the server again", async () => {
    const server = new ScriptedServer({
      "server/discover": (connection) => {
        for (let count = 0; count < 200; count++) connection.send(`noise ${count}`);
      },
    });
    const running = await attempted(server.dialer);
    expect(running.error).toMatchObject({ code: "ERR_PROTOCOL" });
    expect([server.dials, server.open]).toEqual([1, 0]);
  });

  test("server that exits between its answer and the end of the start fails it (FR-07)", async () => {
    const server = new ScriptedServer({
      "server/discover": failure(-32601),
      "initialize": (connection) => {
        queueMicrotask(() => exits(5)(connection));
        return initialized(NEWEST);
      },
    });
    const running = await attempted(server.dialer);
    expect(running.error).toMatchObject({ code: "ERR_START_FAILED", facts: { exitCode: 5 } });
  });

  test("the time waited is that for the server, not that of its stop", async () => {
    const server = new ScriptedServer({});
    const clock = new FakeClock();
    const slow: Dialer = {
      ...server.dialer,
      async dial(profile, handlers, signal) {
        const transport = await server.dialer.dial(profile, handlers, signal);
        return {
          send: (message) => transport.send(message),
          abandon: (id) => transport.abandon(id),
          close: () => sleep(clock, 5000).then(() => transport.close()),
        };
      },
    };
    const running = attempt(slow, { clock, startTimeoutMs: 1000 });
    await clock.advance(6250);
    expect(running.error).toMatchObject({ code: "ERR_START_TIMEOUT", facts: { waitedMs: 1000 } });
  });

  test("silence for ever ends at the start timeout, told with the time waited", async () => {
    const server = new ScriptedServer({});
    const running = attempt(server.dialer, { startTimeoutMs: 10_000 });
    await running.clock.advance(9999);
    expect(running.error).toBeUndefined();
    await running.clock.advance(250);
    expect(running.error).toMatchObject({ code: "ERR_START_TIMEOUT", facts: { waitedMs: 10_000 } });
    expect([server.heard, server.open, running.clock.timers]).toEqual([["server/discover", "initialize"], 0, 0]);
  });
});

describe("dial that does not come to an end", () => {
  const hanging = (): { dialer: Dialer; connect: (transport: Transport) => void } => {
    let connect!: (transport: Transport) => void;
    const dialling = new Promise<Transport>((resolve) => connect = resolve);
    return { dialer: { kind: "pipe", name: "x", key: "x", dial: () => dialling }, connect };
  };
  const late = (): Transport & { closes: number } => ({
    closes: 0,
    send: () => {},
    abandon: () => {},
    close() {
      this.closes++;
      return Promise.resolve();
    },
  });

  test("is given up at the start timeout; a late connection is closed", async () => {
    const { dialer, connect } = hanging();
    const running = attempt(dialer, { startTimeoutMs: 1000 });
    await running.clock.advance(1000);
    expect(running.error).toMatchObject({ code: "ERR_START_TIMEOUT" });
    const transport = late();
    connect(transport);
    await settle();
    expect([transport.closes, running.clock.timers]).toEqual([1, 0]);
  });

  test("is given up with its signal; a late connection is closed", async () => {
    const { dialer, connect } = hanging();
    const controller = new AbortController();
    const running = attempt(dialer, { signal: controller.signal });
    await settle();
    controller.abort();
    await settle();
    expect(running.error).toMatchObject({ code: "ERR_CANCELLED" });
    expect(running.clock.timers).toBe(0);
    const transport = late();
    connect(transport);
    await settle();
    expect(transport.closes).toBe(1);
  });

  test("or that fails later harms nobody", async () => {
    let fail!: (error: Error) => void;
    const running = attempt({
      kind: "pipe",
      name: "x",
      key: "x",
      dial: () => new Promise((_, reject) => fail = reject),
    }, { startTimeoutMs: 10 });
    await running.clock.advance(10);
    fail(new Error("late"));
    await settle();
    expect(running.error).toMatchObject({ code: "ERR_START_TIMEOUT" });
  });
});

describe("signal during the start", () => {
  const stages: [claim: string, script: Script, ms: number][] = [
    ["probe", {}, 10],
    ["handshake", { "server/discover": failure(-32601) }, 10],
    ["late handshake", {}, 3500],
  ];
  test.each(stages)("ends the %s and everything it started", async (_claim, script, ms) => {
    const server = new ScriptedServer(script);
    const controller = new AbortController();
    const running = attempt(server.dialer, { signal: controller.signal });
    await running.clock.advance(ms);
    controller.abort(new Error("enough"));
    await settle();
    expect(running.error).toMatchObject({ code: "ERR_CANCELLED" });
    await running.clock.advance(1000);
    expect([server.open, running.clock.timers]).toEqual([0, 0]);
  });

  test("ends the wait for a transport that does not take the last notification", async () => {
    const server = new ScriptedServer({ "server/discover": failure(-32601), "initialize": initialized(NEWEST) });
    const stuck: Dialer = {
      ...server.dialer,
      async dial(profile, handlers, signal) {
        const transport = await server.dialer.dial(profile, handlers, signal);
        return {
          abandon: (id) => transport.abandon(id),
          close: () => transport.close(),
          send: (message) => message.id === undefined ? new Promise(() => {}) : transport.send(message),
        };
      },
    };
    const controller = new AbortController();
    const running = attempt(stuck, { signal: controller.signal });
    await settle();
    expect(running.outcome).toBeUndefined();
    controller.abort();
    await settle();
    expect(running.error).toMatchObject({ code: "ERR_CANCELLED" });
    const second = attempt(stuck, { startTimeoutMs: 500 });
    await second.clock.advance(500);
    expect(second.error).toMatchObject({ code: "ERR_START_TIMEOUT" });
    expect([server.open, second.clock.timers]).toEqual([0, 0]);
  });
});

describe("negotiation over HTTP", () => {
  test("opens a connection of its own for each era, and closes the first", async () => {
    const server = new ScriptedServer(
      [{ "server/discover": failure(-32601) }, { "initialize": initialized(NEWEST) }],
      "web",
    );
    const { outcome } = await attempted(server.dialer);
    expect(outcome?.era.name).toBe("legacy");
    expect([server.dials, server.open]).toEqual([2, 1]);
  });

  test("that is told to ask again does so on a fresh connection", async () => {
    const server = new ScriptedServer([{ "server/discover": failure(-32022, { supported: [MODERN] }) }, {
      "server/discover": discovered(MODERN),
    }], "web");
    const { outcome } = await attempted(server.dialer);
    expect(outcome?.era.name).toBe("modern");
    expect([server.dials, server.open]).toEqual([2, 1]);
  });

  test("whose connection ends during the probe is not tried again", async () => {
    const server = new ScriptedServer([{ "server/discover": exits(1) }, { "initialize": initialized(NEWEST) }], "web");
    const { error } = await attempted(server.dialer);
    expect(error).toMatchObject({ code: "ERR_CONNECTION_LOST" });
    expect(server.dials).toBe(1);
  });
});

describe("pinned revision", () => {
  test.each([MODERN, "2025-03-26"])("%s is spoken without a probe of others (C-VER-08)", async (pin) => {
    const server = new ScriptedServer({ "server/discover": discovered(MODERN), "initialize": initialized(pin) });
    const { outcome } = await attempted(server.dialer, { pin });
    expect(outcome?.era.protocolVersion).toBe(pin);
    expect(server.heard[0]).toBe(pin === MODERN ? "server/discover" : "initialize");
  });

  test("may be the one before the first, which is not accepted unasked (FR-32)", async () => {
    const server = new ScriptedServer({ "server/discover": failure(-32601), "initialize": initialized("2024-10-07") });
    const { outcome } = await attempted(server.dialer, { pin: "2024-10-07" });
    expect(outcome?.era).toMatchObject({ name: "legacy", protocolVersion: "2024-10-07" });
    expect((await attempted(server.dialer)).error).toMatchObject({
      code: "ERR_VERSION",
      facts: { found: ["2024-10-07"] },
    });
  });

  const refused: [pin: string, script: Script, code: string][] = [
    ["1999-01-01", {}, "ERR_VERSION"],
    ["2025-03-26", { "initialize": initialized("2025-06-18") }, "ERR_VERSION"],
    ["2025-03-26", { "initialize": failure(-32602, { supported: ["2025-06-18"] }) }, "ERR_VERSION"],
    [MODERN, { "server/discover": failure(-32601), "initialize": initialized(NEWEST) }, "ERR_VERSION"],
    [MODERN, { "server/discover": discovered(NEWEST), "initialize": initialized(NEWEST) }, "ERR_VERSION"],
    [MODERN, { "server/discover": exits(1), "initialize": initialized(NEWEST) }, "ERR_START_FAILED"],
  ];
  test.each(refused)("%s is refused rather than another spoken (%#): C-LIFE-09", async (pin, script, code) => {
    const server = new ScriptedServer(script);
    const { error } = await attempted(server.dialer, { pin });
    expect(error).toMatchObject({ code });
    expect(server.open).toBe(0);
    expect(server.dials).toBeLessThanOrEqual(1);
  });
});

describe("verdict", () => {
  const day = 24 * 60 * 60 * 1000;
  const at = 1_700_000_000_000;

  test("is remembered with its time, under the dialer's key (C-VER-07)", async () => {
    const verdicts = new Verdicts();
    await attempted(new ScriptedServer({ "server/discover": discovered(MODERN) }).dialer, { verdicts });
    expect([...verdicts.map]).toEqual([["memory", { era: "modern", protocolVersion: MODERN, at }]]);
    await attempted(
      new ScriptedServer({ "server/discover": failure(-32601), "initialize": initialized(NEWEST) }).dialer,
      { verdicts },
    );
    expect([...verdicts.map]).toEqual([["memory", { era: "legacy", protocolVersion: NEWEST, at }]]);
  });

  test("that a server is older saves the probe, for a day", async () => {
    for (const [age, first] of [[0, "initialize"], [day - 1, "initialize"], [day, "server/discover"]] as const) {
      const verdicts = new Verdicts();
      verdicts.set("memory", { era: "legacy", protocolVersion: NEWEST, at: at - age });
      const server = new ScriptedServer({ "server/discover": failure(-32601), "initialize": initialized(NEWEST) });
      await attempted(server.dialer, { verdicts });
      expect(server.heard[0]).toBe(first);
    }
  });

  test.each(["pipe", "web"] as const)(
    "that is out of date is dropped, and the server probed (%s) (C-VER-07)",
    async (kind) => {
      for (const refusal of [failure(-32601), failure(-32022, { supported: [MODERN] }), answer({})]) {
        const verdicts = new Verdicts();
        verdicts.set("memory", { era: "legacy", protocolVersion: NEWEST, at });
        const server = new ScriptedServer({ "server/discover": discovered(MODERN), "initialize": refusal }, kind);
        const { outcome } = await attempted(server.dialer, { verdicts });
        expect(outcome?.era.name).toBe("modern");
        expect(verdicts.map.get("memory")?.era).toBe("modern");
        expect([server.heard, server.open]).toEqual([["initialize", "server/discover"], 1]);
      }
    },
  );

  test("is not formed by what is no evidence: an outage, or silence over HTTP (C-VER-10)", async () => {
    const outage = new HostError("ERR_PROTOCOL", "x", { facts: { status: 503 } });
    const server = new ScriptedServer([{}, { "initialize": initialized(NEWEST) }], "web");
    const failing: Dialer = {
      ...server.dialer,
      async dial(profile, handlers, signal) {
        const transport = await server.dialer.dial(profile, handlers, signal);
        if (server.dials > 1) return transport;
        return {
          ...transport,
          close: () => transport.close(),
          abandon: () => {},
          send: ({ id }) => handlers.onLost(id!, { error: outage, sent: true, refused: false }),
        };
      },
    };
    const verdicts = new Verdicts();
    const { outcome } = await attempted(failing, { verdicts });
    expect(outcome?.era.name).toBe("legacy");
    const silent = new ScriptedServer([{}, { "initialize": initialized(NEWEST) }], "web");
    const running = attempt(silent.dialer, { verdicts });
    await running.clock.advance(3000);
    expect(running.outcome?.era.name).toBe("legacy");
    expect([...verdicts.map]).toEqual([]);
  });
});

describe("transport that begins with a handshake", () => {
  test("is not probed, nor pinned to a revision without one", async () => {
    const server = new ScriptedServer(
      { "server/discover": discovered(MODERN), "initialize": initialized(NEWEST) },
      "web",
    );
    const dialer: Dialer = { ...server.dialer, handshakeOnly: true };
    const { outcome } = await attempted(dialer);
    expect([outcome?.era.name, server.heard]).toEqual(["legacy", ["initialize", "notifications/initialized"]]);
    expect((await attempted(dialer, { pin: MODERN })).error).toMatchObject({ code: "ERR_VERSION" });
    expect(server.dials).toBe(1);
  });
});

describe("older transport of a server", () => {
  const refusing = (status: number): Dialer => {
    const error = new HostError("ERR_PROTOCOL", `Cannot send it: found status ${status}`, { facts: { status } });
    return {
      kind: "web",
      name: "http",
      key: "http:x",
      dial: (_profile, handlers) => {
        const end = { reason: "closed" } as const;
        return Promise.resolve({
          send: ({ id }) => id === undefined ? undefined : handlers.onLost(id, { error, sent: true, refused: true }),
          abandon: () => {},
          close: () => Promise.resolve(handlers.onClosed(end, new Set())),
        });
      },
    };
  };

  test.each([[400, true], [404, true], [405, true], [406, false], [500, false]])(
    "is looked for when the handshake is refused with %i: %s (C-VER-13)",
    async (status, isLookedFor) => {
      const server = new ScriptedServer({ "initialize": initialized(NEWEST) }, "web");
      const older: Dialer = { ...server.dialer, name: "sse", handshakeOnly: true };
      const { outcome, error } = await attempted({ ...refusing(status), older });
      expect([outcome?.era.name, server.dials]).toEqual(isLookedFor ? ["legacy", 1] : [undefined, 0]);
      if (!isLookedFor) expect(error).toMatchObject({ code: "ERR_PROTOCOL", facts: { status } });
    },
  );

  test("is not looked for when an error says which revisions the server speaks", async () => {
    const older = new ScriptedServer({ "initialize": initialized(NEWEST) }, "web");
    const server = new ScriptedServer({ "initialize": failure(-32022, { supported: ["2099-01-01"] }) }, "web");
    const { error } = await attempted({ ...server.dialer, older: older.dialer }, { pin: NEWEST });
    expect([error.code, older.dials]).toEqual(["ERR_VERSION", 0]);
  });

  test("that fails too is told behind the first cause, with every step (FR-21)", async () => {
    const { error } = await attempted({ ...refusing(405), older: { ...refusing(404), name: "sse" } });
    expect(error).toMatchObject({
      code: "ERR_PROTOCOL",
      message: "Cannot send it: found status 405; over sse: cannot send it: found status 404",
      facts: {
        status: 405,
        tried: [
          "server/discover: cannot send it: found status 405",
          "initialize: cannot send it: found status 405",
        ],
      },
    });
  });
});

describe("end of the connection", () => {
  test("is told to the owner once it has been handed over, and not before", async () => {
    const ends: unknown[] = [];
    const handlers = { onNotification: () => {}, onWarning: () => {}, onEnd: (end: unknown) => void ends.push(end) };
    const server = new ScriptedServer([{ "server/discover": exits(1) }, { "initialize": initialized(NEWEST) }]);
    const { outcome } = await attempted(server.dialer, { handlers });
    expect(ends).toEqual([]);
    await outcome!.peer.close();
    expect(ends).toEqual([{ reason: "closed" }]);
  });
});
