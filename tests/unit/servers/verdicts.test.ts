import { expect, it } from "vitest";
import { memoryVerdicts } from "../../../src/servers/verdicts.ts";

it("verdicts are kept for the servers that were met last", () => {
  const verdicts = memoryVerdicts(2);
  const verdict = (at: number) => ({ era: "legacy", protocolVersion: "any", at }) as const;
  verdicts.set("a", verdict(1));
  verdicts.set("b", verdict(2));
  verdicts.set("a", verdict(3));
  verdicts.set("c", verdict(4));
  expect(["a", "b", "c"].map((key) => verdicts.get(key)?.at)).toEqual([3, undefined, 4]);
  verdicts.delete("a");
  expect(verdicts.get("a")).toBeUndefined();
});
