import type { HostEvent } from "../events/event.ts";
import { fileLog } from "../events/file_store.ts";
import { systemClock } from "../kernel/clock.ts";
import { HostError } from "../kernel/errors.ts";
import { randomIds } from "../kernel/ids.ts";
import { describeOutcome, exitCodeOf } from "./call.ts";
import { eventLine } from "./event_line.ts";
import { EXIT } from "./exit_codes.ts";
import { logFault, readTextFile } from "./files.ts";
import type { CallOutcome, CliSession } from "./host_port.ts";
import { type CommandContext, type HostOptions, sessionId, withHost } from "./open_host.ts";
import type { Printer } from "./printer.ts";
import { oneLine, plain } from "./safe_text.ts";
import { serverTable } from "./status.ts";

/** What `serve` is told. */
export interface ServeOptions extends HostOptions {
  readonly log: string;
  /** Path of a file with calls to make first. */
  readonly calls?: string | undefined;
  /** End after the calls instead of following the log. */
  readonly once: boolean;
}

/** One call of a file of calls. */
interface PlannedCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly note?: string;
}

/** Longest output of a planned call that is shown. */
const MAX_SHOWN = 600;

/** `portcullis serve`: starts the servers, shows them, makes the planned calls, and follows the log until it is stopped. */
export async function serve(context: CommandContext, options: ServeOptions): Promise<number> {
  const { printer, terminal } = context;
  const calls = options.calls === undefined ? [] : await readCalls(options.calls, context);
  const before = await endOfLog(options.log, context);
  return await withHost(context, options, async ({ host, settled }) => {
    await settled().catch((error: unknown) => {
      if (!terminal.interrupted.aborted) throw error;
    });
    if (terminal.interrupted.aborted) return EXIT.ok;
    await printer.line(serverTable(host.globalMcpStatus(), printer));
    const session = await host.session({ id: sessionId() });
    for (const [index, planned] of calls.entries()) {
      if (terminal.interrupted.aborted) break;
      await makeCall(session, planned, `${index + 1}/${calls.length}`, context);
    }
    if (options.once || terminal.interrupted.aborted) return EXIT.ok;
    await printer.line(`\n${printer.colours.bold("The log of this run")}, times in UTC (Ctrl-C ends)`);
    await Promise.all([
      printEvents(host.events({ after: before, signal: terminal.interrupted }), printer),
      printEvents(session.events({ after: 0, signal: terminal.interrupted }), printer),
    ]);
    return EXIT.ok;
  });
}

/** The last `seq` of the host's stream that an earlier run has written. */
async function endOfLog(directory: string, { terminal }: CommandContext): Promise<number> {
  const store = await fileLog(directory).open({ runtime: terminal.runtime, clock: systemClock, ids: randomIds });
  try {
    return (await store.head("host:main"))?.seq ?? 0;
  } catch (error) {
    throw logFault(`Cannot use the log in ${JSON.stringify(directory)}`, error);
  } finally {
    await store.close();
  }
}

async function printEvents(events: AsyncIterable<HostEvent>, printer: Printer): Promise<void> {
  for await (const event of events) {
    await printer.line(eventLine(event, { colours: printer.colours, columns: printer.columns }));
  }
}

async function makeCall(
  session: CliSession,
  planned: PlannedCall,
  count: string,
  context: CommandContext,
): Promise<void> {
  const { printer, terminal } = context;
  const { colours } = printer;
  const note = planned.note === undefined ? "" : `  ${colours.dim(oneLine(planned.note))}`;
  await printer.line(`\n${count}  ${colours.bold(oneLine(planned.tool))}${note}`);
  const onAsk = terminal.choose === undefined ? "deny" : "wait";
  const outcome = await session.tool(planned.tool, planned.arguments, { signal: terminal.interrupted, onAsk });
  await printer.line(`     ${paintOutcome(outcome, printer)}  ${colours.dim(`${Math.round(outcome.durationMs)} ms`)}`);
  if (outcome.status === "completed") await printer.line(indent(excerpt(plain(outcome.output))));
}

function paintOutcome(outcome: CallOutcome, { colours }: Printer): string {
  const text = oneLine(describeOutcome(outcome));
  const code = exitCodeOf(outcome);
  return code === EXIT.ok ? colours.green(text) : code === EXIT.denied ? colours.yellow(text) : colours.red(text);
}

function excerpt(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}… (${text.length - MAX_SHOWN} more characters)`;
}

function indent(text: string): string {
  return text.trimEnd().split("\n").map((line) => `     ${line}`).join("\n");
}

async function readCalls(path: string, { terminal }: CommandContext): Promise<readonly PlannedCall[]> {
  const wanted = 'wanted a list of { "tool", "arguments"?, "note"? }';
  const text = await readTextFile(terminal, path, "calls");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new HostError("ERR_CONFIG", `Cannot read calls "${path}": found no JSON, ${wanted}`, { cause });
  }
  if (!Array.isArray(value)) {
    throw new HostError("ERR_CONFIG", `Cannot read calls "${path}": found no list, ${wanted}`);
  }
  return value.map((item: unknown, index) => {
    const { tool, arguments: args = {}, note } = (item ?? {}) as Record<string, unknown>;
    if (typeof tool === "string" && typeof args === "object" && args !== null && !Array.isArray(args)) {
      return { tool, arguments: args as Record<string, unknown>, ...(typeof note === "string" ? { note } : {}) };
    }
    throw new HostError("ERR_CONFIG", `Cannot read calls "${path}": found another shape at [${index}], ${wanted}`);
  });
}
