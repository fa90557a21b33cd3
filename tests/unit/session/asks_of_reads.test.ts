import { describe, expect, it } from "vitest";
import type { HostAskContext, HostAsks } from "../../../src/call/host_asks.ts";
import type { HostEvent } from "../../../src/events/event.ts";
import { payloadSchemas } from "../../../src/events/schema.ts";
import { createHost } from "../../../src/host.ts";
import type { HostOptions } from "../../../src/host_options.ts";
import * as v from "valibot";
import { FakeClock } from "../../fixtures/fake_clock.ts";
import { type FakeProcess, type FakeProgram, fakeRuntime } from "../../fixtures/fake_runtime.ts";
import { settle, until } from "../../fixtures/settle.ts";

type Params = Readonly<Record<string, unknown>>;

const SECRET = "hunter2hunter2";
const schema = { type: "object", properties: { ok: { type: "boolean", default: true } } };
const confirm = { method: "elicitation/create", params: { message: `Sure, ${SECRET}?`, requestedSchema: schema } };
const accepted = { action: "accept", content: { ok: true } };
const STATE = "  opaque é\u0000 ";

/** Has one document and one prompt, and answers for them as told; in the newest revision where it says so. */
function program(answer: (method: string, params: Params, process: FakeProcess) => unknown, isModern: boolean) {
  const asked: [method: string, params: Params][] = [];
  const capabilities = { resources: {}, prompts: {} };
  const fake: FakeProgram = {
    tools: [],
    capabilities,
    answer: (method, params, process) => {
      switch (method) {
        case "server/discover":
          return isModern
            ? { supportedVersions: ["2026-07-28"], capabilities: { tools: {}, ...capabilities } }
            : undefined;
        case "resources/list":
          return { resources: [{ uri: "wiki://a", name: "a" }] };
        case "prompts/list":
          return { prompts: [{ name: "review" }] };
        case "resources/read":
        case "prompts/get": {
          const { _meta, ...own } = params;
          asked.push([method, own]);
          return answer(method, params, process);
        }
      }
      return undefined;
    },
  };
  return { fake, asked };
}

async function open(fake: FakeProgram, asks: HostAsks | undefined, options: Partial<HostOptions> = {}) {
  const runtime = fakeRuntime({ wiki: fake });
  const errors: unknown[] = [];
  const host = await createHost({
    runtime,
    secrets: [{ label: "door", value: SECRET }],
    servers: [{ name: "wiki", command: "wiki" }],
    permission: { rules: [{ decision: "allow" }] },
    onError: (error) => void errors.push(error),
    ...(asks === undefined ? {} : { asks }),
    ...options,
  });
  await host.ready();
  const session = await host.session({ id: "s_1" });
  const events = async (): Promise<HostEvent[]> => {
    const read = (await host.readEvents({ stream: "session:s_1" })).slice(3);
    for (const { type, payload } of read) v.parse(payloadSchemas[type as keyof typeof payloadSchemas], payload);
    expect(JSON.stringify(read)).not.toContain(SECRET);
    return read;
  };
  const types = async (): Promise<string[]> => (await events()).map(({ type }) => type);
  return { runtime, host, session, events, types, errors };
}

/** Both ways to read, with what each of them is called by. */
const WAYS = [
  {
    way: "a read of a resource",
    method: "resources/read",
    params: { uri: "wiki://a" } as Params,
    subject: { uri: "wiki://a" } as Params,
    began: "mcp.resource.requested",
    done: "mcp.resource.fetched",
    failed: "mcp.resource.failed",
    result: { contents: [{ uri: "wiki://a", text: "done" }] } as Params,
    run: ({ session }: Awaited<ReturnType<typeof open>>, signal?: AbortSignal) =>
      session.resources.read("wiki://a", signal === undefined ? {} : { signal }),
  },
  {
    way: "a prompt",
    method: "prompts/get",
    params: { name: "review", arguments: {} } as Params,
    subject: { prompt: "review" } as Params,
    began: "mcp.prompt.invoked",
    done: "mcp.prompt.expanded",
    failed: "mcp.prompt.failed",
    result: { messages: [{ role: "user", content: { type: "text", text: "done" } }] } as Params,
    run: ({ session }: Awaited<ReturnType<typeof open>>, signal?: AbortSignal) =>
      session.prompts.get("review", {}, signal === undefined ? {} : { signal }),
  },
] as const;

const inputRequired = (inputRequests?: object, requestState?: string): object => ({
  resultType: "input_required",
  ...(inputRequests === undefined ? {} : { inputRequests }),
  ...(requestState === undefined ? {} : { requestState }),
});

