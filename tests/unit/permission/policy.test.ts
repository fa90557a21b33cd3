import { describe, expect, it } from "vitest";
import { compilePolicy, type PermissionConfig, type PolicySubject, type Rule } from "../../../src/permission/policy.ts";
import type { Risk } from "../../../src/permission/request.ts";

function subject(changes: Partial<PolicySubject> = {}): PolicySubject {
  return {
    tool: "mcp.fs.read_text",
    server: "fs",
    source: "global",
    session: "s_1",
    risks: ["network"],
    vouched: false,
    ...changes,
  };
}

const local = (tool: string, changes: Partial<PolicySubject> = {}): PolicySubject => {
  const { server: _none, ...rest } = subject({ tool, source: "local", ...changes });
  return rest;
};

/** The decision in one line, with the rule it rests on. */
function told(rules: readonly Rule[], call: PolicySubject): string {
  const { decision, sourcedFrom, rule } = compilePolicy({ rules }).decide(call);
  return `${decision} by ${rule ?? sourcedFrom}`;
}

describe("defaults of the policy", () => {
  it.each<[readonly Risk[], boolean, string]>([
    [["read"], true, "allow by default"],
    [["read"], false, "ask by default"],
    [["write"], true, "ask by default"],
    [["execute"], true, "ask by default"],
    [["network"], true, "ask by default"],
    [["destructive"], true, "ask by default"],
    [["credential"], true, "deny by default"],
    [["read", "destructive"], true, "ask by default"],
    [["read", "credential"], true, "deny by default"],
    [["network", "destructive", "credential"], false, "deny by default"],
  ])("%j, vouched: %s", (risks, vouched, expected) => {
    expect(told([], subject({ risks, vouched }))).toBe(expected);
  });

  it("names the risk that was decisive", () => {
    const risk = (risks: readonly Risk[], rules: readonly Rule[] = []): Risk =>
      compilePolicy({ rules }).decide(subject({ risks })).risk;
    expect(risk(["network"])).toBe("network");
    expect(risk(["network", "destructive"])).toBe("destructive");
    expect(risk(["network", "destructive", "credential"])).toBe("credential");
    expect(risk(["network", "destructive", "credential"], [{ risk: "credential", decision: "allow" }])).toBe(
      "destructive",
    );
    expect(risk(["read", "credential"], [{ risk: "credential", decision: "allow" }])).toBe("credential");
  });
});

describe("precedence of rules", () => {
  const any = (decision: Rule["decision"], name: string = decision): Rule => ({ tool: "mcp.fs.*", decision, name });
  it.each<[string, readonly Rule[], readonly Risk[], string]>([
    ["deny beats ask and allow, in any order", [any("allow"), any("ask"), any("deny")], ["read"], "deny by deny"],
    ["deny beats ask and allow, turned round", [any("deny"), any("ask"), any("allow")], ["read"], "deny by deny"],
    ["ask beats allow", [any("allow"), any("ask")], ["read"], "ask by ask"],
    ["the first of two equal ones is named", [any("allow", "one"), any("allow", "two")], ["write"], "allow by one"],
    ["allow replaces the default of write", [any("allow")], ["write"], "allow by allow"],
    ["allow replaces the default of execute", [any("allow")], ["execute"], "allow by allow"],
    ["allow replaces the default of network", [any("allow")], ["network"], "allow by allow"],
    ["allow replaces the default of read", [any("allow")], ["read"], "allow by allow"],
    ["destructive is asked even then", [any("allow")], ["network", "destructive"], "ask by default"],
    [
      "destructive is asked though a rule names it",
      [{ risk: "destructive", decision: "allow" }],
      ["destructive"],
      "ask by default",
    ],
    ["destructive can be denied", [any("deny")], ["destructive"], "deny by deny"],
    ["credential does not open to any allow", [any("allow")], ["network", "credential"], "deny by default"],
    ["nor to any ask", [any("ask")], ["network", "credential"], "deny by default"],
    [
      "it opens to an allow that names it",
      [{ ...any("allow"), risk: "credential" }],
      ["network", "credential"],
      "allow by allow",
    ],
    [
      "and to an ask that names it",
      [{ ...any("ask"), risk: ["credential", "write"] }],
      ["network", "credential"],
      "ask by ask",
    ],
    [
      "not to one that names another",
      [{ ...any("allow"), risk: "network" }],
      ["network", "credential"],
      "deny by default",
    ],
    ["a named credential is still asked about when destructive", [{ risk: "credential", decision: "allow" }], [
      "network",
      "destructive",
      "credential",
    ], "ask by default"],
    [
      "a deny of a base risk holds though the call was raised",
      [{ risk: "network", decision: "deny", name: "offline" }],
      ["network", "destructive"],
      "deny by offline",
    ],
    [
      "a rule of another risk does not fit",
      [{ risk: ["read", "write"], decision: "allow" }],
      ["network"],
      "ask by default",
    ],
    ["a rule without a condition fits every call", [{ decision: "deny" }], ["read"], "deny by rules[0]"],
  ])("%s", (_claim, rules, risks, expected) => {
    expect(told(rules, subject({ risks }))).toBe(expected);
  });
});

