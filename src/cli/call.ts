import { HostError } from "../kernel/errors.ts";
import { parseExact } from "../kernel/exact_json.ts";
import { adviceForCommand } from "./advice.ts";
import { EXIT } from "./exit_codes.ts";
import type { CallOutcome } from "./host_port.ts";
import { type CommandContext, type HostOptions, sessionId, withHost } from "./open_host.ts";
import { plain, safeJson } from "./safe_text.ts";

/** `portcullis call <tool> [json]`: one call through the gate. */
export async function call(
  context: CommandContext,
  tool: string,
  json: string | undefined,
  options: HostOptions & { readonly json: boolean },
): Promise<number> {
  const { printer, terminal } = context;
  const args = parseArguments(json);
  return await withHost(context, options, async ({ host, settled }) => {
    // A call by a full name waits for its own server; for any other name, what there is must be known first.
    if (!/^mcp(?:\.|__)/.test(tool)) await settled();
    const session = await host.session({ id: sessionId() });
    const onAsk = terminal.choose === undefined ? "deny" : "wait";
    const outcome = await session.tool(tool, args, { signal: terminal.interrupted, onAsk });
    if (options.json) await printer.line(safeJson(outcome, 2));
    else {
      // What kept a server from starting is said by the servers.
      if (exitCodeOf(outcome) === EXIT.notStarted) await settled();
      // Where there is no result, the output only repeats the error.
      if (outcome.status === "completed") await printer.line(plain(outcome.output));
      if (exitCodeOf(outcome) !== EXIT.ok) await printer.error(describeOutcome(outcome));
    }
    return exitCodeOf(outcome);
  });
}

/** The arguments of a call. Throws `ERR_INVALID_ARGUMENTS` unless the text is a JSON object. */
export function parseArguments(json: string | undefined): Readonly<Record<string, unknown>> {
  if (json === undefined) return {};
  let value: unknown;
  try {
    value = parseExact(json);
  } catch (cause) {
    throw new HostError(
      "ERR_INVALID_ARGUMENTS",
      `Cannot read the arguments: found no JSON, wanted an object such as {"a": 1}`,
      {
        cause,
      },
    );
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new HostError(
    "ERR_INVALID_ARGUMENTS",
    `Cannot read the arguments: found other JSON, wanted an object such as {"a": 1}`,
  );
}

/** What became of a call, in words. */
export function describeOutcome(outcome: CallOutcome): string {
  const { status, isError, error } = outcome;
  if (status === "completed") return isError ? "the tool reports a failure" : "completed";
  // Whoever gave up knows why.
  if (status === "cancelled") return status;
  const reason = error?.reason ?? error?.code;
  return `${status}${reason === undefined ? "" : ` (${reason})`}${
    error === undefined ? "" : `: ${adviceForCommand(error.message)}`
  }`;
}

/** Reasons of a call that never had a server to go to. */
const NOT_STARTED = new Set(
  ["mcp_server_not_connected", "mcp_server_permanently_failed", "mcp_server_pending", "auth_required"],
);
const USAGE = new Set(["ERR_TOOL_NOT_FOUND", "ERR_TOOL_AMBIGUOUS"]);

export function exitCodeOf({ status, isError, error }: CallOutcome): number {
  if (status === "completed") return isError ? EXIT.failed : EXIT.ok;
  if (status === "denied" || status === "pending") return EXIT.denied;
  if (error !== undefined && USAGE.has(error.code)) return EXIT.usage;
  return error?.reason !== undefined && NOT_STARTED.has(error.reason) ? EXIT.notStarted : EXIT.failed;
}
