import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SERVER_DEFAULTS } from "../../../src/servers/config_defaults.ts";
import { lossReason, nextStep } from "../../../src/servers/restart_policy.ts";

const config = SERVER_DEFAULTS.restart;

describe("restart policy", () => {
  it.each([[0, 500], [1, 1000], [2, 2000]])("after %i crashes waits %i ms", (crashes, delayMs) => {
    expect(nextStep({ crashes, readyForMs: undefined }, config, () => 0.5)).toEqual({
      kind: "restart",
      crashes: crashes + 1,
      delayMs,
    });
  });

  it("gives up at the fourth crash in a row", () => {
    expect(nextStep({ crashes: 3, readyForMs: undefined }, config, () => 0.5)).toEqual({ kind: "give_up", crashes: 4 });
  });

  it.each([[undefined, "give_up"], [0, "give_up"], [59_999, "give_up"], [60_000, "restart"]])(
    "a fourth crash after %s ms of health: %s",
    (readyForMs, kind) => {
      expect(nextStep({ crashes: 3, readyForMs }, config, () => 0.5).kind).toBe(kind);
    },
  );

  it("stays within 10 % of the doubled base and never above the cap", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 30 }), fc.double({ min: 0, max: 1, noNaN: true }), (crashes, random) => {
        const step = nextStep({ crashes, readyForMs: undefined }, { ...config, maxRestarts: 1000 }, () => random);
        const plain = Math.min(config.capMs, config.baseMs * 2 ** crashes);
        return step.kind === "restart" && step.delayMs <= config.capMs &&
          Math.abs(step.delayMs - plain) <= plain * 0.1 + 1;
      }),
    );
  });

  it("names the loss by the crash", () => {
    expect([0, 1, 2, 3].map((crashes) => lossReason(nextStep({ crashes, readyForMs: undefined }, config, () => 0))))
      .toEqual([
        "mcp_server_restarted",
        "mcp_server_unstable",
        "mcp_server_unstable",
        "mcp_server_permanently_failed",
      ]);
  });
});
