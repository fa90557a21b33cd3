import { HostError } from "../kernel/errors.ts";
import { adviceForCommand } from "./advice.ts";
import { EXIT } from "./exit_codes.ts";
import { exitCodeOf } from "./call.ts";
import type { PromptRow, ReadOutcome, ResourceRow, TemplateRow } from "./host_port.ts";
import { type CommandContext, type HostOptions, sessionId, withHost } from "./open_host.ts";
import type { Printer } from "./printer.ts";
import { oneLine, plain, safeJson } from "./safe_text.ts";
import { renderTable } from "./table.ts";

interface JsonFlag {
  readonly json: boolean;
}

/** `portcullis resources`: what servers have to read, and the families of it. */
export function resources(context: CommandContext, options: HostOptions & JsonFlag): Promise<number> {
  const { printer, terminal: { interrupted: signal } } = context;
  return withHost(context, options, async ({ host, settled }) => {
    const exitCode = await settled();
    const session = await host.session({ id: sessionId() });
    const [listed, templates] = [
      await session.resources.list({ signal }),
      await session.resources.templates({ signal }),
    ];
    await printer.line(
      options.json ? safeJson({ resources: listed, templates }, 2) : resourceTable(listed, templates, printer),
    );
    return exitCode;
  });
}

/** `portcullis read <uri>`: whoever types it has pointed at the resource; a rule may still forbid it. */
export function read(
  context: CommandContext,
  uri: string,
  options: HostOptions & JsonFlag & { readonly server?: string },
): Promise<number> {
  const { terminal } = context;
  const { server } = options;
  return withHost(context, options, async ({ host, settled }) => {
    // A server that is named is waited for by itself; else it must be known first who has what.
    if (server === undefined) await settled();
    const session = await host.session({ id: sessionId() });
    const outcome = await session.resources.include(uri, {
      signal: terminal.interrupted,
      onAsk: onAskOf(context),
      ...(server === undefined ? {} : { server }),
    });
    return await show(context, outcome, options.json, plain(outcome.output));
  });
}

/** `portcullis prompt [name] [k=v...]`: fills a prompt in and shows its messages; without a name, lists what there is. */
export function prompt(
  context: CommandContext,
  name: string | undefined,
  pairs: readonly string[],
  options: HostOptions & JsonFlag,
): Promise<number> {
  const { terminal, printer } = context;
  const args = parsePairs(pairs);
  return withHost(context, options, async ({ host, settled }) => {
    const isFull = name !== undefined && /^mcp(?:\.|__)/.test(name);
    const exitCode = isFull ? EXIT.ok : await settled();
    const session = await host.session({ id: sessionId() });
    if (name === undefined) {
      const listed = await session.prompts.list({ signal: terminal.interrupted });
      await printer.line(options.json ? safeJson(listed, 2) : promptTable(listed, printer));
      return exitCode;
    }
    const outcome = await session.prompts.invoke(name, args, {
      signal: terminal.interrupted,
      onAsk: onAskOf(context),
      typed: ["/prompt", name, ...pairs].join(" "),
    });
    const said = outcome.messages.map(({ role, content }) => `${role}: ${plain(textOf(content))}`);
    return await show(context, outcome, options.json, said.join("\n"));
  });
}

/** `k=v` as members. Throws `ERR_INVALID_ARGUMENTS` for a word without a `=` or a name that comes twice. */
export function parsePairs(pairs: readonly string[]): Record<string, string> {
  const args = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, at));
    if (at < 1 || args.has(name)) {
      const found = at < 1 ? `found ${JSON.stringify(pair.slice(0, 80))}` : `${name} comes twice`;
      throw new HostError(
        "ERR_INVALID_ARGUMENTS",
        `Cannot read the arguments: ${found}, wanted words such as name=value`,
      );
    }
    args.set(name, pair.slice(at + 1));
  }
  return Object.fromEntries(args);
}

async function show(
  { printer }: CommandContext,
  outcome: ReadOutcome,
  isJson: boolean,
  text: string,
): Promise<number> {
  const { status, error } = outcome;
  if (isJson) await printer.line(safeJson(outcome, 2));
  else if (status === "completed") await printer.line(text);
  else if (status === "cancelled") await printer.error(status);
  else {
    const why = error === undefined ? "" : ` (${error.reason}): ${adviceForCommand(error.message)}`;
    await printer.error(`${status}${why}`);
  }
  if (error?.reason === "invalid_arguments" || error?.reason === "not_found") return EXIT.usage;
  return exitCodeOf({ ...outcome, output: "", isError: false });
}

function onAskOf({ terminal }: CommandContext): "wait" | "deny" {
  return terminal.choose === undefined ? "deny" : "wait";
}

/** The text of a block, or what kind of block it is. */
function textOf(content: PromptMessageContent): string {
  return typeof content["text"] === "string" ? content["text"] : `[${content.type}]`;
}
type PromptMessageContent = { readonly type: string; readonly [key: string]: unknown };

function resourceTable(
  resources: readonly ResourceRow[],
  templates: readonly TemplateRow[],
  { colours, columns }: Printer,
): string {
  if (resources.length + templates.length === 0) return "No server offers a resource.";
  const rows = [
    ...resources.map(({ server, uri, name, title }) => [server, oneLine(uri), oneLine(title ?? name)]),
    ...templates.map(({ server, uriTemplate, name, title }) => [server, oneLine(uriTemplate), oneLine(title ?? name)]),
  ];
  return renderTable(["SERVER", "URI", "NAME"], rows, {
    columns: columns ?? 160,
    paint: (cell, column) => (column === 2 ? colours.dim(cell) : cell),
  }).trimEnd();
}

function promptTable(prompts: readonly PromptRow[], { colours, columns }: Printer): string {
  if (prompts.length === 0) return "No server offers a prompt.";
  const rows = prompts.map(({ qualified, arguments: blanks = [], description, title }) => [
    oneLine(qualified),
    oneLine(blanks.map(({ name, required }) => required === true ? `${name}=` : `[${name}=]`).join(" ")),
    oneLine(description ?? title ?? ""),
  ]);
  return renderTable(["PROMPT", "ARGUMENTS", "DESCRIPTION"], rows, {
    columns: columns ?? 160,
    paint: (cell, column) => (column === 2 ? colours.dim(cell) : cell),
  }).trimEnd();
}