describe.each(WAYS)("what a server asks for $way inside a result", (way) => {
  const { method, params, subject, began, done, failed, result, run } = way;

  it("goes to the host's handler, which learns for what; the state goes back exactly as it came (C-MRTR-01, C-MRTR-02)", async () => {
    const seen: [unknown, HostAskContext][] = [];
    const { fake, asked } = program(
      (_method, given) => "inputResponses" in given ? result : inputRequired({ confirm }, STATE),
      true,
    );
    const scene = await open(fake, {
      form: (ask, context) => {
        seen.push([ask, context]);
        return { action: "accept" };
      },
    });
    expect((await run(scene)).status).toBe("completed");
    expect(asked).toEqual([
      [method, params],
      [method, { ...params, inputResponses: { confirm: accepted }, requestState: STATE }],
    ]);
    expect(seen).toMatchObject([[{ schema }, { server: "wiki", session: "s_1", ...subject }]]);
    expect(seen[0]![1]).not.toHaveProperty("tool");
    expect(JSON.stringify(seen)).not.toContain(SECRET);
    const events = await scene.events();
    expect(events.map(({ type }) => type)).toEqual([began, "mcp.input.requested", "mcp.input.resolved", done]);
    const { requestId } = seen[0]![1];
    expect(events[1]!.payload).toMatchObject({ requestId, ...subject, server: "wiki", kind: "form", schema });
    expect(events[2]!.payload).toEqual({ requestId, ...subject, server: "wiki", kind: "form", action: "accept" });
    await scene.host.close();
  });

  it("is in the log before anybody is asked, and its answer before anything is sent", async () => {
    const seen: string[][] = [];
    const { fake } = program(async (_method, given) => {
      if (!("inputResponses" in given)) return inputRequired({ confirm });
      seen.push(await scene.types());
      return result;
    }, true);
    const scene = await open(fake, {
      form: async () => {
        seen.push(await scene.types());
        return { action: "decline" };
      },
    });
    await run(scene);
    expect(seen).toEqual([
      [began, "mcp.input.requested"],
      [began, "mcp.input.requested", "mcp.input.resolved"],
    ]);
    await scene.host.close();
  });

  it("is asked in at most eight rounds (C-MRTR-08, A-96)", async () => {
    const { fake, asked } = program(() => inputRequired({ confirm }), true);
    const scene = await open(fake, { form: () => ({ action: "accept" }) });
    expect(await run(scene)).toMatchObject({ status: "failed", error: { reason: "too_many_rounds" } });
    expect(asked).toHaveLength(8);
    expect((await scene.types()).at(-1)).toBe(failed);
    await scene.host.close();
  });

  it("ends it where it is more than 64 things", async () => {
    const many = (prefix: string): object =>
      Object.fromEntries(Array.from({ length: 32 }, (_, at) => [`${prefix}${at}`, confirm]));
    let forms = 0;
    const { fake, asked } = program(() => inputRequired(many(`round${asked.length}.`)), true);
    const scene = await open(fake, {
      form: () => {
        forms++;
        return { action: "accept" };
      },
    });
    expect(await run(scene)).toMatchObject({ status: "failed", error: { reason: "too_many_asks" } });
    expect(asked).toHaveLength(3);
    expect(forms).toBe(64);
    expect((await scene.types()).at(-1)).toBe(failed);
    await scene.host.close();
  });

  it("ends it where there is no handler, and nobody is asked (C-MRTR-10)", async () => {
    const { fake, asked } = program(() => inputRequired({ confirm }), true);
    for (const asks of [undefined, { sample: () => undefined }] satisfies (HostAsks | undefined)[]) {
      asked.length = 0;
      const scene = await open(fake, asks);
      expect(await run(scene)).toMatchObject({ status: "failed", error: { reason: "invalid_result" } });
      expect(asked).toHaveLength(1);
      expect(await scene.types()).toEqual([began, failed]);
      await scene.host.close();
    }
  });

  it("ends it when a person refuses and the refusal has no form", async () => {
    const sampling = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };
    const { fake, asked } = program(() => inputRequired({ sampling }), true);
    const scene = await open(fake, { sample: () => undefined });
    expect(await run(scene)).toMatchObject({
      status: "failed",
      error: { code: "ERR_DENIED", reason: "permission_denied" },
    });
    expect(asked).toHaveLength(1);
    expect(await scene.types()).toEqual([began, "mcp.input.requested", "mcp.input.resolved", failed]);
    await scene.host.close();
  });

  it("is not asked again once a person has refused it, though the connection was lost meanwhile", async () => {
    const sampling = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };
    const { fake, asked } = program(() => inputRequired({ sampling }), true);
    let asks = 0;
    const scene = await open(fake, {
      sample: async () => {
        asks++;
        scene.runtime.processes[0]!.exit(1);
        await until(() => scene.runtime.processes.length === 2);
        return undefined;
      },
    }, { restartPolicy: { nextStep: ({ crashes }) => ({ kind: "restart", crashes: crashes + 1, delayMs: 0 }) } });
    expect(await run(scene)).toMatchObject({ status: "failed", error: { reason: "permission_denied" } });
    expect([asks, asked.length]).toEqual([1, 1]);
    await scene.host.close();
  });

  it("may be nothing but patience, in a host without handlers too", async () => {
    const clock = new FakeClock();
    const { fake, asked } = program(
      (_method, given) => "requestState" in given ? result : inputRequired(undefined, STATE),
      true,
    );
    const scene = await open(fake, undefined, { clock });
    const reading = run(scene);
    await until(() => asked.length === 1);
    await settle();
    await clock.advance(250);
    expect((await reading).status).toBe("completed");
    expect(asked[1]).toEqual([method, { ...params, requestState: STATE }]);
    await scene.host.close();
  });

  it("is withdrawn with its caller, before the end of the read (C-CANC-01)", async () => {
    const controller = new AbortController();
    let signal: AbortSignal | undefined;
    const { fake } = program(() => inputRequired({ confirm }), true);
    const scene = await open(fake, {
      form: (_ask, context) => {
        signal = context.signal;
        return new Promise(() => {});
      },
    });
    const reading = run(scene, controller.signal);
    await until(() => signal !== undefined);
    controller.abort();
    expect(await reading).toMatchObject({ status: "cancelled" });
    expect(signal!.aborted).toBe(true);
    const events = await scene.events();
    expect(events.map(({ type }) => type)).toEqual([began, "mcp.input.requested", "mcp.input.resolved", failed]);
    expect(events[2]!.payload).toMatchObject({ action: "withdrawn" });
    await scene.host.close();
  });

  it("waits five minutes for a person, and goes on without", async () => {
    const clock = new FakeClock();
    let isAsked = false;
    const { fake, asked } = program(
      (_method, given) => "inputResponses" in given ? result : inputRequired({ confirm }),
      true,
    );
    const scene = await open(fake, {
      form: () => {
        isAsked = true;
        return new Promise(() => {});
      },
    }, { clock });
    const reading = run(scene);
    await until(() => isAsked);
    await clock.advance(5 * 60_000);
    expect((await reading).status).toBe("completed");
    expect(asked[1]).toEqual([method, { ...params, inputResponses: { confirm: { action: "cancel" } } }]);
    expect((await scene.events())[2]!.payload).toMatchObject({ action: "expired" });
    await scene.host.close();
  });

  it("that wants a secret is declined without asking, with a finding (A-78)", async () => {
    const requestedSchema = { type: "object", properties: { password: { type: "string" } } };
    const { fake, asked } = program(
      (_method, given) =>
        "inputResponses" in given
          ? result
          : inputRequired({ f: { ...confirm, params: { message: "Hi", requestedSchema } } }),
      true,
    );
    const scene = await open(fake, { form: () => expect.fail("was asked") });
    expect((await run(scene)).status).toBe("completed");
    expect(asked[1]![1]).toMatchObject({ inputResponses: { f: { action: "decline" } } });
    const name = `mcp.wiki.${String(subject["uri"] ?? subject["prompt"])}`;
    expect((await scene.events()).filter(({ type }) => type === "security.finding")).toMatchObject([
      { payload: { rule: "secret_form", where: `ask of ${name}` } },
    ]);
    await scene.host.close();
  });
});

