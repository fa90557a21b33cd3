import { type CommandContext, type HostOptions, withHost } from "./open_host.ts";
import type { ServerRow } from "./host_port.ts";
import type { Printer } from "./printer.ts";
import { oneLine, safeJson } from "./safe_text.ts";
import { renderTable } from "./table.ts";

/** `portcullis status`: starts the servers and shows what became of each. */
export function status(context: CommandContext, options: HostOptions & { readonly json: boolean }): Promise<number> {
  return withHost(context, options, async ({ host, settled }) => {
    const exitCode = await settled();
    const servers = host.globalMcpStatus();
    await context.printer.line(options.json ? safeJson(servers, 2) : serverTable(servers, context.printer));
    return exitCode;
  });
}

/** The table of servers: name, state, era, version, tools. */
export function serverTable(servers: readonly ServerRow[], printer: Printer): string {
  if (servers.length === 0) return "No servers are configured.";
  const { colours } = printer;
  const rows = servers.map((server) => [
    oneLine(server.name),
    server.state,
    server.era ?? "-",
    oneLine(server.version ?? "-"),
    String(server.toolCount),
    oneLine(server.error ?? ""),
  ]);
  const isError = rows.some((row) => row[5] !== "");
  const shown = rows.map((row) => (isError ? row : row.slice(0, 5)));
  return renderTable(["SERVER", "STATE", "ERA", "VERSION", "TOOLS", "ERROR"].slice(0, isError ? 6 : 5), shown, {
    columns: printer.columns,
    paint: (cell, column) => {
      if (column === 5) return colours.red(cell);
      if (column !== 1) return cell;
      return cell === "ready" ? colours.green(cell) : cell === "disabled" ? colours.dim(cell) : colours.red(cell);
    },
  }).trimEnd();
}
