import { describe, expect, it, vi } from "vitest";
import { createDesk, type Desk, type DeskAsk, type DeskOptions } from "../../../src/permission/desk.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle } from "../../fixtures/settle.ts";
import { plainScrubber } from "../../fixtures/plain_scrubber.ts";
import { FakeKeyValue } from "./fake_kv.ts";

const SECRET = "hunter2hunter2";
const HOUR = 60 * 60_000;

interface Bench {
  readonly clock: FakeClock;
  readonly kv: FakeKeyValue;
  readonly desk: Desk;
  readonly open: (changes?: Partial<DeskAsk>) => Promise<string>;
  /** Another process on the same store. */
  readonly other: (options?: Partial<DeskOptions>) => Desk;
}

function bench(options: Partial<DeskOptions> = {}): Bench {
  const [clock, kv] = [new FakeClock(), new FakeKeyValue()];
  const make = (more: Partial<DeskOptions> = {}): Desk =>
    createDesk({ kv, clock, scrubber: plainScrubber(SECRET), ...more });
  const desk = make(options);
  let asks = 0;
  return {
    clock,
    kv,
    desk,
    other: make,
    async open(changes = {}) {
      const ask = askOf(clock, { requestId: `req_${++asks}`, ...changes });
      expect(await desk.open(ask)).toBe(true);
      return ask.requestId;
    },
  };
}

function askOf(clock: FakeClock, changes: Partial<DeskAsk> = {}): DeskAsk {
  return {
    requestId: "req_1",
    session: "s_1",
    tool: "mcp.fs.send",
    server: "fs",
    risk: "network",
    by: "model",
    args: { path: "/tmp/a" },
    requestedAt: clock.now(),
    expiresAt: clock.now() + HOUR,
    stream: "session:s_1",
    toolCallId: "tc_1",
    source: "global",
    argsHash: "sha256:0",
    fingerprint: "sha256:1",
    policyVersion: "policy_1",
    argsKept: "whole",
    ...changes,
  };
}

const yes = { decision: "allow", actor: "user" } as const;
const no = { decision: "deny", actor: "user" } as const;
const code = (code: string): unknown => expect.objectContaining({ code });
/** How a promise has ended so far. */
async function state(promise: Promise<unknown>): Promise<string> {
  const open = Symbol();
  await settle();
  const value = await Promise.race([promise, Promise.resolve(open)]).then((found) => found, () => "rejected");
  return value === open ? "open" : value === "rejected" ? "rejected" : "resolved";
}

