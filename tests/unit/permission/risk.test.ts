import { describe, expect, it } from "vitest";
import type { GateRequest, Risk } from "../../../src/permission/request.ts";
import { assessRisk, hasTellingName } from "../../../src/permission/risk.ts";
import { gateRequest } from "../../contract/gate.ts";

const assess = (changes: Partial<GateRequest>, holdsSecret = false): string => {
  const { risks, vouched } = assessRisk(gateRequest("mcp.fs.query", changes), () => holdsSecret);
  return `${risks.join(" ")}${vouched ? ", vouched" : ""}`;
};

describe("telling names", () => {
  it.each([
    "delete_database",
    "deleteDatabase",
    "DeleteDatabase",
    "DELETE-DATABASE",
    "database.delete",
    "db/drop",
    "dropTable2",
    "delete2",
    "HTTPDelete",
    "removeDB",
    "bulk remove",
    "revoke",
    "wipe_",
    "éwipe",
    "ｄｅｌｅｔｅ_all",
    "userPurgeAll",
    "truncate:log",
    "destroy",
  ])("%s tells", (name) => {
    expect(hasTellingName(name)).toBe(true);
  });

  it.each([
    "undelete",
    "deleted_items",
    "dropdown",
    "list_removed",
    "backdrop",
    "read",
    "raindrop",
    "",
    "é",
    "__proto__",
    "get_dropbox",
  ])(
    "%s does not",
    (name) => {
      expect(hasTellingName(name)).toBe(false);
    },
  );
});

describe("risk of a call", () => {
  it.each<[string, Partial<GateRequest>, string]>([
    ["an MCP tool is network", {}, "network"],
    ["configuration gives it another", { configuredRisk: "write" }, "write"],
    ["configuration vouches for reading", { configuredRisk: "read" }, "read, vouched"],
    ["a person vouches", { by: "user" }, "network, vouched"],
    ["code does not", { by: "caller" }, "network"],
    ["a model does not", { by: "model", configuredRisk: "execute" }, "execute"],
    ["an explicit hint raises", { annotations: { destructiveHint: true } }, "network destructive"],
    ["its absence does not", { annotations: { readOnlyHint: false } }, "network"],
    [
      "an explicit hint raises what is configured",
      { configuredRisk: "read", annotations: { destructiveHint: true } },
      "read destructive, vouched",
    ],
    ["a telling name raises", { toolName: "delete_database" }, "network destructive"],
    [
      "a telling name raises what is configured",
      { toolName: "delete_database", configuredRisk: "write" },
      "write destructive",
    ],
    ["what is destructive stays so", { configuredRisk: "destructive", toolName: "delete_database" }, "destructive"],
    [
      "A-75 a hint of an untrusted server lowers nothing (C-TOOL-02)",
      { annotations: { readOnlyHint: true } },
      "network",
    ],
    [
      "A-75 nor for a telling name",
      { toolName: "delete_database", annotations: { readOnlyHint: true } },
      "network destructive",
    ],
    [
      "A-75 nor does the other one",
      { toolName: "delete_database", annotations: { destructiveHint: false } },
      "network destructive",
    ],
    [
      "a hint of a trusted server lowers",
      { trustAnnotations: true, annotations: { readOnlyHint: true } },
      "read, vouched",
    ],
    ["and speaks for a telling name", {
      trustAnnotations: true,
      toolName: "remove_filter",
      annotations: { readOnlyHint: true },
    }, "read, vouched"],
    ["so does the other one", {
      trustAnnotations: true,
      toolName: "remove_filter",
      annotations: { destructiveHint: false },
    }, "network"],
    ["but not against an explicit one", {
      trustAnnotations: true,
      annotations: { readOnlyHint: true, destructiveHint: true },
    }, "read destructive, vouched"],
    ["nor against what the user configured", {
      trustAnnotations: true,
      configuredRisk: "write",
      annotations: { readOnlyHint: true },
    }, "write"],
    ["nor against a configured destructive", {
      trustAnnotations: true,
      configuredRisk: "destructive",
      annotations: { destructiveHint: false },
    }, "destructive"],
    [
      "trust without a hint lowers nothing",
      { trustAnnotations: true, toolName: "delete_database" },
      "network destructive",
    ],
    ["a hint that is no boolean is none", {
      trustAnnotations: true,
      annotations: { readOnlyHint: "true" as unknown as boolean },
    }, "network"],
    [
      "a destructive hint that is no boolean is none",
      { annotations: { destructiveHint: 1 as unknown as boolean } },
      "network",
    ],
  ])("%s", (_claim, changes, expected) => {
    expect(assess(changes)).toBe(expected);
  });

  it("arguments that hold a secret add the credential risk, whatever else the call is", () => {
    expect(assess({}, true)).toBe("network credential");
    expect(assess({ toolName: "delete_all" }, true)).toBe("network destructive credential");
    expect(assess({ configuredRisk: "credential" }, true)).toBe("credential");
    expect(assess({ trustAnnotations: true, annotations: { readOnlyHint: true } }, true)).toBe(
      "read credential, vouched",
    );
  });

  it("is judged by the arguments of the call", () => {
    const seen: unknown[] = [];
    const args = { token: "x" };
    const risks: readonly Risk[] =
      assessRisk(gateRequest("mcp.fs.query", { args }), (given) => seen.push(given) > 0).risks;
    expect([seen, risks]).toEqual([[args], ["network", "credential"]]);
  });
});
