import { canonicalJson } from "../kernel/canonical.ts";
import type { Assessment } from "./risk.ts";
import type { Risk } from "./request.ts";
import { type Decision, DEFAULT_DECISIONS, parsePermission, type PermissionConfig } from "./rule.ts";
import { type CallFacts, type FittingRules, indexRules, type RuleIndex } from "./rule_index.ts";

export { type Decision, type PermissionConfig, permissionSchema, type Rule, ruleSchema } from "./rule.ts";

/** A call as the policy sees it: who would be called from where, and what it risks. */
export interface PolicySubject extends CallFacts, Assessment {}

export interface PolicyDecision {
  readonly decision: Decision;
  /** What the decision rests on. */
  readonly sourcedFrom: "default" | "rule";
  /** The rule it rests on, by its name. */
  readonly rule?: string;
  /** The risk that was decisive: the one the strictest decision is about. */
  readonly risk: Risk;
  /** A short explanation in words. */
  readonly reason: string;
}

/** The rules and defaults of a host. Pure: the same subject gets the same decision. */
export interface Policy {
  /** Differs where the rules differ; what was granted under one version does not hold under another. */
  readonly version: string;
  decide(subject: PolicySubject): PolicyDecision;
}

/** Tools whose decisions are remembered; the one decided first goes first. */
const MAX_CACHED_TOOLS = 4096;
const RISK_BITS: Readonly<Record<Risk, number>> = {
  read: 1,
  write: 2,
  execute: 4,
  network: 8,
  credential: 16,
  destructive: 32,
};
const STRICTNESS: Readonly<Record<Decision, number>> = { allow: 0, ask: 1, deny: 2 };

/** Makes a policy of the user's rules. Throws `ERR_CONFIG` for rules of a wrong shape. */
export function compilePolicy(config: PermissionConfig = {}): Policy {
  const rules = parsePermission(config).rules ?? [];
  return new RulePolicy(fingerprint(canonicalJson(rules)), indexRules(rules));
}

class RulePolicy implements Policy {
  readonly version: string;
  readonly #index: RuleIndex;
  readonly #cache = new Map<string, Map<number, PolicyDecision>>();

  constructor(version: string, index: RuleIndex) {
    this.version = version;
    this.#index = index;
  }

  decide(subject: PolicySubject): PolicyDecision {
    // There may be more addresses than would be worth remembering, and they may be spelled like tools.
    if ((subject.uri ?? subject.prompt) !== undefined) return decideBy(this.#index, subject);
    // The tool's name implies its server and, where it is given, its alias; the rest of the key is what rules look at.
    let key = subject.tool;
    if (this.#index.looksAtSource) key += `\n${subject.source}`;
    if (this.#index.looksAtSession) key += `\n${subject.session}`;
    let bits = (subject.vouched ? 64 : 0) | (subject.alias === undefined ? 0 : 128) |
      (subject.server === undefined ? 0 : 256);
    for (const risk of subject.risks) bits |= RISK_BITS[risk];
    const byBits = this.#cache.get(key);
    const known = byBits?.get(bits);
    if (known !== undefined) return known;
    const decision = Object.freeze(decideBy(this.#index, subject));
    if (byBits !== undefined) byBits.set(bits, decision);
    else {
      if (this.#cache.size >= MAX_CACHED_TOOLS) this.#cache.delete(this.#cache.keys().next().value!);
      this.#cache.set(key, new Map([[bits, decision]]));
    }
    return decision;
  }
}

/** A call gets what the strictest of its risks gets; of two that are equally strict, the more dangerous one is named. */
function decideBy(index: RuleIndex, subject: PolicySubject): PolicyDecision {
  const fitting = index.fitting(subject);
  return subject.risks.map((risk) => decideRisk(fitting, risk, subject.vouched)).reduce((a, b) => {
    const stricter = STRICTNESS[b.decision] - STRICTNESS[a.decision];
    return stricter > 0 || (stricter === 0 && RISK_BITS[b.risk] > RISK_BITS[a.risk]) ? b : a;
  });
}

function decideRisk({ allow, ask, deny }: FittingRules, risk: Risk, vouched: boolean): PolicyDecision {
  const byRule = (decision: Decision, rule: string): PolicyDecision => {
    return { decision, sourcedFrom: "rule", rule, risk, reason: `rule ${rule} says ${decision}` };
  };
  const byDefault = (decision: Decision, reason: string): PolicyDecision => {
    return { decision, sourcedFrom: "default", risk, reason };
  };
  if (deny.any !== undefined) return byRule("deny", deny.any);
  switch (risk) {
    case "credential":
      if (ask.namingCredential !== undefined) return byRule("ask", ask.namingCredential);
      if (allow.namingCredential !== undefined) return byRule("allow", allow.namingCredential);
      return byDefault("deny", "a call that hands out a credential needs a rule that names this risk");
    case "destructive":
      if (ask.any !== undefined) return byRule("ask", ask.any);
      return byDefault("ask", "a destructive call is always asked about");
    default:
      if (ask.any !== undefined) return byRule("ask", ask.any);
      if (allow.any !== undefined) return byRule("allow", allow.any);
      if (risk === "read" && vouched) return byDefault("allow", "reading is allowed where somebody vouches for it");
      return byDefault(DEFAULT_DECISIONS[risk], `no rule speaks about this call, and ${risk} is asked about`);
  }
}

/**
 * A short text that differs where the input does: two 32-bit FNV-1a sums with different offsets. Rules are the user's
 * own, so nobody gains by making two sets of them meet; in return it needs no waiting.
 */
function fingerprint(text: string): string {
  let a = 0x811c9dc5;
  let b = 0x9dc5811c;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit ^ (at & 0xff), 0x01000193);
  }
  const hex = (sum: number): string => (sum >>> 0).toString(16).padStart(8, "0");
  return `policy_${hex(a)}${hex(b)}`;
}
