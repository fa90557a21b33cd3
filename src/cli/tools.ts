import { type CommandContext, type HostOptions, openConfigured, sessionId } from "./open_host.ts";
import { oneLine, safeJson } from "./safe_text.ts";
import { renderTable } from "./table.ts";

/** `portcullis tools`: every tool of every server under its full name. */
export async function tools(
  context: CommandContext,
  options: HostOptions & { readonly json: boolean },
): Promise<number> {
  const { printer } = context;
  const { host, exitCode } = await openConfigured(context, options);
  try {
    const session = await host.session({ id: sessionId() });
    const definitions = session.toolDefinitions({ format: "mcp" });
    const listed = session.toolNames({ spelling: "qualified" }).map((name, index) => {
      const { name: alias, ...definition } = definitions[index]!;
      return { name, alias, ...definition };
    });
    if (options.json) await printer.line(safeJson(listed, 2));
    else if (listed.length === 0) await printer.line("No server offers a tool.");
    else {
      const rows = listed.map(({ name, title, description }) => [oneLine(name), oneLine(description ?? title ?? "")]);
      await printer.line(
        renderTable(["TOOL", "DESCRIPTION"], rows, {
          // A description may be as long as a page; the first words are what a list is for.
          columns: printer.columns ?? 160,
          paint: (cell, column) => (column === 1 ? printer.colours.dim(cell) : cell),
        }).trimEnd(),
      );
    }
    return exitCode;
  } finally {
    await host.close();
  }
}
