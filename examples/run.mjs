// Runs the command line from its sources, through tsx, with the example server over HTTP beside it when the
// configuration asks for it.
import { readFile } from "node:fs/promises";
import process from "node:process";
import { ensureInstalled } from "./setup.mjs";

/** Runs `portcullis` with these arguments in this process, and sets the exit code. */
export async function runPortcullis(args) {
  await ensureInstalled();
  const { startEverythingHttp } = await import("./everything_http.mjs");
  const server = await wantsEverything(args) ? await startEverythingHttp() : undefined;
  try {
    if (server !== undefined) process.env.EVERYTHING_URL = server.url;
    const { register } = await import("tsx/esm/api");
    register();
    const { runCli } = await import("../runtimes/node/cli.ts");
    process.exitCode = await runCli(args);
  } finally {
    await server?.close();
  }
}

/** True when the command starts servers and its configuration names the example server without saying where it is. */
async function wantsEverything(args) {
  if (process.env.EVERYTHING_URL !== undefined || args[0] === "log") return false;
  const at = args.findIndex((arg) => arg === "--config" || arg.startsWith("--config="));
  const path = at < 0 ? "mcp.config.json" : args[at] === "--config" ? args[at + 1] : args[at].slice("--config=".length);
  try {
    return (await readFile(path ?? "", "utf8")).includes("${EVERYTHING_URL}");
  } catch {
    // The command line says what is wrong with the file.
    return false;
  }
}
