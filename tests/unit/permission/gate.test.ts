import { describe, expect, it, vi } from "vitest";
import { canonicalJson, sha256Text } from "../../../src/kernel/canonical.ts";
import { countingIds } from "../../../src/kernel/ids.ts";
import { createDesk, type Desk } from "../../../src/permission/desk.ts";
import { createGate, type GateOptions } from "../../../src/permission/gate.ts";
import { createGrants, type Grants } from "../../../src/permission/grants.ts";
import { compilePolicy, type Rule } from "../../../src/permission/policy.ts";
import type {
  Approval,
  ApprovalRequest,
  Approve,
  Gate,
  GateRequest,
  GateVerdict,
} from "../../../src/permission/request.ts";
import { gateRequest } from "../../contract/gate.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { settle, until } from "../../fixtures/settle.ts";
import { plainScrubber } from "../../fixtures/plain_scrubber.ts";
import { FakeKeyValue } from "./fake_kv.ts";

const SECRET = "hunter2hunter2";
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const TOOL = "mcp.fs.send";

interface Bench {
  readonly clock: FakeClock;
  readonly kv: FakeKeyValue;
  readonly desk: Desk;
  readonly gate: Gate;
  readonly grants: Grants;
}

function bench(options: Partial<GateOptions> & { readonly rules?: readonly Rule[] } = {}): Bench {
  const { rules = [], ...rest } = options;
  const [clock, kv, scrubber, grants] = [new FakeClock(), new FakeKeyValue(), plainScrubber(SECRET), createGrants()];
  const desk = createDesk({ kv, clock, scrubber, pollMs: 0 });
  const gate = createGate({
    policy: compilePolicy({ rules }),
    desk,
    clock,
    ids: countingIds(),
    scrubber,
    grants,
    ...rest,
  });
  return { clock, kv, desk, gate, grants };
}

type AskVerdict = Extract<GateVerdict, { kind: "ask" }>;
type Settled = Awaited<ReturnType<AskVerdict["wait"]>>;

async function ask(gate: Gate, changes: Partial<GateRequest> = {}): Promise<AskVerdict> {
  const verdict = await gate.decide(gateRequest(TOOL, changes));
  if (verdict.kind !== "ask") throw new Error(`expected an ask, got ${JSON.stringify(verdict)}`);
  return verdict;
}

/** What was decided and on what it rests, in one line. */
function told({ outcome, events }: Settled | Extract<GateVerdict, { kind: "decided" }>): string {
  const { actor, scope, reason } = events.at(-1)!.payload;
  return [outcome.decision, outcome.sourcedFrom, actor, scope, reason].filter((part) => part !== undefined).join(", ");
}

async function decided(gate: Gate, changes: Partial<GateRequest> = {}): Promise<string> {
  const verdict = await gate.decide(gateRequest(TOOL, changes));
  return verdict.kind === "decided" ? told(verdict) : verdict.kind;
}

