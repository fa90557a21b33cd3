import { describe, expect, it } from "vitest";
import type { FormAsk, HostAskContext, HostAsks, UrlAsk } from "../../../mod.ts";
import { createHost } from "../../../src/host.ts";
import type { HostOptions } from "../../../src/host_options.ts";
import type { ApprovalRequest } from "../../../src/permission/request.ts";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { type FakeProcess, type FakeProgram, fakeRuntime } from "../../fixtures/fake_runtime.ts";
import { settle, until } from "../../fixtures/settle.ts";

const SECRET = "hunter2hunter2";

/** A host with one server, all that it fetched, and all that it wrote down. */
async function open(program: FakeProgram, options: Partial<HostOptions> = {}) {
  const runtime = fakeRuntime({ them: program });
  const fetched: string[] = [];
  const host = await createHost({
    runtime: {
      ...runtime,
      fetch: (input) => {
        fetched.push(String(input));
        return Promise.reject(new TypeError("no network"));
      },
    },
    servers: [{ name: "them", command: "them" }],
    secrets: [{ label: "door", value: SECRET }],
    permission: { rules: [{ decision: "allow" }] },
    ...options,
  });
  await host.ready();
  const session = await host.session({ id: "s" });
  const log = async (): Promise<string> =>
    JSON.stringify([await host.readEvents(), await host.readEvents({ stream: "session:s" })]);
  const types = async (): Promise<string[]> =>
    (await host.readEvents({ stream: "session:s" })).slice(1).map(({ type }) => type);
  return { runtime, fetched, host, session, log, types };
}

const asking = (method: string, params: object): Pick<FakeProgram, "tools" | "call"> => ({
  tools: ["run"],
  call: async (_name: string, _args: unknown, process: FakeProcess) =>
    JSON.stringify(await process.ask(method, params)),
});

describe("a person who is asked for the sake of a call", () => {
  const requestedSchema = {
    type: "object",
    properties: { name: { type: "string", title: "Name" }, news: { type: "boolean", default: true } },
    required: ["name"],
  };
  const form = { message: "I am your bank. Who are you?", requestedSchema };

  it("learns which server asks, by the name that the user gave it, whatever it says of itself (C-ELIC-03)", async () => {
    const seen: [FormAsk | UrlAsk, HostAskContext][] = [];
    const asks: HostAsks = { form: (ask, context) => (seen.push([ask, context]), { action: "decline" }) };
    const { host, session } = await open(asking("elicitation/create", form), { asks });
    await session.tool("mcp.them.run", {});
    expect(seen).toMatchObject([
      [{ message: form.message, schema: requestedSchema }, { server: "them", session: "s", tool: "mcp.them.run" }],
    ]);
    const requested = (await host.readEvents({ stream: "session:s" })).find(({ type }) =>
      type === "mcp.input.requested"
    );
    expect(requested!.payload).toMatchObject({ server: "them", message: form.message });
    await host.close();
  });

  it("looks the form over and changes it: it goes out as it was left, and not before (C-ELIC-05)", async () => {
    let leave: (content: Record<string, unknown>) => void = () => {};
    let isShown = false;
    const answers: unknown[] = [];
    const program: FakeProgram = {
      tools: ["run"],
      call: async (_name, _args, process) => {
        const answer = await process.ask("elicitation/create", form);
        answers.push(answer["result"]);
        return "done";
      },
    };
    const asks: HostAsks = {
      form: () => {
        isShown = true;
        return new Promise((resolve) => leave = (content) => resolve({ action: "accept", content }));
      },
    };
    const { host, session } = await open(program, { asks });
    const call = session.tool("mcp.them.run", {});
    await until(() => isShown);
    await settle();
    expect(answers).toEqual([]);
    leave({ name: "Ada, after all", news: false });
    expect((await call).status).toBe("completed");
    expect(answers).toEqual([{ action: "accept", content: { name: "Ada, after all", news: false } }]);
    await host.close();
  });

  it("alone sees an address: nothing is fetched from it, and neither the log nor a model gets more than its host (C-ELIC-09)", async () => {
    const url = "https://login.test/consent/only-for-you?state=4711";
    const seen: UrlAsk[] = [];
    const asks: HostAsks = { url: (ask) => (seen.push(ask), { action: "accept" }) };
    const program = asking("elicitation/create", { mode: "url", message: "Log in", url, elicitationId: "e1" });
    const { host, session, log, fetched } = await open(program, { asks });
    const outcome = await session.tool("mcp.them.run", {});
    expect(seen).toMatchObject([{ url, host: "login.test" }]);
    // The server is told that the person agreed, and nothing of what came of it.
    expect(JSON.parse(outcome.output)).toMatchObject({ result: { action: "accept" } });
    expect(Object.keys((JSON.parse(outcome.output) as { result: object }).result)).toEqual(["action"]);
    const shown = JSON.stringify(outcome) + await log();
    expect(shown).toContain("login.test");
    expect(shown).not.toContain("only-for-you");
    expect(shown).not.toContain("4711");
    expect(fetched).toEqual([]);
    await host.close();
  });

  it("sees at once that a call was given up, though its server has not answered (C-CANC-06)", async () => {
    const controller = new AbortController();
    let isRunning = false;
    const program: FakeProgram = {
      tools: ["run"],
      call: () => {
        isRunning = true;
        return new Promise(() => {});
      },
    };
    const { host, session, runtime, types } = await open(program);
    const call = session.tool("mcp.them.run", {}, { signal: controller.signal });
    await until(() => isRunning);
    controller.abort();
    expect(await call).toMatchObject({ status: "cancelled" });
    expect((await types()).slice(-2)).toEqual(["mcp.call.failed", "tool.cancelled"]);
    const told = (): boolean =>
      runtime.processes[0]!.heard.some(({ method, params }) =>
        method === "notifications/cancelled" && (params as { reason?: string }).reason === "the caller gave up"
      );
    await until(told);
    await host.close();
  });

  it("learns that a question was withdrawn by the server that asked it (C-CANC-06)", async () => {
    let signal: AbortSignal | undefined;
    const program: FakeProgram = {
      tools: ["run"],
      call: (_name, _args, process) => {
        void process.ask("elicitation/create", form);
        return new Promise(() => {});
      },
    };
    const asks: HostAsks = { form: (_ask, context) => (signal = context.signal, new Promise(() => {})) };
    const { host, session, runtime, types } = await open(program, { asks });
    const call = session.tool("mcp.them.run", {});
    await until(() => signal !== undefined);
    runtime.processes[0]!.tell("notifications/cancelled", { requestId: "q1", reason: "never mind" });
    await until(() => signal!.aborted);
    while ((await types()).at(-1) !== "mcp.input.resolved") await settle();
    await host.close();
    await call;
  });
});

