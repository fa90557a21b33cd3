import type { ToolRow } from "./host_port.ts";
import { type CommandContext, type HostOptions, sessionId, withHost } from "./open_host.ts";
import type { Printer } from "./printer.ts";
import { oneLine, safeJson } from "./safe_text.ts";
import { renderTable } from "./table.ts";

/** `portcullis tools`: every tool of every server under its full name. */
export function tools(context: CommandContext, options: HostOptions & { readonly json: boolean }): Promise<number> {
  const { printer } = context;
  return withHost(context, options, async ({ host, settled }) => {
    const exitCode = await settled();
    const session = await host.session({ id: sessionId() });
    const definitions = session.toolDefinitions({ format: "mcp" });
    const listed = session.toolNames({ spelling: "qualified" }).map((name, index) => {
      const { name: alias, ...definition } = definitions[index]!;
      return { name, alias, ...definition };
    });
    await printer.line(options.json ? safeJson(listed, 2) : toolTable(listed, printer));
    return exitCode;
  });
}

function toolTable(tools: readonly ToolRow[], { colours, columns }: Printer): string {
  if (tools.length === 0) return "No server offers a tool.";
  const rows = tools.map(({ name, title, description }) => [oneLine(name), oneLine(description ?? title ?? "")]);
  return renderTable(["TOOL", "DESCRIPTION"], rows, {
    // A description may be as long as a page; the first words are what a list is for.
    columns: columns ?? 160,
    paint: (cell, column) => (column === 1 ? colours.dim(cell) : cell),
  }).trimEnd();
}
