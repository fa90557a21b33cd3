import { expect, it } from "vitest";
import { checkedVerdicts, memoryVerdicts } from "../../../src/servers/verdicts.ts";

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

it.each([
  ["http:https://mcp.test/mcp?key=secret&x=?y", "http:https://mcp.test/mcp"],
  ["sse:https://mcp.test/sse?key=secret", "sse:https://mcp.test/sse"],
  ["http:https://mcp.test/mcp", "http:https://mcp.test/mcp"],
  ['stdio:["x",["?"],null]', 'stdio:["x",["?"],null]'],
])("verdicts for %s are kept by the user under %s: a query carries secrets", (key, kept) => {
  const asked: string[] = [];
  const verdicts = checkedVerdicts({
    get: (key) => void asked.push(key),
    set: (key) => void asked.push(key),
    delete: (key) => void asked.push(key),
  }, () => {});
  verdicts.get(key);
  verdicts.set(key, { era: "legacy", protocolVersion: "any", at: 1 });
  verdicts.delete(key);
  expect(asked).toEqual([kept, kept, kept]);
});