describe("sensitive tool", () => {
  const tools = ["delete_all"];
  const args = { path: "/", note: `key ${SECRET}` };

  it("is confirmed by a person who sees what it is called with, and only then sent (C-TOOL-05)", async () => {
    const sent: unknown[] = [];
    const seen: ApprovalRequest[] = [];
    const { host, session, log } = await open({ tools, call: (_name, given) => (sent.push(given), "gone") }, {
      permission: { rules: [{ decision: "allow" }] },
      approve: (request) => {
        expect(sent).toEqual([]);
        seen.push(request);
        return Promise.resolve(seen.length > 1 ? "allow" : "deny");
      },
    });
    const { note: _, ...clean } = args;
    expect((await session.tool("mcp.them.delete_all", clean)).status).toBe("denied");
    expect(sent).toEqual([]);
    expect((await session.tool("mcp.them.delete_all", clean)).status).toBe("completed");
    expect(sent).toEqual([clean]);
    expect(seen).toMatchObject([clean, clean].map((given) => ({ tool: "mcp.them.delete_all", args: given })));
    // Both decisions, what was called with what, and how it ended.
    const events = await host.readEvents({ stream: "session:s" });
    expect(events.slice(1).map(({ type }) => type)).toEqual([
      "permission.requested",
      "permission.resolved",
      "tool.failed",
      "permission.requested",
      "permission.resolved",
      "mcp.call.started",
      "tool.started",
      "mcp.call.completed",
      "tool.completed",
    ]);
    expect(events.find(({ type }) => type === "mcp.call.started")!.payload).toMatchObject({
      args: { name: "delete_all", arguments: clean },
    });
    expect(await log()).not.toContain(SECRET);
    await host.close();
  });

  it("with a secret of the host in its arguments is not sent, and the secret is in no log (C-TOOL-05)", async () => {
    const { host, session, log } = await open({ tools, call: () => expect.fail("was sent") });
    expect((await session.tool("mcp.them.delete_all", args)).status).toBe("denied");
    expect(await log()).not.toContain(SECRET);
    await host.close();
  });

  it("is not waited for without end (C-TOOL-05)", async () => {
    const clock = new FakeClock();
    let isCalled = false;
    const { host, session } = await open({ tools: ["hangs"], call: () => (isCalled = true, new Promise(() => {})) }, {
      clock,
    });
    const call = session.tool("mcp.them.hangs", {}, { timeoutMs: 1000 });
    await until(() => isCalled);
    await settle();
    await clock.advance(1000);
    expect(await call).toMatchObject({ status: "unknown", error: { reason: "timeout" } });
    await host.close();
  });

  it("is held to what it says that it gives (C-TOOL-05)", async () => {
    const outputSchema = { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] };
    const { host, session } = await open({
      tools: [{ name: "lies", inputSchema: { type: "object" }, outputSchema }],
      call: () => ({ content: [], structuredContent: { sum: "three" } }),
    });
    const outcome = await session.tool("mcp.them.lies", {});
    expect(outcome.findings).toMatchObject([{ rule: "structured_content_invalid", where: "structuredContent" }]);
    await host.close();
  });
});

describe("reference to another document in a tool's schema", () => {
  it("is never followed, and no option asks for it: the tool is refused, with a word in the log (C-SCHEMA-04)", async () => {
    const $ref = "https://schemas.test/address.json";
    const { host, session, fetched } = await open({
      tools: [{ name: "far", inputSchema: { type: "object", properties: { a: { $ref } } } }, "near"],
    });
    expect(await session.tool("mcp.them.far", { a: 1 })).toMatchObject({
      status: "failed",
      error: { code: "ERR_TOOL_NOT_FOUND" },
    });
    const rejected = (await host.readEvents()).filter(({ type }) => type === "mcp.tool.rejected");
    expect(rejected.map(({ payload }) => payload)).toMatchObject([
      { server: "them", tool: "far", why: expect.stringContaining($ref) as string },
    ]);
    expect((await session.tool("mcp.them.near", {})).status).toBe("completed");
    expect(fetched).toEqual([]);
    await host.close();
  });
});
