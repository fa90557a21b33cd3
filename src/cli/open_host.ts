import { loadConfig, type LoadedConfig } from "../config/load.ts";
import { fileLog } from "../events/file_store.ts";
import { memoryLog } from "../events/memory_store.ts";
import { untilAborted } from "../kernel/abort.ts";
import { randomIds } from "../kernel/ids.ts";
import { askOnTerminal } from "./approve.ts";
import { EXIT } from "./exit_codes.ts";
import { besideFile, filesOf, readTextFile } from "./files.ts";
import type { CliHost, OpenHost, ServerRow } from "./host_port.ts";
import type { Printer } from "./printer.ts";
import { headAndTail } from "./safe_text.ts";
import type { Terminal } from "./terminal.ts";

/** Ends a command whose reason has already been printed. */
export class Exit extends Error {
  override readonly name: string = "Exit";
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** What every command that starts servers needs. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly printer: Printer;
  readonly openHost: OpenHost;
}

/** What every command that starts servers is told. */
export interface HostOptions {
  /** Path of the configuration file. */
  readonly config: string;
  /** Directory of the log; absent: kept in memory. */
  readonly log?: string | undefined;
  /** Take the log from an owner that did not let go of it. */
  readonly takeOver: boolean;
}

/** A host whose servers are starting. */
export interface OpenedHost {
  readonly host: CliHost;
  /**
   * Waits until each server is ready or was given up, prints what was wrong with each, and resolves to the exit code
   * that is honest so far: something of the configuration was left out, or did not start.
   */
  settled(): Promise<number>;
}

/**
 * Opens a host on a configuration file, prints what is wrong with the file, and closes the host when `run` has ended.
 * Throws {@link Exit} when nothing may be started.
 */
export async function withHost(
  context: CommandContext,
  options: HostOptions,
  run: (opened: OpenedHost) => Promise<number>,
): Promise<number> {
  const { terminal, printer } = context;
  const { interrupted } = terminal;
  const config = await readConfig(options.config, terminal);
  await printer.problems([...config.problems, ...config.warnings]);
  if (config.problems.some(({ severity }) => severity === "fatal")) throw new Exit(EXIT.usage);
  const host = await context.openHost({
    runtime: terminal.runtime,
    servers: config.servers,
    ...(config.permission === undefined ? {} : { permission: config.permission }),
    secrets: config.expandedSecrets,
    takeOver: options.takeOver,
    log: options.log === undefined ? memoryLog() : fileLog(options.log),
    ...(terminal.choose === undefined ? {} : { approve: askOnTerminal(terminal.choose) }),
  });
  const settled = async (): Promise<number> => {
    await untilAborted(host.ready({ signal: interrupted }), "Waiting for the servers", interrupted);
    const failed = host.globalMcpStatus().filter(isFailed);
    for (const server of failed) await printer.error(describeFailure(server, config));
    return config.problems.length > 0 ? EXIT.usage : failed.length > 0 ? EXIT.notStarted : EXIT.ok;
  };
  try {
    return await run({ host, settled });
  } finally {
    // A server may take its time to end, and whoever pressed Ctrl-C wants to know that it was heard.
    if (interrupted.aborted) await printer.notice("\nEnding the servers and the log; Ctrl-C again ends at once");
    await host.close();
  }
}

async function readConfig(path: string, terminal: Terminal): Promise<LoadedConfig> {
  return await loadConfig({
    text: await readTextFile(terminal, path, "config"),
    file: path,
    env: terminal.runtime.environment(),
    readFile: (name) => filesOf(terminal).readText(besideFile(terminal, path, name)),
  });
}

/** A name for the session of one command, short enough for a line of the log. */
export function sessionId(): string {
  return randomIds.next("cli").slice(0, 10);
}

function isFailed({ state }: ServerRow): boolean {
  return state !== "ready" && state !== "disabled";
}

function describeFailure({ name, state, error }: ServerRow, config: LoadedConfig): string {
  const reason = error === undefined ? `is ${state}, wanted ready` : headAndTail(error, MAX_REASON_LINES);
  return `${config.placeOf(name)}: mcpServers.${name}: ${reason}`;
}

/** Lines of a reason that are shown after its first; a server's last words are the ones that tell. */
const MAX_REASON_LINES = 5;
