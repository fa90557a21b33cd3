// Runs the command line from its sources, through tsx, with the example server over HTTP beside it when the
// configuration asks for it.
import { readFile } from "node:fs/promises";
import process from "node:process";
import { ensureInstalled } from "./setup.mjs";

/**
 * Runs `portcullis` with these arguments in this process, and sets the exit code. Ctrl-C is heard from before the example
 * server starts until it has ended.
 */
export async function runPortcullis(args) {
  await ensureInstalled();
  const { register } = await import("tsx/esm/api");
  register();
  const { listenForInterruption, runCli } = await import("../runtimes/node/cli.ts");
  const { startEverythingHttp } = await import("./everything_http.mjs");
  const interruption = listenForInterruption();
  let server;
  try {
    if (await wantsEverything(args)) {
      server = await startEverythingHttp();
      process.env.EVERYTHING_URL = server.url;
    }
    process.exitCode = await runCli(args, undefined, interruption);
  } finally {
    await server?.close();
    interruption.end();
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
