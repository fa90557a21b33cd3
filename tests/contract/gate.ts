import type { EventInput } from "../../src/events/event.ts";
import type { Gate, GateRequest, GateVerdict } from "../../src/permission/request.ts";
import { assert, assertEquals, type ContractCase } from "./contract.ts";

/** A gate under test with what the suite needs around it. */
export interface GateBench {
  readonly gate: Gate;
  /** Says yes or no to an ask, as a person would. */
  answer(requestId: string, decision: "allow" | "deny"): Promise<void>;
  close(): Promise<void>;
}

/** How to make a gate that allows, denies and asks about one tool each. */
export interface GateSubject {
  readonly name: string;
  /** Names of tools that the gate decides about in this way when anybody calls them. */
  readonly tools: { readonly allowed: string; readonly denied: string; readonly asked: string };
  create(): Promise<GateBench>;
}

type AskVerdict = Extract<GateVerdict, { kind: "ask" }>;

let calls = 0;

/** A request for a tool of server `fs`, with everything that a gate may want to know. */
export function gateRequest(tool: string, changes: Partial<GateRequest> = {}): GateRequest {
  return {
    stream: "session:s_1",
    session: "s_1",
    by: "model",
    toolCallId: `tc_${++calls}`,
    tool,
    server: "fs",
    toolName: tool.slice("mcp.fs.".length),
    source: "global",
    args: { path: "/tmp/a" },
    fingerprint: "sha256:1",
    onAsk: "wait",
    ...changes,
  };
}

