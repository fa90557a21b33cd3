import { matchesGlob } from "../kernel/glob.ts";
import type { Risk } from "./request.ts";
import type { Decision, Rule } from "./rule.ts";

/** The facts about a call that rules look at. */
export interface CallFacts {
  /** The full name, or the bare name of a local tool. */
  readonly tool: string;
  /** A resource instead of a tool. */
  readonly uri?: string;
  /** A prompt instead of a tool. */
  readonly prompt?: string;
  /** The other spelling of an MCP tool; absent, it is made of the full name. */
  readonly alias?: string;
  /** Absent for local tools. */
  readonly server?: string;
  readonly source: string;
  readonly session: string;
  readonly risks: readonly Risk[];
}

/** The first rule of one decision that fits a call, by its name. */
export interface Fitting {
  readonly any: string | undefined;
  /** The first one that also names the credential risk. */
  readonly namingCredential: string | undefined;
}

/** What the rules that fit a call say, decision by decision. */
export type FittingRules = Readonly<Record<Decision, Fitting>>;

/** Rules by what they ask for, so that a call is compared only with those that can fit it. */
export interface RuleIndex {
  readonly looksAtSource: boolean;
  readonly looksAtSession: boolean;
  fitting(call: CallFacts): FittingRules;
}

interface CompiledRule {
  readonly rule: Rule;
  readonly index: number;
  readonly risks: readonly Risk[] | undefined;
  /** The longest part of the tool's pattern without a `*`: a name that lacks it need not be matched. */
  readonly needle: string;
}

/** Sorts rules by the exact tool or the one server they are about; the rest is compared with every call. */
export function indexRules(rules: readonly Rule[]): RuleIndex {
  const byTool = new Map<string, CompiledRule[]>();
  const byServer = new Map<string, CompiledRule[]>();
  const others: CompiledRule[] = [];
  for (const [index, rule] of rules.entries()) {
    const risks = rule.risk === undefined ? undefined : [rule.risk].flat() as Risk[];
    const compiled: CompiledRule = { rule, index, risks, needle: longestPart(rule.tool ?? rule.prompt ?? "") };
    const server = rule.server !== undefined && isExact(rule.server) ? rule.server : pinnedServer(rule.tool);
    if (rule.tool !== undefined && isExact(rule.tool)) append(byTool, rule.tool, compiled);
    else if (server !== undefined) append(byServer, server, compiled);
    else others.push(compiled);
  }
  return {
    looksAtSource: rules.some(({ source }) => source !== undefined),
    looksAtSession: rules.some(({ session }) => session !== undefined),
    fitting(call) {
      const spellings = spellingsOf(call);
      const candidates = [others, ...spellings.map((name) => byTool.get(name) ?? [])];
      if (call.server !== undefined) candidates.push(byServer.get(call.server) ?? []);
      const fitting = candidates.flat().filter((rule) => fits(rule, call, spellings)).sort((a, b) => a.index - b.index);
      return { allow: first(fitting, "allow"), ask: first(fitting, "ask"), deny: first(fitting, "deny") };
    },
  };
}

function first(fitting: readonly CompiledRule[], decision: Decision): Fitting {
  const decided = fitting.filter(({ rule }) => rule.decision === decision);
  const naming = decided.find(({ risks }) => risks?.includes("credential"));
  return {
    any: decided[0] === undefined ? undefined : nameOf(decided[0]),
    namingCredential: naming === undefined ? undefined : nameOf(naming),
  };
}

function nameOf({ rule, index }: CompiledRule): string {
  return rule.name ?? `rules[${index}]`;
}

/** Every name that a rule may have for the tool, or the prompt, of a call. */
function spellingsOf({ tool, alias, server, uri, prompt }: CallFacts): readonly string[] {
  if (uri !== undefined) return [];
  if (prompt !== undefined) return [prompt, tool, `mcp__${server}__${prompt}`];
  if (server === undefined) return [tool, `local.${tool}`, `local__${tool}`];
  return [tool, alias ?? `mcp__${server}__${tool.slice(`mcp.${server}.`.length)}`];
}

function fits({ rule, risks, needle }: CompiledRule, call: CallFacts, spellings: readonly string[]): boolean {
  if (rule.server !== undefined && (call.server === undefined || !matchesGlob(rule.server, call.server))) return false;
  if (rule.source !== undefined && rule.source !== call.source) return false;
  if (risks !== undefined && !risks.some((risk) => call.risks.includes(risk))) return false;
  if (rule.session !== undefined && !matchesGlob(rule.session, call.session)) return false;
  const { tool, uri, prompt } = rule;
  if (uri !== undefined) return call.uri !== undefined && matchesGlob(uri, call.uri);
  if (prompt !== undefined && call.prompt === undefined) return false;
  if (tool !== undefined && (call.uri ?? call.prompt) !== undefined) return false;
  const pattern = tool ?? prompt;
  return pattern === undefined || spellings.some((name) => name.includes(needle) && matchesGlob(pattern, name));
}

function longestPart(pattern: string): string {
  return pattern.split("*").reduce((longest, part) => part.length > longest.length ? part : longest);
}

function isExact(pattern: string): boolean {
  return !pattern.includes("*");
}

/** The one server whose tools a pattern can fit: `mcp.files.read_*` and `mcp__files__*` are about `files`. */
function pinnedServer(pattern: string | undefined): string | undefined {
  return /^mcp\.([^.*]+)\./.exec(pattern ?? "")?.[1] ?? /^mcp__((?:[^_*]|_(?!_))+)__/.exec(pattern ?? "")?.[1];
}

function append(map: Map<string, CompiledRule[]>, key: string, rule: CompiledRule): void {
  const rules = map.get(key);
  if (rules === undefined) map.set(key, [rule]);
  else rules.push(rule);
}
