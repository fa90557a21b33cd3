import { Command, CommanderError, InvalidArgumentError } from "commander";
import { type ErrorCode, isHostError } from "../kernel/errors.ts";
import { adviceForCommand } from "./advice.ts";
import { call } from "./call.ts";
import { openHost as openRealHost } from "./create.ts";
import { EXIT, EXIT_HELP } from "./exit_codes.ts";
import { besideFile } from "./files.ts";
import type { OpenHost } from "./host_port.ts";
import { log } from "./log.ts";
import { prompt, read, resources } from "./offers.ts";
import { type CommandContext, Exit } from "./open_host.ts";
import { columnsOf, Printer } from "./printer.ts";
import { serve } from "./serve.ts";
import { status } from "./status.ts";
import type { Terminal } from "./terminal.ts";
import { tools } from "./tools.ts";
import { VERSION } from "../kernel/version.ts";

/**
 * Runs the command line and resolves to its exit code. Never rejects, prints no stack trace for a mistake of its user,
 * and leaves no process behind.
 */
export async function runCommandLine(terminal: Terminal, openHost: OpenHost = openRealHost): Promise<number> {
  const printer = new Printer(terminal);
  let exitCode: number = EXIT.ok;
  const program = buildProgram({ terminal, printer, openHost }, (code) => exitCode = code);
  try {
    await program.parseAsync(terminal.args, { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (error instanceof Exit) return error.exitCode;
    // Whoever asked it to end knows why it did.
    if (isHostError(error, "ERR_CANCELLED") && terminal.interrupted.aborted) return EXIT.failed;
    await printer.error(explain(error));
    return isHostError(error) ? EXIT_CODES[error.code] ?? EXIT.failed : EXIT.failed;
  }
}

const EXIT_CODES: Readonly<Partial<Record<ErrorCode, number>>> = Object.freeze({
  ERR_CONFIG: EXIT.usage,
  ERR_ENV_MISSING: EXIT.usage,
  ERR_DUPLICATE_SERVER: EXIT.usage,
  ERR_INVALID_ARGUMENTS: EXIT.usage,
  ERR_TOOL_NOT_FOUND: EXIT.usage,
  ERR_TOOL_AMBIGUOUS: EXIT.usage,
  ERR_SERVER_NOT_FOUND: EXIT.usage,
  ERR_DENIED: EXIT.denied,
  ERR_START_FAILED: EXIT.notStarted,
  ERR_START_TIMEOUT: EXIT.notStarted,
});

/** Our own errors and the system's speak for themselves; anything else is a fault of ours and shows where. */
function explain(error: unknown): string {
  if (isHostError(error)) return adviceForCommand(error.message);
  if (!(error instanceof Error)) return `unexpected failure: ${String(error)}`;
  return typeof (error as { code?: unknown }).code === "string"
    ? error.message
    : `unexpected failure\n${error.stack ?? error.message}`;
}

function buildProgram(context: CommandContext, end: (exitCode: number) => void): Command {
  const { terminal } = context;
  const program = new Command("portcullis")
    .description("Runs MCP servers behind one gate and one log.")
    .version(VERSION, "-V, --version", "print the version")
    .addHelpText("afterAll", EXIT_HELP)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.out.write(text),
      writeErr: (text) => void terminal.err.write(text),
      getOutHelpWidth: () => columnsOf(terminal.out) ?? 80,
      getErrHelpWidth: () => columnsOf(terminal.err) ?? 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });

  const command = (name: string, summary: string, logHelp: string): Command =>
    program.command(name).description(summary)
      .option("--config <file>", "the configuration", "mcp.config.json")
      .option("--log <directory>", logHelp);
  const servers = (name: string, summary: string, logHelp: string): Command =>
    command(name, summary, logHelp)
      .option("--take-over", "take the log from an owner that is known to be gone", false);
  const logOf = (options: ConfigFlags): string =>
    options.log ?? besideFile(terminal, options.config, ".portcullis", "log");
  const ownLog = "keep the log there (default: in memory)";
  const besideConfig = "the log (default: .portcullis/log beside the configuration)";

  servers("serve", "Start the servers, make the planned calls, and follow the log until Ctrl-C.", besideConfig)
    .option("--calls <file>", "a JSON file with calls to make first")
    .option("--once", "end after the calls", false)
    .action(async (options: HostFlags & { calls?: string; once: boolean }) => {
      end(await serve(context, { ...options, log: logOf(options) }));
    });
  servers("tools", "List every tool under its full name.", ownLog)
    .option("--json", "as JSON", false)
    .action(async (options: HostFlags & JsonFlag) => end(await tools(context, options)));
  servers("call", "Call one tool through the gate.", ownLog)
    .argument("<tool>", "its full name, such as mcp.files.read_file")
    .argument("[json]", "its arguments, as a JSON object")
    .option("--json", "the whole outcome as JSON", false)
    .action(async (tool: string, json: string | undefined, options: HostFlags & JsonFlag) => {
      end(await call(context, tool, json, options));
    });
  servers("resources", "List what servers have to read.", ownLog)
    .option("--json", "as JSON", false)
    .action(async (options: HostFlags & JsonFlag) => end(await resources(context, options)));
  servers("read", "Read one resource; what you point at is allowed unless a rule says otherwise.", ownLog)
    .argument("<uri>", "its address, as resources lists it")
    .option("--server <name>", "the server that has it (default: the one that lists it)")
    .option("--json", "the whole outcome as JSON", false)
    .action(async (uri: string, options: HostFlags & JsonFlag & { server?: string }) => {
      end(await read(context, uri, options));
    });
  servers("prompt", "Fill in a prompt of a server and show its messages; without a name, list them.", ownLog)
    .argument("[name]", "such as mcp.docs.review, or bare where one server alone has it")
    .argument("[arguments...]", "words such as repo=portcullis")
    .option("--json", "the whole outcome as JSON", false)
    .action(async (name: string | undefined, pairs: string[], options: HostFlags & JsonFlag) => {
      end(await prompt(context, name, pairs, options));
    });
  servers("status", "Start the servers and show what became of each.", ownLog)
    .option("--json", "as JSON", false)
    .action(async (options: HostFlags & JsonFlag) => end(await status(context, options)));
  command("log", "Show what is in a log, also while it is written.", besideConfig)
    .option("--stream <name>", "only this stream, such as host:main")
    .option("--after <seq>", "only events after this seq, of each stream", parseSeq, 0)
    .option("--follow", "go on until Ctrl-C", false)
    .option("--json", "one event a line, as JSON", false)
    .action(async (options: ConfigFlags & JsonFlag & { stream?: string; after: number; follow: boolean }) => {
      end(await log(context, { ...options, log: logOf(options) }));
    });
  return program;
}

interface ConfigFlags {
  readonly config: string;
  readonly log?: string;
}

interface HostFlags extends ConfigFlags {
  readonly takeOver: boolean;
}

interface JsonFlag {
  readonly json: boolean;
}

function parseSeq(text: string): number {
  const seq = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(seq)) return seq;
  throw new InvalidArgumentError("Wanted a whole number from 0 up.");
}