/** What every gate promises, whatever its policy is made of. */
export function gateCases(subject: GateSubject): ContractCase[] {
  const { allowed, denied, asked } = subject.tools;
  const test = (claim: string, run: (bench: GateBench) => Promise<void>): ContractCase => ({
    name: `${subject.name} ${claim}`,
    async run() {
      const bench = await subject.create();
      try {
        await run(bench);
      } finally {
        await bench.close();
      }
    },
  });
  const ask = async ({ gate }: GateBench, changes: Partial<GateRequest> = {}): Promise<AskVerdict> => {
    const verdict = await gate.decide(gateRequest(asked, changes));
    assert(verdict.kind === "ask", `expected an ask, got ${verdict.kind}`);
    return verdict;
  };

  return [
    test("answers an allowed call at once with the permission pair", async ({ gate }) => {
      const verdict = await gate.decide(gateRequest(allowed));
      assert(verdict.kind === "decided", "nobody has to be asked");
      assertEquals(verdict.outcome.decision, "allow");
      assertPair(verdict.events, verdict.requestId, allowed, "allow");
    }),
    test("answers a denied call at once with the permission pair and a reason", async ({ gate }) => {
      const verdict = await gate.decide(gateRequest(denied));
      assert(verdict.kind === "decided" && verdict.outcome.decision === "deny", "the call is denied");
      assertEquals(verdict.outcome.reason, "permission_denied");
      assertPair(verdict.events, verdict.requestId, denied, "deny");
    }),
    test("gives every request an id of its own", async ({ gate }) => {
      const requests = [allowed, allowed, denied, denied].map((tool) => gate.decide(gateRequest(tool)));
      const ids = (await Promise.all(requests)).map(({ requestId }) => requestId);
      assertEquals(new Set(ids).size, ids.length);
    }),
    test("names the call and its caller in the request event", async ({ gate }) => {
      const request = gateRequest(allowed, { by: "gateway" });
      const { events } = await gate.decide(request);
      const { payload } = events[0]!;
      assertEquals([payload["toolCallId"], payload["by"], payload["args"]], [
        request.toolCallId,
        "gateway",
        request.args,
      ]);
    }),
    test("shows no more than 4 KiB of the arguments", async ({ gate }) => {
      const { events } = await gate.decide(gateRequest(allowed, { args: { text: "é".repeat(50_000) } }));
      const shown = events[0]!.payload["args"];
      const text = typeof shown === "string" ? shown : JSON.stringify(shown);
      assert(new TextEncoder().encode(text).byteLength <= 4096, `shows ${text.length} characters`);
    }),
    test("hands out the first half of the pair before anybody answers", async (bench) => {
      const verdict = await ask(bench);
      assertEquals(verdict.events.map(({ type }) => type), ["permission.requested"]);
      assertEquals(verdict.events[0]!.payload["requestId"], verdict.requestId);
      assertEquals(verdict.returnPending, false);
    }),
    ...(["allow", "deny"] as const).map((decision) =>
      test(`settles an ask as its person decides: ${decision}`, async (bench) => {
        const verdict = await ask(bench);
        const waiting = verdict.wait();
        await bench.answer(verdict.requestId, decision);
        const settled = await waiting;
        assertEquals(settled.outcome.decision, decision);
        assertPair([...verdict.events, ...settled.events], verdict.requestId, asked, decision);
        assertEquals(settled.events[0]!.payload["actor"], "user");
      })
    ),
    test("settles an ask that was answered before anybody waits", async (bench) => {
      const verdict = await ask(bench);
      await bench.answer(verdict.requestId, "allow");
      assertEquals((await verdict.wait()).outcome.decision, "allow");
    }),
    test("settles an ask once, however often it is waited for", async (bench) => {
      const verdict = await ask(bench);
      const waits = [verdict.wait(), verdict.wait()];
      await bench.answer(verdict.requestId, "allow");
      const [first, second] = await Promise.all(waits);
      assertEquals(first, second);
      assertEquals(await verdict.wait(), first);
    }),
    test("keeps asks of one tool apart", async (bench) => {
      const [one, two] = [await ask(bench), await ask(bench)];
      const waits = [one.wait(), two.wait()];
      await bench.answer(two.requestId, "deny");
      await bench.answer(one.requestId, "allow");
      assertEquals((await Promise.all(waits)).map(({ outcome }) => outcome.decision), ["allow", "deny"]);
    }),
    test("tells a caller that does not wait to return at once", async (bench) => {
      assertEquals((await ask(bench, { onAsk: "return" })).returnPending, true);
    }),
    test("denies instead of asking where the caller says so", async ({ gate }) => {
      const verdict = await gate.decide(gateRequest(asked, { onAsk: "deny" }));
      assert(verdict.kind === "decided" && verdict.outcome.decision === "deny", "nobody is asked");
      assertEquals([verdict.outcome.reason, verdict.outcome.sourcedFrom], ["no_approver", "no_approver"]);
      assertPair(verdict.events, verdict.requestId, asked, "deny");
    }),
    test("denies an ask when its caller gives up", async (bench) => {
      const caller = new AbortController();
      const waiting = (await ask(bench, { signal: caller.signal })).wait();
      caller.abort();
      assertStopped(await waiting);
    }),
    test("denies an ask whose caller has given up before", async ({ gate }) => {
      const verdict = await gate.decide(gateRequest(asked, { signal: AbortSignal.abort() }));
      const outcome = verdict.kind === "ask" ? (await verdict.wait()).outcome : verdict.outcome;
      assertEquals(outcome.decision, "deny");
    }),
    test("denies the open asks of a session that ends, and no others", async (bench) => {
      const [ending, staying] = [await ask(bench, { session: "s_end" }), await ask(bench, { session: "s_stay" })];
      const waits = [ending.wait(), staying.wait()] as const;
      bench.gate.endSession("s_end");
      assertStopped(await waits[0]);
      await bench.answer(staying.requestId, "allow");
      assertEquals((await waits[1]).outcome.decision, "allow");
    }),
    test("denies every open ask when it closes", async (bench) => {
      const waits = [(await ask(bench)).wait(), (await ask(bench, { session: "s_2" })).wait()];
      bench.gate.close();
      for (const settled of await Promise.all(waits)) assertStopped(settled);
    }),
    test("lets a session go on asking after one of the same id has ended", async (bench) => {
      bench.gate.endSession("s_1");
      const verdict = await ask(bench);
      const waiting = verdict.wait();
      await bench.answer(verdict.requestId, "allow");
      assertEquals((await waiting).outcome.decision, "allow");
    }),
  ];
}

function assertPair(events: readonly EventInput[], requestId: string, tool: string, decision: string): void {
  assertEquals(events.map(({ type }) => type), ["permission.requested", "permission.resolved"]);
  const [requested, resolved] = events.map(({ payload }) => payload);
  assertEquals([requested!["requestId"], requested!["tool"]], [requestId, tool]);
  assertEquals([resolved!["requestId"], resolved!["decision"]], [requestId, decision]);
  for (const member of ["riskAtDecision", "sourcedFrom"]) {
    assert(requested![member] !== undefined, `${member} is missing`);
  }
  for (const member of ["actor", "sourcedFrom"]) assert(resolved![member] !== undefined, `${member} is missing`);
}

function assertStopped({ events, outcome }: Awaited<ReturnType<AskVerdict["wait"]>>): void {
  assertEquals(outcome, { decision: "deny", sourcedFrom: "host_stop", reason: "permission_denied" });
  assertEquals([events.length, events[0]!.payload["actor"]], [1, "host"]);
}
