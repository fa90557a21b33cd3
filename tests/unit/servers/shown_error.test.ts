import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { HostError, RemoteError } from "../../../src/kernel/errors.ts";
import { shownError } from "../../../src/servers/shown_error.ts";
import { plainScrubber } from "../../fixtures/plain_scrubber.ts";
import { rejection, scene } from "./supervisor_setup.ts";

const SECRET = "hunter2hunter2";
const scrubber = plainScrubber(SECRET);
const printed = (error: unknown): string => inspect(error, { depth: 20, showHidden: true });

describe("an error that leaves the host", () => {
  const system = Object.assign(new Error(`spawn ${SECRET} ENOENT`), {
    code: "ENOENT",
    path: SECRET,
    request: { headers: { authorization: SECRET } },
  });
  const rows: readonly [string, unknown][] = [
    ["facts", new HostError("ERR_START_FAILED", "Cannot start", { facts: { stderrTail: `token ${SECRET}` } })],
    ["a nested fact", new HostError("ERR_PROTOCOL", "Cannot read", { facts: { tried: [{ why: SECRET }] } })],
    ["a cause", new HostError("ERR_START_FAILED", "Cannot start", { cause: system })],
    ["a cause of a cause", new HostError("ERR_PROTOCOL", "a", { cause: new Error("b", { cause: system }) })],
    ["what a peer answered", new RemoteError(-32000, `bad ${SECRET}`, { token: SECRET })],
    ["a text that was thrown", `bad ${SECRET}`],
    ["an object that was thrown", { token: SECRET }],
    ["a cause that is no error", new Error("a", { cause: { token: SECRET } })],
    ["errors beside the cause", new AggregateError([system], "all failed")],
  ];
  for (const [where, error] of rows) {
    it(`holds no secret in ${where}`, () => {
      expect(printed(error)).toContain(SECRET);
      expect(printed(shownError(error, scrubber))).not.toContain(SECRET);
    });
  }

  it("keeps what tells errors apart", () => {
    const cause = new RemoteError(-32000, "no");
    const error = new HostError("ERR_PROTOCOL", "Cannot read", { cause, facts: { status: 500, list: ["a"] } });
    const shown = shownError(error, scrubber) as HostError;
    expect(shown).toEqual(error);
    expect(shown).toBeInstanceOf(HostError);
    expect(shown.stack).toBe(error.stack);
    expect(shown.cause).toBeInstanceOf(RemoteError);
    expect(shownError(system, scrubber)).toMatchObject({ code: "ENOENT", message: "spawn [redacted] ENOENT" });
    expect(shownError(new TypeError("a"), scrubber)).toMatchObject({ name: "TypeError", message: "a" });
  });

  it("has a bounded chain of causes, and bounded texts", () => {
    const loop: Error & { cause?: unknown } = new Error("x".repeat(100_000));
    loop.cause = loop;
    expect(printed(shownError(loop, scrubber)).length).toBeLessThan(200_000);
    const hostile = new Proxy(new Error("a"), {
      get: () => {
        throw new Error(SECRET);
      },
    });
    expect(printed(shownError(hostile, scrubber))).not.toContain(SECRET);
  });
});

it("what a start fails with holds no secret, whatever led to it", async () => {
  const { connect, server } = scene();
  connect.onConnect = (dialling) =>
    dialling.fail(
      new HostError("ERR_START_FAILED", "Cannot start a conversation", {
        cause: new RemoteError(-32000, `bad token ${SECRET}`, { token: SECRET }),
        facts: { exitCode: 1, stderrTail: `token is ${SECRET}`, challenge: SECRET, excerpt: SECRET },
      }),
    );
  const error = await rejection(server.startOnce());
  expect(printed(error)).not.toContain(SECRET);
  expect(error).toMatchObject({ cause: { code: "ERR_START_FAILED", cause: { code: -32000 } } });
});