describe("gate and events", () => {
  it("writes the pair of a call that a rule allows to the letter", async () => {
    const { gate } = bench({ rules: [{ tool: TOOL, decision: "allow", name: "mail" }] });
    const verdict = await gate.decide(gateRequest(TOOL, { toolCallId: "tc_xyz", args: { key: "PROJ-123" } }));
    expect(JSON.stringify(verdict.events)).toBe(JSON.stringify([
      {
        type: "permission.requested",
        payload: {
          requestId: "req_1",
          toolCallId: "tc_xyz",
          tool: TOOL,
          args: { key: "PROJ-123" },
          fingerprint: "sha256:1",
          riskAtDecision: "network",
          sourcedFrom: "rule",
          by: "model",
        },
      },
      {
        type: "permission.resolved",
        payload: { requestId: "req_1", decision: "allow", actor: "policy", sourcedFrom: "rule", rule: "mail" },
      },
    ]));
  });

  it("writes the pair of a call that a person allows for the session to the letter", async () => {
    const { gate, desk } = bench();
    const args = { key: "PROJ-123" };
    const verdict = await ask(gate, { toolCallId: "tc_xyz", args });
    await desk.resolve(verdict.requestId, { decision: "allow", scope: "session", actor: "user" });
    const { events } = await verdict.wait();
    expect(JSON.stringify([...verdict.events, ...events])).toBe(JSON.stringify([
      {
        type: "permission.requested",
        payload: {
          requestId: "req_1",
          toolCallId: "tc_xyz",
          tool: TOOL,
          args,
          argsHash: await sha256Text(canonicalJson(args)),
          fingerprint: "sha256:1",
          riskAtDecision: "network",
          sourcedFrom: "default",
          by: "model",
        },
      },
      {
        type: "permission.resolved",
        payload: {
          requestId: "req_1",
          decision: "allow",
          actor: "user",
          sourcedFrom: "session_allow_once",
          scope: "session",
        },
      },
    ]));
  });

  it("writes what a rule denies with the rule and the reason", async () => {
    const { gate } = bench({ rules: [{ server: "fs", decision: "deny", name: "no-fs" }] });
    const verdict = await gate.decide(gateRequest(TOOL));
    expect(verdict.events[1]!.payload).toEqual({
      requestId: "req_1",
      decision: "deny",
      actor: "policy",
      sourcedFrom: "rule",
      reason: "rule no-fs says deny",
      rule: "no-fs",
    });
    expect(verdict.kind === "decided" && verdict.outcome).toEqual({
      decision: "deny",
      sourcedFrom: "rule",
      reason: "permission_denied",
    });
  });

  it("shows no secret, neither to the log nor to the approver nor at the desk", async () => {
    const shown: ApprovalRequest[] = [];
    const { gate, kv } = bench({
      rules: [{ risk: "credential", decision: "ask" }],
      approve: (request) => {
        shown.push(request);
        return Promise.resolve({ decision: "deny", reason: `because of ${SECRET}` });
      },
    });
    const verdict = await ask(gate, { args: { [SECRET]: `token ${SECRET}` } });
    const settled = await verdict.wait();
    const everything = JSON.stringify([
      verdict,
      settled,
      shown,
      [...kv.records.values()].map((bytes) => new TextDecoder().decode(bytes)),
    ]);
    expect(everything).not.toContain(SECRET);
    expect(shown[0]!.args).toEqual({ "[redacted]": "token [redacted]" });
    expect(everything).toContain(`\\"argsKept\\":\\"scrubbed\\"`);
  });

  it("hashes the scrubbed arguments whole, however little of them is shown", async () => {
    const { gate } = bench();
    const args = { text: 'é"'.repeat(5000) };
    const { payload } = (await ask(gate, { args })).events[0]!;
    expect(payload["argsHash"]).toBe(await sha256Text(canonicalJson(args)));
    const shown = payload["args"] as string;
    expect(JSON.stringify(args).startsWith(shown)).toBe(true);
    expect(new TextEncoder().encode(shown).byteLength).toBeGreaterThan(4090);
    expect(new TextEncoder().encode(JSON.stringify(shown)).byteLength).toBeLessThan(12 * 1024);
  });

  it("cuts shown arguments between two characters", async () => {
    const { gate } = bench({ rules: [{ decision: "allow" }] });
    for (let shift = 0; shift < 4; shift++) {
      const { events } = await gate.decide(
        gateRequest(TOOL, { args: { text: "x".repeat(shift) + "😀".repeat(2000) } }),
      );
      expect(events[0]!.payload["args"]).toMatch(/^\{"text":"x{0,3}(😀)+$/u);
    }
  });
});

describe("gate and risks", () => {
  it.each<[string, Partial<GateRequest>, string]>([
    ["a read that configuration vouches for passes", { configuredRisk: "read" }, "allow, default, policy"],
    ["A-75 one that only its server calls so is asked about", { annotations: { readOnlyHint: true } }, "ask"],
    [
      "a person's own read passes where the tool only reads",
      { by: "user", configuredRisk: "read" },
      "allow, default, policy",
    ],
    ["a person's own call of anything else is asked about", { by: "user" }, "ask"],
    [
      "arguments with a secret are denied",
      { args: { text: `my ${SECRET}` } },
      "deny, default, policy, a call that hands out a credential needs a rule that names this risk",
    ],
  ])("%s", async (_claim, changes, expected) => {
    expect(await decided(bench().gate, changes)).toBe(expected);
  });

  it("asks about a telling name though a rule allows it", async () => {
    const { gate } = bench({ rules: [{ decision: "allow" }] });
    const verdict = await gate.decide(gateRequest("mcp.fs.delete_database", { annotations: { readOnlyHint: true } }));
    expect([verdict.kind, verdict.risk, verdict.events[0]!.payload["riskAtDecision"]]).toEqual([
      "ask",
      "destructive",
      "destructive",
    ]);
  });

  it("goes by what the host says it holds, where it says so", async () => {
    const { gate } = bench({ holdsSecret: (args) => args["key"] === "held" });
    expect(await decided(gate, { args: { key: SECRET } })).toBe("ask");
    expect(await decided(gate, { args: { key: "held" } })).toMatch(/^deny/);
  });
});

describe("gate and approvers", () => {
  it.each<[unknown, string]>([
    [true, "allow, allow_once, user, once"],
    ["allow", "allow, allow_once, user, once"],
    [{ decision: "allow" }, "allow, allow_once, user, once"],
    [{ decision: "allow", scope: "session" }, "allow, session_allow_once, user, session"],
    [{ decision: "allow", reason: "fine" }, "allow, allow_once, user, once, fine"],
    [false, "deny, user_deny, user"],
    ["deny", "deny, user_deny, user"],
    [{ decision: "deny", scope: "session", reason: "no" }, "deny, user_deny, user, no"],
    [undefined, "deny, no_approver, host, approver_failed: ERR_INVALID_ARGUMENTS"],
    [null, "deny, no_approver, host, approver_failed: ERR_INVALID_ARGUMENTS"],
    ["yes", "deny, no_approver, host, approver_failed: ERR_INVALID_ARGUMENTS"],
    [1, "deny, no_approver, host, approver_failed: ERR_INVALID_ARGUMENTS"],
    [{}, "deny, no_approver, host, approver_failed: ERR_INVALID_ARGUMENTS"],
    [{ decision: "always" }, "deny, no_approver, host, approver_failed: ERR_INVALID_ARGUMENTS"],
    [{ decision: "allow", scope: "forever" }, "deny, no_approver, host, approver_failed: ERR_INVALID_ARGUMENTS"],
    [{ decision: "allow", reason: 7 }, "deny, no_approver, host, approver_failed: ERR_INVALID_ARGUMENTS"],
  ])("take %j", async (answer, expected) => {
    const { gate, clock } = bench({ approve: async () => answer as Approval });
    expect(told(await (await ask(gate)).wait())).toBe(expected);
    expect(clock.timers).toBe(0);
  });

  it.each<[string, () => Promise<boolean>]>([
    ["rejects", () => Promise.reject(new TypeError("secret text"))],
    ["throws", () => {
      throw new TypeError("secret text");
    }],
  ])("deny when one %s, without its text", async (_how, approve) => {
    const errors: unknown[] = [];
    const { gate } = bench({ approve, onError: (error) => void errors.push(error) });
    expect(told(await (await ask(gate)).wait())).toBe("deny, no_approver, host, approver_failed: TypeError");
    expect(errors).toMatchObject([{ message: "secret text" }]);
  });

  const returning = (answer: unknown) => async () => answer as Approval;
  const throwing = (error: unknown) => (): never => {
    throw error;
  };
  const wanted = 'wanted true, false, "allow", "deny" or { decision: "allow" or "deny" }';
  it.each<[string, Approve, string]>([
    ["a word", returning("yes"), `it returned the string "yes", ${wanted}`],
    ["nothing", returning(undefined), `it returned undefined, ${wanted}`],
    ["what may be a secret", returning("x".repeat(41)), `it returned a string, ${wanted}`],
    ["an object", returning({}), 'it returned an object whose "decision" is missing, wanted "allow" or "deny"'],
    [
      "another scope",
      returning({ decision: "allow", scope: "forever" }),
      'it returned an object whose "scope" is the string "forever", wanted "once" or "session"',
    ],
    ["an error", throwing(new TypeError("x is not a function")), "it threw TypeError: x is not a function"],
    ["an error with a secret", throwing(new Error(`no ${SECRET}`)), "it threw Error: no [redacted]"],
    ["an endless error", throwing(new Error("x".repeat(5000))), "it threw Error: [5000 characters]"],
    ["a long error", throwing(new Error("x".repeat(400))), `it threw Error: ${"x".repeat(284)}`],
    ["no error", throwing(7), "it threw 7"],
  ])("that give %s have decided nothing, and the outcome says what they gave", async (_what, approve, detail) => {
    const { gate } = bench({ approve });
    expect((await (await ask(gate)).wait()).outcome).toMatchObject({ sourcedFrom: "no_approver", detail });
  });

  it("are asked once, when the caller waits and not before", async () => {
    const approve = vi.fn(async () => true);
    const { gate } = bench({ approve });
    const verdict = await ask(gate);
    await settle();
    expect(approve).not.toHaveBeenCalled();
    await Promise.all([verdict.wait(), verdict.wait()]);
    await verdict.wait();
    expect(approve).toHaveBeenCalledTimes(1);
  });

  it("cannot change what lies at the desk by what they are shown", async () => {
    const { gate, desk } = bench({
      approve: (request) => {
        Object.assign(request.args, { path: "/tmp/b" });
        return new Promise(() => {});
      },
    });
    const waiting = (await ask(gate)).wait();
    await settle();
    expect((await desk.list())[0]!.args).toEqual({ path: "/tmp/a" });
    gate.close();
    await waiting;
  });

  it("are shown the whole request, and cannot change the call by it", async () => {
    const args = { list: [1, 2], text: "x".repeat(10_000) };
    let shown: ApprovalRequest | undefined;
    const { gate, clock } = bench({
      approve: (request) => {
        shown = structuredClone(request);
        (request.args["list"] as number[]).push(3);
        return Promise.resolve(true);
      },
    });
    const now = clock.now();
    const verdict = await ask(gate, { args });
    await verdict.wait();
    expect(shown).toEqual({
      requestId: verdict.requestId,
      session: "s_1",
      tool: TOOL,
      server: "fs",
      risk: "network",
      by: "model",
      args,
      requestedAt: now,
      expiresAt: now + 5 * MINUTE,
    });
    expect(args.list).toEqual([1, 2]);
  });

  it("are not asked where the caller wants the ask back, which then stays at the desk for seven days", async () => {
    const approve = vi.fn(async () => true);
    const { gate, desk, clock } = bench({ approve });
    const verdict = await ask(gate, { onAsk: "return" });
    const [open] = await desk.list("s_1");
    expect([verdict.returnPending, open!.expiresAt - clock.now()]).toEqual([true, 7 * DAY]);
    const waiting = verdict.wait();
    await desk.resolve(verdict.requestId, { decision: "allow", actor: "user" });
    expect(told(await waiting)).toBe("allow, allow_once, user, once");
    expect(approve).not.toHaveBeenCalled();
  });

  /** A gate whose approver never answers, and the signal that it was given. */
  const silent = (): Bench & { readonly signal: () => AbortSignal } => {
    let given: AbortSignal | undefined;
    const made = bench({
      approve: (_request, signal) => {
        given = signal;
        return new Promise(() => {});
      },
    });
    return { ...made, signal: () => given! };
  };

  it.each<[string, (made: ReturnType<typeof silent>, verdict: AskVerdict, caller: AbortController) => unknown, string]>(
    [
      ["the time is up", ({ clock }) => clock.advance(5 * MINUTE), "deny, timeout, timeout, expired"],
      ["the session ends", ({ gate }) => gate.endSession("s_1"), "deny, host_stop, host, session_ended"],
      ["the gate closes", ({ gate }) => gate.close(), "deny, host_stop, host, gate_closed"],
      ["the desk closes", ({ desk }) => desk.close(), "deny, host_stop, host, desk_closed"],
      ["the caller gives up", (_made, _verdict, caller) => caller.abort(), "deny, host_stop, host, cancelled"],
      [
        "somebody decides at the desk",
        ({ desk }, { requestId }) => desk.resolve(requestId, { decision: "allow", actor: "user" }),
        "allow, allow_once, user, once",
      ],
    ],
  )("are told that the answer is not wanted any more when %s", async (_what, end, expected) => {
    const made = silent();
    const caller = new AbortController();
    const remove = vi.spyOn(caller.signal, "removeEventListener");
    const verdict = await ask(made.gate, { signal: caller.signal });
    const waiting = verdict.wait();
    await settle();
    expect(made.signal().aborted).toBe(false);
    await end(made, verdict, caller);
    expect(told(await waiting)).toBe(expected);
    await settle();
    expect(made.signal().aborted).toBe(true);
    // A listener that has run is gone by itself.
    expect([made.clock.timers, remove.mock.calls.length]).toEqual([0, caller.signal.aborted ? 0 : 1]);
  });

  it("lose to whoever decided before their answer came", async () => {
    let answer!: (approval: boolean) => void;
    const { gate, desk } = bench({ approve: () => new Promise((resolve) => answer = resolve) });
    const verdict = await ask(gate);
    const waiting = verdict.wait();
    await settle();
    await desk.resolve(verdict.requestId, { decision: "deny", actor: "user" });
    answer(true);
    expect(told(await waiting)).toBe("deny, user_deny, user");
    expect(told(await verdict.wait())).toBe("deny, user_deny, user");
  });

  it("decide nothing when their answer cannot be stored", async () => {
    const { gate, kv } = bench({ approve: async () => true });
    const verdict = await ask(gate);
    kv.before = (operation) => {
      if (operation === "put") throw new Error("down");
    };
    expect(told(await verdict.wait())).toMatch(/^deny, host_stop, host, desk_unavailable: /);
  });
});

describe("gate without an approver", () => {
  it("waits at the desk for seven days", async () => {
    const { gate, clock } = bench();
    const waiting = (await ask(gate)).wait();
    await clock.advance(7 * DAY - 1);
    expect(await Promise.race([waiting, Promise.resolve("open")])).toBe("open");
    await clock.advance(1);
    expect(told(await waiting)).toBe("deny, timeout, timeout, expired");
    expect(clock.timers).toBe(0);
  });

  it("takes its lifetimes from the options", async () => {
    const one = bench({ deskLifetimeMs: MINUTE });
    const atDesk = (await ask(one.gate)).wait();
    await one.clock.advance(MINUTE);
    expect((await atDesk).outcome.sourcedFrom).toBe("timeout");
    const two = bench({ approve: () => new Promise(() => {}), directLifetimeMs: 1000 });
    const direct = (await ask(two.gate)).wait();
    await two.clock.advance(1000);
    expect((await direct).outcome.sourcedFrom).toBe("timeout");
  });

  it("denies at once where the caller says so, and lays nothing on the desk", async () => {
    const { gate, kv, clock } = bench();
    const verdict = await gate.decide(gateRequest(TOOL, { onAsk: "deny" }));
    expect(verdict.events.map(({ payload }) => payload)).toEqual([
      expect.objectContaining({ sourcedFrom: "default" }),
      { requestId: "req_1", decision: "deny", actor: "host", sourcedFrom: "no_approver", reason: "no_approver" },
    ]);
    expect("argsHash" in verdict.events[0]!.payload).toBe(false);
    expect([verdict.kind === "decided" && verdict.outcome, kv.records.size, clock.timers]).toEqual([
      { decision: "deny", sourcedFrom: "no_approver", reason: "no_approver" },
      0,
      0,
    ]);
  });

  it("denies the ask of a session that has a hundred open ones", async () => {
    const { gate, desk } = bench();
    for (let at = 0; at < 100; at++) await ask(gate, { onAsk: "return" });
    const verdict = await gate.decide(gateRequest(TOOL));
    expect(verdict.kind === "decided" && verdict.outcome).toEqual({
      decision: "deny",
      sourcedFrom: "default",
      reason: "too_many_asks",
    });
    expect(verdict.kind === "decided" && told(verdict)).toBe("deny, default, host, too_many_asks");
    await ask(gate, { session: "s_2" });
    desk.close();
  });

  it("denies what the desk does not take", async () => {
    const { gate, kv, clock } = bench();
    kv.before = () => {
      throw Object.assign(new Error("down"), { code: "ECONNREFUSED" });
    };
    expect(await decided(gate)).toBe("deny, host_stop, host, desk_unavailable: ECONNREFUSED");
    expect(clock.timers).toBe(0);
  });

  it("settles an ask that its caller never comes to wait for", async () => {
    const { gate, clock, desk } = bench();
    const caller = new AbortController();
    await ask(gate, { signal: caller.signal });
    caller.abort();
    await settle();
    expect([await desk.list(), clock.timers]).toEqual([[], 0]);
  });
});

describe("gate and sessions", () => {
  it("uses what was granted for the session, and says so", async () => {
    const { gate } = bench({ approve: async () => ({ decision: "allow", scope: "session" }) });
    await (await ask(gate)).wait();
    const verdict = await gate.decide(gateRequest(TOOL, { args: { other: 1 } }));
    expect(verdict.kind === "decided" && told(verdict)).toBe("allow, session_allow, policy");
    expect(verdict.events[0]!.payload["sourcedFrom"]).toBe("session_allow");
    expect("argsHash" in verdict.events[0]!.payload).toBe(false);
  });

  it.each<[string, Partial<GateRequest>]>([
    ["in another session", { session: "s_2" }],
    ["A-98 for a look-alike of another source", { source: "private" }],
    ["A-67 for a changed definition", { fingerprint: "sha256:2" }],
    ["for a call that got destructive", { annotations: { destructiveHint: true } }],
    ["for another tool", { tool: "mcp.fs.other", toolName: "other" }],
    ["for another risk", { configuredRisk: "write" }],
  ])("does not use it %s", async (_what, changes) => {
    const { gate } = bench({ approve: async () => ({ decision: "allow", scope: "session" }) });
    await (await ask(gate)).wait();
    expect(await decided(gate, changes)).toBe("ask");
    expect(await decided(gate, { ...changes, args: { text: SECRET } })).toMatch(/^deny/);
  });

  it("a later deny rule beats what was granted", async () => {
    const grants = createGrants();
    const one = bench({ grants, approve: async () => ({ decision: "allow", scope: "session" }) });
    await (await ask(one.gate)).wait();
    const two = bench({ grants, rules: [{ tool: TOOL, decision: "deny" }] });
    expect(await decided(two.gate)).toMatch(/^deny, rule/);
    const three = bench({ grants, rules: [{ tool: "mcp.other.*", decision: "allow" }] });
    expect(await decided(three.gate)).toBe("ask");
  });

  it("remembers nothing for destructive calls, and nothing for a server's tool without a fingerprint", async () => {
    const { gate, grants } = bench({ approve: async () => ({ decision: "allow", scope: "session" }) });
    const { fingerprint: _none, ...bare } = gateRequest(TOOL);
    for (const request of [gateRequest("mcp.fs.delete_all"), bare]) {
      const verdict = await gate.decide(request);
      expect(verdict.kind === "ask" && told(await verdict.wait())).toBe("allow, allow_once, user, once");
    }
    expect(grants.list("s_1")).toEqual([]);
  });

  it("remembers a local tool without one", async () => {
    const { gate } = bench({ approve: async () => ({ decision: "allow", scope: "session" }) });
    const { server: _server, fingerprint: _none, ...rest } = gateRequest(TOOL);
    const request: GateRequest = {
      ...rest,
      tool: "shell",
      toolName: "shell",
      source: "local",
      configuredRisk: "execute",
    };
    const first = await gate.decide(request);
    expect(first.kind === "ask" && told(await first.wait())).toBe("allow, session_allow_once, user, session");
    const second = await gate.decide(request);
    expect(second.kind === "decided" && told(second)).toBe("allow, session_allow, policy");
  });

  it("forgets what was granted when the session ends", async () => {
    const { gate } = bench({ approve: async () => ({ decision: "allow", scope: "session" }) });
    await (await ask(gate)).wait();
    gate.endSession("s_1");
    expect(await decided(gate)).toBe("ask");
  });

  it("grants nothing to a session that ended while its answer was on the way", async () => {
    let answer!: (approval: Approval) => void;
    const { gate, grants, kv } = bench({ approve: () => new Promise((resolve) => answer = resolve) });
    const waiting = (await ask(gate)).wait();
    await settle();
    kv.afterPut = () => {
      kv.afterPut = undefined;
      gate.endSession("s_1");
    };
    answer({ decision: "allow", scope: "session" });
    expect(told(await waiting)).toBe("allow, allow_once, user, once");
    expect(grants.list("s_1")).toEqual([]);
  });

  it.each(["session_ended", "cancelled"])("ends an ask that the desk is still taking: %s", async (reason) => {
    const { gate, kv, clock } = bench();
    const caller = new AbortController();
    let go!: () => void;
    kv.before = (operation) => {
      return operation === "put" ? new Promise((resolve) => go = resolve) : undefined;
    };
    const deciding = ask(gate, { signal: caller.signal });
    await until(() => go);
    if (reason === "cancelled") caller.abort();
    else gate.endSession("s_1");
    kv.before = undefined;
    go();
    expect(told(await (await deciding).wait())).toBe(`deny, host_stop, host, ${reason}`);
    expect(clock.timers).toBe(0);
  });

  it("leaves a pending ask at the desk when its session and the gate end, since nobody here waits for it", async () => {
    const { gate, desk } = bench();
    const { requestId } = await ask(gate, { onAsk: "return" });
    gate.endSession("s_1");
    gate.close();
    await settle();
    expect((await desk.list("s_1")).map((open) => open.requestId)).toEqual([requestId]);
    await desk.resolve(requestId, { decision: "allow", actor: "user" });
    expect((await desk.wait(requestId)).decision).toBe("allow");
  });

  it("ends a pending ask that somebody has come to wait for", async () => {
    const { gate } = bench();
    const waiting = (await ask(gate, { onAsk: "return" })).wait();
    gate.endSession("s_1");
    expect(told(await waiting)).toBe("deny, host_stop, host, session_ended");
  });

  it("lets nothing pass once it is closed", async () => {
    const { gate } = bench({ rules: [{ decision: "allow" }] });
    gate.close();
    expect(await decided(gate)).toBe("deny, host_stop, host, gate_closed");
  });

  it("settles a thousand asks of ten sessions, each once, and leaves nothing behind", async () => {
    const { gate, desk, clock } = bench();
    const asks: AskVerdict[] = [];
    for (let at = 0; at < 1000; at++) asks.push(await ask(gate, { session: `s_${at % 10}` }));
    const waits = asks.map((verdict) => verdict.wait());
    await Promise.all(
      asks.filter((_, at) => at % 3 === 0).map(({ requestId }) =>
        desk.resolve(requestId, { decision: "allow", actor: "user" })
      ),
    );
    for (let at = 0; at < 10; at++) gate.endSession(`s_${at}`);
    const ended = await Promise.all(waits);
    expect(ended.filter(({ outcome }) => outcome.decision === "allow")).toHaveLength(334);
    expect(ended.every(({ events }) => events.length === 1)).toBe(true);
    await settle();
    expect(clock.timers).toBe(0);
  });
});
