import { expect, it } from "vitest";
import { createDesk, type DeskAsk } from "../../../src/permission/desk.ts";
import { memoryKeyValue } from "../../../src/store/memory_kv.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { plainScrubber } from "../../fixtures/plain_scrubber.ts";

it("a desk reports a store that fails behind everybody's back, once for look after look", async () => {
  const clock = new FakeClock();
  const kv = memoryKeyValue();
  const errors: unknown[] = [];
  const desk = createDesk({ kv, clock, scrubber: plainScrubber(), onError: (error) => errors.push(error) });
  const ask: DeskAsk = {
    requestId: "req_1",
    session: "s",
    stream: "session:s",
    toolCallId: "tc_1",
    tool: "t",
    source: "local",
    risk: "read",
    by: "caller",
    args: {},
    argsHash: "h",
    argsKept: "whole",
    policyVersion: "p",
    requestedAt: clock.now(),
    expiresAt: clock.now() + 60_000,
  };
  await desk.open(ask);
  const decided = desk.wait("req_1");
  kv.get = () => Promise.reject(new Error("down"));
  await clock.advance(5000);
  expect(errors).toEqual([new Error("down")]);
  kv.putIfAbsent = () => Promise.reject(new Error("down, too"));
  desk.end("req_1", "host", "gone");
  expect(await decided).toMatchObject({ decision: "deny", actor: "host" });
  expect(errors).toHaveLength(2);
  desk.close();
});