describe("conditions of rules", () => {
  it.each<[Omit<Rule, "decision">, PolicySubject, boolean]>([
    [{ tool: "mcp.fs.read_text" }, subject(), true],
    [{ tool: "mcp__fs__read_text" }, subject(), true],
    [{ tool: "mcp.fs.read_*" }, subject(), true],
    [{ tool: "mcp__fs__read_*" }, subject(), true],
    [{ tool: "mcp.*.read_text" }, subject(), true],
    [{ tool: "*read*" }, subject(), true],
    [{ tool: "*" }, subject(), true],
    [{ tool: "read_text" }, subject(), false],
    [{ tool: "read_*" }, subject(), false],
    [{ tool: "mcp.fs.read" }, subject(), false],
    [{ tool: "mcp.fs-v2.*" }, subject(), false],
    [{ tool: "mcp.fs.*" }, subject({ tool: "mcp.fs-v2.read", server: "fs-v2" }), false],
    [{ tool: "mcp.f*" }, subject({ tool: "mcp.fs-v2.read", server: "fs-v2" }), true],
    [{ tool: "mcp__f*" }, subject({ tool: "mcp.fs-v2.read", server: "fs-v2" }), true],
    [{ tool: "mcp__a_b__*" }, subject({ tool: "mcp.a_b.x", server: "a_b" }), true],
    [{ tool: "mcp__a__*" }, subject({ tool: "mcp.a_b.x", server: "a_b" }), false],
    [{ tool: "mcp__fs__a_b_h*" }, subject({ tool: "mcp.fs.a/b", alias: "mcp__fs__a_b_h1cx0kpbxa0" }), true],
    [{ tool: "mcp__fs__a_b_h1cx0kpbxa0" }, subject({ tool: "mcp.fs.a/b", alias: "mcp__fs__a_b_h1cx0kpbxa0" }), true],
    [{ tool: "mcp.fs.a/*" }, subject({ tool: "mcp.fs.a/b", alias: "mcp__fs__a_b_h1cx0kpbxa0" }), true],
    [{ tool: "mcp.fs.*" }, subject({ tool: "mcp.evil.mcp.fs.read_text", server: "evil" }), false],
    [{ tool: "mcp.fs.read_text" }, subject({ tool: "mcp.evil.mcp.fs.read_text", server: "evil" }), false],
    [{ tool: "read_file" }, local("read_file"), true],
    [{ tool: "local.read_file" }, local("read_file"), true],
    [{ tool: "local__read_*" }, local("read_file"), true],
    [{ tool: "mcp.*" }, local("read_file"), false],
    [{ tool: "__proto__" }, local("__proto__"), true],
    [{ tool: "__proto__" }, local("constructor"), false],
    [{ server: "fs" }, subject(), true],
    [{ server: "f*" }, subject(), true],
    [{ server: "jira" }, subject(), false],
    [{ server: "*" }, local("read_file"), false],
    [{ server: "fs", tool: "*write*" }, subject(), false],
    [{ server: "jira", tool: "mcp.fs.read_text" }, subject(), false],
    [{ source: "global" }, subject(), true],
    [{ source: "private" }, subject(), false],
    [{ source: "glob*" }, subject(), false],
    [{ source: "local" }, local("read_file"), true],
    [{ session: "s_1" }, subject(), true],
    [{ session: "s_*" }, subject(), true],
    [{ session: "s_2" }, subject(), false],
    [{ tool: "mcp.fs.*", server: "fs", source: "global", session: "s_*", risk: "network" }, subject(), true],
    [{ tool: "mcp.fs.*", server: "fs", source: "global", session: "s_*", risk: "write" }, subject(), false],
  ])("%j", (condition, call, fits) => {
    expect(told([{ ...condition, decision: "deny" }], call)).toBe(fits ? "deny by rules[0]" : "ask by default");
  });
});

