import type { JSONPath } from "jsonc-parser";
import { isHostError } from "../kernel/errors.ts";
import type { KnownSecret } from "../kernel/secrets.ts";
import { normaliseServer } from "../servers/config.ts";
import { isObject, kindOf } from "./document.ts";
import type { ExpandSources } from "./expand.ts";
import { expandEntry } from "./expand_entry.ts";
import { type Fault, fault, serverOf } from "./problem.ts";

/** One server as it stands in the file, named by its key and with its placeholders replaced. Its shape has been checked. */
export type ConfiguredServer = Readonly<Record<string, unknown>> & { readonly name: string };

/** What is left of `mcpServers`. */
export interface LoadedServers {
  readonly servers: readonly ConfiguredServer[];
  readonly secrets: readonly KnownSecret[];
}

/** Reads `mcpServers`. Adds what is wrong to `faults`; a fault that is there already leaves out the entry it is about. */
export async function loadServers(section: unknown, sources: ExpandSources, faults: Fault[]): Promise<LoadedServers> {
  const servers: ConfiguredServer[] = [];
  const secrets: KnownSecret[] = [];
  if (section === undefined) return { servers, secrets };
  if (!isObject(section)) {
    faults.push(fault(["mcpServers"], `found ${kindOf(section)}, wanted an object of servers`));
    return { servers, secrets };
  }
  const spoilt = new Set(faults.filter(({ path }) => path.length > 2).map(({ path }) => serverOf(path)));
  for (const [name, entry] of Object.entries(section)) {
    if (spoilt.has(name)) continue;
    const loaded = await loadServer(name, entry, sources);
    faults.push(...loaded.faults);
    secrets.push(...loaded.secrets);
    if (loaded.server !== undefined) servers.push(loaded.server);
  }
  return { servers, secrets };
}

interface LoadedServer {
  readonly server?: ConfiguredServer;
  readonly secrets: readonly KnownSecret[];
  readonly faults: readonly Fault[];
}

async function loadServer(name: string, entry: unknown, sources: ExpandSources): Promise<LoadedServer> {
  const path = ["mcpServers", name];
  const refused = (...faults: readonly Fault[]): LoadedServer => ({ secrets: [], faults });
  if (!isObject(entry)) return refused(fault(path, `found ${kindOf(entry)}, wanted an object`));
  if (Object.hasOwn(entry, "name")) {
    return refused(
      fault([...path, "name"], 'unknown key "name", wanted the name only as the key of the entry', { atKey: true }),
    );
  }
  const expanded = await expandEntry(entry, path, sources);
  if (expanded.faults.some(({ severity }) => severity === "error")) {
    // A server that is switched off may well lack what it needs to run.
    const isOff = entry["enabled"] === false;
    return refused(...expanded.faults.map((found): Fault => (isOff ? { ...found, severity: "warning" } : found)));
  }
  const server = { ...expanded.entry, name };
  try {
    normaliseServer(server, `server ${JSON.stringify(name)}`);
  } catch (error) {
    return refused(...expanded.faults, ...faultsOf(error, path));
  }
  return { server, secrets: expanded.secrets, faults: expanded.faults };
}

/**
 * The faults that `normaliseServer` names, each at the member that it is about: the first one that its sentence quotes.
 */
function faultsOf(error: unknown, path: JSONPath): readonly Fault[] {
  if (!isHostError(error, "ERR_CONFIG")) throw error;
  const details = error.facts["faults"];
  if (!Array.isArray(details)) return [fault(path, error.message)];
  return details.map(String).map((detail) => {
    const unknownKey = /^unknown key "([^"]*)"(?: in "([^"]*)")?/.exec(detail);
    if (unknownKey !== null) {
      const parents = unknownKey[2] === undefined ? [] : unknownKey[2].split(".");
      return fault([...path, ...parents, unknownKey[1]!], detail, { atKey: true });
    }
    const named = /"([^"]*)"/.exec(detail)?.[1]?.split(".") ?? [];
    // A server's name is the key of its entry.
    if (named[0] === "name") return fault(path, detail, { atKey: true });
    return fault([...path, ...named.map((segment) => /^\d+$/.test(segment) ? Number(segment) : segment)], detail);
  });
}