describe.each(WAYS)("what an older server asks on its own during $way", (way) => {
  const { subject, began, done, failed, result, run } = way;

  it("goes to the same handler, with the same events", async () => {
    let answer: unknown;
    const { fake } = program(async (_method, _params, process) => {
      answer = await process.ask(confirm.method, confirm.params);
      return result;
    }, false);
    const seen: HostAskContext[] = [];
    const scene = await open(fake, {
      form: (_ask, context) => {
        seen.push(context);
        return { action: "accept" };
      },
    });
    expect((await run(scene)).status).toBe("completed");
    expect(answer).toMatchObject({ result: accepted });
    expect(seen).toMatchObject([{ server: "wiki", session: "s_1", ...subject }]);
    const events = await scene.events();
    expect(events.map(({ type }) => type)).toEqual([began, "mcp.input.requested", "mcp.input.resolved", done]);
    expect(events[2]!.payload).toMatchObject({ ...subject, kind: "form", action: "accept" });
    await scene.host.close();
  });

  it("is refused where the host has no handlers (C-LIFE-06)", async () => {
    let answer: unknown;
    const { fake } = program(async (_method, _params, process) => {
      answer = await process.ask(confirm.method, confirm.params);
      return result;
    }, false);
    const scene = await open(fake, undefined);
    expect((await run(scene)).status).toBe("completed");
    expect(answer).toMatchObject({ error: { code: -32601 } });
    expect(await scene.types()).toEqual([began, done]);
    await scene.host.close();
  });

  it("that is still open when it is answered is closed before it", async () => {
    let answered: (value: unknown) => void = () => {};
    const { fake } = program((_method, _params, process) => {
      void process.ask(confirm.method, confirm.params);
      return new Promise((resolve) => answered = resolve);
    }, false);
    const scene = await open(fake, {
      form: () => {
        answered(result);
        return new Promise(() => {});
      },
    });
    expect((await run(scene)).status).toBe("completed");
    const events = await scene.events();
    expect(events.map(({ type }) => type)).toEqual([began, "mcp.input.requested", "mcp.input.resolved", done]);
    expect(events[2]!.payload).toMatchObject({ action: "withdrawn" });
    await scene.host.close();
  });

  it("of addresses that have to be visited first is shown, and then the same request is sent again (C-ELIC-15, C-ELIC-16)", async () => {
    const elicitations = [{ mode: "url", elicitationId: "e1", url: "https://login.test/", message: "Log in" }];
    let isIn = false;
    const { fake, asked } = program(
      () => isIn ? result : { error: { code: -32042, message: "Log in first", data: { elicitations } } },
      false,
    );
    const scene = await open(fake, { url: () => (isIn = true, { action: "accept" }) });
    expect((await run(scene)).status).toBe("completed");
    expect(asked[1]).toEqual(asked[0]);
    expect((await scene.types()).slice(1, 3)).toEqual(["mcp.input.requested", "mcp.input.resolved"]);
    isIn = false;
    const declining = await open(fake, { url: () => ({ action: "decline" }) });
    expect(await run(declining)).toMatchObject({ status: "failed", error: { code: "-32042", reason: "remote_error" } });
    expect((await declining.types()).at(-1)).toBe(failed);
    await Promise.all([scene.host.close(), declining.host.close()]);
  });

  it("leaves the next connection its time, however long a person took before the first was lost", async () => {
    const clock = new FakeClock();
    let reads = 0;
    let answer: (value: { action: "decline" }) => void = () => {};
    let asks = 0;
    const { fake } = program(async (_method, _params, process) => {
      if (++reads > 1) return result;
      await process.ask(confirm.method, confirm.params);
      process.exit(1);
      return undefined;
    }, false);
    const form = (): Promise<{ action: "decline" }> => (asks++, new Promise((resolve) => answer = resolve));
    const scene = await open(fake, { form }, {
      clock,
      restartPolicy: { nextStep: ({ crashes }) => ({ kind: "restart", crashes: crashes + 1, delayMs: 10 }) },
    });
    const reading = run(scene);
    await until(() => asks === 1);
    await clock.advance(4 * 60_000);
    answer({ action: "decline" });
    await until(() => !scene.runtime.processes[0]!.isAlive);
    while (scene.runtime.processes.length === 1) await clock.advance(10);
    expect((await reading).status).toBe("completed");
    await scene.host.close();
  });

  it("is asked again on the next connection when the first was lost under it, and no oftener", async () => {
    let reads = 0;
    let asks = 0;
    const { fake } = program(async (_method, _params, process) => {
      reads++;
      const answer = await process.ask(confirm.method, confirm.params);
      if (reads > 1) return "result" in answer ? result : undefined;
      process.exit(1);
      return undefined;
    }, false);
    const scene = await open(fake, { form: () => (asks++, { action: "accept" }) }, {
      restartPolicy: { nextStep: ({ crashes }) => ({ kind: "restart", crashes: crashes + 1, delayMs: 0 }) },
    });
    expect((await run(scene)).status).toBe("completed");
    expect([reads, asks]).toEqual([2, 2]);
    await scene.host.close();
  });
});
