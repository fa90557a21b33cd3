import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("a program that Deno lets reach no server fails, and then ends by itself", async () => {
  const program = `
    import { connectClient, httpDialer, systemClock } from "./src/client/mod.ts";
    import { denoRuntime } from "./runtimes/deno/mod.ts";
    const { fetch } = denoRuntime();
    const dialer = httpDialer({ url: "http://127.0.0.1:5999/mcp", fetch, clock: systemClock });
    console.log(await connectClient({ dialer }).then(() => "connected", ({ code }) => code));
  `;
  // A process that stays is ended after the time that a busy machine may take, and fails this.
  const running = promisify(execFile)(`${root}/node_modules/.bin/deno`, ["run", "--no-prompt", "--ext=ts", "-"], {
    cwd: root,
    timeout: 50_000,
  });
  running.child.stdin?.end(program);
  const { stdout } = await running;
  expect(stdout.trim()).toBe("ERR_CONNECTION_LOST");
});
