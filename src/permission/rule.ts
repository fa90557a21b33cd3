import * as v from "valibot";
import { HostError } from "../kernel/errors.ts";
import { nearestWord } from "../kernel/nearest.ts";
import type { Risk } from "./request.ts";

/** What a rule, a default or a person says to a call. */
export type Decision = "allow" | "ask" | "deny";

/**
 * A rule of the user's. It concerns the calls that fit all of its conditions; without any, it concerns every call, and
 * every resource and prompt.
 */
export interface Rule {
  /** Glob over either spelling of an MCP tool, `mcp.<server>.<tool>` or `mcp__<server>__<tool>`, or the name of a local tool. */
  readonly tool?: string;
  /** Glob over the addresses of resources. Such a rule is about resources alone, as one with `tool` is about tools. */
  readonly uri?: string;
  /** Glob over the names of prompts, as their servers have them or in either spelling. Such a rule is about prompts alone. */
  readonly prompt?: string;
  /** Glob over the name of a server; local tools have none. */
  readonly server?: string;
  /** Fits a call that has one of these among its risks. */
  readonly risk?: Risk | readonly Risk[];
  /** `global`, the name of a manager that was handed in, `private`, or `local` for local tools. */
  readonly source?: string;
  /** Glob over the id of a session. */
  readonly session?: string;
  readonly decision: Decision;
  /** What events and explanations call the rule; default `rules[<index>]`. */
  readonly name?: string;
}

/** The `permission` part of the configuration. */
export interface PermissionConfig {
  /** In any order: deny beats ask beats allow. Default: none, so that the defaults of each risk hold. */
  readonly rules?: readonly Rule[];
}

/** What a call of each risk gets where no rule says anything. Reading asks only where nobody vouches for it. */
export const DEFAULT_DECISIONS: Readonly<Record<Risk, Decision>> = Object.freeze({
  read: "ask",
  write: "ask",
  execute: "ask",
  network: "ask",
  credential: "deny",
  destructive: "ask",
});

const MAX_RULES = 10_000;
const RISK_NAMES = Object.keys(DEFAULT_DECISIONS) as Risk[];
const ONE_OF = `one of ${RISK_NAMES.join(", ")}`;
const SOME_OF = `${ONE_OF}, or a list of them`;
const risk = v.picklist(RISK_NAMES, ONE_OF);
const pattern = v.pipe(
  v.string("a string"),
  v.nonEmpty("a string that is not empty"),
  v.maxLength(512, "at most 512 characters"),
);

/** The shape of a {@link Rule}; an unknown key is an error. */
export const ruleSchema: v.GenericSchema<unknown, Rule> = v.pipe(
  v.strictObject({
    tool: v.exactOptional(pattern),
    uri: v.exactOptional(pattern),
    prompt: v.exactOptional(pattern),
    server: v.exactOptional(pattern),
    risk: v.exactOptional(v.union([risk, v.pipe(v.array(risk), v.nonEmpty(SOME_OF))], SOME_OF)),
    source: v.exactOptional(pattern),
    session: v.exactOptional(pattern),
    decision: v.picklist(["allow", "ask", "deny"], "allow, ask or deny"),
    name: v.exactOptional(pattern),
  }, anObjectOf("tool", "uri", "prompt", "server", "risk", "source", "session", "decision", "name")),
  // Nothing is two of them: a rule that seems to protect something and never fits would be worse than none.
  v.check(
    ({ tool, uri, prompt }) => [tool, uri, prompt].filter((kind) => kind !== undefined).length <= 1,
    "only one of tool, uri and prompt",
  ),
);

/** The shape of a {@link PermissionConfig}; an unknown key is an error. */
export const permissionSchema: v.GenericSchema<unknown, PermissionConfig> = v.strictObject({
  rules: v.exactOptional(
    v.pipe(v.array(ruleSchema, "a list of rules"), v.maxLength(MAX_RULES, `at most ${MAX_RULES} rules`)),
  ),
}, anObjectOf("rules"));

/** The message of a strict object with these keys. */
function anObjectOf(...keys: readonly string[]): (issue: v.BaseIssue<unknown>) => string {
  return (issue) => {
    if (issue.expected !== "never") return issue.path === undefined ? "an object" : "this key";
    const guess = nearestWord(String(issue.path?.at(-1)?.key), keys);
    return guess === undefined ? "no such key" : `no such key, did you mean "${guess}"`;
  };
}

/** Checks rules that come from code or configuration. Throws `ERR_CONFIG` that names the place and what was wanted there. */
export function parsePermission(config: unknown): PermissionConfig {
  const parsed = v.safeParse(permissionSchema, config);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  const place = ["permission", v.getDotPath(issue)].filter((part) => part !== null).join(".");
  throw new HostError("ERR_CONFIG", `Cannot use ${place}: found ${issue.received}, wanted ${issue.message}`, {
    facts: { place },
  });
}
