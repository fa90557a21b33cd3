import { describe, expect, it } from "vitest";
import { fileLog } from "../../../src/events/file_store.ts";
import { memoryLog } from "../../../src/events/memory_store.ts";
import { fileArtifacts } from "../../../src/store/file_artifacts.ts";
import { memoryArtifacts } from "../../../src/store/memory_artifacts.ts";
import { createHost } from "../../../src/host.ts";
import type { HostOptions } from "../../../src/host_options.ts";
import type { Session } from "../../../src/session/session.ts";
import { fakeRuntime } from "../../fixtures/fake_runtime.ts";

const base = { runtime: fakeRuntime({}), localTools: [{ name: "r", risk: "read", inputSchema: {}, run: () => "ran" }] };
const rejection = (promise: Promise<unknown>): Promise<unknown> => promise.then(() => "resolved", (error) => error);

it.each<[string, Record<string, unknown>]>([
  ["a secret without a value", { secrets: [{ label: "T", value: undefined }] }],
  ["a secret that is nothing", { secrets: [null] }],
  ["servers that are no list", { servers: {} }],
  ["no starts at a time", { maxParallelStarts: 0 }],
  ["no number of starts", { maxParallelStarts: NaN }],
])("a host with %s is refused", async (_what, options) => {
  await expect(createHost({ ...base, ...options } as HostOptions)).rejects.toMatchObject({ code: "ERR_CONFIG" });
});

describe("host", () => {
  const aLog = "wanted what memoryLog() or fileLog(directory) gives";
  const aRuntime = "wanted what nodeRuntime(), bunRuntime(), denoRuntime() or workerdRuntime() gives";

  it.each<[string, unknown, string]>([
    ["nothing", undefined, "found undefined, wanted an object of options"],
    ["no runtime", {}, `"runtime" is missing, ${aRuntime}`],
    ["a runtime that was not called", { ...base, runtime: () => base.runtime }, `"runtime" is a function, ${aRuntime}`],
    ["a mistyped list of servers", { ...base, server: [] }, `unknown option "server", did you mean "servers"`],
    ["a mistyped approver", { ...base, approver: () => true }, `unknown option "approver", did you mean "approve"`],
    ["a word for an approver", { ...base, approve: "allow" }, `"approve" is a string, wanted a function`],
    ["a word for a log", { ...base, log: "x" }, `"log" is a string, ${aLog}`],
    ["a log that was not called", { ...base, log: memoryLog }, `"log" is a function, ${aLog}`],
    [
      "a list of rules without their part",
      { ...base, permission: [{ decision: "allow" }] },
      `"permission" is a list, wanted an object such as { rules: [...] }`,
    ],
    ["a name with a blank", { ...base, name: "a b" }, `"name" is a string, wanted 1 to 195 visible ASCII characters`],
    ["local tools that are no list", { ...base, localTools: {} }, `"localTools" is an object, wanted a list`],
  ])("host refuses %s", async (_what, options, found) => {
    expect(await rejection(createHost(options as HostOptions)))
      .toMatchObject({ code: "ERR_CONFIG", message: `Cannot open a host: ${found}` });
  });

  it("host refuses an answerer that it does not know", async () => {
    expect(await rejection(createHost({ ...base, asks: { forms: () => {} } } as unknown as HostOptions))).toMatchObject(
      {
        code: "ERR_CONFIG",
        message: `Cannot open a host with its "asks": unknown option "forms", did you mean "form"`,
      },
    );
  });

  it.each<[string, () => unknown, string]>([
    ["no directory", () => fileLog(undefined as never), "found undefined, wanted the path of a directory"],
    ["an empty one", () => fileLog(""), "found an empty string, wanted the path of a directory"],
  ])("log in files refuses %s", (_what, make, found) => {
    expect(make).toThrow(
      expect.objectContaining({ code: "ERR_CONFIG", message: `Cannot keep the event log in files: ${found}` }),
    );
  });

  it("logs and stores refuse options that they do not know", () => {
    expect(() => fileLog("x", { levels: "none" } as never)).toThrow(`unknown option "levels", did you mean "level"`);
    expect(() => memoryLog({ maxEvents: 0 })).toThrow(`"maxEvents" is 0, wanted a whole number from 1 up`);
    expect(() => memoryArtifacts({ maxTotalBytes: "1 MiB" as never })).toThrow(
      `Cannot keep artifacts in memory: "maxTotalBytes" is a string, wanted a whole number from 1 up`,
    );
    expect(() => fileArtifacts("/somewhere" as never)).toThrow(
      "Cannot keep artifacts in files: found a string, wanted",
    );
    expect(() => fileArtifacts({ directory: "/somewhere" } as never)).toThrow(`"files" is missing`);
  });

  it("host refuses what its methods do not know", async () => {
    const host = await createHost(base as unknown as HostOptions);
    try {
      for (
        const [use, message] of [
          [() => host.session("w4" as never), "Cannot open a session: found a string, wanted an object of options"],
          [
            () => host.session({ name: "a" } as never),
            `Cannot open a session: unknown option "name", wanted "id", "mcp"`,
          ],
          [
            () => host.session({ id: "a b/c" }),
            'Cannot open a session: "id" is "a b/c", wanted 1 to 192 visible ASCII characters, which a blank is not',
          ],
          [
            () => host.session({ id: "x".repeat(193) }),
            'Cannot open a session: "id" is a string of 193 characters, wanted 1 to 192 visible ASCII characters, which a blank is not',
          ],
          [
            async () => (await host.session()).child({ id: "ä" }),
            'Cannot open a child session: "id" is "ä", wanted 1 to 192 visible ASCII characters, which a blank is not',
          ],
          [
            () => host.ready({ timeout: 5 } as never),
            `Cannot wait for servers: unknown option "timeout", did you mean "timeoutMs"`,
          ],
          [
            () => host.readEvents({ from: 5 } as never),
            `Cannot read a stream: unknown option "from", wanted "stream", "after", "limit"`,
          ],
          [
            () => Promise.resolve().then(() => host.events({ afer: 5 } as never)),
            `Cannot follow a stream: unknown option "afer", did you mean "after"`,
          ],
        ] as const
      ) {
        expect(await rejection(use())).toMatchObject({ code: "ERR_INVALID_ARGUMENTS", message });
      }
    } finally {
      await host.close();
    }
  });
});

