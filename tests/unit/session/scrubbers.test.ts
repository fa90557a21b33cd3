import { describe, expect, it } from "vitest";
import type { Scrubber } from "../../../src/scrub/scrubber.ts";
import { createHost } from "../../../src/host.ts";
import { fakeRuntime } from "../../fixtures/fake_runtime.ts";

const SECRET = "private-0123456789";

/** A scrubber of a user's that fails where `fails` says so. */
function failing(fails: (text: string) => boolean, how: () => never): Scrubber {
  const text = (given: string): string => fails(given) ? how() : given;
  const value = <T>(given: T): T => {
    const json = JSON.stringify(given);
    return json === undefined || text(json) === json ? given : undefined as T;
  };
  return { text, value, stream: () => ({ push: text, end: () => "" }) };
}

const throws = (): never => {
  throw new Error(`cannot read ${SECRET}`);
};
const answersNothing = (() => undefined) as () => never;

async function open(scrubber: Scrubber) {
  const errors: unknown[] = [];
  const runtime = fakeRuntime({ echo: { tools: ["echo"], call: (_name, args) => JSON.stringify(args) } });
  const host = await createHost({
    runtime,
    servers: [{ name: "echo", command: "echo" }],
    localTools: [{ name: "tell", risk: "read", inputSchema: {}, run: () => `it is ${SECRET}` }],
    permission: { rules: [{ decision: "allow" }] },
    scrubbers: [scrubber],
    onError: (error) => errors.push(error),
  });
  await host.ready();
  const session = await host.session({ id: "s_1" });
  const events = async () => await host.readEvents({ stream: "session:s_1" });
  return { host, session, errors, runtime, events };
}

describe("a scrubber of the user's that fails", () => {
  it.each([["throws", throws], ["answers no text", answersNothing]])(
    "and %s on a result makes the call a typed failure that shows nothing",
    async (_how, how) => {
      const { host, session, errors, events } = await open(failing((text) => text.includes("it is"), how));
      const outcome = await session.tool("tell", {});
      expect(outcome).toMatchObject({ status: "failed", error: { code: "ERR_CONFIG", reason: "invalid_result" } });
      const log = await events();
      expect(log.map(({ type }) => type).slice(-2)).toEqual(["tool.started", "tool.failed"]);
      expect(JSON.stringify([outcome, log])).not.toContain(SECRET);
      expect(errors.every((error) => (error as { code?: string }).code === "ERR_CONFIG")).toBe(true);
      await host.close();
    },
  );

  it("on a server's result ends both pairs of events", async () => {
    const { host, session, events } = await open(failing((text) => text.includes('"type":"text"'), throws));
    const outcome = await session.tool("mcp.echo.echo", { message: "hi" });
    expect(outcome).toMatchObject({ status: "failed", error: { code: "ERR_CONFIG", reason: "invalid_result" } });
    expect((await events()).map(({ type }) => type).slice(-2)).toEqual(["mcp.call.completed", "tool.failed"]);
    await host.close();
  });

  it("on the arguments denies the call, and nothing is sent", async () => {
    const { host, session, errors, events } = await open(failing((text) => text.includes(SECRET), throws));
    const outcome = await session.tool("mcp.echo.echo", { secret: SECRET });
    expect(outcome).toMatchObject({ status: "denied", error: { code: "ERR_DENIED", reason: "permission_denied" } });
    expect(errors).toHaveLength(1);
    const log = await events();
    expect(log.at(-1)).toMatchObject({ type: "tool.failed", payload: { toolCallId: outcome.toolCallId } });
    expect(JSON.stringify([outcome, log])).not.toContain(SECRET);
    await host.close();
  });

  it("on everything from some moment on loses no closing event, nor which call it closes", async () => {
    let isBroken = false;
    const { host, session, events } = await open(failing(() => isBroken, throws));
    const sent = session.tool("mcp.echo.echo", { message: SECRET });
    while (!(await events()).some(({ type }) => type === "tool.started")) await new Promise((go) => setTimeout(go, 0));
    isBroken = true;
    const outcome = await sent;
    expect(outcome).toMatchObject({ status: "failed", error: { code: "ERR_CONFIG" } });
    const log = await events();
    expect(log.slice(-2)).toMatchObject([
      { type: "mcp.call.completed", payload: { server: "echo", toolCallId: outcome.toolCallId } },
      {
        type: "tool.failed",
        payload: { toolCallId: outcome.toolCallId, reason: "invalid_result", outcome: "answered" },
      },
    ]);
    expect(JSON.stringify(outcome)).not.toContain(SECRET);
    await host.close();
    expect((await session.tool("tell").catch((error: unknown) => error)) as object).toMatchObject({
      code: "ERR_SESSION_CLOSED",
    });
  });

  it("from the start keeps no host from opening, reporting and closing", async () => {
    const { host, session, runtime } = await open(failing(() => true, throws));
    expect(await host.ready()).toMatchObject([{ name: "echo", state: "rejected" }]);
    expect((await session.tool("tell")).status).toBe("denied");
    await host.close();
    expect(runtime.processes).toEqual([]);
  });
});
