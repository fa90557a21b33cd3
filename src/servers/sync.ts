import type { Scrubber } from "../scrub/scrubber.ts";
import { memberOf, normaliseServer, placeOf, type ServerConfig } from "./config.ts";
import { type Fault, faultOf } from "./fault.ts";
import { isSameConfig, type ServerManager } from "./manager.ts";
import type { ServerState } from "./server.ts";
import type { Supervisor } from "./supervisor.ts";

/** What became of one server of a list. */
export interface SyncReport {
  /** The server's name, or where it stood when it has none. */
  readonly name: string;
  readonly action: "added" | "changed" | "removed" | "reconnected" | "unchanged" | "rejected";
  readonly state: ServerState;
  readonly toolCount: number;
  readonly error?: Fault;
}

/**
 * Makes a manager hold exactly the servers of a list: adds those that are new, starts those anew whose configuration
 * has changed, connects those again that are enabled and not connected, and removes those that are left out. Resolves
 * once every start it made has had its first outcome. One bad entry is reported and touches no other; a server whose
 * entry is bad stays as it is.
 */
export async function syncServers(
  manager: ServerManager,
  list: readonly unknown[],
  scrubber: Scrubber,
): Promise<SyncReport[]> {
  const wanted = new Map<string, ServerConfig>();
  const mentioned = new Set<string>();
  const reports: Promise<SyncReport>[] = [];
  for (const [index, input] of list.entries()) {
    const name = nameOf(input);
    const place = name === undefined ? `entry ${index} of the list` : placeOf(input);
    const refuse = (error: Fault): void => {
      const server = name === undefined ? undefined : manager.servers.get(name);
      reports.push(Promise.resolve({ ...report(name ?? place, "rejected", server), error }));
    };
    if (name !== undefined) mentioned.add(name);
    try {
      const config = normaliseServer(input, place);
      if (!wanted.has(config.name)) wanted.set(config.name, config);
      else refuse({ code: "ERR_DUPLICATE_SERVER", message: `Cannot use ${place}: its name comes twice` });
    } catch (error) {
      refuse(faultOf(error, scrubber));
    }
  }
  for (const server of [...manager.servers.values()]) {
    if (!mentioned.has(server.name)) reports.push(removeServer(manager, server, scrubber));
  }
  for (const config of wanted.values()) reports.push(applyServer(manager, config, scrubber));
  return await Promise.all(reports);
}

async function removeServer(manager: ServerManager, server: Supervisor, scrubber: Scrubber): Promise<SyncReport> {
  const report = { name: server.name, action: "removed", state: "removed", toolCount: 0 } as const;
  try {
    await manager.remove(server.name);
    return report;
  } catch (error) {
    return { ...report, error: faultOf(error, scrubber) };
  }
}

async function applyServer(manager: ServerManager, config: ServerConfig, scrubber: Scrubber): Promise<SyncReport> {
  const old = manager.servers.get(config.name);
  let action: SyncReport["action"] = "unchanged";
  let server = old;
  try {
    if (old === undefined || old.isStopped) {
      action = "added";
      server = await manager.manage(config);
      await server.latestStart;
    } else if (!isSameConfig(old.config, config)) {
      action = "changed";
      await manager.remove(config.name, config.enabled ? "config_changed" : "disabled");
      server = await manager.manage(config);
      await server.latestStart;
    } else if (config.enabled && old.state !== "ready") {
      action = "reconnected";
      await old.restart();
    }
    return report(config.name, action, server);
  } catch (error) {
    return { ...report(config.name, action, server), error: faultOf(error, scrubber) };
  }
}

function report(name: string, action: SyncReport["action"], server: Supervisor | undefined): SyncReport {
  return { name, action, state: server?.state ?? "removed", toolCount: server?.toolCount ?? 0 };
}

function nameOf(input: unknown): string | undefined {
  const name = memberOf(input, "name");
  return typeof name === "string" && name !== "" ? name : undefined;
}