describe("session", () => {
  const later = (use: () => unknown): Promise<unknown> => Promise.resolve().then(use);

  it.each<[string, (session: Session) => Promise<unknown>, string]>([
    ["a call", (session) => session.tool("r", {}, { timeout: 5 } as never), `"timeout", did you mean "timeoutMs"`],
    ["a list of names", (session) => later(() => session.toolNames({ spell: "alias" } as never)), `"spell", wanted`],
    ["definitions", (session) => later(() => session.toolDefinitions({ formt: "mcp" } as never)), `"format"`],
    ["a turn", (session) => later(() => session.turn({ turnid: "t" } as never)), `"turnId"`],
    ["events", (session) => later(() => session.events({ from: 1 } as never)), `"after"`],
    ["a child", (session) => session.child({ allowed: [] } as never), `"allow"`],
    ["a list", (session) => session.resources.list({ servers: "a" } as never), `"server"`],
    ["a read", (session) => session.resources.read("a:b", { sever: "a" } as never), `"server"`],
    ["a subscription", (session) => session.resources.subscribe("a:b", { onUpdate: 1 } as never), `"onUpdated"`],
    ["a prompt", (session) => session.prompts.get("p", {}, { typd: "a" } as never), `"typed"`],
    ["a completion", (session) => session.complete({ off: {} } as never), `"of"`],
  ])("session refuses options that %s does not know", async (_what, use, hint) => {
    const host = await createHost(base as unknown as HostOptions);
    const session = await host.session();
    expect(await rejection(use(session))).toMatchObject({
      code: "ERR_INVALID_ARGUMENTS",
      message: expect.stringMatching(/unknown option ".*/),
    });
    expect(await rejection(use(session))).toMatchObject({ message: expect.stringContaining(hint) });
    await host.close();
  });

  it("session refuses a subscription without anybody to tell", async () => {
    const host = await createHost(base as unknown as HostOptions);
    const session = await host.session();
    expect(await rejection(session.resources.subscribe("a:b", {} as never))).toMatchObject({
      code: "ERR_INVALID_ARGUMENTS",
      message: `Cannot subscribe to a resource: "onUpdated" is missing, wanted a function`,
    });
    await host.close();
  });
});

it.each<[string, unknown]>([
  ["null", null],
  ["a signal that is none", { signal: {} }],
  ["an unknown way to ask", { onAsk: "bogus" }],
  ["a turn that is no text", { turnId: {} }],
  ["a caller that is nobody", { by: "me" }],
  ["a listener that is none", { onProgress: {} }],
])("a call with %s as options is refused", async (_what, options) => {
  const host = await createHost(base as unknown as HostOptions);
  const session = await host.session();
  await expect(session.tool("r", {}, options as never)).rejects.toMatchObject({ code: "ERR_INVALID_ARGUMENTS" });
  await expect(host.syncGlobalMcpServers({} as never)).rejects.toMatchObject({ code: "ERR_INVALID_ARGUMENTS" });
  await host.close();
});

it.each([
  [
    "node x.js",
    `Cannot start "node x.js": the command or its working directory was not found; arguments go into "args"`,
  ],
  ["nowhere", `Cannot start "nowhere": the command or its working directory was not found`],
])("a server whose command %s is not found says why", async (command, found) => {
  const host = await createHost(base as unknown as HostOptions);
  const session = await host.session();
  expect(await rejection(session.addMcp({ name: "a", command }))).toMatchObject({
    code: "ERR_START_FAILED",
    message: `Cannot start server "a": ${found.charAt(0).toLowerCase()}${found.slice(1)}`,
  });
  await host.close();
});
