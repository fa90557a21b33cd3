import { describe, expect, test } from "vitest";
import type { Era } from "../../../src/protocol/era.ts";
import { createLegacyEra } from "../../../src/protocol/legacy.ts";
import type { JsonObject } from "../../../src/protocol/model.ts";
import { createModernEra } from "../../../src/protocol/modern.ts";
import { eraOf, LEGACY_VERSIONS, MODERN_VERSIONS } from "../../../src/protocol/versions.ts";
import { eraContract, type EraFacts } from "../../contract/era.ts";

const clientInfo = { name: "me", version: "1", "x": "é" };
const TASKS = "io.modelcontextprotocol/tasks";

function legacy(protocolVersion: string): [() => Era, EraFacts] {
  const make = (): Era => {
    const era = createLegacyEra();
    era.agree(protocolVersion);
    return era;
  };
  return [make, {
    name: "legacy",
    protocolVersion,
    meta: {},
    headers: { "mcp-protocol-version": protocolVersion },
    sessions: true,
    cancelsByClosing: false,
    batches: protocolVersion === "2025-03-26",
    answers: ["ping"],
    inputRounds: false,
    tasks: false,
  }];
}

function modern(protocolVersion: string, capabilities: JsonObject): [() => Era, EraFacts] {
  return [() => createModernEra(protocolVersion, clientInfo, capabilities), {
    name: "modern",
    protocolVersion,
    meta: {
      "io.modelcontextprotocol/protocolVersion": protocolVersion,
      "io.modelcontextprotocol/clientInfo": clientInfo,
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    },
    headers: {
      "mcp-protocol-version": protocolVersion,
      "mcp-method": "tools/call",
      "mcp-name": "=?base64?5ryi?=",
    },
    sessions: false,
    cancelsByClosing: true,
    batches: false,
    answers: undefined,
    inputRounds: true,
    tasks: capabilities["extensions"] !== undefined,
  }];
}

const eras: [() => Era, EraFacts][] = [
  ...LEGACY_VERSIONS.map(legacy),
  ...MODERN_VERSIONS.map((version) => modern(version, {})),
  modern(MODERN_VERSIONS[0]!, { elicitation: {}, extensions: { [TASKS]: {} } }),
];
for (const [makeEra, facts] of eras) {
  describe(`${facts.name} ${facts.protocolVersion}${facts.tasks ? " with tasks" : ""}`, () => {
    for (const { name, run } of eraContract(makeEra, facts)) test(name, () => run());
  });
}

describe("legacy era before its handshake", () => {
  test("sends no version, and takes on the agreed one", () => {
    const era = createLegacyEra();
    expect([era.protocolVersion, era.profile.headers({ method: "initialize" }), era.profile.batches]).toEqual(
      ["", {}, false],
    );
    era.agree("2025-03-26");
    expect(era.profile.headers({ method: "x" })).toEqual({ "mcp-protocol-version": "2025-03-26" });
    expect(era.profile.batches).toBe(true);
  });
});

describe("revision", () => {
  test.each([["2026-07-28", "modern"], ["2025-11-25", "legacy"], ["2024-11-05", "legacy"], ["2099-01-01", undefined], [
    "",
    undefined,
  ], ["DRAFT", undefined]])("%j is %j", (version, era) => {
    expect(eraOf(version)).toBe(era);
  });
});
