import { describe, it } from "vitest";
import { countingIds } from "../../../src/kernel/ids.ts";
import { createDesk } from "../../../src/permission/desk.ts";
import { createGate } from "../../../src/permission/gate.ts";
import { compilePolicy } from "../../../src/permission/policy.ts";
import { gateCases, type GateSubject } from "../../contract/gate.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { plainScrubber } from "../../fixtures/plain_scrubber.ts";
import { FakeKeyValue } from "./fake_kv.ts";
import { StaticGate } from "./static_gate.ts";

const tools = { allowed: "mcp.fs.read_text", denied: "mcp.fs.format_disk", asked: "mcp.fs.send" };

const policyGate: GateSubject = {
  name: "policy gate",
  tools,
  create() {
    const [clock, ids, scrubber] = [new FakeClock(), countingIds(), plainScrubber()];
    const desk = createDesk({ kv: new FakeKeyValue(), clock, scrubber });
    const policy = compilePolicy({
      rules: [{ tool: tools.allowed, decision: "allow" }, { tool: tools.denied, decision: "deny" }],
    });
    const gate = createGate({ policy, desk, clock, ids, scrubber });
    return Promise.resolve({
      gate,
      answer: async (requestId, decision) => void (await desk.resolve(requestId, { decision, actor: "user" })),
      close: async () => {
        gate.close();
        desk.close();
      },
    });
  },
};

const staticGate: GateSubject = {
  name: "static gate",
  tools,
  create() {
    const gate = new StaticGate({ allow: [tools.allowed], ask: [tools.asked] });
    return Promise.resolve({
      gate,
      answer: async (requestId, decision) => gate.answer(requestId, decision),
      close: async () => gate.close(),
    });
  },
};

for (const subject of [policyGate, staticGate]) {
  describe(`contract of a gate: ${subject.name}`, () => {
    for (const { name, run } of gateCases(subject)) it(name, run);
  });
}
