import { describe, expect, it } from "vitest";
import { countingIds } from "../../../src/kernel/ids.ts";
import { createDesk } from "../../../src/permission/desk.ts";
import { createGate } from "../../../src/permission/gate.ts";
import { compilePolicy, type PolicySubject, type Rule } from "../../../src/permission/policy.ts";
import type { ApprovalRequest, GateRequest, GateVerdict } from "../../../src/permission/request.ts";
import { gateRequest } from "../../contract/gate.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { plainScrubber } from "../../fixtures/plain_scrubber.ts";
import { FakeKeyValue } from "./fake_kv.ts";

const SECRET = "hunter2hunter2";
const tool: PolicySubject = {
  tool: "mcp.wiki.wiki://docs/a",
  server: "wiki",
  source: "global",
  session: "s",
  risks: ["read"],
  vouched: false,
};
const resource: PolicySubject = { ...tool, uri: "wiki://docs/a" };
const prompt: PolicySubject = { ...tool, tool: "mcp.wiki.review", prompt: "review" };

describe("rules about resources and prompts", () => {
  it.each<[Omit<Rule, "decision">, string]>([
    [{ uri: "wiki://docs/*" }, "resource"],
    [{ uri: "wiki://docs/a", server: "wiki" }, "resource"],
    [{ uri: "wiki://docs/a", server: "other" }, ""],
    [{ uri: "wiki://other/*" }, ""],
    [{ uri: "*" }, "resource"],
    [{ tool: "*" }, "tool"],
    [{ tool: "mcp.wiki.wiki://docs/a" }, "tool"],
    [{ tool: "mcp.wiki.*" }, "tool"],
    [{ prompt: "review" }, "prompt"],
    [{ prompt: "mcp.wiki.review" }, "prompt"],
    [{ prompt: "mcp__wiki__rev*" }, "prompt"],
    [{ prompt: "other" }, ""],
    [{ prompt: "*" }, "prompt"],
    [{ server: "wiki" }, "tool resource prompt"],
    [{ risk: "read" }, "tool resource prompt"],
    [{ risk: "network" }, ""],
    [{}, "tool resource prompt"],
  ])("%j is about %s", (conditions, about) => {
    const policy = compilePolicy({ rules: [{ ...conditions, decision: "deny" }] });
    const denied = Object.entries({ tool, resource, prompt }).filter(([, subject]) =>
      policy.decide(subject).decision === "deny"
    );
    expect(denied.map(([name]) => name).join(" ")).toBe(about);
  });

  it("a rule is about one kind only", () => {
    const rules = [{ tool: "mcp.wiki.*", uri: "*", decision: "deny" as const }];
    expect(() => compilePolicy({ rules })).toThrow("wanted only one of tool, uri and prompt");
  });
});

describe("gate before resources and prompts", () => {
  function bench(rules: readonly Rule[] = [], approve?: (request: ApprovalRequest) => "allow") {
    const [clock, scrubber] = [new FakeClock(), plainScrubber(SECRET)];
    const desk = createDesk({ kv: new FakeKeyValue(), clock, scrubber, pollMs: 0 });
    return createGate({
      policy: compilePolicy({ rules }),
      desk,
      clock,
      ids: countingIds(),
      scrubber,
      ...(approve === undefined ? {} : { approve: (request) => Promise.resolve(approve(request)) }),
    });
  }
  const ofResource = (changes: Partial<GateRequest> = {}): GateRequest => ({
    ...gateRequest("mcp.wiki.wiki://delete_all", { by: "caller", args: { uri: "wiki://delete_all" } }),
    server: "wiki",
    uri: "wiki://delete_all",
    ...changes,
  });
  const payloads = (verdict: GateVerdict): unknown[] => verdict.events.map(({ payload }) => payload);

  it("a person who points at a resource has decided", async () => {
    const verdict = await bench().decide(ofResource({ by: "user", fingerprint: "f" }));
    expect(payloads(verdict)).toEqual([
      {
        requestId: "req_1",
        server: "wiki",
        uri: "wiki://delete_all",
        fingerprint: "f",
        risk: "read",
        sourcedFrom: "user_explicit_include",
        by: "user",
      },
      { requestId: "req_1", decision: "allow", actor: "policy", sourcedFrom: "user_explicit_include" },
    ]);
  });

  it("a rule stops a person too, and a secret in the address stops everybody", async () => {
    const denied = await bench([{ uri: "*", decision: "deny" }]).decide(ofResource({ by: "user" }));
    expect(denied).toMatchObject({ outcome: { decision: "deny", sourcedFrom: "rule" } });
    const secret = ofResource({ by: "user", uri: `wiki://${SECRET}`, args: { uri: `wiki://${SECRET}` } });
    expect(await bench().decide(secret)).toMatchObject({ outcome: { decision: "deny", sourcedFrom: "default" } });
  });

  it("anybody else is asked about, with the address and the prompt to look at", async () => {
    const seen: ApprovalRequest[] = [];
    const gate = bench([], (request) => {
      seen.push(request);
      return "allow";
    });
    const verdict = await gate.decide(ofResource({ onAsk: "wait" }));
    if (verdict.kind !== "ask") throw new Error("expected an ask");
    expect(payloads(verdict)).toMatchObject([{ risk: "read", sourcedFrom: "default", by: "caller" }]);
    expect((await verdict.wait()).outcome.decision).toBe("allow");
    const { uri: _, ...rest } = ofResource({ onAsk: "wait", tool: "mcp.wiki.review", args: { repo: "a" } });
    const other = await gate.decide({ ...rest, prompt: "review" });
    if (other.kind !== "ask") throw new Error("expected an ask");
    expect(payloads(other)).toMatchObject([{ server: "wiki", prompt: "review", args: { repo: "a" }, risk: "read" }]);
    await other.wait();
    expect(seen).toMatchObject([{ server: "wiki", uri: "wiki://delete_all" }, { server: "wiki", prompt: "review" }]);
  });
});
