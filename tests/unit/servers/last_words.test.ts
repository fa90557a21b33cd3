import { describe, expect, it } from "vitest";
import { HostError } from "../../../src/kernel/errors.ts";
import { lastWords } from "../../../src/servers/start_error.ts";
import { plainScrubber } from "../../fixtures/plain_scrubber.ts";
import { until } from "../../fixtures/settle.ts";
import { rejection, scene } from "./supervisor_setup.ts";

const STDERR = "starting\n\u001b[31mkey hunter2hunter2 is wrong\u001b[0m\n\n";
const exited = (stderrTail: string) =>
  new HostError("ERR_START_FAILED", "Cannot start a conversation: connection to the server was lost: it exited", {
    facts: { exitCode: 1, stderrTail, waitedMs: 3 },
  });

describe("a server that does not start", () => {
  it("tells whoever adds it which one, how far it came, and its last words", async () => {
    const { connect, server } = scene();
    connect.onConnect = (dialling) => dialling.fail(exited(STDERR));
    expect(await rejection(server.startOnce())).toMatchObject({
      code: "ERR_START_FAILED",
      message:
        'Cannot start server "echo": it exited with code 1 before it answered; its last words: starting | key [redacted] is wrong',
      facts: { server: "echo", exitCode: 1, stderrTail: "starting\nkey [redacted] is wrong", waitedMs: 3 },
    });
  });

  it("shows the same in its status, until it is ready", async () => {
    const { connect, server, clock } = scene();
    connect.onConnect = (dialling) => dialling.fail(exited(STDERR));
    server.supervise();
    await until(() => server.state === "restarting");
    expect(server.status()).toMatchObject({
      error: expect.stringMatching(/^Cannot start server "echo": it exited with code 1 before it answered; its last/),
      stderrTail: "starting\nkey [redacted] is wrong",
    });
    connect.onConnect = (dialling) => dialling.succeed();
    await clock.advance(500);
    await until(() => server.state === "ready");
    expect(server.status()).not.toHaveProperty("stderrTail");
    expect(server.status()).not.toHaveProperty("error");
    await server.stop("closed");
  });

  it("says when it had answered and gave no list", async () => {
    const { connect, server } = scene();
    connect.onConnect = (dialling) => {
      const client = dialling.succeed();
      client.onList = async () => {
        const error = new HostError("ERR_CONNECTION_LOST", "Connection to the server was lost");
        await client.end({ reason: "signal", signal: "SIGKILL", stderrTail: "out of memory", error });
        throw error;
      };
    };
    expect((await rejection(server.startOnce())).message).toBe(
      'Cannot start server "echo": it was ended by SIGKILL before it listed its tools; its last words: out of memory',
    );
  });

  it("names what it was asked where it stays silent", async () => {
    const { connect, server } = scene();
    const error = new HostError(
      "ERR_START_TIMEOUT",
      "Cannot start a conversation over stdio: no usable answer within 30000 ms",
      { facts: { method: "initialize" } },
    );
    connect.onConnect = (dialling) => dialling.fail(error);
    expect(await rejection(server.startOnce())).toMatchObject({
      code: "ERR_START_TIMEOUT",
      message: 'Cannot start server "echo": no usable answer within 30000 ms (it was asked initialize)',
    });
  });

  it("quotes what it says in place of messages, scrubbed", async () => {
    const { connect, server } = scene();
    connect.onConnect = (dialling) => {
      dialling.options.onWarning?.("noise", "\u001b[1mServer listening\u001b[0m with hunter2hunter2");
      dialling.options.onWarning?.("noise", "second line");
      dialling.fail(new HostError("ERR_START_TIMEOUT", "Cannot start a conversation over stdio: no usable answer"));
    };
    expect((await rejection(server.startOnce())).message).toBe(
      'Cannot start server "echo": no usable answer; its output is not JSON-RPC: "Server listening with [redacted]"',
    );
  });

  it("is told in its status to take its command line apart", async () => {
    const { connect, server } = scene();
    const facts = { command: "npx foo", cause: "ENOENT" };
    connect.onConnect = (dialling) =>
      dialling.fail(new HostError("ERR_START_FAILED", 'Cannot start "npx foo": it was not found', { facts }));
    server.supervise();
    await until(() => server.state === "restarting");
    expect(server.status().error).toBe(
      'Cannot start server "echo": cannot start "npx foo": it was not found; arguments go into "args"',
    );
    await server.stop("closed");
  });

  it("shows the last words of one that was ready, too", async () => {
    const { connect, server } = scene({ restart: { auto: false } });
    connect.onConnect = (dialling) => dialling.succeed();
    await server.startOnce();
    await connect.last.end({ reason: "exit", exitCode: 3, stderrTail: "panic" });
    expect(server.status()).toMatchObject({ state: "permanently_failed", stderrTail: "panic" });
  });
});

describe("last words", () => {
  const scrubber = plainScrubber("hunter2hunter2");

  it.each([
    [undefined, undefined],
    ["", undefined],
    [" \n\t\n", undefined],
    ["a\r\nb", "a\nb"],
    ["1\n2\n3\n4\n5\n6\n7", "3\n4\n5\n6\n7"],
    ["a\u202eb\u0007", "a b"],
    ["Error: no module\nat 1\nat 2\nat 3\nat 4\nat 5\nNode.js", "Error: no module\nat 3\nat 4\nat 5\nNode.js"],
    ["TypeError [X]: a\nmy.Error: b\n1\n2\n3\n4\n5", "my.Error: b\n2\n3\n4\n5"],
    ["npm error: a\n1\n2\n3\n4", "npm error: a\n1\n2\n3\n4"],
    ["errors follow\n1\n2\n3\n4\n5", "1\n2\n3\n4\n5"],
  ])("of %j are %j", (tail, words) => {
    expect(lastWords(tail, scrubber)).toBe(words);
  });

  it("are bounded, and scrubbed before they are cut", () => {
    const words = lastWords(`${"x".repeat(190)}hunter2hunter2\n`.repeat(1000), scrubber)!;
    expect(words.split("\n").map((line) => line.length)).toEqual(Array(5).fill(200));
    expect(words).not.toContain("hunter");
  });
});
