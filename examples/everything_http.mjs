// The example server "everything" over Streamable HTTP. By itself it listens on all interfaces and has a tool that
// gives away its environment, so it is bound to 127.0.0.1 and gets nothing but PATH.
import { spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(
  new URL("../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);
const loopbackOnly = new URL("./loopback_only.mjs", import.meta.url).href;

/** Starts the server on a free port. `close` ends it; so does the end of this process, whatever ends it. */
export async function startEverythingHttp() {
  const child = spawn(process.execPath, ["--import", loopbackOnly, program, "streamableHttp"], {
    env: { PATH: process.env.PATH ?? "" },
    stdio: ["pipe", "pipe", "ignore"],
    // A group of its own: Ctrl-C in the terminal is for the host, which then still can end its session here.
    detached: true,
  });
  const exited = new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("exit", resolve);
  });
  exited.catch(() => {/* reported by the race below, which is the first to wait for it */});
  child.stdin.on("error", () => {/* it has gone already; "exit" says so */});

  const lines = createInterface({ input: child.stdout });
  const origin = await Promise.race([
    new Promise((resolve) => {
      lines.on("line", (line) => {
        if (line.startsWith("listening on ")) resolve(line.slice("listening on ".length));
      });
    }),
    exited.then((code) => {
      throw new Error(`Cannot start the example server over HTTP: it ended with ${code}`);
    }),
  ]);
  return {
    url: `${origin}/mcp`,
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}
