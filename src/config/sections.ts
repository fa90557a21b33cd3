import * as v from "valibot";
import { nearestWord } from "../kernel/nearest.ts";
import { type PermissionConfig, permissionSchema } from "../permission/policy.ts";
import { isObject, kindOf } from "./document.ts";
import { type Fault, fault } from "./problem.ts";

const SECTIONS = ["$schema", "mcpServers", "permission", "redaction", "log", "limits"];
/** Known sections that nothing reads: saying so is better than dropping what somebody relies on. */
const UNSUPPORTED = ["redaction", "log", "limits"];
/** What other hosts call `mcpServers`. */
const SERVER_SECTIONS = new Set(["servers", "mcp_servers", "mcpservers", "context_servers", "mcp"]);

/** What is wrong with the sections as such: unknown, missing, or read by nobody. */
export function sectionFaults(config: Readonly<Record<string, unknown>>): Fault[] {
  const faults: Fault[] = [];
  for (const key of Object.keys(config)) {
    if (UNSUPPORTED.includes(key)) {
      const detail = `section "${key}" is not available here; leave it out, or give the option in code to createHost`;
      faults.push(fault([key], detail, { severity: "fatal", code: "ERR_UNSUPPORTED_HERE", atKey: true }));
    }
    if (SECTIONS.includes(key)) continue;
    const meant = SERVER_SECTIONS.has(key) ? "mcpServers" : nearestWord(key, SECTIONS);
    const guess = meant === undefined ? `, wanted one of ${SECTIONS.join(", ")}` : `, did you mean "${meant}"`;
    // Mistyped rules are no rules: the gate would be another than the one that was written.
    const severity = meant === "permission" ? "fatal" : "error";
    faults.push(fault([key], `unknown key ${JSON.stringify(key.slice(0, 64))}${guess}`, { severity, atKey: true }));
  }
  const meant = faults.some(({ detail }) => detail.endsWith('"mcpServers"'));
  if (!Object.hasOwn(config, "mcpServers") && !meant) {
    faults.push(fault([], 'found no "mcpServers", wanted an object of servers'));
  }
  return faults;
}

/** The gate's rules are taken whole or not at all: one that is left out could be the one that denies. */
export function readPermission(section: unknown, faults: Fault[]): PermissionConfig | undefined {
  if (section === undefined) return undefined;
  if (!isObject(section)) {
    faults.push(fault(["permission"], `found ${kindOf(section)}, wanted an object`, { severity: "fatal" }));
    return undefined;
  }
  const parsed = v.safeParse(permissionSchema, section);
  if (parsed.success) return parsed.output;
  for (const issue of parsed.issues) {
    const path = (issue.path ?? []).map(({ key }) => (typeof key === "number" ? key : String(key)));
    const isUnknown = issue.expected === "never";
    const found = `found ${issue.received}, wanted ${issue.message}`;
    const isMissing = issue.received === "undefined";
    const detail = isUnknown ? `unknown key ${issue.received}` : isMissing ? `"${path.at(-1)}" is missing` : found;
    faults.push(fault(["permission", ...path], detail, { severity: "fatal", atKey: isUnknown }));
  }
  return undefined;
}
