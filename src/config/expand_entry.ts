import type { JSONPath } from "jsonc-parser";
import type { KnownSecret } from "../kernel/secrets.ts";
import { flagBefore, looksLikeCredential } from "./credential.ts";
import { isObject } from "./document.ts";
import { type ExpandSources, expandText } from "./expand.ts";
import { type Fault, fault } from "./problem.ts";

/** Members of a server in which placeholders are replaced, here and inside `transport`. */
const EXPANDED = new Set(["command", "args", "env", "cwd", "url", "headers", "auth", "oauth"]);

/** A server's entry with its placeholders replaced. */
export interface ExpandedEntry {
  readonly entry: Readonly<Record<string, unknown>>;
  /** Warnings among them; with any other fault the entry is of no use. */
  readonly faults: readonly Fault[];
  readonly secrets: readonly KnownSecret[];
}

/** Replaces the placeholders of one entry, and notes literals that should have been placeholders. */
export async function expandEntry(
  entry: Readonly<Record<string, unknown>>,
  path: JSONPath,
  sources: ExpandSources,
): Promise<ExpandedEntry> {
  const faults: Fault[] = [];
  const secrets: KnownSecret[] = [];

  const leaf = async (text: string, at: JSONPath, name: string | undefined): Promise<string> => {
    const expansion = await expandText(text, sources);
    secrets.push(...expansion.secrets);
    for (const { code, detail } of expansion.faults) faults.push(fault(at, detail, { code }));
    if (!expansion.expanded && looksLikeCredential(text, name)) {
      const wanted = "wanted a placeholder such as ${NAME}, so that the file holds no secret";
      faults.push(fault(at, `found a literal that looks like a credential, ${wanted}`, { severity: "warning" }));
    }
    return expansion.text;
  };

  const deep = async (value: unknown, at: JSONPath, name: string | undefined): Promise<unknown> => {
    if (typeof value === "string") return await leaf(value, at, name);
    if (Array.isArray(value)) {
      return await inOrder(value, (member: unknown, index) => deep(member, [...at, index], flagBefore(value, index)));
    }
    if (!isObject(value)) return value;
    return await members(value, (key, member) => deep(member, [...at, key], key));
  };

  const level = (value: Readonly<Record<string, unknown>>, at: JSONPath): Promise<Record<string, unknown>> =>
    members(value, (key, member) => {
      if (EXPANDED.has(key)) return deep(member, [...at, key], undefined);
      return key === "transport" && isObject(member) ? level(member, [...at, key]) : Promise.resolve(member);
    });

  return { entry: await level(entry, path), faults, secrets };
}

async function members(
  value: Readonly<Record<string, unknown>>,
  change: (key: string, member: unknown) => Promise<unknown>,
): Promise<Record<string, unknown>> {
  return Object.fromEntries(
    await inOrder(Object.entries(value), async ([key, member]) => [key, await change(key, member)] as const),
  );
}

/** One after the other, so that faults are reported in the order of the file. */
async function inOrder<T, R>(values: readonly T[], change: (value: T, index: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const [index, value] of values.entries()) results.push(await change(value, index));
  return results;
}