describe("desk", () => {
  it("keeps arguments whose integers no double holds to the digit", async () => {
    const { desk, open, other } = bench();
    const args = { id: 9223372036854775807n, list: [-12345678901234567890n, 1.5] };
    await open({ args });
    expect((await other().list())[0]?.args).toEqual(args);
    expect((await desk.list())[0]?.args).toEqual(args);
  });

  it("lists an open ask whole and forgets it once it is decided", async () => {
    const { desk, open, clock } = bench();
    const requestId = await open();
    expect(await desk.list()).toEqual([askOf(clock)]);
    await desk.resolve(requestId, yes);
    expect(await desk.list()).toEqual([]);
  });

  it("lists the asks of one session or of all, oldest first", async () => {
    const { desk, open, clock } = bench();
    await open({ requestId: "req_z", session: "s_1" });
    await clock.advance(1);
    await open({ requestId: "req_a", session: "s_2" });
    await open({ requestId: "req_b", session: "s_1" });
    const ids = async (session?: string): Promise<string[]> =>
      (await desk.list(session)).map(({ requestId }) => requestId);
    expect(await ids()).toEqual(["req_z", "req_a", "req_b"]);
    expect(await ids("s_1")).toEqual(["req_z", "req_b"]);
    expect(await ids("s_9")).toEqual([]);
  });

  it("lists every ask of a store that has many pages of them", async () => {
    const { desk, open } = bench({ maxOpenPerSession: 1000 });
    for (let at = 0; at < 450; at++) await open();
    expect(await desk.list()).toHaveLength(450);
    desk.close();
  });

  it("tells who waits, before and after the decision", async () => {
    const { desk, open, clock } = bench();
    const requestId = await open();
    const waiting = desk.wait(requestId);
    const decided = await desk.resolve(requestId, { ...yes, scope: "session", reason: "go on" });
    expect(decided).toEqual({
      requestId,
      session: "s_1",
      ...yes,
      scope: "session",
      reason: "go on",
      decidedAt: clock.now(),
    });
    expect([await waiting, await desk.wait(requestId)]).toEqual([decided, decided]);
  });

  it("A-55 refuses a second decision, whatever it says", async () => {
    const { desk, open } = bench();
    const requestId = await open();
    await desk.resolve(requestId, no);
    for (const again of [yes, no]) {
      await expect(desk.resolve(requestId, again)).rejects.toEqual(code("ERR_ALREADY_DECIDED"));
    }
    expect((await desk.wait(requestId)).decision).toBe("deny");
  });

  it("lets one of two people win who decide at the same time in two processes", async () => {
    const { desk, open, other } = bench();
    const requestId = await open();
    const waiting = desk.wait(requestId);
    const results = await Promise.allSettled([desk.resolve(requestId, yes), other().resolve(requestId, no)]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const won = results.find((result) => result.status === "fulfilled");
    expect(await waiting).toEqual(won?.value);
  });

  it("A-55 does not tell a foreign ask from an unknown one", async () => {
    const { desk, open } = bench();
    const foreign = await open({ session: "s_2" });
    const errors = await Promise.all(
      [foreign, "req_99", "", "../ask", "x".repeat(600), "é", "__proto__"].map((requestId) =>
        desk.resolve(requestId, yes, { session: "s_1" }).catch((error: unknown) => error)
      ),
    );
    expect(new Set(errors.map((error) => JSON.stringify([error, (error as Error).message]))).size).toBe(1);
    expect(errors[0]).toEqual(code("ERR_INVALID_ARGUMENTS"));
    expect(await desk.list("s_2")).toHaveLength(1);
    await desk.resolve(foreign, yes, { session: "s_2" });
  });

  it.each(["maybe", undefined, true, "__proto__"])("refuses a decision that is none: %s", async (decision) => {
    const { desk, open } = bench();
    const requestId = await open();
    const approval = { ...yes, decision: decision as "allow" };
    await expect(desk.resolve(requestId, approval)).rejects.toEqual(code("ERR_INVALID_ARGUMENTS"));
    expect(await desk.list()).toHaveLength(1);
  });

  it("keeps no secret that a person writes into a reason, and no long one", async () => {
    const { desk, open, kv } = bench();
    const requestId = await open();
    const { reason } = await desk.resolve(requestId, { ...no, reason: `it is ${SECRET} ${"x".repeat(5000)}` });
    expect(reason).toMatch(/^it is \[redacted\] x+$/);
    expect(reason).toHaveLength(1024);
    expect(new TextDecoder().decode(kv.records.get(`desk/decision/${requestId}`))).not.toContain(SECRET);
  });
});

describe("desk and time", () => {
  it("takes the time of expiry for a deny, and tells who waits", async () => {
    const { desk, open, clock } = bench();
    const requestId = await open();
    const waiting = desk.wait(requestId);
    await clock.advance(HOUR - 1);
    expect(await state(waiting)).toBe("open");
    await clock.advance(1);
    expect(await waiting).toMatchObject({ decision: "deny", actor: "timeout", reason: "expired" });
    expect(await desk.list()).toEqual([]);
  });

  it("A-55 takes no decision after the expiry, also where nobody watched it", async () => {
    const { desk, open, clock, other } = bench();
    const requestId = await open();
    desk.close();
    await clock.advance(HOUR);
    const later = other();
    expect(await later.list()).toEqual([]);
    await expect(later.resolve(requestId, yes)).rejects.toEqual(code("ERR_ALREADY_DECIDED"));
    expect(await later.wait(requestId)).toMatchObject({ decision: "deny", actor: "timeout" });
    later.close();
  });

  it("waits for an expiry that is further away than timers reach", async () => {
    const { desk, open, clock } = bench({ pollMs: 0 });
    const after = vi.spyOn(clock, "after");
    const requestId = await open({ expiresAt: clock.now() + 3_000_000_000 });
    const waiting = desk.wait(requestId);
    await clock.advance(2_500_000_000);
    expect(await state(waiting)).toBe("open");
    await clock.advance(500_000_000);
    expect((await waiting).actor).toBe("timeout");
    expect(Math.max(...after.mock.calls.map(([delayMs]) => delayMs))).toBe(2_147_483_647);
  });

  it("leaves no timer behind once everything is decided", async () => {
    const { desk, open, clock } = bench();
    const ids = [await open(), await open({ session: "s_2" })];
    expect(clock.timers).toBeGreaterThan(0);
    for (const requestId of ids) await desk.resolve(requestId, yes);
    await settle();
    expect(clock.timers).toBe(0);
  });
});

describe("desk and bounds", () => {
  it("refuses the ask of a session that has a hundred open ones, until one is decided", async () => {
    const { desk, open, clock } = bench();
    for (let at = 0; at < 100; at++) await open();
    const one = (changes: Partial<DeskAsk>): Promise<boolean> => desk.open(askOf(clock, changes));
    expect(await one({ requestId: "req_more" })).toBe(false);
    expect(await one({ requestId: "req_other", session: "s_2" })).toBe(true);
    await desk.resolve("req_7", no);
    expect(await one({ requestId: "req_more" })).toBe(true);
    desk.close();
  });

  it("counts asks that are being stored", async () => {
    const { desk, clock } = bench({ maxOpenPerSession: 1 });
    const opened = await Promise.all([
      desk.open(askOf(clock, { requestId: "a" })),
      desk.open(askOf(clock, { requestId: "b" })),
    ]);
    expect(opened).toEqual([true, false]);
    desk.close();
  });

  it("keeps arguments that are too large for the store in this process only", async () => {
    const { desk, open, other } = bench();
    const args = { text: "x".repeat(100_000) };
    await open({ args });
    expect((await desk.list())[0]).toMatchObject({ args, argsKept: "whole" });
    expect((await other().list())[0]).toMatchObject({ args: {}, argsKept: "none", argsHash: "sha256:0" });
  });

  it("removes the records of settled asks when there are many, and tells late deciders so until then", async () => {
    const { desk, open, kv } = bench();
    for (let at = 0; at < 300; at++) {
      const requestId = await open();
      const waiting = desk.wait(requestId);
      await desk.resolve(requestId, yes);
      await waiting;
    }
    await settle();
    expect(kv.records.size).toBe(2 * 256);
    await expect(desk.resolve("req_300", yes)).rejects.toEqual(code("ERR_ALREADY_DECIDED"));
    await expect(desk.resolve("req_1", yes)).rejects.toEqual(code("ERR_INVALID_ARGUMENTS"));
  });

  it("keeps a decision that nobody has waited for until long after the expiry, then sweeps it", async () => {
    const { desk, open, clock, kv, other } = bench();
    const requestId = await open();
    await desk.resolve(requestId, yes);
    desk.close();
    await clock.advance(HOUR + 23 * HOUR);
    const later = other();
    expect((await later.wait(requestId)).decision).toBe("allow");
    await clock.advance(2 * HOUR);
    await later.open(askOf(clock, { requestId: "req_next" }));
    await settle();
    expect([...kv.records.keys()]).toEqual(["desk/ask/req_next"]);
    later.close();
  });
});

describe("desk and other processes", () => {
  it("finds a decision that was made elsewhere within a second", async () => {
    const { desk, open, clock, other } = bench();
    const requestId = await open();
    const waiting = desk.wait(requestId);
    await other().resolve(requestId, yes);
    expect(await state(waiting)).toBe("open");
    await clock.advance(1000);
    expect((await waiting).decision).toBe("allow");
    await settle();
    expect(clock.timers).toBe(0);
  });

  it("goes on looking when the store fails once", async () => {
    const { desk, open, clock, kv, other } = bench();
    const requestId = await open();
    const waiting = desk.wait(requestId);
    await other().resolve(requestId, no);
    kv.before = () => {
      throw new Error("down");
    };
    await clock.advance(1000);
    expect(await state(waiting)).toBe("open");
    kv.before = undefined;
    await clock.advance(1000);
    expect((await waiting).decision).toBe("deny");
  });

  it("waits for an ask that a former owner laid down, and for its expiry", async () => {
    const { desk, open, clock, other } = bench();
    const ids = [await open(), await open()];
    desk.close();
    const heir = other();
    const waits = ids.map((requestId) => heir.wait(requestId));
    await settle();
    await heir.resolve(ids[0]!, yes);
    expect((await waits[0]!).decision).toBe("allow");
    await clock.advance(HOUR);
    expect((await waits[1]!).actor).toBe("timeout");
    await expect(heir.wait("req_99")).rejects.toEqual(code("ERR_INVALID_ARGUMENTS"));
    expect(clock.timers).toBe(0);
  });

  it("misses no decision that is made while an ask is taken over", async () => {
    const { desk, open, clock, other, kv } = bench();
    const requestId = await open();
    desk.close();
    const heir = other({ pollMs: 0 });
    let decided: Promise<unknown> | undefined;
    kv.before = (operation, key) => {
      if (operation !== "get" || !key.startsWith("desk/ask/")) return;
      kv.before = undefined;
      decided = heir.resolve(requestId, yes);
    };
    expect((await heir.wait(requestId)).decision).toBe("allow");
    await decided;
    expect(clock.timers).toBe(0);
  });

  it("skips what is no record, and decides nothing by it", async () => {
    const { desk, open, kv } = bench();
    const requestId = await open();
    kv.records.set("desk/ask/req_bad", new TextEncoder().encode(`{"requestId":"req_bad"}`));
    kv.records.set("desk/ask/req_worse", new Uint8Array([0xff, 0x00]));
    expect((await desk.list()).map((ask) => ask.requestId)).toEqual([requestId]);
    await expect(desk.resolve("req_bad", yes)).rejects.toEqual(code("ERR_INVALID_ARGUMENTS"));
    kv.records.set(`desk/decision/${requestId}`, new TextEncoder().encode(`{"decision":"allow"}`));
    await expect(desk.resolve(requestId, yes)).rejects.toEqual(code("ERR_ALREADY_DECIDED"));
    desk.close();
  });
});

describe("desk and a store that fails", () => {
  it("opens nothing that the store did not take", async () => {
    const { desk, kv, clock } = bench();
    kv.before = () => {
      throw new Error("down");
    };
    await expect(desk.open(askOf(clock))).rejects.toThrow("down");
    kv.before = undefined;
    expect([await desk.list(), clock.timers]).toEqual([[], 0]);
  });

  it("gives up on a store that does not answer", async () => {
    const { desk, kv, clock } = bench();
    kv.before = () => new Promise(() => {});
    const opening = desk.open(askOf(clock)).catch((error: unknown) => error);
    await clock.advance(5000);
    expect(await opening).toEqual(code("ERR_TIMEOUT"));
    expect(clock.timers).toBe(0);
  });

  it("finds out whether a decision whose storing failed is there all the same", async () => {
    const { desk, open, kv } = bench();
    const requestId = await open();
    const waiting = desk.wait(requestId);
    kv.afterPut = () => {
      throw new Error("connection lost");
    };
    expect((await desk.resolve(requestId, yes)).decision).toBe("allow");
    expect((await waiting).decision).toBe("allow");
  });

  it("leaves an ask open when a person's decision cannot be stored", async () => {
    const { desk, open, kv } = bench();
    const requestId = await open();
    const waiting = desk.wait(requestId);
    kv.before = (operation) => {
      if (operation === "put") throw new Error("down");
    };
    await expect(desk.resolve(requestId, yes)).rejects.toThrow("down");
    expect(await state(waiting)).toBe("open");
    kv.before = undefined;
    await desk.resolve(requestId, no);
    expect((await waiting).decision).toBe("deny");
  });

  it.each(["fails", "does not answer"])("denies at the expiry though the store %s", async (how) => {
    const { desk, open, kv, clock } = bench();
    const requestId = await open();
    const waiting = desk.wait(requestId);
    kv.before = () => {
      if (how === "fails") throw new Error("down");
      return new Promise(() => {});
    };
    await clock.advance(HOUR + 10_000);
    expect(await waiting).toMatchObject({ decision: "deny", actor: "timeout" });
  });
});

describe("desk and its end", () => {
  it("ends an ask for its owner unless somebody was faster", async () => {
    const { desk, open, other } = bench();
    const [ended, decided] = [await open(), await open()];
    const waits = [desk.wait(ended), desk.wait(decided)];
    await other().resolve(decided, yes);
    for (const requestId of [ended, decided, "req_99"]) desk.end(requestId, "host", "session_ended");
    expect(await waits[0]).toMatchObject({ decision: "deny", actor: "host", reason: "session_ended" });
    expect(await waits[1]).toMatchObject({ decision: "allow", actor: "user" });
  });

  it("tells who waits when it closes, leaves the records and watches nothing any more", async () => {
    const { desk, open, clock, kv } = bench();
    const requestId = await open();
    const waiting = desk.wait(requestId);
    desk.close();
    desk.close();
    expect(await waiting).toMatchObject({ decision: "deny", actor: "host", reason: "desk_closed" });
    expect([...kv.records.keys()]).toEqual([`desk/ask/${requestId}`]);
    expect(clock.timers).toBe(0);
    await expect(desk.open(askOf(clock, { requestId: "req_2" }))).rejects.toEqual(code("ERR_CLOSED"));
    await expect(desk.wait(requestId)).rejects.toEqual(code("ERR_CLOSED"));
  });

  it("refuses an id that is taken and keeps the ask that has it", async () => {
    const { desk, open, clock } = bench();
    const requestId = await open();
    await expect(desk.open(askOf(clock, { requestId }))).rejects.toEqual(code("ERR_INVALID_ARGUMENTS"));
    await desk.resolve(requestId, yes);
    await expect(desk.open(askOf(clock, { requestId }))).rejects.toEqual(code("ERR_INVALID_ARGUMENTS"));
    await settle();
    expect(clock.timers).toBe(0);
  });
});
