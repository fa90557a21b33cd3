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

/** The table of servers: name, state, era, version, tools; under a server that has failed, why. */
export function serverTable(servers: readonly ServerRow[], printer: Printer): string {
  if (servers.length === 0) return "No servers are configured.";
  const { colours, columns } = printer;
  const rows = servers.map(({ name, state, era, version, toolCount }) => [
    oneLine(name),
    state,
    era ?? "-",
    oneLine(version ?? "-"),
    String(toolCount),
  ]);
  return renderTable(["SERVER", "STATE", "ERA", "VERSION", "TOOLS"], rows, {
    columns,
    below: servers.map(({ error }) => (error === undefined ? undefined : oneLine(error))),
    paint: (cell, column) => {
      if (column === 5) return colours.red(cell);
      if (column !== 1) return cell;
      return cell === "ready" ? colours.green(cell) : cell === "disabled" ? colours.dim(cell) : colours.red(cell);
    },
  }).trimEnd();
}