describe("remembered decisions", () => {
  it("are kept apart by everything that rules look at", () => {
    const policy = compilePolicy({
      rules: [
        { session: "s_bad", decision: "deny" },
        { source: "private", decision: "deny" },
        { tool: "mcp__fs__x_h0000000000", decision: "deny" },
        { risk: "execute", decision: "deny" },
      ],
    });
    const rows: [PolicySubject, string][] = [
      [subject(), "ask"],
      [subject({ session: "s_bad" }), "deny"],
      [subject({ source: "private" }), "deny"],
      [subject({ risks: ["execute"] }), "deny"],
      [subject({ risks: ["read"], vouched: true }), "allow"],
      [subject({ risks: ["read"] }), "ask"],
      [subject({ tool: "mcp.fs.x/" }), "ask"],
      [subject({ tool: "mcp.fs.x/", alias: "mcp__fs__x_h0000000000" }), "deny"],
    ];
    for (let round = 0; round < 2; round++) {
      for (const [call, decision] of rows) expect(policy.decide(call).decision).toBe(decision);
    }
  });

  it("stay right past the bound of the cache", () => {
    const policy = compilePolicy({ rules: [{ tool: "mcp.fs.t7*", decision: "allow" }] });
    for (let round = 0; round < 2; round++) {
      for (let at = 0; at < 5000; at++) {
        const { decision } = policy.decide(subject({ tool: `mcp.fs.t${at}` }));
        expect(decision).toBe(String(at).startsWith("7") ? "allow" : "ask");
      }
    }
  });

  it("cannot be changed by who is given one", () => {
    const policy = compilePolicy();
    expect(() => Object.assign(policy.decide(subject()), { decision: "allow" })).toThrow(TypeError);
  });
});

describe("version of a policy", () => {
  const version = (config?: PermissionConfig): string => compilePolicy(config).version;
  it("is the same for the same rules, however their members are ordered", () => {
    expect(version({ rules: [{ tool: "a", decision: "allow" }] })).toBe(
      version({ rules: [{ decision: "allow", tool: "a" }] }),
    );
    expect(version()).toBe(version({}));
    expect(version()).toBe(version({ rules: [] }));
  });

  it("differs where a rule differs", () => {
    const versions = [
      version(),
      version({ rules: [{ tool: "a", decision: "allow" }] }),
      version({ rules: [{ tool: "a", decision: "ask" }] }),
      version({ rules: [{ tool: "b", decision: "allow" }] }),
      version({ rules: [{ server: "a", decision: "allow" }] }),
      version({ rules: [{ tool: "a", decision: "allow" }, { tool: "b", decision: "allow" }] }),
      version({ rules: [{ tool: "b", decision: "allow" }, { tool: "a", decision: "allow" }] }),
    ];
    expect(new Set(versions).size).toBe(versions.length);
  });
});

describe("shape of rules", () => {
  it.each<[unknown, string]>([
    [null, "Cannot use permission: found null, wanted an object"],
    [[{}], `Cannot use permission.0: found "0", wanted no such key`],
    [{ rule: [] }, `Cannot use permission.rule: found "rule", wanted no such key, did you mean "rules"`],
    [{ rules: {} }, "Cannot use permission.rules: found Object, wanted a list of rules"],
    [{ rules: [{}] }, "Cannot use permission.rules.0.decision: found undefined, wanted this key"],
    [
      { rules: [{ decision: "alow" }] },
      `Cannot use permission.rules.0.decision: found "alow", wanted allow, ask or deny`,
    ],
    [
      { rules: [{ decision: "deny", tols: "x" }] },
      `Cannot use permission.rules.0.tols: found "tols", wanted no such key, did you mean "tool"`,
    ],
    [
      { rules: [{ decision: "deny", tool: "" }] },
      `Cannot use permission.rules.0.tool: found 0, wanted a string that is not empty`,
    ],
    [{ rules: [{ decision: "deny", tool: 7 }] }, "Cannot use permission.rules.0.tool: found 7, wanted a string"],
    [
      { rules: [{ decision: "deny", risk: "all" }] },
      `Cannot use permission.rules.0.risk: found "all", wanted one of read, write, execute, network, credential, destructive, or a list of them`,
    ],
    [
      { rules: [{ decision: "deny", risk: [] }] },
      `Cannot use permission.rules.0.risk: found 0, wanted one of read, write, execute, network, credential, destructive, or a list of them`,
    ],
    [
      JSON.parse(`{"rules":[{"decision":"deny","__proto__":{"tool":"x"}}]}`),
      `Cannot use permission.rules.0.__proto__: found "__proto__", wanted no such key`,
    ],
  ])("%j", (config, message) => {
    expect(() => compilePolicy(config as PermissionConfig)).toThrowError(
      expect.objectContaining({ code: "ERR_CONFIG", message }),
    );
  });

  it("does not follow what becomes of the given rules", () => {
    const rules: Rule[] = [{ tool: "mcp.fs.*", decision: "deny" }];
    const policy = compilePolicy({ rules });
    Object.assign(rules[0]!, { decision: "allow" });
    expect(policy.decide(subject()).decision).toBe("deny");
  });
});
