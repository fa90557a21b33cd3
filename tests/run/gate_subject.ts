import { countingIds } from "../../src/kernel/ids.ts";
import { createDesk } from "../../src/permission/desk.ts";
import { createGate } from "../../src/permission/gate.ts";
import { compilePolicy } from "../../src/permission/policy.ts";
import { memoryKeyValue } from "../../src/store/memory_kv.ts";
import type { GateSubject } from "../contract/gate.ts";
import { FakeClock } from "../fixtures/fake_clock.ts";
import { plainScrubber } from "../fixtures/plain_scrubber.ts";

const tools = { allowed: "mcp.fs.read_text", denied: "mcp.fs.format_disk", asked: "mcp.fs.send" };

/** The gate of a host, its desk over a key-value store in memory. */
export const hostGate: GateSubject = {
  name: "gate of a host",
  tools,
  async create() {
    const [clock, ids, scrubber] = [new FakeClock(), countingIds(), plainScrubber()];
    const desk = createDesk({ kv: memoryKeyValue(), clock, scrubber });
    const policy = compilePolicy({
      rules: [{ tool: tools.allowed, decision: "allow" }, { tool: tools.denied, decision: "deny" }],
    });
    const gate = createGate({ policy, desk, clock, ids, scrubber });
    return {
      gate,
      answer: async (requestId, decision) => void (await desk.resolve(requestId, { decision, actor: "user" })),
      close: async () => {
        gate.close();
        desk.close();
      },
    };
  },
};
